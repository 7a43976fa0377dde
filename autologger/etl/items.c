/* items.c - the slow part of record_usual.h: items that differ from those of the event before. */
#include "autologger/etl/record_usual.h"

/* The cache's place for the items at p: a hash of a few bytes of the first two. */
static unsigned items_place_of(const uint8_t *p, uint32_t left)
{
    uint64_t first = 0, second = 0;
    uint16_t total;

    if (left < 24)
        return 0;
    memcpy(&total, p, sizeof total);
    memcpy(&first, p + 12, sizeof first); /* of the traits: the provider's name */
    if (total + 24u <= left)
        memcpy(&second, p + total + 6,
               sizeof second); /* of the schema: its sizes, the first letters of the event's name */
    return (unsigned)((first ^ second * 31) * UINT64_C(0x9E3779B97F4A7C15) >> 58);
}

/* Keeps the result, if all items describe the event: any others differ from event to event. Items that end in the
 * middle of 8 bytes end there because the record does: in a longer record they mean something else. */
static bool items_keep(struct items_seen *s, struct etl_event *e)
{
    static _Atomic uint64_t numbers;
    static const uint32_t   same = UINT32_C(1) << ETL_EXT_SCHEMA_TL | UINT32_C(1) << ETL_EXT_PROV_TRAITS;

    if (e->ext_size > ITEMS_BYTES || e->ext_size % 8 || ~e->ext_lacks & ~same)
        return false;
    *s = (struct items_seen){.number = ++numbers, .size = e->ext_size, .types = ~e->ext_lacks};
    if (e->metadata) {
        s->metadata_at   = (uint16_t)(e->metadata - e->ext);
        s->metadata_size = (uint16_t)e->metadata_size;
    }
    if (e->traits) {
        s->traits_at   = (uint16_t)(e->traits - e->ext);
        s->traits_size = (uint16_t)e->traits_size;
    }
    memcpy(s->bytes, e->ext, e->ext_size);
    e->items = s->number;
    return true;
}

bool etl_items_look(struct items_cache *cache, const uint8_t *p, uint32_t size, uint32_t at, struct etl_event *e,
                    uint32_t *end)
{
    struct items_seen *s = &cache->seen[items_place_of(p + at, size - at)];

    if (s->size && items_same(s, p + at, size - at)) {
        items_set(s, p + at, e);
        *end        = at + s->size;
        cache->last = s;
        return true;
    }
    if (!etl_record_items(p, size, at, e, end))
        return false;
    if (items_keep(s, e))
        cache->last = s;
    return true;
}
