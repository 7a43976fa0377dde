/* rehearse.h - a boot on a running machine through the same code: a daemon of its own in a runtime folder of its own,
 * the early phase held in memory, file system ready, programs, stop, merge. Writes only below out_dir (and Status to
 * the store). SIGINT, SIGTERM and SIGHUP end the boot in order while it runs; when the caller is killed, the daemon and
 * the programs end too.
 * Threads: one. Not for: parsing command lines (tools). */
#ifndef AUTOLOGGER_DAEMON_REHEARSE_H
#define AUTOLOGGER_DAEMON_REHEARSE_H
#include "autologger/boot/result.h"

struct rehearse_options {
    const char  *store_path;  /* SQLite store with the declarations; Status is written back into it */
    const char  *out_dir;     /* the log folder of this boot; created if missing. The caller holds its lock */
    const char  *daemon_path; /* autologgerd */
    const char **commands;    /* shell commands to run as programs, NULL-terminated; none: wait for run_seconds */
    unsigned     run_seconds; /* 0 = until all commands have ended, at most 10 s */
    unsigned     early_ms;    /* how long the early phase lasts before the file system "is ready" */
    bool         keep_premerge;
    /* progress in words, one line each, NULL for none */
    void (*progress)(void *ctx, const char *line);
    void *progress_ctx;
};
struct rehearse_result {
    char          merged_path[1024];   /* "" when there was nothing to merge */
    uint64_t      events_merged;       /* records in the merged file */
    uint64_t      files_created_early; /* by the daemon's own count and by looking at out_dir: must be 0 */
    unsigned      programs_failed; /* commands that ended with a non-zero exit by themselves, or could not be started */
    bool          interrupted;     /* SIGINT, SIGTERM or SIGHUP ended it early, in order */
    struct reason merge_failed;    /* W_SUCCESS: merged, or nothing to merge */
};
/* One rehearsal at a time in an existing folder: take this before touching anything in it. The caller closes *lock_fd
 * (-1 on failure) after its last use of the folder. W_BUSY: another rehearsal holds it. */
wstatus rehearse_lock(const char *out_dir, int *lock_fd, struct reason *why);
/* W_SUCCESS: the boot ran (rows may still hold failures); else the reason why it could not run at all. */
wstatus rehearse_run(const struct rehearse_options *options, struct rehearse_result *out, struct reason *why);
#endif
