#include "autologger/ring/classic.h"

#include <string.h>

static uint32_t classic_put(uint8_t *out, uint32_t at, const void *data, uint32_t size)
{
    memcpy(out + at, data, size);
    return at + size;
}

static uint32_t classic_full(const struct etl_event_header *h, uint8_t *out)
{
    const bool             wide = h->header_type == ETL_EVENT64, instance = h->event_property == CLASSIC_INSTANCE;
    struct etl_full_header f  = {.marker      = ETL_MARKER,
                                 .type        = h->opcode,
                                 .level       = h->level,
                                 .version     = h->id,
                                 .thread_id   = h->thread_id,
                                 .process_id  = h->process_id,
                                 .time        = h->time,
                                 .guid        = h->provider,
                                 .header_type = instance ? wide ? ETL_INSTANCE64 : ETL_INSTANCE32
                                                : wide   ? ETL_FULL64
                                                         : ETL_FULL32};
    uint32_t               at = classic_put(out, 0, &f, sizeof f);
    if (instance) {
        at = classic_put(out, at, &h->keyword, sizeof h->keyword); /* InstanceId, ParentInstanceId */
        at = classic_put(out, at, &h->activity, sizeof h->activity);
    }
    return at;
}

static uint32_t classic_message(const struct etl_event_header *h, uint8_t *out)
{
    const uint16_t head[4] = {0, (uint16_t)(ETL_MARKER_MESSAGE << 8), h->id, h->task};
    const uint32_t none    = 0;
    uint32_t       at      = classic_put(out, 0, head, sizeof head);
    if (h->task & MESSAGE_SEQUENCE)
        at = classic_put(out, at, &none, sizeof none); /* the logger of a session with numbered messages fills it in */
    if (h->task & MESSAGE_COMPONENT_ID)
        at = classic_put(out, at, &h->keyword, sizeof(uint32_t));
    else if (h->task & MESSAGE_GUID)
        at = classic_put(out, at, &h->activity, sizeof h->activity);
    if (h->task & (MESSAGE_TIMESTAMP | MESSAGE_PERFORMANCE_TIMESTAMP))
        at = classic_put(out, at, &h->time, sizeof h->time);
    if (h->task & MESSAGE_SYSTEMINFO)
        at = classic_put(out, classic_put(out, at, &h->thread_id, sizeof h->thread_id), &h->process_id,
                         sizeof h->process_id);
    return at;
}

uint32_t classic_unwrap(const uint8_t *record, uint32_t size, uint8_t *out)
{
    struct etl_event_header h;
    uint32_t                at;
    memcpy(&h, record, sizeof h);
    switch (h.event_property) {
    case CLASSIC_FULL:
    case CLASSIC_INSTANCE: at = classic_full(&h, out); break;
    case CLASSIC_MESSAGE: at = classic_message(&h, out); break;
    default: return 0;
    }
    at                   = classic_put(out, at, record + sizeof h, size - (uint32_t)sizeof h);
    const uint16_t total = (uint16_t)at;
    memcpy(out, &total, sizeof total); /* the size is the first word of all three */
    return at;
}
