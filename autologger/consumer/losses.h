/* losses.h - when a session lost events, on which CPU and of which source, by the events in the file (Lost of
 * Autologger-Loss, KernelPhaseEnd). Bounded: beyond LOSS_GAPS, neighbouring gaps of one CPU and cause are joined.
 * Threads: one. Ownership: zeros at first, losses_finish at the end. Not for: how many were lost in all (the file's
 * header has that). */
#ifndef AUTOLOGGER_CONSUMER_LOSSES_H
#define AUTOLOGGER_CONSUMER_LOSSES_H
#include "autologger/consumer/decoded.h"

#include <stdio.h>

enum { LOSS_GAPS = 16, LOSS_ROWS = 1024, LOSS_SOURCES = 512, LOSS_TEXT = 64 };
struct loss_gap {
    uint64_t from, to, count;
};                       /* FILETIME */
struct loss_row {        /* of one CPU and cause, gaps in the order of time */
    uint32_t        cpu; /* UINT32_MAX: not known */
    char            cause[LOSS_TEXT];
    unsigned        gaps;
    struct loss_gap gap[LOSS_GAPS + 1];
};
struct loss_source {
    char     name[LOSS_TEXT], cause[LOSS_TEXT];
    uint64_t count;
};
struct losses {
    uint64_t            placed;    /* events that are in gaps */
    uint64_t            throttled; /* times that perf slowed a source down */
    struct loss_row    *row;
    struct loss_source *source;
    unsigned            rows, sources;
};

/* Takes every event; false: out of memory. */
bool losses_add(struct losses *l, const struct etl_event *event, const struct decoded *names);
void losses_finish(struct losses *l);
/* `counted`: by the header; `first`: the FILETIME from which the text counts seconds. */
void losses_print(const struct losses *l, uint64_t counted, uint64_t first, FILE *out);
struct yajl_gen_t;
void losses_print_json(const struct losses *l, uint64_t counted, struct yajl_gen_t *gen);
#endif
