/* embedding.h - makes a merged file readable without manifests: adds an EventMetadata event for each event of a
 * manifest in the files (schema/event_info.h), and for each map that its fields need. The descriptions come from
 * installed manifests, else from the programs and libraries that Image events name, if they hold one. A description
 * that is in the files already is not added again. Memory grows with distinct events and images, up to a bound.
 * Threads: one. Ownership: create/destroy. Not for: reading them (schema/learn.h). */
#ifndef AUTOLOGGER_CONSUMER_EMBEDDING_H
#define AUTOLOGGER_CONSUMER_EMBEDDING_H
#include "autologger/consumer/identity.h"

struct embedding_counts {
    uint64_t seen;        /* distinct events (provider, id, version) that do not describe themselves */
    uint64_t had;         /* of these: described in the files already */
    uint64_t described;   /* of these: by added descriptions */
    uint64_t undescribed; /* of these: no manifest was found */
    uint64_t left_out;    /* of these: too large for an event, or beyond the bound */
    uint64_t maps, bytes; /* added */
};

struct embedding;
/* `folder`: of installed manifests; NULL: publishers_folder(). NULL: no memory. */
struct embedding *embedding_create(const char *folder);
void              embedding_destroy(struct embedding *e); /* NULL is fine */
/* Takes every event. False: no memory. */
bool embedding_see(struct embedding *e, const struct etl_event *event);
/* At the end: writes the descriptions, with this time. */
wstatus embedding_write(struct embedding *e, int64_t time, const struct added_events *to, struct reason *why);
const struct embedding_counts *embedding_counts(const struct embedding *e);
#endif
