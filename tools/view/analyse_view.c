/* analyse_view.c - pairs, counts and images. See analyse_view.h. */
#include "tools/view/analyse_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"

#include <inttypes.h>
#include <string.h>

const char *view_seconds(const struct analyse_view *v, uint64_t t, char out[32])
{
    uint64_t away = t < v->start ? v->start - t : t - v->start;
    snprintf(out, 32, "%s%" PRIu64 ".%07" PRIu64, t < v->start ? "-" : "", away / 10000000, away % 10000000);
    return out;
}

const char *view_span(uint64_t ticks, char out[32])
{
    snprintf(out, 32, "%" PRIu64 ".%04" PRIu64 " ms", ticks / 10000, ticks % 10000);
    return out;
}

const char *view_number(uint64_t value, char out[32])
{
    snprintf(out, 32, "%" PRIu64, value);
    return out;
}

struct json *view_json(const struct analyse_view *v, const char *topic)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return NULL;
    json_object(j, NULL);
    json_text(j, "topic", topic);
    json_array(j, "files");
    for (unsigned i = 0; i < v->file_count; i++)
        json_text(j, NULL, v->files[i]);
    json_array_end(j);
    return j;
}

void view_json_seconds(struct json *j, const char *name, const struct analyse_view *v, uint64_t t)
{
    json_real(j, name, t < v->start ? -(double)(v->start - t) / 1e7 : (double)(t - v->start) / 1e7);
}

/* --- delta --- */

static const struct {
    const char *name;
    unsigned    per_mille;
} percentiles[] = {{"p50", 500}, {"p90", 900}, {"p95", 950}, {"p99", 990}, {"p999", 999}};

static void histogram_json(struct json *j, const char *name, const struct histogram *h)
{
    json_object(j, name);
    json_number(j, "count", h->count);
    json_number(j, "least_us", h->least / 10);
    json_number(j, "mean_us", histogram_mean(h) / 10);
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++) {
        char named[16];
        snprintf(named, sizeof named, "%s_us", percentiles[i].name);
        json_number(j, named, histogram_percentile(h, percentiles[i].per_mille) / 10);
    }
    json_number(j, "most_us", h->most / 10);
    json_number(j, "sum_us", h->sum / 10);
    json_object_end(j);
}

