/* history.h - the boots in a store: lists them with a summary of each, marks baselines, and prunes the oldest.
 * Invariants: H1 a number is given once and never again; saving a boot again (result.h) keeps its number and its mark.
 * H2 the newest boot, the boot saved last and baselines are never pruned; baselines do not count against the limits.
 * H3 a file of a pruned boot is removed only when no remaining boot names it, it lies below the log folder without a
 * link on the way, and it starts like an .etl file: the writer's own condition for replacing a file.
 * H4 the store forgets first, in one transaction, then files are removed: a store never names a removed file.
 * Threads: one at a time. Ownership: history_finish frees a list. Not for: the rows of a boot (result_load_number). */
#ifndef AUTOLOGGER_BOOT_HISTORY_H
#define AUTOLOGGER_BOOT_HISTORY_H
#include "autologger/boot/result.h"
#include "registry-sim/base/os.h"

struct history_boot {
    struct result_list list; /* without its rows; list.number is the boot's number */
    bool               baseline;
    bool               finished; /* a boot: boot-done was reached; a rehearsal: all started sessions have stopped */
    /* sessions: started ones; rows that failed, have a note, were kept off by the guard */
    unsigned sessions, failed, notes, kept_off;
    uint64_t written, lost; /* events of all sessions; lost anywhere */
    uint64_t peak_bytes;    /* peak memory use, all sessions together */
    char   **files;         /* paths of created log files, merged ones too; none twice */
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
    unsigned boots, files; /* pruned; removed */
    unsigned stayed;       /* files that could not be removed */
    uint64_t bytes;        /* of the removed files */
};
/* Prunes the oldest boots until at most `keep_boots` are left, with at most `keep_bytes` of files together (0: no
 * limit). `log_dir`: the log folder. A store that can't be read or written is an error; a file that can't be removed is
 * counted. */
wstatus history_prune(struct os *os, struct regstore *store, const char *log_dir, uint64_t keep_boots,
                      uint64_t keep_bytes, struct history_pruned *out, struct reason *why);
/* The same with the limits of the store: Keep of [Boot]. */
wstatus history_keep(struct os *os, struct regstore *store, const char *log_dir, struct history_pruned *out,
                     struct reason *why);
#endif
