/* counters.h - resource use of a process, at its end and at the stop of the session: page faults and peaks of memory.
 * The kernel reports each exited thread over a netlink socket (taskstats); live processes are read from /proc.
 * Invariants: memory is bounded; a message that a full socket dropped is missing, never reported as 0.
 * Threads: one at a time. Ownership: open ... close. Not for: using the counters (enrich.c, convert_counters.c). */
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
/* Takes the messages about threads that have exited since the last call. */
void counters_poll(struct counters *c);
/* The counters of an exited thread, with the peaks of its process. Given out once. */
bool counters_take(struct counters *c, uint32_t tid, struct raw_counters *out);
/* The counters of a live process; `out->own` is left alone. */
bool counters_read(int proc, uint32_t pid, struct raw_counters *out);
/* One message of the socket (a netlink payload); for tests. */
void counters_message(struct counters *c, const void *bytes, size_t size);
#endif
