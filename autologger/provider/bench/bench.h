/* bench.h - what an event costs, as ratios taken inside one run: absolute times mean little on a shared machine. One
 * schema for every row, now and later. Single pinned thread, all contestants in turn in every round, the ratio is the
 * median over rounds of the round's own ratio.
 * Threads: one; changes the affinity of the calling thread and the environment of the process, so for a program of its
 * own (the `bench` verb, a test). Not for: programs that have registered providers already. */
#ifndef AUTOLOGGER_PROVIDER_BENCH_BENCH_H
#define AUTOLOGGER_PROVIDER_BENCH_BENCH_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdio.h>

enum { BENCH_ROUNDS_MIN = 9, BENCH_ROWS_MAX = 32 };

struct bench_row {
    char     row[48];  /* "write 8 bytes, enabled" */
    char     peer[48]; /* what it is compared with */
    char     peer_version[80];
    double   ratio; /* ours / peer, median of the rounds */
    bool     lower_is_better;
    double   goal; /* 0 = none set */
    unsigned rounds;
    double   p25, p75;
    double   ours, theirs; /* the medians behind the ratio, in `unit`; "": the ratio says it all */
    char     unit[16];
};
struct bench_result {
    struct bench_row row[BENCH_ROWS_MAX];
    unsigned         count;
};

/* EventWrite with a registered provider and one session: 8, 44 and 320 bytes, enabled and disabled, against a plain
 * memcpy of the whole record into the same kind of memory and against one vDSO clock call. */
wstatus bench_write(unsigned rounds, struct bench_result *out, struct reason *why);

void bench_print_json(const struct bench_result *result, FILE *out);
void bench_print_text(const struct bench_result *result, FILE *out);
/* The median, p25 and p75 of `count` ratios (which get sorted). */
void bench_quartiles(double *ratio, unsigned count, struct bench_row *row);
/* Adds a row like `like`, from one figure a round on each side, at most BENCH_ROUNDS_MOST; `theirs` NULL: `limit` in
 * each. */
enum { BENCH_ROUNDS_MOST = 1000 };
void bench_row_add(struct bench_result *out, const struct bench_row *like, const double *ours, const double *theirs,
                   double limit, unsigned rounds);
/* Sorts. */
double bench_median(double *value, unsigned count);
#endif
