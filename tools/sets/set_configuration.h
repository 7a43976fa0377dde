/* set_configuration.h - what the machine is like when a set starts, as JSON: units, packages, settings of the kernel,
 * keys of the store, files.
 * Threads: one. Not for: what is asked for (set_store.h). */
#ifndef TOOLS_SETS_SET_CONFIGURATION_H
#define TOOLS_SETS_SET_CONFIGURATION_H
#include "tools/sets/set_store.h"

/* Writes it to `path`. A part that is not there is named with the reason, and is no failure. */
wstatus set_configuration_write(const struct collector_set *s, struct regstore *store, const char *path,
                                struct reason *why);
#endif
