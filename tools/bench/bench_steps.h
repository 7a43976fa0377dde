/* bench_steps.h - how many instructions calls of another program take, counted one by one under ptrace: no counter of
 * the processor's is needed, and no other load changes the result. x86-64 alone. Threads: one, the parent of the
 * program. */
#ifndef TOOLS_BENCH_STEPS_H
#define TOOLS_BENCH_STEPS_H
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>
#include <sys/types.h>

struct bench_steps {
    uint64_t entry; /* address of the function */
    /* instructions from its first one, return included, marks of landing places not; 0: it was not called */
    unsigned count;
};
/* `pid` has called PTRACE_TRACEME and stops itself. Goes through it until each of `calls` has been called once, then
 * lets it go. W_NOT_SUPPORTED: not here. */
wstatus bench_steps_count(pid_t pid, struct bench_steps *calls, unsigned count, struct reason *why);
#endif
