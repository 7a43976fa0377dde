#include "autologger/report/boot_text.h"

#include "autologger/analysis/boot_besides.h"
#include "autologger/analysis/boot_doubts.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"

#include <inttypes.h>
#include <stdlib.h>

enum { UNITS_SHOWN = 12, PROCESSES_SHOWN = 12, NAME = 52 };

static double s(int64_t ns) { return (double)ns / 1e9; }

static void boot_text_verdict(const struct boot_verdict *v, FILE *out)
{
    visible_printf(out, "%s\n", v->sentence);
    if (!v->findings)
        return;
    const struct boot_finding *f = &v->finding[0];
    for (unsigned i = 0; i < 3; i++)
        visible_printf(out, "  %-28s %s\n", f->number[i].what, f->number[i].value);
    visible_printf(out, "Next: %s\n", f->next);
    const struct boot_finding *other[BOOT_BESIDES_MOST];
    const unsigned             others = boot_besides(v, other);
    if (others)
        fputs("\nBesides:\n", out);
    for (unsigned i = 0; i < others; i++)
        visible_printf(out, "%5.1f s  %s\n", s(other[i]->cost), other[i]->sentence);
}

static void boot_text_trust(const struct boot *b, FILE *out)
{
    const struct boot_trust *t = &b->trust;
    fprintf(out, "\nTrust: %" PRIu64 " events, %" PRIu64 " lost", t->events, t->lost);
    if (*t->first_loss)
        visible_printf(out, " (first at %s)", t->first_loss);
    if (t->buffers_lost)
        visible_printf(out, ", and %" PRIu64 " buffer%s", t->buffers_lost, t->buffers_lost == 1 ? "" : "s");
    if (t->damaged)
        fprintf(out, ", %" PRIu64 " damaged places", t->damaged);
    visible_printf(out, "; clock: %s", t->clock);
    if (t->clock_error_ns)
        fprintf(out, ", kernel phase within %.1f us", (double)t->clock_error_ns / 1e3);
    const uint64_t stacks = t->stacks_complete + t->stacks_cut + t->stacks_unknown;
    if (stacks)
        fprintf(out, "; stacks: %.0f %% whole, %.0f %% of frames named",
                100.0 * (double)t->stacks_complete / (double)stacks,
                100.0 * (double)t->frames_named / (double)(t->frames ? t->frames : 1));
    if (!b->switches)
        fputc('\n', out);
    else if (b->live)
        fprintf(out, "; autologger itself used %.2f s of a processor\n", s(t->own_cpu));
    else
        fprintf(out, "; autologger itself used %.2f s of a processor until the boot was done, and %.2f s afterwards\n",
                s(t->own_cpu_boot), s(t->own_cpu - t->own_cpu_boot));
    if (boot_seen_late(b))
        fprintf(out, "  the first context switch is at %.1f s: before it nothing tells who ran and who waited\n",
                s(b->seen_from));
    if (!b->switches)
        fputs("  no context switches (CSWITCH): nothing is told of waiting\n", out);
    else if (!b->wakeups)
        fputs("  no wake-ups (DISPATCHER): waits include the time in the run queue, and nothing tells who ended them\n",
              out);
    if (!b->units && !b->live)
        fputs("  no units (a provider with the Service Control Manager's GUID): the path has processes only\n", out);
}

static void boot_text_phases(const struct boot *b, FILE *out)
{
    visible_printf(out, "\n%-22s %10s %10s\n", "Phase", "start s", "length s");
    for (unsigned i = 0; i < b->phases; i++)
        visible_printf(out, "%-22s %10.3f %10.3f\n", b->phase[i].name, s(b->phase[i].start),
                       s(b->phase[i].end - b->phase[i].start));
}

static void boot_text_path(const struct boot_path *p, FILE *out)
{
    visible_printf(out, "\nCritical path: each was waited for by the next one\n%10s %9s\n", "start s", "length s");
    for (unsigned i = 0; i < p->steps; i++) {
        const struct boot_step *t = &p->step[i];
        if (t->end - t->start < 10000000 || t->depth > 4)
            continue;
        visible_printf(out, "%10.3f %9.3f  %*s%s: %s\n", s(t->start), s(t->end - t->start), (int)t->depth * 2, "",
                       t->what, t->why);
    }
    if (p->left_out)
        visible_printf(out, "           %u earlier step%s of programs had no place\n", p->left_out,
                       p->left_out == 1 ? "" : "s");
}

struct boot_text_row {
    const char    *name;
    int64_t        length;
    const int64_t *time;
    uint64_t       bytes;
};

static int boot_text_by_length(const void *a, const void *b)
{
    const struct boot_text_row *x = a, *y = b;
    return (x->length < y->length) - (x->length > y->length);
}

static void boot_text_rows(const char *title, struct boot_text_row *list, unsigned n, unsigned most, FILE *out)
{
    qsort(list, n, sizeof *list, boot_text_by_length);
    visible_printf(out, "\n%-*s %8s", NAME, title, "length");
    for (unsigned i = 0; i < BOOT_STATES; i++)
        visible_printf(out, " %8s", boot_state_words[i]);
    visible_printf(out, " %9s\n", "disk MB");
    for (unsigned i = 0; i < n && i < most; i++) {
        visible_printf(out, "%-*.*s %8.3f", NAME, NAME, list[i].name, s(list[i].length));
        for (unsigned k = 0; k < BOOT_STATES; k++)
            fprintf(out, " %8.3f", s(list[i].time[k]));
        fprintf(out, " %9.1f\n", (double)list[i].bytes / 1e6);
    }
}

static void boot_text_tables(const struct boot *b, FILE *out)
{
    struct boot_text_row *list = calloc(b->units + b->processes + 1ul, sizeof *list);
    unsigned              n    = 0;
    if (!list)
        return;
    for (unsigned i = 0; i < b->units; i++)
        if (boot_unit_length(&b->unit[i]))
            list[n++] = (struct boot_text_row){b->unit[i].name, boot_unit_length(&b->unit[i]), b->unit[i].time,
                                               b->unit[i].read + b->unit[i].written};
    if (n)
        boot_text_rows("Units, longest start first", list, n, UNITS_SHOWN, out);
    n = 0;
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if (!p->lives && p->start < b->finish)
            list[n++] = (struct boot_text_row){p->command && *p->command ? p->command : p->label, p->end - p->start,
                                               p->time, p->read + p->written};
    }
    if (n)
        boot_text_rows("Processes, longest first", list, n, PROCESSES_SHOWN, out);
    free(list);
}

void boot_text(const struct report *r, FILE *out)
{
    char when[FILETIME_TEXT_SIZE];
    visible_printf(out, "%s: %s of %.19sZ%s%s, %s %.1f s\n\n", r->file, r->boot->live ? "session" : "boot",
                   filetime_format(r->boot->began, when), r->boot->release ? ", Linux " : "",
                   r->boot->release ? r->boot->release : "", r->boot->live ? "recorded for" : "done after",
                   s(r->boot->finish));
    boot_text_verdict(r->verdict, out);
    if (r->boot->trust.lost || r->boot->trust.buffers_lost || r->boot->trust.damaged)
        fputs("\nThis trace is not complete: events of it were lost or are damaged, and the cause may be among them.\n",
              out);
    boot_text_trust(r->boot, out);
    boot_text_phases(r->boot, out);
    if (!r->boot->live) /* a live session has no end that others waited for */
        boot_text_path(r->path, out);
    boot_text_tables(r->boot, out);
}
