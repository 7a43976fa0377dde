/* history.h - the boots that a store remembers: listed with what there is to say of each in a line, marked as
 * baselines, and given up when there are too many.
 * Invariants  H1 a number is given once and never again; saving a boot again (result.h) keeps its number and its mark
 *             H2 the newest boot, the boot saved last and baselines are never given up; baselines do not count against
 *               what is kept
 *             H3 of a boot that is given up, a file goes only when no boot that stays names it, it lies below the log
 *                folder without a link on the way, and it starts like an .etl file: the writer's own condition for
 *                replacing one
 *             H4 first the store forgets, in one transaction, then files are removed: a store never names what was
 *               taken away
 * Threads: one at a time. Ownership: history_finish frees a list. Not for: the rows of a boot (result_load_number). */
#ifndef AUTOLOGGER_BOOT_HISTORY_H
#define AUTOLOGGER_BOOT_HISTORY_H
#include "autologger/boot/result.h"
#include "registry-sim/base/os.h"

struct history_boot {
    struct result_list list; /* without its rows; list.number is the boot's number */
    bool               baseline;
    bool               finished; /* a boot: boot-done was reached; a rehearsal: all that was started has stopped */
    /* sessions: that were started; rows that failed, have a note, the guard kept off */
    unsigned sessions, failed, notes, kept_off;
    uint64_t written, lost; /* events of all sessions; lost in whatever part */
    uint64_t peak_bytes;    /* most memory in use, all sessions together */
    char   **files;         /* paths of log files that were made, merged ones too; none twice */
    unsigned file_count;
};
struct history {
    struct history_boot *boots; /* newest first */
    unsigned             count, capacity;
};

/* All boots of the store; none is fine. Pass to history_finish in every case. */
wstatus history_load(struct regstore *store, struct history *out, struct reason *why);
void    history_finish(struct history *history);
/* Makes boot `number` a baseline, or no longer one. W_FILE_NOT_FOUND when there is no such boot. */
wstatus history_mark(struct regstore *store, uint32_t number, bool baseline, struct reason *why);

struct history_pruned {
    unsigned boots, files; /* given up; removed */
    unsigned stayed;       /* files that should have gone and could not be removed */
    uint64_t bytes;        /* of the files that were removed */
};
/* Gives up the oldest boots until at most `keep_boots` are left that have at most `keep_bytes` of files together (0: no
 * limit); `log_dir`: the log folder. A store that can't be read or written is the Status; a file that can't be removed
 * is counted. */
wstatus history_prune(struct os *os, struct regstore *store, const char *log_dir, uint64_t keep_boots,
                      uint64_t keep_bytes, struct history_pruned *out, struct reason *why);
/* The same by what the store itself says: Keep of [Boot]. */
wstatus history_keep(struct os *os, struct regstore *store, const char *log_dir, struct history_pruned *out,
                     struct reason *why);
#endif
