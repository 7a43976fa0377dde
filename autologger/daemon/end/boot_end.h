/* boot_end.h - how the machine's own boot is traced and ends: whether it may be traced at all (guard.h), when it is
 * done (boot_watch.h), when its sessions stop by themselves (StopAfter, MaxWait), and that their files are merged into
 * one (merge_job.h).
 * Moments: WAITING until it is time; STOPPING the sessions; MERGING their files; DONE. The moment, the marks and the
 * reason are in the daemon's state, so a successor goes on where a predecessor died.
 * The guard is cleared at boot-done; also when the default target was reached and only the machine never became idle
 * until MaxWait. At a shutdown before the end the sessions are stopped; their files are merged at once if that takes at
 * most 3 s, else they stay for the next boot's daemon (unmerged.h), which merges them when its own boot has ended.
 * Threads: one. Ownership: create/destroy. Not for: stopping a session (service.c), rehearsals. */
#ifndef AUTOLOGGER_DAEMON_BOOT_END_H
#define AUTOLOGGER_DAEMON_BOOT_END_H
#include "autologger/daemon/boot_part.h"
#include "registry-sim/base/os.h"

enum boot_moment { BOOT_WAITING, BOOT_STOPPING, BOOT_MERGING, BOOT_ENDED };
struct boot_end;
struct boot_end_options {
    const char *store_path;
    const char *runtime_dir;
    const char *guard_path;  /* absolute */
    const char *systemd_dir; /* exists where systemd runs */
    const char *proc_stat;
    bool        keep_premerge;
    unsigned    shutdown_merge_ms; /* how long a shutdown waits for the merge; 0: no merge begins */
    wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why);
    /* A configuration for one boot is used up, and its boot is complete; at a later boot: still so. Once. NULL: not
     * called */
    void (*used_up)(void *ctx);
    void *used_up_ctx;
};

/* The strings stay the caller's, and must outlive it. NULL when out of memory. */
struct boot_end *boot_end_create(struct os *os, const struct boot_end_options *options);
void             boot_end_destroy(struct boot_end *b); /* NULL is fine */
/* For the service; lives as long as `b`. */
const struct boot_part *boot_end_part(const struct boot_end *b);
/* 90000 -> "90 s", 300000 -> "5 min", 1500 -> "1.5 s" */
const char *boot_time_text(uint64_t milliseconds, char out[32]);
#endif
