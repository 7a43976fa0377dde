#include "autologger/session/provider_count.h"

#include "autologger/etl/reader.h"

#include <string.h>

static unsigned hash(const struct guid *g)
{
    uint64_t a, b;
    memcpy(&a, g, sizeof a);
    memcpy(&b, g->data4, sizeof b);
    return (unsigned)(((a ^ b) * UINT64_C(0x9E3779B97F4A7C15)) >> 54) & (PROVIDER_COUNT_SLOTS - 1);
}

/* Places are given in order and never given back. */
static void learn(struct provider_count *c, const struct state_session *st)
{
    while (c->known < STATE_ENABLES && *st->enable[c->known].key) {
        unsigned at = hash(&st->enable[c->known].guid);
        while (c->place[at])
            at = (at + 1) % PROVIDER_COUNT_SLOTS;
        c->place[at] = (uint16_t)++c->known;
    }
}

/* The place of `guid`, or -1. */
static int place_of(const struct provider_count *c, const struct state_session *st, const struct guid *guid)
{
    for (unsigned at = hash(guid); c->place[at]; at = (at + 1) % PROVIDER_COUNT_SLOTS)
        if (guid_equal(&st->enable[c->place[at] - 1].guid, guid))
            return c->place[at] - 1;
    return -1;
}

void provider_count_add(struct provider_count *c, const struct state_session *st, const uint8_t *records, uint32_t size,
                        uint64_t events[STATE_ENABLES])
{
    struct guid last  = {0};
    int         place = -1;

    learn(c, st);
    for (uint32_t at = 0; c->known && at < size;) {
        const uint8_t                 *record = records + at;
        const struct etl_event_header *h      = (const void *)record; /* records are 8-byte aligned, as the buffer is */
        int                            bytes  = etl_record_size(record, size - at);
        if (bytes <= 0)
            return;
        at += ((uint32_t)bytes + 7u) & ~7u;
        if (h->marker != ETL_MARKER || (h->header_type != ETL_EVENT64 && h->header_type != ETL_EVENT32))
            continue;
        if (memcmp(&h->provider, &last, sizeof last) != 0) {
            last  = h->provider;
            place = place_of(c, st, &last);
        }
        if (place >= 0)
            events[place]++;
    }
}
