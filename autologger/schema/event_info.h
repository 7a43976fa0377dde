/* event_info.h - a description as one block of bytes, TRACE_EVENT_INFO and EVENT_MAP_INFO of the SDK: the result of
 * TdhGetEventInformation, and the content of EventMetadata events in a file (facts: tracelogging-manifest-tdh 5.1), so
 * that a merged file decodes anywhere. Reading trusts no offset.
 * Threads: pure, any. Not for: compiled templates (BinaryXML is left out). */
#ifndef AUTOLOGGER_SCHEMA_EVENT_INFO_H
#define AUTOLOGGER_SCHEMA_EVENT_INFO_H
#include "autologger/schema/schema.h"
#include "autologger/schema/text.h"

/* The event, whose numbers may differ from those of the description (an event that describes itself). */
struct event_info_of {
    struct guid    provider;
    uint16_t       id, task;
    uint8_t        version, channel, level, opcode;
    uint64_t       keyword;
    const uint8_t *payload; /* gives the size of fields that go to its end; NULL: 0 */
    uint32_t       payload_size;
    bool           is_64bit;
};

/* Adds the block to `out` (bytes, not text). `of` NULL: the description's own numbers. False: no memory, or more than
 * 32 bits of size. */
bool event_info_build(const struct schema_event *event, const struct event_info_of *of, struct text *out);
bool map_info_build(const struct schema_map *map, struct text *out);
/* Makes an event of such a block and enters it into `p`, whose GUID is that of the block. A map that is new to `p`
 * becomes an empty one of that name, which map_info_read fills. W_INVALID_DATA and what is wrong;
 * W_NOT_ENOUGH_MEMORY. */
wstatus event_info_read(struct schema_provider *p, const void *data, size_t size, struct reason *why);
wstatus map_info_read(struct schema_provider *p, const void *data, size_t size, struct reason *why);
/* Payloads of EventMetadata's types: 32 has the block of an event; 33 the provider's GUID, then the block of a map. */
enum { EVENT_METADATA_EVENT = 32, EVENT_METADATA_MAP = 33 };
/* The GUID of the provider in a payload of type 32 or 33; false: it is cut. */
bool event_metadata_provider(const void *payload, size_t size, struct guid *out);
#endif
