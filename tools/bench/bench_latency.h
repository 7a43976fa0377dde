/* bench_latency.h - `autologger bench latency`: the cost of single events and single changes, with cold caches.
 * Threads: one. See bench_stand.h for what it needs. */
#ifndef TOOLS_BENCH_LATENCY_H
#define TOOLS_BENCH_LATENCY_H
#include "autologger/provider/bench/bench.h"

enum { BENCH_LATENCY_ROUNDS = 9, BENCH_LATENCY_LEAST = 1, BENCH_LATENCY_MOST = 100, BENCH_SORT_RUNS = 40 };
struct bench_latency_size {
    unsigned samples; /* cold events a round */
    unsigned changes; /* enables and disables a round */
    unsigned runs;    /* pairs of the sort workload, at most BENCH_SORT_RUNS */
    unsigned run_ms;
};
extern const struct bench_latency_size bench_latency_usual;
/* An event after a sweep over 8 MiB, against LTTng-UST; how soon a running program sees an enable or a disable; a
 * program that sorts and writes 10,000 events a second, with its events on and off by turns. `runs_file`: the file for
 * the times of each pair, JSON; NULL: none. */
wstatus bench_latency(unsigned rounds, const struct bench_latency_size *size, const char *programs,
                      const char *runs_file, struct bench_result *out, struct reason *why);
#endif
