/* tracelogging.h - events that carry their own description (extended items 12 and 11, or at the beginning of the
 * payload), as a schema. Cursors bound the metadata; nesting and the number of fields are bounded too. A damaged
 * description ends at the damage, and the schema says so (schema_event.cut).
 * Threads: pure, any. Names of tracelogging_names borrow from the event. */
#ifndef AUTOLOGGER_SCHEMA_TRACELOGGING_H
#define AUTOLOGGER_SCHEMA_TRACELOGGING_H
#include "autologger/etl/reader.h"
#include "autologger/schema/schema.h"

struct tracelogging_names {
    const char *provider; /* NULL when the event has no (sound) traits */
    bool        has_group, has_decode;
    struct guid group, decode; /* decode: this provider has its descriptions */
    const char *event;         /* NULL when the event has no (sound) schema */
};

/* Reads provider traits and the event's name; either may be missing. */
void tracelogging_names(const struct etl_event *event, struct tracelogging_names *out);
/* The same for the two items' data; NULL: no such item. */
void tracelogging_names_of(const void *traits, size_t traits_size, const void *metadata, size_t metadata_size,
                           struct tracelogging_names *out);
/* Sizes of traits and metadata at the beginning of a payload. */
struct tracelogging_prefix {
    uint16_t traits, metadata;
};
/* A provider that never set its traits, or ran on a Windows without item 11, writes both blocks as payload, with this
 * channel. */
enum { TRACELOGGING_CHANNEL = 11 };
/* Does the payload of an event of that channel begin with the two blocks? Both must fit and have names of printing
 * UTF-8, and the traits must fill their block exactly: other payloads of this channel do so by chance only. The fields
 * are not checked. */
bool tracelogging_in_payload(const void *payload, size_t size, struct tracelogging_prefix *out);
/* A provider with the one event that `metadata` (item 11) describes; NULL: it lacks even a name, or no memory. `traits`
 * may be NULL. */
struct schema_provider *tracelogging_schema(const struct guid *provider, const void *traits, size_t traits_size,
                                            const void *metadata, size_t metadata_size);
#endif
