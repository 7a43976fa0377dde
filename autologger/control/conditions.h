/* conditions.h - the answer to CTL_CONDITIONS, which an early program does not give.
 * Threads: one. Not for: finding conditions (session/). */
#ifndef AUTOLOGGER_CONTROL_CONDITIONS_H
#define AUTOLOGGER_CONTROL_CONDITIONS_H
#include "autologger/control/server.h"

/* Answers for the session that the message names: a living one, or the last that this connection has stopped. */
wstatus conditions_page(struct control_server *v, unsigned c, const void *message, size_t size);
/* The session has ended at the request of connection `c`: keeps its conditions until the connection ends, or stops
 * another one. */
void conditions_keep(struct control_server *v, unsigned c, struct session *s);
#endif
