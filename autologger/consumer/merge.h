/* merge.h - merges .etl files of one clock and one anchor into one file in time order, with buffers per CPU. Adds what
 * a file needs to be read elsewhere: the identity of each image (identity.h), the kernel's names (kernel_names.h), and
 * descriptions of manifest events (embedding.h); and, on request, the origin of the file (provenance.h). Copies of
 * programs' stacks become stacks (unwinding.h).
 * Invariants: M1 in - headers_dropped - left_out + added = out; records are copied unchanged, but for a stack in the
 * place of its copy, and for the parts that a redactor replaces. M2 two events of one CPU keep their order.
 * M3 the target appears whole or not at all (temporary name beside it, then rename).
 * One anchor: the files' (raw, time) pairs must lie on one line of the clock (etl/line.h), unless `one_boot` says that
 * they are of one boot all the same. The target has the line of the file that ended last: its date is the most
 * corrected one.
 * Threads: one. */
#ifndef AUTOLOGGER_CONSUMER_MERGE_H
#define AUTOLOGGER_CONSUMER_MERGE_H
#include "autologger/consumer/embedding.h"
#include "autologger/consumer/kernel_names.h"
#include "autologger/consumer/provenance.h"
#include "autologger/consumer/unwinding.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* Most files that the tools take at once: each stays open to the end, and a program usually has 1,024 descriptors.
 * Files of one NEWFILE session must be given together: once a part of them is merged, it is not known whether its
 * losses count on from another file's. */
enum { MERGE_FILES_MAX = 1000 };

struct redactor;
/* All zeros: everything, with what a merge adds. */
struct merge_options {
    bool one_boot; /* the files are of one boot, whatever their dates say: the system's date was set between them */
    bool plain;    /* nothing is added, and copies of stacks stay: relog */
    bool (*keep)(void *ctx, const struct etl_event *e); /* NULL: all. Not called for the files' header events */
    /* NULL, or called after keep: adds events before this one, not earlier than the one before it */
    wstatus (*inject)(void *ctx, const struct added_events *to, struct reason *why);
    void            *ctx;
    struct redactor *redactor; /* NULL: nothing is replaced. It has learned the files already */
    /* adds the files' own counters, the host and the configuration; not with `plain` */
    bool                      provenance;
    const char               *of;            /* what the files are of: MERGED_OF_* (wire/merged.h); NULL: not known */
    provenance_configuration *configuration; /* NULL: not known */
    void                     *configuration_ctx;
    const char               *publishers; /* the folder of installed manifests; NULL: publishers_folder() */
    /* NULL: buffers are not compressed (etl/writer.h) */
    size_t (*compress)(const uint8_t *in, size_t size, uint8_t *out, size_t room);
    int temporary_of; /* the process in the temporary name, whose death makes the file garbage; 0: this one */
    void (*progress)(void *ctx, unsigned per_mille); /* may be NULL */
    void *progress_ctx;
};
struct merge_counts {
    bool                       opened; /* all files were opened and fit together: a failure is about the target */
    uint64_t                   in;     /* all events of all files, header events too */
    uint64_t                   out;    /* events in the target */
    uint64_t                   headers_dropped; /* one for each file but one */
    uint64_t                   left_out;        /* rejected by `keep` */
    uint64_t                   added;           /* events of identity and names, and injected ones */
    struct identity_counts     identity;
    struct kernel_names_counts names;
    struct unwinding_counts    stacks;
    struct embedding_counts    metadata;
    /* sums of the files' counters. The files of one NEWFILE session count events_lost on: of these the latest counts */
    uint64_t events_lost, buffers_lost;
    unsigned unfinished;        /* files that were never finished: their loss counters are from an earlier moment */
    uint64_t inversions;        /* events earlier than the one before: only damaged files have them */
    unsigned damage;            /* places reported by the readers: their bytes are not in the target */
    char     first_damage[400]; /* "FILE: offset N: what", "" = none */
    /* "FILE: offset N: an event is earlier than the one before it", "" = none */
    char first_inversion[400];
};

/* Merges `count` files into `target`. The file with kernel events gives the name, else the first; the file
 * that ended last gives the clock line.
 * W_INVALID_PARAMETER: no file given, one given twice, clocks or anchors differ (both files named), or the target is
 * one of the files. W_ALREADY_EXISTS: the target
 * exists and is no .etl. W_INVALID_DATA: an input is no .etl. Other errors come from errno. */
wstatus merge_files(struct os *os, const char *const *files, unsigned count, const char *target,
                    struct merge_counts *counts, struct reason *why);
wstatus merge_files_with(struct os *os, const char *const *files, unsigned count, const char *target,
                         const struct merge_options *options, struct merge_counts *counts, struct reason *why);
#endif
