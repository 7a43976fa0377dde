/* date_watch.h - notices that the system's date was set: by NTP, by hand, by the firmware's clock after a sleep. Slow
 * corrections by adjtime are none of these; sessions take them in when they write their headers.
 * Threads: the controlling one. Ownership: the descriptor is the caller's. Not for: what is then done
 * (session/anchor.h). */
#ifndef AUTOLOGGER_DAEMON_DATE_WATCH_H
#define AUTOLOGGER_DAEMON_DATE_WATCH_H
#include <stdbool.h>

/* Readable when the date was set. -1: the kernel has no such timer. */
int date_watch_open(void);
/* Since it was asked the last time? False for -1. */
bool date_watch_was_set(int fd);
#endif
