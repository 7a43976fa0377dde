/* delta.h - pairs of events: the response time and the thread's CPU time between them, with their distributions. A pair
 * is a begin and the next end with the same key (a field's value, the thread, the process, the activity); pairs of one
 * key may be nested. CPU time: by context switches if the trace has them, else by the processor times in the events'
 * headers, else unknown; it is known only if begin and end are of one thread.
 * Invariants: begins = pairs + open begins; ends = pairs + ends without a begin.
 * Memory: open begins, DELTA_WORST worst pairs; not the pairs. Threads: one. Ownership: create/destroy. */
#ifndef AUTOLOGGER_ANALYSIS_DELTA_H
#define AUTOLOGGER_ANALYSIS_DELTA_H
#include "autologger/analysis/event_spec.h"
#include "autologger/analysis/histogram.h"
#include "autologger/analysis/trace.h"

enum { DELTA_WORST = 100 };
enum delta_by { DELTA_THREAD, DELTA_PROCESS, DELTA_ACTIVITY, DELTA_FIELD, DELTA_ANY };
struct delta_options {
    struct event_spec begin, end;
    enum delta_by     by;
    const char       *begin_field, *end_field; /* DELTA_FIELD */
    unsigned          worst;                   /* DELTA_WORST at most */
};
struct delta_pair {
    uint64_t begin, time; /* FILETIME, 100 ns */
    uint64_t cpu;
    bool     cpu_known;
    uint32_t pid, tid;
    char     key[80], process[64];
};
struct delta {
    struct delta_options options;
    /* keyless: without the field or activity */
    uint64_t events, begins, ends, pairs, open, unmatched_ends, keyless;
    /* ends before their begin (the files' clocks disagree); their time counts as 0 */
    uint64_t          backwards;
    struct histogram  time, cpu; /* 100 ns */
    bool              cpu_by_switches;
    struct delta_pair worst[DELTA_WORST]; /* longest first */
    unsigned          worst_count;
};
wstatus delta_create(struct trace *t, const struct delta_options *options, struct delta **out, struct reason *why);
void    delta_destroy(struct delta *d);
#endif
