/* quiesce.h - waiting until no critical section that began earlier can still commit.
 * The caller has cleared what the sections test (enable ticket, open). Then its thread runs once on every online CPU:
 * each visit preempts or follows whatever ran there, and a preempted section is restarted by the kernel and sees the
 * cleared word. Any shorter way loses events whose call had returned (measured). Threads: any; the affinity of the
 * caller is restored. */
#ifndef AUTOLOGGER_RING_QUIESCE_H
#define AUTOLOGGER_RING_QUIESCE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* 0, or W_ACCESS_DENIED when a CPU could not be visited (a cpuset forbids it); `why` names it. */
wstatus quiesce_all_cpus(struct reason *why);
/* Runs `run` on one CPU, in the calling thread. False: that CPU can't be visited (it is offline, or a cpuset forbids
 * it), and nothing ran. */
bool quiesce_visit(unsigned cpu, void (*run)(void *ctx), void *ctx);
#endif
