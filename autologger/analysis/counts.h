/* counts.h - statistics by counting: events and bytes by provider, by event, by process, by processor, by level, and
 * per second.
 * Invariant: each of the tables adds up to `events`. Memory: distinct things, and 16 bytes a second of trace.
 * Threads: one. Ownership: create/destroy. Not for: stacks and losses (consumer/summary.h). */
#ifndef AUTOLOGGER_ANALYSIS_COUNTS_H
#define AUTOLOGGER_ANALYSIS_COUNTS_H
#include "autologger/analysis/trace.h"

struct count_row {
    char    *name, *channel; /* channel: of events whose manifest names it, else NULL */
    uint64_t number;         /* process id, processor, level; of events with a named channel: its number */
    uint64_t events, bytes;
};
struct count_table {
    struct count_row *row; /* most events first */
    size_t            rows;
};
enum counts_by { COUNTS_PROVIDER, COUNTS_EVENT, COUNTS_PROCESS, COUNTS_CPU, COUNTS_LEVEL, COUNTS_TABLES };
struct counts_second {
    uint64_t events, bytes;
};
struct counts {
    uint64_t              events, bytes, undecoded, start, end; /* FILETIME */
    struct count_table    table[COUNTS_TABLES];
    struct counts_second *second; /* since `start` */
    size_t                seconds;
    /* events before `start`, and more than COUNTS_SECONDS after it: not in `second` */
    uint64_t before, beyond;
};
enum { COUNTS_SECONDS = 10000000 };
extern const char *const counts_words[COUNTS_TABLES]; /* "provider", "event", ... */
wstatus                  counts_create(struct trace *t, struct counts **out, struct reason *why);
void                     counts_destroy(struct counts *c);
#endif
