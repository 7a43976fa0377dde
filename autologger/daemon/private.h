/* private.h - sessions of one program end with it: its own session (PRIVATE_IN_PROC), or its part of a session of
 * several processes.
 * Threads: the controlling one. Not for: an early program, which has none; rights to them, how parts begin
 * (control). */
#ifndef AUTOLOGGER_DAEMON_PRIVATE_H
#define AUTOLOGGER_DAEMON_PRIVATE_H
#include "autologger/session/table.h"

/* A session whose program is gone; NULL: there is none. `epoll_fd` wakes when a program goes: sessions that are not
 * watched yet are watched from now on. */
struct session *private_gone(const struct session_table *table, int epoll_fd);
/* `s` was stopped: if it is a part, its counters are added to its whole. */
void private_ended(const struct session_table *table, struct session *s);
#endif
