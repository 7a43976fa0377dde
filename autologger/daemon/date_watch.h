/* date_watch.h - notices that the system's date was set: by NTP, by hand, by the firmware's clock after a sleep. Slow
 * corrections by adjtime do not count; sessions take them in when they write their headers.
 * Threads: the controlling one. Ownership: the descriptor is the caller's. Not for: the reaction (session/anchor.h). */
#ifndef AUTOLOGGER_DAEMON_DATE_WATCH_H
#define AUTOLOGGER_DAEMON_DATE_WATCH_H
#include <stdbool.h>

/* Readable when the date was set. -1: the kernel has no such timer. */
int date_watch_open(void);
/* True when it was set since the last call. False for -1. */
bool date_watch_was_set(int fd);
#endif
