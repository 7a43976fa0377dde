/* cpu_watch.h - notices that processors come online or go offline: by the kernel's uevents of processors alone, or,
 * without uevents (another network namespace), by a timer once a second.
 * Threads: the controlling one. Ownership: the descriptor is the caller's. Not for: the reaction (session_cpus). */
#ifndef AUTOLOGGER_DAEMON_CPU_WATCH_H
#define AUTOLOGGER_DAEMON_CPU_WATCH_H
/* Readable when it is time to look; then it must be emptied. -1: never. */
int  cpu_watch_open(void);
void cpu_watch_empty(int fd);
#endif
