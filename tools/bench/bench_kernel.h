/* bench_kernel.h - `autologger bench kernel`: the cost of recording a context switch, beside perf and the kernel's own
 * trace instance. Each round runs the work under each tracer alone, and untraced before and after each, without stacks
 * and with; a row is the median over the rounds.
 * Threads: one. Not for: the tracers (bench_tracer.h), the work (bench_switches.h). */
#ifndef TOOLS_BENCH_KERNEL_H
#define TOOLS_BENCH_KERNEL_H
#include "autologger/provider/bench/bench.h"

enum { BENCH_KERNEL_ROUNDS = 9, BENCH_KERNEL_LEAST = 3, BENCH_KERNEL_MOST = 100 };
/* `programs`: the folder of the project's programs; NULL: where they are installed. W_PRIVILEGE_NOT_HELD without root,
 * W_FILE_NOT_FOUND when a peer is missing: the reason names it, and says what to do. */
wstatus bench_kernel(unsigned rounds, const char *programs, struct bench_result *out, struct reason *why);
#endif
