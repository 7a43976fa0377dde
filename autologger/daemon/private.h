/* private.h - sessions of one program, its own (PRIVATE_IN_PROC) or a part of one of several processes, end with it.
 * Threads: the controlling one. Not for: an early program, which has none; who may do what with them, how parts begin
 * (control). */
#ifndef AUTOLOGGER_DAEMON_PRIVATE_H
#define AUTOLOGGER_DAEMON_PRIVATE_H
#include "autologger/session/table.h"

/* A session whose program is gone; NULL: there is none. `epoll_fd` wakes when one goes: sessions that are not watched
 * yet are from now on. */
struct session *private_gone(const struct session_table *table, int epoll_fd);
/* `s` was stopped: if it is a part, what it had counts for its whole. */
void private_ended(const struct session_table *table, struct session *s);
#endif
