/* confine.h - takes from this process, and from all that it starts, the system calls that the daemon never needs, by a
 * filter. It refuses what systemd's LockPersonality=, MemoryDenyWriteExecute=, RestrictAddressFamilies=AF_UNIX
 * AF_NETLINK, RestrictNamespaces=, RestrictRealtime=, RestrictSUIDSGID= and SystemCallArchitectures=native refuse,
 * except that the thread which drains the kernel's rings may come before all ordinary ones (SCHED_RR, not inherited).
 * Those are sixteen filters, which systemd computes while the machine boots; this is one, installed when the daemon
 * starts, after the boot's rush.
 * Invariants: F1 it can't be removed. F2 a refused call gets an error (confine.def); calls by another architecture's
 * numbers end the process.
 * Threads: call it before there are any. Not for: rights, which are the unit's (kernel/source/rights.h). */
#ifndef AUTOLOGGER_DAEMON_CONFINE_H
#define AUTOLOGGER_DAEMON_CONFINE_H
#include "registry-sim/win32/wstatus.h"

wstatus confine(struct reason *why);
#endif
