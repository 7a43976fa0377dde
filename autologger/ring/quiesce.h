/* quiesce.h - waiting until no critical section that began earlier can still commit.
 * The caller has cleared the words that sections test (enable ticket, open). Then its thread runs once on every online
 * CPU: each visit preempts or follows the thread that ran there. The kernel restarts a preempted section, which then
 * sees the cleared word. Any shorter way loses events whose call had returned (measured). Threads: any; the affinity of
 * the caller is restored. */
#ifndef AUTOLOGGER_RING_QUIESCE_H
#define AUTOLOGGER_RING_QUIESCE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* W_SUCCESS, or W_ACCESS_DENIED when a CPU could not be visited (a cpuset forbids it); `why` names it. */
wstatus quiesce_all_cpus(struct reason *why);
/* Runs `run` on one CPU, in the calling thread. False: that CPU can't be visited (it is offline, or a cpuset forbids
 * it), and nothing ran. */
bool quiesce_visit(unsigned cpu, void (*run)(void *ctx), void *ctx);
#endif
