/* channel_event.h - an event as a message of the journal: MESSAGE is the manifest's message with its values, and each
 * property and field of the event has a field of its own.
 * Threads: one. Ownership: open/close; a record is the caller's. */
#ifndef TOOLS_CHANNELS_CHANNEL_EVENT_H
#define TOOLS_CHANNELS_CHANNEL_EVENT_H
#include "autologger/consumer/decoded.h"
#include "tools/channels/journal_record.h"

struct channel_events {
    struct schema_set      *schemas; /* borrowed */
    struct field_sink       sink;
    struct text             message, fields; /* fields: " name=value" for an event without a message */
    struct text             name, joined;    /* of the field that is being joined */
    unsigned                count;           /* of the event's fields */
    struct journal_message *record;
};
/* Adds the event's fields to the record. False: it is of no channel, or of none that `wanted` wants. */
bool channel_event_record(struct channel_events *c, const struct etl_event     *e,
                          bool (*wanted)(void *ctx, const char *channel), void *ctx, struct journal_message *out);
void channel_events_finish(struct channel_events *c);
#endif
