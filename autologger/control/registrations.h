/* registrations.h - the answer to CTL_REGISTRATIONS, which an early program does not give.
 * Threads: one. Not for: making registrations (server_providers.c). */
#ifndef AUTOLOGGER_CONTROL_REGISTRATIONS_H
#define AUTOLOGGER_CONTROL_REGISTRATIONS_H
#include "autologger/control/server.h"

wstatus registrations_page(struct control_server *v, unsigned c, const void *message, size_t size);
#endif
