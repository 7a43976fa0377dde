/* sequence.h - a boot as a function: which sessions start, in which order, with which Status.
 * GlobalLogger first, then the Autologger keys in name order; for each: Start alone, FileCounter, plan, names, memory,
 * kernel sources, pre-enabled providers, Status to the journal. Only env->os differs between a boot, a rehearsal and a
 * test.
 * Threads: one (controlling). Not for: what happens when files may be created (daemon). */
#ifndef AUTOLOGGER_BOOT_SEQUENCE_H
#define AUTOLOGGER_BOOT_SEQUENCE_H
#include "autologger/boot/journal.h"
#include "autologger/boot/result.h"
#include "autologger/session/table.h"

/* Starts what is sound and adds a row for every declared session and provider. Never fails as a whole because one
 * session does; a non-zero return means that the declarations could not be read at all. */
wstatus boot_run(struct session_table *table, const char *log_dir, struct regstore *store, struct journal *journal,
                 struct result_list *rows, struct reason *why);
/* Starts a kernel session that boot_run left without its sources (env->kernel_later), with what session_kernel_open
 * gave; klog NULL: it failed, `why` says how. Takes klog and `found`; when it fails the session is gone. */
wstatus boot_kernel_start(struct session_table *table, struct session *s, struct klog *klog,
                          struct condition_list *found, struct result_list *rows, struct journal *journal,
                          struct reason *why);
/* Starts nothing; a row for every declared session says why: `off` has its Status (0: nothing is wrong) and the
 * reason. */
wstatus boot_off(struct session_table *table, const char *log_dir, struct regstore *store, struct journal *journal,
                 struct result_list *rows, const struct reason *off, struct reason *why);
/* Brings the rows of running sessions up to date: file Status, counters, conditions found while running,
 * registrations. */
void boot_update(struct session_table *table, struct session *s, struct result_list *rows);
/* After the session declared at `key` has stopped, once: notes for its providers that nobody registered and for what
 * the kernel kept back, suggestions from its peak use. */
void boot_conclude(struct result_list *rows, const char *key, unsigned cpus);
#endif
