/* set_run.h - one run of a data collector set: a folder with the trace (sessions and counters in one file), the
 * configuration and a report.
 * Invariants: a session that the run started is stopped by it, also when the run fails; a result is complete when the
 * run's lock is free (set_state.h).
 * Threads: one. Not for: what a set is (set_store.h). */
#ifndef TOOLS_SETS_SET_RUN_H
#define TOOLS_SETS_SET_RUN_H
#include "tools/sets/set_store.h"

struct set_run {
    const struct collector_set *set;
    struct regstore            *store;
    const char                 *runtime_dir; /* NULL: the default */
    const char                 *log_dir;     /* of the daemon */
    int                         lock;        /* of set_state_take */
    char                        result[1024];
    char                        trace[1200];     /* "": no session of the set has a file */
    unsigned                    lost_counters;   /* readings that no session took */
    char                        left_over[1024]; /* the result of the run before, whose sessions may still run */
    struct reason               failed;          /* of set_run_wait, for the report; text "": nothing */
};
/* Makes the folder, writes the configuration, starts the sessions. On failure nothing runs, and the folder is gone. From
 * here on SIGTERM, SIGINT and SIGHUP end the run in order. */
wstatus set_run_begin(struct set_run *r, struct reason *why);
/* Counts until the set's time or size is reached, or a signal comes. W_WMI_INSTANCE_NOT_FOUND: the sessions are gone. */
wstatus set_run_wait(struct set_run *r, struct reason *why);
/* Stops the sessions, merges their files, writes the report, whatever fails; then removes old results. */
wstatus set_run_end(struct set_run *r, struct reason *why);
/* The number of bytes below a folder. */
uint64_t set_folder_size(const char *folder);
#endif
