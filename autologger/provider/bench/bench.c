/* bench.c - rows and their printing; see bench.h. */
#include "autologger/provider/bench/bench.h"

#include <stdlib.h>

static int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void bench_quartiles(double *ratio, unsigned count, struct bench_row *row)
{
    qsort(ratio, count, sizeof *ratio, bench_compare);
    row->ratio  = ratio[count / 2];
    row->p25    = ratio[count / 4];
    row->p75    = ratio[count - 1 - count / 4];
    row->rounds = count;
}

double bench_median(double *value, unsigned count)
{
    qsort(value, count, sizeof *value, bench_compare);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

void bench_row_add(struct bench_result *out, const struct bench_row *like, const double *ours, const double *theirs,
                   double limit, unsigned rounds)
{
    struct bench_row *row = &out->row[out->count++];
    double            ratio[BENCH_ROUNDS_MOST], a[BENCH_ROUNDS_MOST], b[BENCH_ROUNDS_MOST];
    *row   = *like;
    rounds = rounds < BENCH_ROUNDS_MOST ? rounds : BENCH_ROUNDS_MOST;
    for (unsigned i = 0; i < rounds; i++) {
        a[i]     = ours[i];
        b[i]     = theirs ? theirs[i] : limit;
        ratio[i] = a[i] / b[i];
    }
    bench_quartiles(ratio, rounds, row);
    row->ours   = bench_median(a, rounds);
    row->theirs = bench_median(b, rounds);
}

void bench_print_json(const struct bench_result *result, FILE *out)
{
    fputs("[", out);
    for (unsigned i = 0; i < result->count; i++) {
        const struct bench_row *r = &result->row[i];
        fprintf(
            out,
            "%s\n  {\"row\": \"%s\", \"peer\": \"%s\", \"peer_version\": \"%s\", \"ratio\": %.4f, \"better\": \"%s\", "
            "\"goal\": %.4g, \"rounds\": %u, \"p25\": %.4f, \"p75\": %.4f",
            i ? "," : "", r->row, r->peer, r->peer_version, r->ratio, r->lower_is_better ? "lower" : "higher", r->goal,
            r->rounds, r->p25, r->p75);
        if (*r->unit)
            fprintf(out, ", \"ours\": %.4f, \"theirs\": %.4f, \"unit\": \"%s\"", r->ours, r->theirs, r->unit);
        fputs("}", out);
    }
    fputs("\n]\n", out);
}

void bench_print_text(const struct bench_result *result, FILE *out)
{
    fprintf(out, "%-32s %-28s %8s %8s %8s %8s\n", "row", "against", "ratio", "p25", "p75", "goal");
    for (unsigned i = 0; i < result->count; i++) {
        const struct bench_row *r  = &result->row[i];
        bool                    ok = r->goal == 0 || (r->lower_is_better ? r->ratio <= r->goal : r->ratio >= r->goal);
        fprintf(out, "%-32s %-28s %8.3f %8.3f %8.3f ", r->row, r->peer, r->ratio, r->p25, r->p75);
        if (r->goal > 0)
            fprintf(out, "%7s%.4g%s", r->lower_is_better ? "<= " : ">= ", r->goal, ok ? "" : "  missed");
        else
            fprintf(out, "%8s", "-");
        if (*r->unit)
            fprintf(out, "  (%.2f, %.2f %s)", r->ours, r->theirs, r->unit);
        fputc('\n', out);
    }
}
