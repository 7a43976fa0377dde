/* users.h - the answer to CTL_USERS, which an early program does not give.
 * Threads: one. Not for: admitting users (session/users.c). */
#ifndef AUTOLOGGER_CONTROL_USERS_H
#define AUTOLOGGER_CONTROL_USERS_H
#include "autologger/control/server.h"

wstatus users_page(struct control_server *v, unsigned c, const void *message, size_t size);
#endif
