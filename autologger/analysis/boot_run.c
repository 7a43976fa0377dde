/* See boot_run.h. */
#include "autologger/analysis/boot_run.h"

#include "autologger/analysis/boot_build.h"

#include <stdlib.h>

enum { RUNS_MOST = 400000 };

/* ---- while the boot is read ---- */

static void run_count(struct boot_builder *w, int process, unsigned bin, int64_t running, int64_t ready)
{
    const uint64_t   key = ((uint64_t)process << 32 | bin) + 1;
    const uintptr_t  at  = (uintptr_t)idmap_get(&w->runs, key);
    struct boot_run *r   = at ? &w->b->run[at - 1] : BOOT_GROW(w, run, runs, room_run);

    if (!r || (!at && !idmap_put(&w->runs, key, (void *)(uintptr_t)w->b->runs))) {
        w->failed = true;
        return;
    }
    if (!at)
        *r = (struct boot_run){process, bin, 0, 0};
    r->running += running;
    r->ready += ready;
}

static void runs_fold(struct boot_builder *w)
{
    const unsigned n = w->b->runs;

    idmap_clear(&w->runs);
    w->b->runs = 0;
    w->b->run_width *= 2;
    for (unsigned i = 0; i < n && !w->failed; i++) { /* reading never falls behind writing */
        const struct boot_run r = w->b->run[i];
        run_count(w, r.process, r.bin / 2, r.running, r.ready);
    }
}

void boot_run_add(struct boot_builder *w, int process, bool running, int64_t from, int64_t to)
{
    from = from > 0 ? from : 0;
    if (!w->b->run_width)
        w->b->run_width = LANE_FIRST_NS;
    while (!w->failed && from < to &&
           (to / w->b->run_width >= LANE_BINS || (w->b->runs >= RUNS_MOST && to / w->b->run_width > 1)))
        runs_fold(w);
    while (!w->failed && from < to) {
        const int64_t bin = from / w->b->run_width, next = (bin + 1) * w->b->run_width, end = next < to ? next : to;
        run_count(w, process, (unsigned)bin, running ? end - from : 0, running ? 0 : end - from);
        from = end;
    }
}

/* ---- afterwards ---- */

/* The part of a bin that is in [from, to). */
static double boot_run_share(const struct boot *b, unsigned bin, int64_t from, int64_t to)
{
    const int64_t start = (int64_t)bin * b->run_width, end = start + b->run_width;
    const int64_t first = start > from ? start : from, last = end < to ? end : to;
    return last > first ? (double)(last - first) / (double)b->run_width : 0;
}

struct boot_ran boot_ran(const struct boot *b, int process, int64_t from, int64_t to)
{
    struct boot_ran sum = {0, 0};

    for (unsigned i = 0; i < b->runs; i++) {
        const double part = b->run[i].process == process ? boot_run_share(b, b->run[i].bin, from, to) : 0;
        sum.running += (int64_t)((double)b->run[i].running * part);
        sum.ready += (int64_t)((double)b->run[i].ready * part);
    }
    return sum;
}

int64_t boot_unit_ran(const struct boot *b, int unit, int64_t from, int64_t to)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < b->runs; i++)
        if (b->run[i].process >= 0 && b->process[b->run[i].process].unit == unit)
            sum += (int64_t)((double)b->run[i].running * boot_run_share(b, b->run[i].bin, from, to));
    return sum;
}

void boot_waited(const struct boot *b, int process, int64_t from, int64_t to, int64_t time[BOOT_STATES])
{
    for (unsigned i = 0; i < b->waits; i++) {
        const struct boot_wait *t     = &b->wait[i];
        const int64_t           start = t->start > from ? t->start : from, end = t->end < to ? t->end : to;
        if (t->process == process && end > start)
            time[t->state] += end - start;
    }
}

/* Puts `r` into the list of at most `most` runners, in order; `process` of a unit is the one that ran most. */
static unsigned runner_put(struct boot_runner *out, unsigned count, unsigned most, struct boot_runner r)
{
    if (count == most && out[count - 1].ran >= r.ran)
        return count;
    unsigned at = count < most ? count++ : count - 1;
    for (; at > 0 && out[at - 1].ran < r.ran; at--)
        out[at] = out[at - 1];
    out[at] = r;
    return count;
}

unsigned boot_runners(const struct boot *b, int64_t from, int64_t to, int but, struct boot_runner *out, unsigned most)
{
    int64_t            *ran   = calloc(b->processes + 1ul, sizeof *ran);
    struct boot_runner *units = calloc(b->units + 1ul, sizeof *units);
    unsigned            count = 0;

    for (unsigned i = 0; ran && units && i < b->runs; i++)
        if (b->run[i].process >= 0 && b->run[i].process != but)
            ran[b->run[i].process] += (int64_t)((double)b->run[i].running * boot_run_share(b, b->run[i].bin, from, to));
    for (unsigned i = 0; ran && units && i < b->processes; i++) {
        const int unit = b->process[i].unit;
        if (!ran[i])
            continue;
        if (unit == BOOT_NONE) {
            count = runner_put(out, count, most, (struct boot_runner){BOOT_NONE, (int)i, ran[i]});
            continue;
        }
        if (!units[unit].ran || ran[i] > ran[units[unit].process])
            units[unit].process = (int)i;
        units[unit].ran += units[unit].ran < BOOT_SUM_MOST ? ran[i] : 0;
    }
    for (unsigned u = 0; ran && units && u < b->units; u++)
        if (units[u].ran)
            count = runner_put(out, count, most, (struct boot_runner){(int)u, units[u].process, units[u].ran});
    free(ran);
    free(units);
    return count;
}
