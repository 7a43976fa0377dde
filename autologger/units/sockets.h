/* sockets.h - whom a socket is connected to, by its inode: the tables of /proc/PID/net for TCP and UDP, the kernel's socket diagnosis for Unix sockets,
 * whose names only the other end has. Facts: proc_pid_net(5), sock_diag(7).
 * Invariants: K1 a table is read to its end or to TABLE_MOST bytes. K2 the names of Unix sockets are those of this process' own network namespace.
 * Threads: one. Not for: who the process at the other end is. */
#ifndef AUTOLOGGER_UNITS_SOCKETS_H
#define AUTOLOGGER_UNITS_SOCKETS_H
#include "autologger/units/waiting.h"

#include <stddef.h>

/* `object`: "ADDRESS:PORT", or the path; "" where nobody says. `proc`: a descriptor of /proc. */
enum wait_kind socket_find(int proc, uint32_t pid, uint64_t inode, char *object, size_t size);
#endif
