/* results_save.h - saves Status and results to the store: replays the journal, saves the rows, gives up excess boots.
 * Used by the daemon and recover: the early program, which writes no store, does not link it.
 * Threads: one. Not for: making the rows (boot/sequence.h). */
#ifndef AUTOLOGGER_DAEMON_RESULTS_SAVE_H
#define AUTOLOGGER_DAEMON_RESULTS_SAVE_H
#include "autologger/daemon/service.h"

/* For service_options.save. */
wstatus results_save(const struct service_saving *s, struct reason *why);
#endif
