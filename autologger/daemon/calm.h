/* calm.h - waiting until the machine has time, so that what can wait is no part of a boot.
 * The early program holds everything in memory meanwhile and goes on serving; taking over from it is work of some 60 ms
 * that nobody waits for.
 * Invariants: C1 the wait is bounded. C2 it ends at once when the early program is gone, asks for it (its memory
 * becomes tight: the file "hurry" in the runtime folder), or a signal has come.
 * Threads: one; reads /proc/stat every CALM_SLICE_MS. Not for: when a boot is done (boot_done.h). */
#ifndef AUTOLOGGER_DAEMON_CALM_H
#define AUTOLOGGER_DAEMON_CALM_H
#include <stdbool.h>
#include <stdint.h>

enum { CALM_SLICE_MS = 200, CALM_SLICES = 2, CALM_IDLE_PERCENT = 60, CALM_LIMIT_MS = 15000 };
#define CALM_HURRY "hurry"

/* The sums of the first line of /proc/stat. False: it is none. While a processor waits for a disk it is not idle. */
bool calm_parse(const char *text, uint64_t *idle, uint64_t *total);
/* signal_fd: readable when a signal waits; it is not read. proc_stat: "/proc/stat". */
void calm_wait(const char *runtime_dir, const char *proc_stat, int signal_fd);
#endif
