/* set_running.h - the sessions that run now as a data collector set.
 * Threads: one. Ownership: the caller's store. Not for: profiles of a boot (verb profile). */
#ifndef TOOLS_SETS_SET_RUNNING_H
#define TOOLS_SETS_SET_RUNNING_H
#include "registry-sim/store/regstore.h"

/* Writes the set into `to`. `left_out` gets what a set cannot have. W_WMI_INSTANCE_NOT_FOUND: no session that it could
 * have runs; errors of the daemon. */
wstatus set_running_take(const char *runtime_dir, const char *name, struct regstore *to,
                         void (*left_out)(void *ctx, const char *what), struct reason *why);
#endif