static void delta_json(const struct delta *d, const struct analyse_view *v)
{
    struct json *j = view_json(v, "delta");
    if (!j)
        return;
    json_number(j, "events", d->events);
    json_number(j, "begins", d->begins);
    json_number(j, "ends", d->ends);
    json_number(j, "pairs", d->pairs);
    json_number(j, "open", d->open);
    json_number(j, "ends_without_begin", d->unmatched_ends);
    json_number(j, "without_key", d->keyless);
    json_number(j, "backwards", d->backwards);
    json_text(j, "cpu_by", d->cpu_by_switches ? "context switches" : d->cpu.count ? "headers" : NULL);
    histogram_json(j, "time", &d->time);
    histogram_json(j, "cpu", &d->cpu);
    json_array(j, "worst");
    for (unsigned i = 0; i < d->worst_count; i++) {
        const struct delta_pair *p = &d->worst[i];
        json_object(j, NULL);
        view_json_seconds(j, "begin", v, p->begin);
        json_real(j, "time_us", (double)p->time / 10);
        if (p->cpu_known)
            json_real(j, "cpu_us", (double)p->cpu / 10);
        json_number(j, "process", p->pid);
        json_text(j, "name", p->process);
        json_number(j, "thread", p->tid);
        json_text(j, "key", p->key);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

static void histogram_row(struct text_table *t, const char *what, const struct histogram *h)
{
    char a[32], b[32], c[32], d[32], e[32], f[32];
    text_table_row(t, what, view_number(h->count, a), view_span(h->least, b), view_span(histogram_mean(h), c),
                   view_span(histogram_percentile(h, 500), d), view_span(histogram_percentile(h, 950), e),
                   view_span(histogram_percentile(h, 990), f));
}

void delta_view(const struct delta *d, const struct analyse_view *v)
{
    static const char *const titles[] = {"", "pairs", "least", "mean", "median", "95 %", "99 %", NULL};
    static const char *const worst[]  = {"begin (s)", "time", "CPU", "process", "thread", "key", NULL};
    struct text_table        t        = {0};

    if (v->json) {
        delta_json(d, v);
        return;
    }
    printf("%" PRIu64 " pairs of %" PRIu64 " begins and %" PRIu64 " ends", d->pairs, d->begins, d->ends);
    if (d->open || d->unmatched_ends)
        printf(" (%" PRIu64 " begun and not ended, %" PRIu64 " ended and not begun)", d->open, d->unmatched_ends);
    printf(", in %" PRIu64 " events\n", d->events);
    if (d->keyless)
        printf("%" PRIu64 " of them have no such key\n", d->keyless);
    if (d->open && d->unmatched_ends && (d->options.by == DELTA_PROCESS || d->options.by == DELTA_THREAD))
        visible_printf(
            stdout,
            "begin and end are often of different %s: a process, for one, is started by its parent. Do: --field ProcessId, or another field that both have\n",
            d->options.by == DELTA_PROCESS ? "processes" : "threads");
    if (d->backwards)
        printf("%" PRIu64 " ended before they began: the files' clocks disagree\n", d->backwards);
    if (!d->pairs)
        return;
    text_table_init(&t, titles);
    t.right = 0x7E;
    histogram_row(&t, "response time", &d->time);
    if (d->cpu.count)
        histogram_row(&t, "CPU time", &d->cpu);
    text_table_print(&t, stdout);
    text_table_finish(&t);
    if (!d->cpu.count)
        printf(
            "CPU time: not known. Do: trace context switches too (EnableKernelFlags = PROC_THREAD+CSWITCH), and merge the files\n");
    printf("\nthe longest:\n");
    t = (struct text_table){0};
    text_table_init(&t, worst);
    t.right = 0x06;
    for (unsigned i = 0; i < d->worst_count; i++) {
        const struct delta_pair *p = &d->worst[i];
        char                     a[32], b[32], c[32], process[96], thread[32];
        snprintf(process, sizeof process, "%s%s%" PRIu32, p->process, *p->process ? " " : "", p->pid);
        text_table_row(&t, view_seconds(v, p->begin, a), view_span(p->time, b),
                       p->cpu_known ? view_span(p->cpu, c) : "-", process, view_number(p->tid, thread), p->key);
    }
    text_table_print(&t, stdout);
    text_table_finish(&t);
}

/* --- counts --- */

static void analyse_view_counts_json(const struct counts *c, const struct analyse_view *v)
{
    struct json *j = view_json(v, "stats");
    if (!j)
        return;
    json_number(j, "events", c->events);
    json_number(j, "bytes", c->bytes);
    json_number(j, "undecoded", c->undecoded);
    json_real(j, "seconds", c->end > c->start ? (double)(c->end - c->start) / 1e7 : 0);
    for (int by = 0; by < COUNTS_TABLES; by++) {
        json_array(j, counts_words[by]);
        for (size_t i = 0; i < c->table[by].rows && (!v->rows || i < v->rows); i++) {
            const struct count_row *r = &c->table[by].row[i];
            json_object(j, NULL);
            if (by != COUNTS_CPU)
                json_text(j, "name", r->name);
            if (r->channel)
                json_text(j, "channelName", r->channel);
            if (by == COUNTS_PROCESS && r->number == UINT32_MAX)
                json_text(j, "number", NULL);
            else if (by >= COUNTS_PROCESS)
                json_number(j, "number", r->number);
            json_number(j, "events", r->events);
            json_number(j, "bytes", r->bytes);
            json_object_end(j);
        }
        json_array_end(j);
    }
    json_array(j, "second");
    for (size_t i = 0; i < c->seconds; i++) {
        json_object(j, NULL);
        json_number(j, "second", i);
        json_number(j, "events", c->second[i].events);
        json_number(j, "bytes", c->second[i].bytes);
        json_object_end(j);
    }
    json_array_end(j);
    json_number(j, "before_start", c->before);
    json_number(j, "beyond", c->beyond);
    json_object_end(j);
    json_destroy(j);
}

static void analyse_view_row_name(const struct count_row *r, int by, char *out, size_t size)
{
    if (by == COUNTS_PROCESS && r->number == UINT32_MAX)
        snprintf(out, size, "(not told)");
    else if (by == COUNTS_PROCESS)
        snprintf(out, size, "%s%s%" PRIu64, r->name, *r->name ? " " : "", r->number);
    else if (by == COUNTS_CPU || (by == COUNTS_LEVEL && !*r->name))
        snprintf(out, size, "%" PRIu64, r->number);
    else
        snprintf(out, size, "%s%s%s", r->name, r->channel ? " channel=" : "", r->channel ? r->channel : "");
}

void counts_view(const struct counts *c, const struct analyse_view *v)
{
    char a[32], b[32], name[800];

    if (v->json) {
        analyse_view_counts_json(c, v);
        return;
    }
    double seconds = c->end > c->start ? (double)(c->end - c->start) / 1e7 : 0;
    printf("%" PRIu64 " events, %" PRIu64 " bytes, in %.3f s", c->events, c->bytes, seconds);
    if (seconds > 0)
        printf(" (%.0f a second)", (double)c->events / seconds);
    putchar('\n');
    for (int by = 0; by < COUNTS_TABLES; by++) {
        const char *const titles[] = {counts_words[by], "events", "bytes", NULL};
        struct text_table t        = {0};
        text_table_init(&t, titles);
        t.right = 0x06;
        for (size_t i = 0; i < c->table[by].rows && (!v->rows || i < v->rows); i++) {
            analyse_view_row_name(&c->table[by].row[i], by, name, sizeof name);
            text_table_row(&t, name, view_number(c->table[by].row[i].events, a),
                           view_number(c->table[by].row[i].bytes, b));
        }
        if (v->rows && c->table[by].rows > v->rows)
            text_table_line(&t, "and %zu more", c->table[by].rows - v->rows);
        putchar('\n');
        text_table_print(&t, stdout);
        text_table_finish(&t);
    }
    printf("\nsecond: events\n");
    for (size_t i = 0; i < c->seconds && (!v->rows || i < v->rows); i++)
        printf("%6zu: %" PRIu64 "\n", i, c->second[i].events);
    if (v->rows && c->seconds > v->rows)
        printf("and %zu more seconds\n", c->seconds - v->rows);
}

/* --- images --- */

static void images_json(const struct images *m, const struct analyse_view *v)
{
    struct json *j = view_json(v, "images");
    char         checksum[16];
    if (!j)
        return;
    json_number(j, "loads", m->loads);
    json_number(j, "with_build_id", m->with_build_id);
    json_array(j, "images");
    for (size_t i = 0; i < m->rows; i++) {
        const struct image_row *r = &m->row[i];
        json_object(j, NULL);
        json_text(j, "path", r->path);
        json_number(j, "size", r->size);
        snprintf(checksum, sizeof checksum, "0x%08" PRIx32, r->checksum);
        json_text(j, "checksum", checksum);
        json_text(j, "build_id", *r->build_id ? r->build_id : NULL);
        json_text(j, "version", *r->version ? r->version : NULL);
        json_number(j, "loads", r->loads);
        json_number(j, "processes", r->processes);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

void images_view(const struct images *m, const struct analyse_view *v)
{
    static const char *const titles[] = {"image",   "size",  "checksum",  "build id",
                                         "version", "loads", "processes", NULL};
    struct text_table        t        = {0};

    if (v->json) {
        images_json(m, v);
        return;
    }
    visible_printf(stdout, "%zu image%s, loaded %" PRIu64 " times; %" PRIu64 " with a build id\n", m->rows,
                   plural(m->rows), m->loads, m->with_build_id);
    if (!m->rows)
        printf("Do: trace with the kernel flag LOADER\n");
    text_table_init(&t, titles);
    t.right = 0x62;
    for (size_t i = 0; i < m->rows && (!v->rows || i < v->rows); i++) {
        const struct image_row *r = &m->row[i];
        char                    size[32], checksum[16], loads[32], processes[32];
        snprintf(checksum, sizeof checksum, "0x%08" PRIx32, r->checksum);
        text_table_row(&t, r->path, view_number(r->size, size), checksum, *r->build_id ? r->build_id : "-",
                       *r->version ? r->version : "-", view_number(r->loads, loads),
                       view_number(r->processes, processes));
    }
    if (v->rows && m->rows > v->rows)
        text_table_line(&t, "and %zu more", m->rows - v->rows);
    text_table_print(&t, stdout);
    text_table_finish(&t);
}
