/* unmerged.h - the files of an earlier boot that was shut down before they were merged. A shutdown waits 3 s for the
 * merge at most, and the next boot may write files of the same names. So the shutdown notes the boot in the store; the
 * next daemon moves that boot's files aside before it makes a file of its own ("x.etl" to "x.boot-6.etl"), and merges
 * them in a child process once its own boot has ended.
 * Invariants: U1 a noted file is never overwritten by a later boot. U2 a kill at any moment loses nothing: the rows
 * name the new place before a file goes there, files are removed only after the rows name the merged one, and the next
 * start goes on. U3 a failed merge is told in the rows of that boot, and not tried again.
 * Threads: one. Ownership: a struct is a value, finish frees what it holds. Not for: this boot's own files
 * (boot_end.c). */
#ifndef AUTOLOGGER_DAEMON_UNMERGED_H
#define AUTOLOGGER_DAEMON_UNMERGED_H
#include "autologger/daemon/end/merge_job.h"

enum { UNMERGED_MOST = 16 };
struct unmerged {
    struct os  *os;
    const char *store_path;
    wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why);
    bool               keep_premerge;
    uint32_t           boot[UNMERGED_MOST]; /* by number; those still to be done */
    unsigned           count, unmoved;      /* unmoved: those of them whose files are not aside yet */
    struct result_list rows;                /* of boot[0], while its job runs */
    struct merge_parts parts;
    struct merge_job   job;
};

/* Notes in the store, open for writing, that the files of the boot with that id are not merged. */
wstatus unmerged_note(struct regstore *store, const char *boot_id, struct reason *why);
/* Removes that note. Fine when there is none. */
wstatus unmerged_forget(struct regstore *store, const char *boot_id, struct reason *why);
/* Before a file of this boot is made: finds the notes in `store` ... */
void unmerged_look(struct unmerged *u, struct regstore *store);
/* ... and moves files aside. The store must not be held open for reading meanwhile. Failures are reported on standard
 * error. */
void unmerged_move(struct unmerged *u);
/* Goes on: ends a job that is done, starts the next one. A new job's descriptor is added to the epoll set. */
void unmerged_step(struct unmerged *u, int epoll_fd);
/* Ends a running job: the note stays, the next boot tries again. */
void unmerged_finish(struct unmerged *u);
/* The path aside for a boot's file: "a/x_km_premerge.etl.003" of boot 6 becomes "a/x_km_premerge.boot-6.etl.003". False
 * when `out` is too small. */
bool unmerged_aside(const char *path, uint32_t boot, char *out, size_t size);
#endif
