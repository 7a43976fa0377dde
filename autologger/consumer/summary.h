/* summary.h - figures of an .etl file: its header, events by provider and name, order, damage, stacks.
 * Memory: does not grow with the file. Stacks are matched to their trigger by the exact raw time; the times of the last
 * SUMMARY_TIMES events are kept for that (64 MB at most, with those of stacks), so a stack more than that many events
 * behind its trigger counts as one without.
 * Threads: one. Ownership: create/destroy; borrows from the reader, which must outlive it. */
#ifndef AUTOLOGGER_CONSUMER_SUMMARY_H
#define AUTOLOGGER_CONSUMER_SUMMARY_H
#include "autologger/consumer/losses.h"
#include "autologger/etl/reader.h"

#include <stdio.h>

enum { SUMMARY_TIMES = 1 << 22 };
struct summary_row {
    struct guid provider;
    char       *provider_name; /* NULL when only the GUID is known */
    char       *event;
    uint64_t    count;
};
struct summary {
    const struct etl_file_header *header;
    const struct etl_damage      *damage;
    unsigned                      damage_count;
    uint64_t                      events;
    uint64_t                      undecoded; /* events without a description, or with one that does not fit */
    uint64_t                      first_time, last_time; /* FILETIME; header event included */
    uint64_t                      inversions;            /* events earlier than the one before */
    uint64_t                      stacks;                /* StackWalk events that refer to a trigger */
    uint64_t                      stacks_matched;        /* a trigger with exactly that raw time is in the file */
    uint64_t                      stacks_extended;       /* stacks inside user events */
    uint64_t                      frames;                /* of both */
    struct losses                 losses;                /* over time */
    struct summary_row           *rows;                  /* by provider, then most frequent first */
    size_t                        row_count;
};

/* Callbacks that see each event, too, and add members to the JSON object. */
struct yajl_gen_t;
struct decoded;
struct summary_more {
    void (*see)(void *ctx, const struct etl_event *e, const struct decoded *names);
    void (*json)(void *ctx, struct yajl_gen_t *within);
    void              *ctx;
    struct schema_set *schemas; /* borrowed; NULL: only events that describe themselves, and the kernel's classes */
    void (*progress)(void *ctx, unsigned per_mille); /* may be NULL */
    void  *progress_ctx;
    size_t times; /* for tests, instead of SUMMARY_TIMES; 0: SUMMARY_TIMES */
};
/* Reads all events that are still to come from `r`. W_NOT_ENOUGH_MEMORY when out of memory. */
wstatus summary_create(struct etl_reader *r, struct summary **out, struct reason *why);
wstatus summary_create_with(struct etl_reader *r, const struct summary_more *more, struct summary **out,
                            struct reason *why);
void    summary_destroy(struct summary *s); /* NULL is fine */
/* Events whose provider name, or "provider/event", is `name` ("Thread", "Thread/CSwitch"); case counts. */
uint64_t summary_count(const struct summary *s, const char *name);
void     summary_print(const struct summary *s, FILE *out);
/* One JSON object, one line. W_NOT_ENOUGH_MEMORY when out of memory. */
wstatus summary_print_json(const struct summary *s, FILE *out);
wstatus summary_print_json_with(const struct summary *s, const struct summary_more *more, FILE *out);
#endif
