/* sleep_watch.h - detects that the machine slept (was suspended, or hibernated and brought back). The boot trace ends
 * there: after a sleep the time stamp counter may have begun anew, and perf events of processors that were taken out do
 * not come back.
 * A timer on the wall clock that never expires is cancelled by the kernel when that clock jumps, as it does after a
 * sleep; the growth of CLOCK_BOOTTIME - CLOCK_MONOTONIC is then the length of the sleep. Nothing runs in between.
 * Invariants: setting a clock is no sleep; each sleep is reported once.
 * Threads: one. Ownership: open/close. Not for: the reaction (boot_end.h). */
#ifndef AUTOLOGGER_DAEMON_SLEEP_WATCH_H
#define AUTOLOGGER_DAEMON_SLEEP_WATCH_H
#include <stdbool.h>
#include <stdint.h>

struct sleep_watch {
    int      fd;       /* readable when sleep_watch_step has something to do; -1 = not watched */
    uint64_t apart_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: all known sleep */
};

/* False, with errno, when there is no such timer; then nothing is ever reported. */
bool sleep_watch_open(struct sleep_watch *w);
void sleep_watch_close(struct sleep_watch *w); /* fd -1 is fine */
/* ns that the machine has slept since the last call; 0 = none. */
uint64_t sleep_watch_step(struct sleep_watch *w);
/* The same from given readings of the two clocks: pure. */
uint64_t sleep_watch_slept(struct sleep_watch *w, uint64_t boottime_ns, uint64_t monotonic_ns);
#endif
