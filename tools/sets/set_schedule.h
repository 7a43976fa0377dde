/* set_schedule.h - the timer of systemd that starts a set: /etc/systemd/system/autologger-set@NAME.timer, of our own; its
 * service is the installed autologger-set@.service.
 * Threads: one. */
#ifndef TOOLS_SETS_SET_SCHEDULE_H
#define TOOLS_SETS_SET_SCHEDULE_H
#include "registry-sim/win32/wstatus.h"

/* W_INVALID_PARAMETER: no calendar event. Without systemd only its characters are checked. */
wstatus set_schedule_check(const char *calendar, struct reason *why);
/* Makes, changes or ("") removes the timer. */
wstatus set_schedule_put(const char *name, const char *calendar, struct reason *why);
#endif
