/* devices.h - devices that come and go: the kernel's uevents, from a netlink socket into the raw log (drain.h).
 * Invariants
 *   U1 every message that was taken from the socket is kept, or counted as lost for memory.
 *   U2 what the socket could not hold (ENOBUFS), and what a predecessor took and died before it published, is counted
 *      by the numbers that the kernel gives uevents: the gap, and an event in the place of what is missing. Other gaps
 *      are uevents of other network namespaces, which nobody here was to see.
 *   U3 the socket outlives this process (klog_fds): what comes between two daemons waits in it.
 * A uevent has no time: it gets that of its reading, for which the drainer is woken. Threads: the drainer's, with its
 * lock.
 * Ownership: open or adopt ... close. Not for: udev's own messages. */
#ifndef AUTOLOGGER_KERNEL_DEVICES_H
#define AUTOLOGGER_KERNEL_DEVICES_H
#include "autologger/kernel/source/rawlog.h"

#include <stdbool.h>

struct drain;
#define DEVICES_SOURCE "uevent" /* its name in the raw log's table */
#define DEVICES_FD "uevent"
/* The socket, or -errno; the number of the last uevent before it (0: not known). */
int devices_open(uint64_t *number);
/* Takes what waits in the socket, with what the drainer has it in. */
void devices_take(struct drain *d);
/* The last of it: messages that are missing at the end have nobody behind them who would show the gap. */
void devices_end(struct drain *d);
#endif
