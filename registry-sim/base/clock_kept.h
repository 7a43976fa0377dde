/* clock_kept.h - the frequency of the TSC, measured once a boot. Two measurements differ by some parts in 10^8; all
 * programs of a boot must write the same number, because it identifies the clock in a file's header.
 * The file is text, "<boot id> <Hz>". It is valid if it is of this boot, owned by root or the caller, and writable by
 * its owner alone. The first program that can create it does; the others use its number.
 * Threads: any. Not for: measuring (clock.h). */
#ifndef REGISTRY_SIM_BASE_CLOCK_KEPT_H
#define REGISTRY_SIM_BASE_CLOCK_KEPT_H
#include <stdbool.h>
#include <stdint.h>

/* $AUTOLOGGER_CLOCK, else /run/autologger/clock. */
const char *clock_kept_path(void);
/* 0: no valid file. */
uint64_t clock_kept_read(const char *path);
/* Keeps `hz` unless a frequency is kept already. Returns the kept frequency, or `hz` where the file cannot be
 * created. */
uint64_t clock_kept_write(const char *path, uint64_t hz);
#endif
