/* sockets.h - the other ends of sockets, by inode: from the tables of /proc/PID/net for TCP and UDP, from the kernel's
 * socket diagnosis for Unix sockets, whose names only the other end has. Facts: proc_pid_net(5), sock_diag(7).
 * Invariants: K1 each table is read once, to its end or to TABLE_MOST bytes. K2 the names of Unix sockets are those in
 * this process' own network namespace. K3 the question loads no module of the kernel: if unix_diag is a module and not
 * loaded, Unix sockets have no names.
 * Threads: one. Not for: the process at the other end. */
#ifndef AUTOLOGGER_UNITS_SOCKETS_H
#define AUTOLOGGER_UNITS_SOCKETS_H
#include "autologger/units/waiting.h"

enum { SOCKETS_AT_ONCE = 16 };
struct socket_end {
    uint64_t       inode; /* given by the caller */
    bool           known; /* found in a table; the rest is filled in */
    enum wait_kind kind;
    char           object[WAIT_OBJECT]; /* "ADDRESS:PORT", or the path; "": unknown */
};
/* Finds the ends of at most SOCKETS_AT_ONCE sockets of one process. `proc`: a descriptor of /proc. */
void sockets_find(int proc, uint32_t pid, struct socket_end *ends, unsigned count);
#endif
