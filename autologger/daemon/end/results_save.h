/* results_save.h - Status and results into the store: the journal replayed, the rows saved, boots that are too many
 * given up. The daemon's and recover's: the early program, which writes no store, does not link it.
 * Threads: one. Not for: making the rows (boot/sequence.h). */
#ifndef AUTOLOGGER_DAEMON_RESULTS_SAVE_H
#define AUTOLOGGER_DAEMON_RESULTS_SAVE_H
#include "autologger/daemon/service.h"

/* For service_options.save. */
wstatus results_save(const struct service_saving *s, struct reason *why);
#endif
