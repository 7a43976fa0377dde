/* access.h - who may do what at the control socket. The principal is the UID at connect time (SO_PEERCRED).
 * This version: the daemon's own user and root control sessions; everyone may register providers, write events and ask. */
#ifndef AUTOLOGGER_CONTROL_ACCESS_H
#define AUTOLOGGER_CONTROL_ACCESS_H
#include <stdbool.h>
#include <stdint.h>

/* True when that user may start, stop, enable and declare the file system ready. */
bool access_may_control(uint32_t uid);
#endif
