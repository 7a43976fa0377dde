/* devices.h - devices that come and go: the kernel's uevents, from a netlink socket into the raw log (drain.h).
 * Invariants
 *   U1 every message taken from the socket is kept, or counted as lost for memory.
 *   U2 the kernel numbers uevents. By a gap in these numbers this file counts messages that the socket had no room for
 *     (ENOBUFS), and messages that a predecessor took but died before publishing; an event stands in their place. Other
 *     gaps are uevents of other network namespaces, which are not for this process.
 *   U3 the socket outlives this process (klog_fds): messages that arrive between two daemons wait in it.
 * A uevent has no time: it gets the time of its reading, and the drainer is woken for it.
 * Threads: the drainer's, with its lock.
 * Ownership: open or adopt ... close. Not for: udev's own messages. */
#ifndef AUTOLOGGER_KERNEL_DEVICES_H
#define AUTOLOGGER_KERNEL_DEVICES_H
#include "autologger/kernel/source/rawlog.h"

#include <stdbool.h>

struct drain;
#define DEVICES_SOURCE "uevent" /* the source's name in the raw log's table */
#define DEVICES_FD "uevent"
/* The socket, or -errno; *number: the number of the last uevent before it (0: not known). */
int devices_open(uint64_t *number);
/* Moves the waiting messages into the raw log. */
void devices_take(struct drain *d);
/* The last pass: after the last missing message no later one would show the gap, so the kernel's number is read. */
void devices_end(struct drain *d);
#endif
