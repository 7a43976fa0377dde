/* apply.h - declaring a configuration for the next boots, as a whole or not at all: the store, the sealed snapshot, the
 * boot entry, the daemon's unit and the initramfs.
 *   read the file -> what would change -> what this machine lacks -> (refuse, or) store, snapshot, entry, unit,
 *   initramfs -> commit
 * Invariants: A1 everything is checked before anything is changed. A2 the store's transaction stays open until the last
 * step is done; when a step fails, the earlier steps are undone. A3 declarations of an earlier apply are replaced;
 * other declarations stay.
 * Threads: one. Ownership: options are borrowed. Not for: parsing command lines (cmd_apply, cmd_trace_boot). */
#ifndef TOOLS_APPLY_H
#define TOOLS_APPLY_H
#include "tools/base/machine.h"
#include "tools/setup/declared.h"

struct apply_options {
    const char    *verb;    /* "autologger apply" */
    const char    *word;    /* FILE or PROFILE as given; NULL: the store's declarations, unchanged */
    const char    *file;    /* its path, or NULL */
    const char    *store;   /* path */
    const char    *log_dir; /* of the machine */
    struct machine machine;
    bool           dry_run, force, accept_tpm, no_initramfs, json;
    bool           brief; /* a short report: of checks and rows only the failed ones */
    bool           tune;  /* use the buffers suggested by the last boot instead of the file's */
};
/* The outcome, for the caller's further steps. */
struct apply_result {
    bool applied; /* false after a dry run too */
    bool once;
};
/* Applies and reports on standard output (progress on standard error). Returns an exit code of enum verb_exit. */
int apply_run(const struct apply_options *o, struct apply_result *out);

/* "autologger clean": removes what apply made. No error when there is nothing. */
struct clean_options {
    const char    *store, *log_dir;
    struct machine machine;
    bool           once;                    /* see put_back.h */
    bool           all, no_initramfs, json; /* all: also the history of boots and the log files that it names */
    bool           declared;                /* also declarations of import */
};
int clean_run(const struct clean_options *o);
#endif
