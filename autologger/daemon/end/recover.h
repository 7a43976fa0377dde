/* recover.h - makes log files and results from the file that the early program saved when no daemon came (.alraw). It
 * is an adoption: the saved memory is handed over to a service in this process, which writes the files and ends the
 * sessions.
 * Threads: one. Not for: reading ETL. */
#ifndef AUTOLOGGER_DAEMON_RECOVER_H
#define AUTOLOGGER_DAEMON_RECOVER_H
#include "autologger/boot/result.h"

struct recover_options {
    const char *path;
    const char *key_store; /* this machine's store: the key of the seal is beside it */
    bool        unsealed;  /* accept a file without this machine's seal: its content decides which files are written */
    const char *log_dir;   /* log folder, instead of that of the boot; NULL: that of the boot */
    const char *store;     /* store for the results, instead of that of the boot; NULL: that of the boot */
    wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why);
    /* the rows of the boot, after everything is written */
    void (*done)(void *ctx, const struct result_list *rows);
    void *ctx;
};

/* W_FILE_NOT_FOUND, W_ACCESS_DENIED (not sealed by this machine), W_INVALID_DATA (damaged, incomplete, another
 * version), W_NOT_ENOUGH_MEMORY; single sessions that fail are rows. */
wstatus recover_run(const struct recover_options *options, struct reason *why);
#endif
