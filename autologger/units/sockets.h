/* sockets.h - whom sockets are connected to, by their inodes: the tables of /proc/PID/net for TCP and UDP, the kernel's
 * socket diagnosis for Unix sockets, whose names only the other end has. Facts: proc_pid_net(5), sock_diag(7).
 * Invariants: K1 each table is read once, to its end or to TABLE_MOST bytes. K2 the names of Unix sockets are those of
 * this process' own network namespace. K3 no module of the kernel is loaded by the question: where unix_diag is one and
 * is not there, Unix sockets have no names.
 * Threads: one. Not for: who the process at the other end is. */
#ifndef AUTOLOGGER_UNITS_SOCKETS_H
#define AUTOLOGGER_UNITS_SOCKETS_H
#include "autologger/units/waiting.h"

enum { SOCKETS_AT_ONCE = 16 };
struct socket_end {
    uint64_t       inode; /* given */
    bool           known; /* a table has it; the rest is found */
    enum wait_kind kind;
    char           object[WAIT_OBJECT]; /* "ADDRESS:PORT", or the path; "" where nobody says */
};
/* At most SOCKETS_AT_ONCE of one process. `proc`: a descriptor of /proc. */
void sockets_find(int proc, uint32_t pid, struct socket_end *ends, unsigned count);
#endif
