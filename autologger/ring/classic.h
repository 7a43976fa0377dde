/* classic.h - events of the older API (TraceEvent, TraceEventInstance, TraceMessage) inside a stream. There each one is
 * an EVENT_HEADER with SHM_CLASSIC among its Flags and its kind as EventProperty. The logger replaces this header with
 * the one of the older API, which is never larger. What the fields mean:
 *   provider    the class GUID              id     Class.Version; MessageNumber     task  option flags of a message
 *   level, opcode  Class.Level, Class.Type
 *   keyword     InstanceId and, in the upper half, ParentInstanceId; of a message: its component id
 *   activity    ParentGuid; the message GUID
 *   version, channel  the slot of the provider in the directory + 1, 0 = unknown: a file has the class GUID alone, and
 *   the logger counts by provider
 * Threads: pure, any. Not for: checking whether a program may write such events (any may). */
#ifndef AUTOLOGGER_RING_CLASSIC_H
#define AUTOLOGGER_RING_CLASSIC_H
#include "autologger/wire/etl.h"

#include <stdbool.h>
#include <stddef.h>

enum { SHM_CLASSIC = 0x0100 }; /* EVENT_HEADER_FLAG_CLASSIC_HEADER, which no file has */
enum classic_kind { CLASSIC_FULL = 1, CLASSIC_INSTANCE = 2, CLASSIC_MESSAGE = 3 };
/* Option flags of a message: the items of its header, in the order of the file. */
enum {
    MESSAGE_SEQUENCE              = 0x01,
    MESSAGE_GUID                  = 0x02,
    MESSAGE_COMPONENT_ID          = 0x04,
    MESSAGE_TIMESTAMP             = 0x08,
    MESSAGE_PERFORMANCE_TIMESTAMP = 0x10,
    MESSAGE_SYSTEMINFO            = 0x20,
    MESSAGE_POINTER32             = 0x40,
    MESSAGE_POINTER64             = 0x80
};

static inline bool classic_is(const uint8_t *record) { return record[5] & (SHM_CLASSIC >> 8); }
static inline void classic_slot_set(struct etl_event_header *h, uint32_t slot)
{
    h->version = (uint8_t)(slot + 1);
    h->channel = (uint8_t)((slot + 1) >> 8);
}
/* -1: unknown. */
static inline int classic_slot(const uint8_t *record)
{
    return (record[offsetof(struct etl_event_header, version)] | record[offsetof(struct etl_event_header, channel)]
                                                                     << 8) -
           1;
}
/* Writes the record of `size` bytes (80 or more) to `out` (as large) in the form of a file. Returns its size there; 0
 * for an unknown kind. */
uint32_t classic_unwrap(const uint8_t *record, uint32_t size, uint8_t *out);
#endif
