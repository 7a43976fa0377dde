/* bench_steps.h - counts the instructions of calls in another program, one by one under ptrace: this needs no counter
 * of the processor, and no other load changes the result. x86-64 alone. Threads: one, the parent of the program. */
#ifndef TOOLS_BENCH_STEPS_H
#define TOOLS_BENCH_STEPS_H
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>
#include <sys/types.h>

struct bench_steps {
    uint64_t entry; /* address of the function */
    /* instructions from the first to the return, which is included; landing marks (endbr64) are not; 0: it was not
     * called */
    unsigned count;
};
/* `pid` has called PTRACE_TRACEME and stops itself. Steps through it until each of `calls` has been called once, then
 * detaches. W_NOT_SUPPORTED: another processor. */
wstatus bench_steps_count(pid_t pid, struct bench_steps *calls, unsigned count, struct reason *why);
#endif
