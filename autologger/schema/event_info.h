/* event_info.h - a description as one block of bytes, TRACE_EVENT_INFO and EVENT_MAP_INFO of the SDK: what
 * TdhGetEventInformation gives, and what EventMetadata events carry in a file (facts: tracelogging-manifest-tdh 5.1),
 * so that a merged file decodes anywhere. Reading trusts no offset. Threads: pure, any. Not for: compiled templates
 * (BinaryXML is left out). */
#ifndef AUTOLOGGER_SCHEMA_EVENT_INFO_H
#define AUTOLOGGER_SCHEMA_EVENT_INFO_H
#include "autologger/schema/schema.h"
#include "autologger/schema/text.h"

/* The event at hand, where its numbers are not those of the description (an event that describes itself). */
struct event_info_of {
    struct guid    provider;
    uint16_t       id, task;
    uint8_t        version, channel, level, opcode;
    uint64_t       keyword;
    const uint8_t *payload; /* says how many "as many as are left" are; NULL: 0 */
    uint32_t       payload_size;
    bool           is_64bit;
};

/* Adds the block to `out` (bytes, not text). `of` NULL: the description's own numbers. False: no memory, or it would
 * not fit into 32 bits. */
bool event_info_build(const struct schema_event *event, const struct event_info_of *of, struct text *out);
bool map_info_build(const struct schema_map *map, struct text *out);
/* Makes an event of such a block and enters it into `p`, whose GUID is that of the block. A map that `p` does not have
 * yet becomes an empty one of that name, for map_info_read to fill. W_INVALID_DATA and what is wrong;
 * W_NOT_ENOUGH_MEMORY. */
wstatus event_info_read(struct schema_provider *p, const void *data, size_t size, struct reason *why);
wstatus map_info_read(struct schema_provider *p, const void *data, size_t size, struct reason *why);
/* Payload of EventMetadata's types: 32 is the block of an event, 33 has the provider's GUID before that of a map. */
enum { EVENT_METADATA_EVENT = 32, EVENT_METADATA_MAP = 33 };
/* The GUID of the provider that a payload of type 32 or 33 is of; false: cut. */
bool event_metadata_provider(const void *payload, size_t size, struct guid *out);
#endif
