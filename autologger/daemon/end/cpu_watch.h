/* cpu_watch.h - notices that processors come online or go offline: the kernel's uevents of them alone, or, where there
 * are none (another network namespace), a clock once a second.
 * Threads: the controlling one. Ownership: the descriptor is the caller's. Not for: what is then done
 * (session_cpus). */
#ifndef AUTOLOGGER_DAEMON_CPU_WATCH_H
#define AUTOLOGGER_DAEMON_CPU_WATCH_H
/* Readable when it is time to look; then to be emptied by reading. -1: never. */
int  cpu_watch_open(void);
void cpu_watch_empty(int fd);
#endif
