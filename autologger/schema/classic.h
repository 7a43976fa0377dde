/* classic.h - names and fields of the kernel's built-in classes, and of the events that a merge or a real-time consumer
 * adds. One table (classic.def) has the name and the layout by hook and version.
 * Threads: constant data, any. */
#ifndef AUTOLOGGER_SCHEMA_CLASSIC_H
#define AUTOLOGGER_SCHEMA_CLASSIC_H
#include "autologger/etl/reader.h"
#include "autologger/schema/walk.h"

enum {
    /* ours */
    CLASSIC_IMAGE_ID         = HOOK_IMAGE_ID,
    CLASSIC_SYSTEM_CONFIG_EX = 0xF100,
    CLASSIC_EVENT_METADATA   = 0xF200,
    CLASSIC_RT_LOST          = 0xF300,
    CLASSIC_NONE             = 0xFFFF
};

/* The hook of a kernel event, whatever header carries it; CLASSIC_... + opcode for merge extras; else CLASSIC_NONE. */
uint16_t classic_hook_by_class(const struct etl_event *event); /* of an event whose header has a class GUID */
static inline uint16_t classic_hook(const struct etl_event *e)
{
    if (e->kind == ETL_KIND_SYSTEM || e->kind == ETL_KIND_PERFINFO)
        return e->hook;
    return e->kind == ETL_KIND_FULL || e->kind == ETL_KIND_INSTANCE ? classic_hook_by_class(e) : (uint16_t)CLASSIC_NONE;
}
/* "Process" for a hook's class; NULL when unknown. */
const char *classic_class(uint16_t hook);
/* "Process/Start" into `out`; opcodes without a name: "Process/55"; returns false for hooks of no known class. */
bool classic_name(uint16_t hook, char *out, size_t size);
/* The layout of a version, as in classic.def; NULL: none is known. classic_guid: the GUID of its class. */
const char *classic_fields(uint16_t hook, uint8_t version);
struct guid classic_guid(uint16_t hook);
/* The layout as a schema, and the schema of text events (one field, Message). They are made once and stay. NULL: none,
 * or no memory. */
const struct schema_event *classic_schema(uint16_t hook, uint8_t version);
const struct schema_event *classic_string_schema(void);
/* Event 0xFFFE, which holds a piece of its provider's manifest (chunks.h). */
const struct schema_event *classic_chunk_schema(void);
/* All built-in classes: their events by class GUID and opcode. NULL: no memory. */
const struct schema_provider *const *classic_providers(unsigned *count);
/* Gives each field to the sink. DECODE_UNKNOWN: no layout for it; DECODE_MISMATCH: payload too short or bytes left
 * over; *used: the decoded bytes. */
enum decode_result classic_decode(const struct etl_event *event, struct field_sink *sink, uint32_t *used);
#endif
