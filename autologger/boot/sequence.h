/* sequence.h - a boot as a function: which sessions start, in which order, with which Status. GlobalLogger first, then
 * the Autologger keys in name order; for each: Start (read alone), FileCounter, plan, names, memory, kernel sources,
 * pre-enabled providers, Status to the journal. Only env->os differs between a boot, a rehearsal and a test.
 * Threads: one (controlling). Not for: what happens when files may be created (daemon). */
#ifndef AUTOLOGGER_BOOT_SEQUENCE_H
#define AUTOLOGGER_BOOT_SEQUENCE_H
#include "autologger/boot/journal.h"
#include "autologger/boot/result.h"
#include "autologger/session/table.h"

/* Starts the sound sessions and adds a row for every declared session, and for the providers of those that it created.
 * One failed session does not make it fail: a non-zero return means that the declarations could not be read. */
wstatus boot_run(struct session_table *table, const char *log_dir, struct regstore *store, struct journal *journal,
                 struct result_list *rows, struct reason *why);
/* Starts a kernel session that boot_run created without its sources (env->kernel_later). klog: from
 * session_kernel_open; NULL: that failed, and `why` has the reason. Takes klog and `found`. On failure the session is
 * removed. */
wstatus boot_kernel_start(struct session_table *table, struct session *s, struct klog *klog,
                          struct condition_list *found, struct result_list *rows, struct journal *journal,
                          struct reason *why);
/* Starts nothing. Adds a row for every declared session; where it would have started, with the Status (0: nothing is
 * wrong) and the reason of `off`. */
wstatus boot_off(struct session_table *table, const char *log_dir, struct regstore *store, struct journal *journal,
                 struct result_list *rows, const struct reason *off, struct reason *why);
/* Updates the rows of a running session and its providers: file Status, counters, conditions found while running,
 * registrations. */
void boot_update(struct session_table *table, struct session *s, struct result_list *rows);
/* Call it after the session declared at `key` has stopped; later calls do nothing. Adds notes for providers without
 * events, for lost events and for an empty session, and suggests buffer counts from the peak use. */
void boot_conclude(struct result_list *rows, const char *key, unsigned cpus);
#endif
