/* merge_boot.h - how the log files of one boot become one: which files, under which name, and what happens to them
 * afterwards. The name is the kernel session's file name without "_km_premerge"; without a kernel session that of the
 * first file with "_um_premerge", without it; else "<session>-merged.etl" beside the first file. A number of FileMax
 * stays at the end.
 * In order: select, run, note, save the rows, remove. A process that is killed in between loses nothing: until the rows
 * are saved the files exist, and a second run makes the same file again; after that only `remove` is left.
 * Threads: one; run may be done in a child process. Ownership: a struct merge_parts points into the rows it was made
 * from, and is valid until rows are added. Not for: how events are merged (consumer/merge.h). */
#ifndef AUTOLOGGER_DAEMON_MERGE_BOOT_H
#define AUTOLOGGER_DAEMON_MERGE_BOOT_H
#include "autologger/boot/result.h"
#include "autologger/consumer/merge.h"

enum { MERGE_PARTS = 64 };
struct merge_parts {
    struct result_row *row[MERGE_PARTS]; /* the kernel session's first: it gives the merged file its header and name */
    unsigned           count;            /* 0: there is nothing to merge */
    /* further sessions of kernel events: merged, their events would be in the file twice, so they keep their own
     * files */
    struct result_row *own[MERGE_PARTS];
    unsigned           own_count;
    char               target[1024];
    bool               rehearsal;    /* the files are a rehearsal's, not a boot's */
    uint64_t           bytes;        /* of all files together */
    int                temporary_of; /* as in merge_options */
    const char        *publishers;   /* borrowed: the folder of installed manifests; NULL: the usual one */
    bool               configured;   /* the next two are known */
    uint64_t           change_number;
    char               configuration[PROVENANCE_HASH]; /* of the declarations; "": the store was changed since */
};

/* The sessions that started, made a file that is still there, and are not merged yet. */
void merge_parts_select(struct os *os, struct result_list *rows, struct merge_parts *out);
/* The sessions that are merged, but whose own files still exist (the merging process was killed before it removed
 * them). */
void merge_parts_left(struct os *os, struct result_list *rows, struct merge_parts *out);
/* Notes the configuration of the boot of `rows`, for the target to tell; call it after select. */
void merge_parts_configuration(struct merge_parts *parts, struct regstore *store, const struct result_list *rows);
/* The hash of the declarations in `store`, in hexadecimal, if it is still at this change number; else "". */
void merge_configuration_hash(struct regstore *store, uint64_t change_number, char out[PROVENANCE_HASH]);
/* Makes the target. Status as merge_files. */
wstatus merge_parts_run(struct os *os, const struct merge_parts *parts, struct merge_counts *counts,
                        struct reason *why);
/* Writes the target into the rows, which must then be saved; a file that is not merged is its own target. */
void merge_parts_note(struct merge_parts *parts);
/* Notes in `rows` the times of the files' first kernel event and first user event. Before they are removed. */
void merge_parts_times(const struct merge_parts *parts, struct result_list *rows);
/* Removes the files that were merged. */
void merge_parts_remove(struct os *os, const struct merge_parts *parts);
#endif
