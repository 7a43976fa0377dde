/* tracelogging.h - decodes events that carry their own description (extended items 12 and 11).
 * The description and the payload are bounded by cursors; nesting and the number of steps are bounded too, so hostile
 * schemas end as a mismatch. Threads: pure, any. Names borrow from the event. */
#ifndef AUTOLOGGER_CONSUMER_TRACELOGGING_H
#define AUTOLOGGER_CONSUMER_TRACELOGGING_H
#include "autologger/consumer/value.h"
#include "autologger/etl/reader.h"

struct tracelogging_names {
    const char *provider; /* NULL when the event has no (sound) traits */
    bool        has_group;
    struct guid group;
    const char *event; /* NULL when the event has no (sound) schema */
};

/* Reads provider traits and the event's name; either may be missing. */
void tracelogging_names(const struct etl_event *event, struct tracelogging_names *out);
/* Gives each field to the sink: members of structs as "a.b", elements of arrays as "a[0]". DECODE_MISMATCH also when
 * bytes of the payload are left over. *used gets the payload bytes that fields accounted for. */
enum decode_result tracelogging_decode(const struct etl_event *event, struct field_sink *sink, uint32_t *used);
#endif
