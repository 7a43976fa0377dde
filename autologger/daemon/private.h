/* private.h - sessions that are one program's own (PRIVATE_IN_PROC) end with it.
 * Threads: the controlling one. Not for: an early program, which has none; who may do what with them (control). */
#ifndef AUTOLOGGER_DAEMON_PRIVATE_H
#define AUTOLOGGER_DAEMON_PRIVATE_H
#include "autologger/session/table.h"

/* A session whose program is gone; NULL: there is none. `epoll_fd` wakes when one goes: sessions that are not watched yet are from now on. */
struct session *private_gone(const struct session_table *table, int epoll_fd);
#endif
