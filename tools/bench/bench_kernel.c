/* bench_kernel.c - see bench_kernel.h. */
#include "tools/bench/bench_kernel.h"
#include "tools/bench/bench_switches.h"
#include "tools/bench/bench_tracer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { SWITCHES = BENCH_BURST * BENCH_BURSTS, TRIES = 4, MODES = 2 };
#define STRETCH_NS 100.0 /* the goal: ftrace's cost and this much more */

struct round { /* of one mode; ns a switch */
    /* untraced, before and after that tracer: the machine's speed changes within seconds */
    double             bare[BENCH_TRACERS];
    double             ns[BENCH_TRACERS];
    struct bench_taken taken[BENCH_TRACERS];
};
struct bench_kernel_run {
    struct bench_bed bed;
    struct round     round[MODES][BENCH_KERNEL_MOST];
    unsigned         rounds;
    char             release[80];
};

static wstatus traced(struct bench_bed *bed, unsigned who, double *ns, struct bench_taken *taken, struct reason *why)
{
    const struct bench_tracer *t       = &bench_tracers[who];
    struct reason              ignored = {0};
    wstatus                    st;
    for (unsigned i = 0; i < TRIES; i++) {
        *taken = (struct bench_taken){0};
        st     = t->begin(bed, why);
        if (!st)
            st = bench_switches(ns, why);
        wstatus end = t->end(bed, taken, st ? &ignored : why);
        st          = st ? st : end;
        if (!st && who != BENCH_FTRACE && taken->switches < SWITCHES)
            st = reason_set(why, W_RETRY, "%s has %llu of %d context switches", t->name,
                            (unsigned long long)taken->switches, SWITCHES);
        if (st != W_RETRY)
            return st;
    }
    char text[sizeof why->text];
    memcpy(text, why->text, sizeof text);
    return reason_set(why, W_GEN_FAILURE, "%s", text);
}

static wstatus round_play(struct bench_kernel_run *r, unsigned mode, unsigned number, struct reason *why)
{
    struct round *round = &r->round[mode][number];
    double        before, after = 0;
    r->bed.stacks = mode == 1;
    wstatus st    = bench_switches(&before, why);
    for (unsigned i = 0; i < BENCH_TRACERS && !st; i++, before = after) {
        unsigned who = (i + number) % BENCH_TRACERS; /* no tracer is always the first */
        st           = traced(&r->bed, who, &round->ns[who], &round->taken[who], why);
        if (!st)
            st = bench_switches(&after, why);
        round->bare[who] = (before + after) / 2;
    }
    return st;
}

typedef double figure(const struct round *round, unsigned who);
static double  added(const struct round *r, unsigned who)
{
    double more = r->ns[who] - r->bare[who];
    return more > 1 ? more : 1; /* less than a nanosecond is noise */
}
static double added_stretched(const struct round *r, unsigned who)
{
    return added(r, who) + (who == BENCH_FTRACE ? STRETCH_NS : 0);
}
static double cpu(const struct round *r, unsigned who) { return r->taken[who].cpu_ns / (double)r->taken[who].switches; }
static double bytes(const struct round *r, unsigned who)
{
    return (double)r->taken[who].bytes / (double)r->taken[who].switches;
}
static double stack_share(const struct round *r, unsigned who)
{
    return 100.0 * (double)r->taken[who].stacks / (double)r->taken[who].switches;
}

static void bench_kernel_row_add(const struct bench_kernel_run *r, struct bench_result *out,
                                 const struct bench_row *like, unsigned mode, unsigned peer, figure *of)
{
    struct bench_row *row = &out->row[out->count++];
    double            ratio[BENCH_KERNEL_MOST], ours[BENCH_KERNEL_MOST], theirs[BENCH_KERNEL_MOST];
    *row = *like;
    for (unsigned i = 0; i < r->rounds; i++) {
        ours[i]   = of(&r->round[mode][i], BENCH_OURS);
        theirs[i] = of(&r->round[mode][i], peer);
        ratio[i]  = ours[i] / theirs[i];
    }
    bench_quartiles(ratio, r->rounds, row);
    row->ours   = bench_median(ours, r->rounds);
    row->theirs = bench_median(theirs, r->rounds);
    memcpy(row->peer_version, peer == BENCH_PERF ? r->bed.perf_version : r->release, sizeof row->peer_version);
}

static void bench_kernel_rows_make(const struct bench_kernel_run *r, struct bench_result *out)
{
    /* clang-format off */
    static const struct { struct bench_row row; unsigned mode, peer; figure *of; } rows[] = {
        {{.row = "added to a switch", .peer = "perf record", .lower_is_better = true, .goal = 1, .unit = "ns"}, 0,
         BENCH_PERF, added},
        {{.row = "added to a switch, with stack", .peer = "perf record -g", .lower_is_better = true, .goal = 1,
         .unit = "ns"}, 1, BENCH_PERF, added},
        {{.row = "added to a switch", .peer = "trace instance + 100 ns", .lower_is_better = true, .goal = 1,
         .unit = "ns"}, 0, BENCH_FTRACE,
         added_stretched},
        {{.row = "added to a switch, with stack", .peer = "trace instance + 100 ns", .lower_is_better = true, .goal = 1,
         .unit = "ns"}, 1,
         BENCH_FTRACE, added_stretched},
        {{.row = "daemon CPU a switch", .peer = "perf record + perf script", .lower_is_better = true, .goal = 0.5,
         .unit = "ns"}, 0, BENCH_PERF, cpu},
        {{.row = "daemon CPU a switch, with stack", .peer = "perf record + perf script", .lower_is_better = true,
         .goal = 0.5, .unit = "ns"}, 1,
         BENCH_PERF, cpu},
        {{.row = "bytes a switch, with stack", .peer = "perf.data", .lower_is_better = true, .unit = "bytes"}, 1,
         BENCH_PERF, bytes},
        {{.row = "switches that have a stack", .peer = "perf record -g", .unit = "percent"}, 1, BENCH_PERF,
         stack_share},
    };
    /* clang-format on */
    out->count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_kernel_row_add(r, out, &rows[i].row, rows[i].mode, rows[i].peer, rows[i].of);
}

wstatus bench_kernel(unsigned rounds, const char *programs, struct bench_result *out, struct reason *why)
{
    struct utsname           name;
    struct bench_kernel_run *r = calloc(1, sizeof *r);
    if (!r)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the bench");
    r->rounds  = rounds < BENCH_KERNEL_LEAST  ? BENCH_KERNEL_LEAST
                 : rounds > BENCH_KERNEL_MOST ? BENCH_KERNEL_MOST
                                              : rounds;
    wstatus st = bench_bed_make(&r->bed, programs, why);
    if (!st && uname(&name) == 0)
        memcpy(r->release, name.release, sizeof r->release - 1);
    for (unsigned i = 0; i < r->rounds && !st; i++)
        for (unsigned mode = 0; mode < MODES && !st; mode++)
            st = round_play(r, mode, i, why);
    bench_bed_remove(&r->bed);
    if (!st)
        bench_kernel_rows_make(r, out);
    free(r);
    return st;
}
