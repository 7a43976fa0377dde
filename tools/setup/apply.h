/* apply.h - declaring a configuration for the next boots, as a whole or not at all: the store, the sealed snapshot, the
 * boot entry, the daemon's unit and the initramfs.
 *   read the file -> what would change -> what this machine lacks -> (refuse, or) store, snapshot, entry, unit,
 *   initramfs -> commit
 * Invariants: A1 nothing is touched before everything was looked at. A2 the store's transaction stays open until the
 * last step is done; when a step fails, those before it are put back. A3 what a former apply declared is replaced, what
 * others declared stays.
 * Threads: one. Ownership: options are borrowed. Not for: parsing command lines (cmd_apply, cmd_trace_boot). */
#ifndef TOOLS_APPLY_H
#define TOOLS_APPLY_H
#include "tools/base/machine.h"
#include "tools/setup/declared.h"

struct apply_options {
    const char    *verb;    /* "autologger apply" */
    const char    *word;    /* FILE or PROFILE as given; NULL: what the store declares, as it is */
    const char    *file;    /* its path, or NULL */
    const char    *store;   /* path */
    const char    *log_dir; /* of the machine */
    struct machine machine;
    bool           dry_run, force, accept_tpm, no_initramfs, json;
    bool           brief; /* what matters in a few lines: of checks and rows those that failed */
    bool           tune;  /* with the buffers that the last boot suggests instead of the file's */
};
/* What came of it, for whoever goes on from there. */
struct apply_result {
    bool applied; /* false after a dry run too */
    bool once;
};
/* Does it and says so on standard output (progress on standard error). An exit code of enum verb_exit. */
int apply_run(const struct apply_options *o, struct apply_result *out);

/* "autologger clean": takes away what apply made. Fine when there is nothing. */
struct clean_options {
    const char    *store, *log_dir;
    struct machine machine;
    bool           once;                    /* see put_back.h */
    bool           all, no_initramfs, json; /* all: the history of boots and the log files that it names, too */
    bool           declared;                /* also what import declared */
};
int clean_run(const struct clean_options *o);
#endif
