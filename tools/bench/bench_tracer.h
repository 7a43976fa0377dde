/* bench_tracer.h - the tracers of context switches for `autologger bench kernel`, one at a time and system-wide: this
 * project's daemon, Debian's perf, a trace instance of the kernel's own. Each begins, records the work, ends, and
 * reports its cost. perf 6.1 ends with an error while any session of this project records (build ids in the kernel's
 * mapping records): hence one at a time.
 * Threads: one. Ownership: end removes what begin made. Needs root. Not for: the work (bench_switches.h), ratios
 * (bench_kernel.h). */
#ifndef TOOLS_BENCH_TRACER_H
#define TOOLS_BENCH_TRACER_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bench_bed {                /* what the tracers share */
    char  dir[256];               /* a folder of the run; everything is below it */
    char  self[512], daemon[512]; /* the command, autologgerd */
    char  perf_version[80];
    bool  stacks;     /* kernel and user stacks with each switch */
    pid_t pid;        /* of the tracer */
    int   control[2]; /* of perf: commands to it, its answers */
};
struct bench_taken {           /* by one recording, conversion to a readable form included */
    double   cpu_ns;           /* of the processes that record and convert; 0: none do */
    uint64_t switches, stacks; /* found in the result */
    uint64_t bytes;            /* of the file */
};
struct bench_tracer {
    const char *name;
    wstatus (*begin)(struct bench_bed *bed, struct reason *why); /* recording when it returns */
    /* called after a failed begin too */
    wstatus (*end)(struct bench_bed *bed, struct bench_taken *out, struct reason *why);
};
enum { BENCH_OURS, BENCH_PERF, BENCH_FTRACE, BENCH_TRACERS };
extern const struct bench_tracer bench_tracers[BENCH_TRACERS];

/* Checks for everything that is needed, or names what is missing: perf, tracefs, root, the daemon beside this
 * program. */
wstatus bench_bed_make(struct bench_bed *bed, const char *programs, struct reason *why);
void    bench_bed_remove(struct bench_bed *bed);
#endif
