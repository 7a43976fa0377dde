/* clock_kept.h - the frequency of the TSC, measured once a boot. Two measurements differ by some parts in 10^8; all
 * programs of a boot must write one number, because it says in a file's header which clock the file has.
 * The file is text, "<boot id> <Hz>", and counts if it is of this boot, and root's or the caller's own and no one
 * else's to write. The first program that can make it does; the others go by it.
 * Threads: any. Not for: measuring (clock.h). */
#ifndef REGISTRY_SIM_BASE_CLOCK_KEPT_H
#define REGISTRY_SIM_BASE_CLOCK_KEPT_H
#include <stdbool.h>
#include <stdint.h>

/* $AUTOLOGGER_CLOCK, else /run/autologger/clock. */
const char *clock_kept_path(void);
/* 0: there is none that counts. */
uint64_t clock_kept_read(const char *path);
/* Keeps `hz` unless another one is kept already; returns the one that counts. Where the file cannot be made, that is
 * `hz`. */
uint64_t clock_kept_write(const char *path, uint64_t hz);
#endif
