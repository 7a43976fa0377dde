/* calm.h - waiting until the machine has time, so that deferrable work is no part of a boot.
 * The early program holds everything in memory meanwhile and goes on serving; taking over from it takes some 60 ms, and
 * nothing depends on that.
 * Invariants: C1 the wait is bounded. C2 it ends at once when the early program is gone, when it asks for that (its
 * memory runs low: the file "hurry" in the runtime folder), or when a signal has come.
 * Threads: one; reads /proc/stat every CALM_SLICE_MS. Not for: when a boot is done (boot_done.h). */
#ifndef AUTOLOGGER_DAEMON_CALM_H
#define AUTOLOGGER_DAEMON_CALM_H
#include <stdbool.h>
#include <stdint.h>

enum { CALM_SLICE_MS = 200, CALM_SLICES = 2, CALM_IDLE_PERCENT = 60, CALM_LIMIT_MS = 15000 };
#define CALM_HURRY "hurry"

/* The sums of the first line of /proc/stat. False: invalid text. A processor that waits for a disk is not idle. */
bool calm_parse(const char *text, uint64_t *idle, uint64_t *total);
/* signal_fd: readable when a signal is pending; it is not read. proc_stat: "/proc/stat". */
void calm_wait(const char *runtime_dir, const char *proc_stat, int signal_fd);
#endif
