/* tracelogging.h - events that carry their own description (extended items 12 and 11), as a schema.
 * The metadata is bounded by cursors; nesting and the number of fields are bounded too. What is damaged is left out from there on, and
 * the schema says so (schema_event.cut). Threads: pure, any. Names of tracelogging_names borrow from the event. */
#ifndef AUTOLOGGER_SCHEMA_TRACELOGGING_H
#define AUTOLOGGER_SCHEMA_TRACELOGGING_H
#include "autologger/etl/reader.h"
#include "autologger/schema/schema.h"

struct tracelogging_names {
    const char *provider; /* NULL when the event has no (sound) traits */
    bool        has_group, has_decode;
    struct guid group, decode; /* decode: its descriptions are those of this provider */
    const char *event; /* NULL when the event has no (sound) schema */
};

/* Reads provider traits and the event's name; either may be missing. */
void tracelogging_names(const struct etl_event *event, struct tracelogging_names *out);
/* The same of the two items' data; NULL: there is no such item. */
void tracelogging_names_of(const void *traits, size_t traits_size, const void *metadata, size_t metadata_size, struct tracelogging_names *out);
/* A provider with the one event that `metadata` (item 11) describes; NULL: it has no name even, or no memory. `traits` may be NULL. */
struct schema_provider *tracelogging_schema(const struct guid *provider, const void *traits, size_t traits_size, const void *metadata,
                                            size_t metadata_size);
#endif
