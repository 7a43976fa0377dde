/* early_facts.h - facts of an early boot for its rows, once the store can be read: that its snapshot was older than the
 * store, or that the early program could not start anything and why.
 * Threads: one. Not for: Status of single sessions (boot/sequence.h). */
#ifndef AUTOLOGGER_DAEMON_EARLY_FACTS_H
#define AUTOLOGGER_DAEMON_EARLY_FACTS_H
#include "autologger/boot/result.h"
#include "autologger/wire/state.h"

/* Adds conditions to the first row; without rows does nothing. `state` remembers that it was done. */
void early_facts_add(struct state_daemon *state, const char *runtime_dir, struct regstore *store,
                     struct result_list *rows);
#endif
