/* timeline.h - turns a trace into the elements of a timeline: which thread ran on which processor, slices (a transfer,
 * a file system call, an initcall, a unit's start, a pair of start and stop), marks, counters, samples. The timeline
 * formats (Perfetto, Chrome) write these elements.
 * Invariants: T1 each event of the trace is counted in exactly one of timeline_counts. T2 slices of one lane do not
 * overlap. T3 a lane, a process and a thread are announced before they are used.
 * Memory: open slices, and distinct lanes. Threads: one. Ownership: the caller's sink; texts are lent for the call. */
#ifndef AUTOLOGGER_EXPORT_TIMELINE_H
#define AUTOLOGGER_EXPORT_TIMELINE_H
#include "autologger/analysis/trace.h"
#include "autologger/analysis/traced.h"
#include "autologger/export/stacks.h"

enum { TIMELINE_ARGS = 64 };
struct timeline_arg {
    const char *name, *text;
};
struct timeline_mark {                     /* a slice or an instant */
    uint64_t                   begin, end; /* ns since the start of the trace; end = begin: an instant */
    const char                *category, *name;
    const struct timeline_arg *arg;
    unsigned                   args;
};
struct timeline_switch {
    uint64_t    at; /* ns */
    unsigned    cpu;
    uint32_t    prev_tid, next_tid, prev_pid, next_pid; /* pid TRACED_NOBODY: not known */
    const char *prev_name, *next_name;
    int         prev_priority, next_priority, prev_state; /* Linux's values: 0 runnable, 1 sleeping, 16 ended */
};
struct timeline_sink {
    void (*process)(void *ctx, const struct traced_process *p);
    void (*thread)(void *ctx, const struct traced_thread *t);
    void (*run)(void *ctx, const struct timeline_switch *s);
    void (*wake)(void *ctx, uint64_t at, unsigned cpu, uint32_t by, uint32_t tid, const char *name);
    void (*lane)(void *ctx, uint64_t lane, const char *name);
    void (*slice)(void *ctx, uint64_t lane, const struct timeline_mark *m);
    /* tid TRACED_NOBODY: of the processor */
    void (*instant)(void *ctx, uint32_t pid, uint32_t tid, unsigned cpu, const struct timeline_mark *m);
    void (*counter)(void *ctx, const char *name, const char *unit, uint64_t at, double value);
    void (*sample)(void *ctx, uint64_t at, const struct joined_stack *s);
    void *ctx;
};
struct timeline_counts {
    uint64_t read;
    uint64_t switches, wakes, samples, stacks, slices /* ends of */, begins /* of them */, instants,
        counters /* events */, names;
    uint64_t counter_values, sampled /* samples that have a stack */, lanes;
};
/* Reads the whole trace. `namer`: NULL for addresses. W_NOT_ENOUGH_MEMORY without memory. */
wstatus timeline_write(struct trace *t, const struct frame_namer *namer, const struct timeline_sink *sink,
                       struct timeline_counts *counts, struct reason *why);
#endif
