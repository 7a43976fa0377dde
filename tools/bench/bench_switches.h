/* bench_switches.h - the work of `autologger bench kernel`: two threads of a process of its own on one CPU, which wake
 * each other by turns over two pipes. Threads: one caller. Not for: the whole machine's work (boot-tests). */
#ifndef TOOLS_BENCH_SWITCHES_H
#define TOOLS_BENCH_SWITCHES_H
#include "registry-sim/win32/wstatus.h"

enum { BENCH_BURST = 2000, BENCH_BURSTS = 25 }; /* context switches, at least */
/* Nanoseconds of CPU time of both threads for each context switch: in the cheapest of the bursts, which other processes
 * disturbed least. A burst takes a few milliseconds: short enough that some are not disturbed at all. */
wstatus bench_switches(double *ns, struct reason *why);
#endif
