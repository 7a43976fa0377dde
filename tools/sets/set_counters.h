/* set_counters.h - counters of the machine, read from /proc at an interval: each reading is a typed event of the provider
 * Autologger-Counters, and its values are kept for the report. Rates are those since the reading before; the first
 * reading gives none.
 * Threads: one. Ownership: open/close. Not for: which session takes the events (set_run.h). */
#ifndef TOOLS_SETS_SET_COUNTERS_H
#define TOOLS_SETS_SET_COUNTERS_H
#include "tools/live/typed_event.h"
#include "tools/sets/set_store.h"

#include <stdio.h>

#define SET_COUNTERS_PROVIDER "Autologger-Counters"
struct set_counters;
/* W_WMI_INSTANCE_NOT_FOUND: no daemon. */
wstatus set_counters_open(const bool wanted[SET_COUNTERS], const char *runtime_dir, struct set_counters **out,
                          struct reason *why);
/* Reads, and writes the events. */
wstatus set_counters_take(struct set_counters *c, struct reason *why);
/* A table: value, least, average, greatest. */
void set_counters_print(const struct set_counters *c, FILE *to);
void set_counters_close(struct set_counters *c); /* NULL is fine */
#endif
