/* decoded.h - the names of an event and its provider, by the description of the event (order: schema/set.h), else as
 * numbers.
 * Threads: as the set. Names live in the struct or in the set, until the set's next decoded_names.
 * Not for: descriptions (schema). */
#ifndef AUTOLOGGER_CONSUMER_DECODED_H
#define AUTOLOGGER_CONSUMER_DECODED_H
#include "autologger/etl/reader.h"
#include "autologger/schema/set.h"
#include "autologger/schema/walk.h"

enum description {
    DESCRIBED_NOT,
    DESCRIBED_TRACELOGGING,
    DESCRIBED_MANIFEST,
    DESCRIBED_EMBEDDED,
    DESCRIBED_CLASSIC,
    DESCRIBED_STRING
};

struct decoded {
    enum description           by;
    const struct schema_event *schema;   /* NULL: its payload has no description */
    const char                *provider; /* UTF-8; NULL when only its GUID is known */
    const char                *event;    /* UTF-8: "Start"; "7" (the id or opcode) where nothing gives a name */
    uint16_t                   hook;     /* CLASSIC_NONE when it is no kernel event */
    char                       own[64];  /* room for such a number */
};

void decoded_names(struct schema_set *set, const struct etl_event *event, struct decoded *out);
/* The channel's name in its manifest; NULL: none. */
static inline const char *decoded_channel(const struct decoded *names)
{
    return names->schema ? names->schema->channel_name : NULL;
}
/* Gives the fields to the sink; *used = payload bytes they account for. Bytes that can't be decoded are left over. */
enum decode_result decoded_fields(const struct etl_event *event, const struct decoded *names, struct field_sink *sink,
                                  uint32_t *used);
/* Copies the stack in the extended items to frames[], at most `most` addresses; returns their number. */
unsigned decoded_stack(const struct etl_event *event, uint64_t *frames, unsigned most);
#endif
