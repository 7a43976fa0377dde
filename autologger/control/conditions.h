/* conditions.h - the answer to CTL_CONDITIONS, which an early program does not give. Threads: one. Not for: finding them (session/). */
#ifndef AUTOLOGGER_CONTROL_CONDITIONS_H
#define AUTOLOGGER_CONTROL_CONDITIONS_H
#include "autologger/control/server.h"

wstatus conditions_page(struct control_server *v, unsigned c, const void *message, size_t size);
#endif
