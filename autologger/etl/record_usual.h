/* record_usual.h - decodes events with the usual header (EVENT_HEADER, 64 bit) inline: most events of programs have it,
 * and many of them are alike. The result is that of etl_record_decode, in a third of the time.
 * Invariant: an entry of the cache is compared byte by byte; a record's own bytes alone decide the result.
 * Threads: one per cache. Not for: other kinds of headers (record.h), order and time (reader). */
#ifndef AUTOLOGGER_ETL_RECORD_USUAL_H
#define AUTOLOGGER_ETL_RECORD_USUAL_H
#include "autologger/etl/record.h"

#include <string.h>

/* Extended items that were parsed lately. Most events of a kind have the same ones, byte for byte, so a comparison
 * replaces the parsing. Zeros at first. */
enum { ITEMS_KEPT = 64, ITEMS_BYTES = 384 };
struct items_seen {
    uint64_t number;      /* identifies these bytes in this process */
    uint32_t size, types; /* size 0: empty entry; else a multiple of 8 */
    /* offsets from the first item on; size 0 and at 0: none */
    uint16_t metadata_at, metadata_size, traits_at, traits_size;
    uint8_t  bytes[ITEMS_BYTES];
};
struct items_cache {
    const struct items_seen *last; /* entry of the last items; NULL: none */
    struct items_seen        seen[ITEMS_KEPT];
};

/* Is it an event with the usual header? */
static inline bool etl_record_is_usual(const uint8_t *p, size_t left)
{
    return left >= sizeof(struct etl_event_header) && p[2] == ETL_EVENT64 && p[3] == ETL_MARKER;
}
/* Looks up the items at `at` of the record in the cache, or parses and keeps them. False: malformed; nothing is set
 * then. */
bool etl_items_look(struct items_cache *cache, const uint8_t *p, uint32_t size, uint32_t at, struct etl_event *e,
                    uint32_t *end);

/* Are these items at p, where `left` bytes are? Compares sixteen bytes at a time, without a call: it runs for every
 * event. */
static inline bool items_same(const struct items_seen *s, const uint8_t *p, uint32_t left)
{
    typedef uint64_t two __attribute__((vector_size(16)));
    two              a, b, differ = {0, 0};
    uint64_t         x = 0, y = 0;
    uint32_t         i = 0;

    if (s->size > left)
        return false;
    for (; i + 2 * sizeof a <= s->size; i += 2 * sizeof a) {
        memcpy(&a, p + i, sizeof a);
        memcpy(&b, s->bytes + i, sizeof b);
        differ |= a ^ b;
        memcpy(&a, p + i + sizeof a, sizeof a);
        memcpy(&b, s->bytes + i + sizeof b, sizeof b);
        differ |= a ^ b;
    }
    if (i + sizeof a <= s->size) {
        memcpy(&a, p + i, sizeof a);
        memcpy(&b, s->bytes + i, sizeof b);
        differ |= a ^ b;
        i += sizeof a;
    }
    if (i < s->size) {
        memcpy(&x, p + i, sizeof x);
        memcpy(&y, s->bytes + i, sizeof y);
    }
    return !(differ[0] | differ[1] | (x ^ y));
}

/* Sets what was found in the items when they were kept. */
static inline void items_set(const struct items_seen *s, const uint8_t *items, struct etl_event *e)
{
    e->ext           = items;
    e->ext_size      = s->size;
    e->ext_lacks     = ~s->types;
    e->metadata      = s->metadata_at ? items + s->metadata_at : NULL;
    e->metadata_size = s->metadata_size;
    e->traits        = s->traits_at ? items + s->traits_at : NULL;
    e->traits_size   = s->traits_size;
    e->items         = s->number;
}

/* Sets all of EVENT_HEADER, each field once; not the extended items, the payload, and the reader's fields (cpu,
 * logger_id, filetime, file_offset, buffer_sequence). */
static inline void etl_record_header(const uint8_t *p, uint32_t size, bool is_64bit, struct etl_event *e)
{
    enum { FROM = offsetof(struct etl_event_header, thread_id), TO = sizeof(struct etl_event_header) };

    /* the fields with the same layout in both (record.c) */
    memcpy((uint8_t *)e + offsetof(struct etl_event, thread_id), p + FROM, TO - FROM);
    memcpy(&e->flags, p + offsetof(struct etl_event_header, flags), sizeof e->flags);
    if (e->flags & ETL_EVENT_NO_CPUTIME)
        e->kernel_time = e->user_time = 0;
    /* one by one: zeroing the whole struct first takes twice as long */
    e->kind            = ETL_KIND_EVENT;
    e->is_64bit        = is_64bit;
    e->hook            = 0;
    e->instance        = 0;
    e->parent_instance = 0;
    e->parent_guid     = (struct guid){0};
    e->record          = p;
    e->record_size     = size;
}

/* An event without items. */
static inline void items_none(struct etl_event *e)
{
    e->ext    = NULL;
    e->traits = e->metadata = NULL;
    e->ext_size = e->ext_lacks = e->traits_size = e->metadata_size = 0;
    e->items                                                       = 0;
}

/* The same as etl_record_decode of such an event, but cpu, logger_id, filetime, file_offset and buffer_sequence are not
 * set at all. */
static inline bool etl_record_decode_usual(const uint8_t *p, uint32_t size, struct items_cache *cache,
                                           struct etl_event *e)
{
    const uint8_t *items = p + sizeof(struct etl_event_header);
    uint32_t       end   = sizeof(struct etl_event_header);
    bool           ok    = true;

    etl_record_header(p, size, true, e);
    if (!(e->flags & ETL_EVENT_EXTENDED)) {
        items_none(e);
    } else if (cache->last && items_same(cache->last, items, size - end)) {
        items_set(cache->last, items, e);
        end += cache->last->size;
    } else if (!(ok = etl_items_look(cache, p, size, end, e, &end))) {
        items_none(e);
    }
    e->payload      = p + end;
    e->payload_size = size - end;
    return ok;
}
#endif
