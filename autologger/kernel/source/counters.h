/* counters.h - what a process has used, when it ends and at the stop: page faults, and its peaks of memory. The kernel
 * tells of each thread that exits over a netlink socket (taskstats); of the living /proc knows.
 * Invariants: memory is bounded; what a full socket has dropped is not there, and nobody is told a 0 for it.
 * Threads: one at a time. Ownership: open ... close. Not for: what to do with it (enrich.c, convert_counters.c). */
#ifndef AUTOLOGGER_KERNEL_COUNTERS_H
#define AUTOLOGGER_KERNEL_COUNTERS_H
#include "autologger/kernel/source/rawrec.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

struct counters;
/* W_NOT_SUPPORTED: this kernel has no taskstats, or this process is in a namespace of its own; W_PRIVILEGE_NOT_HELD:
 * CAP_NET_ADMIN is missing. */
wstatus counters_open(struct counters **out, struct reason *why);
void    counters_close(struct counters *c); /* NULL is fine, also below */
/* Sees who has exited since. */
void counters_poll(struct counters *c);
/* Of a thread that has exited; its process' peaks with it. Given out once. */
bool counters_take(struct counters *c, uint32_t tid, struct raw_counters *out);
/* Of a living process; `out->own` is left alone. */
bool counters_read(int proc, uint32_t pid, struct raw_counters *out);
/* One message of the socket (a netlink payload); for tests. */
void counters_message(struct counters *c, const void *bytes, size_t size);
#endif
