/* record.h - one stored event, of any header kind, brought to the shape of struct etl_event.
 * Pure but for a cache; any thread. Pointers in the result borrow from the record. Not for: order and time conversion (reader). */
#ifndef AUTOLOGGER_ETL_RECORD_H
#define AUTOLOGGER_ETL_RECORD_H
#include "autologger/etl/reader.h"

#include <string.h>

/* Extended items that were gone through lately. Most events of a kind have the same ones, byte for byte: what was found in them is found again
 * by comparing them. Zeros at first. Threads: one. */
enum { ITEMS_KEPT = 64, ITEMS_BYTES = 384 };
struct items_seen {
    uint64_t number; /* of these bytes, in this process */
    uint32_t size, types; /* size 0: nothing */
    uint16_t metadata_at, metadata_size, traits_at, traits_size; /* from the first item on; size 0 and at 0: there is none */
    uint8_t  bytes[ITEMS_BYTES];
};
struct items_cache {
    struct items_seen seen[ITEMS_KEPT];
};
/* Is it an event with the usual header (EVENT_HEADER, 64 bit)? */
static inline bool etl_record_is_usual(const uint8_t *p, size_t left) { return left >= sizeof(struct etl_event_header) && p[2] == ETL_EVENT64 && p[3] == ETL_MARKER; }
/* The same as etl_record_decode of such an event, but cpu, logger_id, filetime, file_offset and buffer_sequence are not set at all. */
bool etl_record_decode_usual(const uint8_t *p, uint32_t size, struct items_cache *cache, struct etl_event *event);
/* Decodes the record at `p`, `size` bytes as etl_record_size gave it. Sets all but cpu, filetime, file_offset and
 * buffer_sequence. `previous` is the time for kinds that store none. False: its extended items are malformed (the event
 * is still set, everything behind its header is payload). */
bool etl_record_decode(const uint8_t *p, uint32_t size, int64_t previous, struct etl_event *event);
/* Its raw time alone; `previous` for kinds that store none. */
int64_t etl_record_time(const uint8_t *p, uint32_t size, int64_t previous);
#endif
