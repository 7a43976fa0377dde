#include "autologger/session/provider_count.h"

#include "autologger/etl/reader.h"

#include <stdbool.h>
#include <string.h>

static unsigned provider_count_hash(const uint64_t guid[2])
{
    return (unsigned)(((guid[0] ^ guid[1]) * UINT64_C(0x9E3779B97F4A7C15)) >> 54) & (PROVIDER_COUNT_SLOTS - 1);
}

static bool provider_count_same(const uint64_t a[2], const uint64_t b[2])
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

/* Places are given in order and never given back. */
void provider_count_learn(struct provider_count *c, const struct state_session *st)
{
    while (c->known < STATE_ENABLES && __atomic_load_n(st->enable[c->known].key, __ATOMIC_ACQUIRE)) {
        uint64_t guid[2];
        memcpy(guid, &st->enable[c->known].guid, sizeof guid);
        unsigned at = provider_count_hash(guid);
        while (c->slot[at].place)
            at = (at + 1) % PROVIDER_COUNT_SLOTS;
        memcpy(c->slot[at].guid, guid, sizeof guid);
        c->slot[at].place = (uint16_t)++c->known;
    }
}

/* The place of `guid`, or -1. */
static int provider_count_place_of(const struct provider_count *c, const uint64_t guid[2])
{
    for (unsigned at = provider_count_hash(guid); c->slot[at].place; at = (at + 1) % PROVIDER_COUNT_SLOTS)
        if (provider_count_same(c->slot[at].guid, guid))
            return c->slot[at].place - 1;
    return -1;
}

void provider_count_row(const struct provider_count *c, const uint64_t guid[2], uint64_t count,
                        uint64_t events[STATE_ENABLES])
{
    const int place = provider_count_place_of(c, guid);
    if (place >= 0)
        events[place] += count;
}

/* A slot may have belonged to another provider before: an enablement in force comes before an ended one. */
void provider_count_classic(struct provider_count *c, const struct state_session *st, int slot,
                            uint64_t events[STATE_ENABLES])
{
    int place = -1;

    provider_count_learn(c, st);
    for (unsigned i = 0; slot >= 0 && i < c->known; i++)
        if (st->enable[i].slot == (uint32_t)slot &&
            (place < 0 || __atomic_load_n(&st->enable[i].in_use, __ATOMIC_ACQUIRE)))
            place = (int)i;
    if (place >= 0)
        events[place]++;
}

void provider_count_add(struct provider_count *c, const struct state_session *st, const uint8_t *records, uint32_t size,
                        uint64_t events[STATE_ENABLES])
{
    uint64_t last[2] = {0};
    int      place   = -1;

    provider_count_learn(c, st);
    for (uint32_t at = 0; c->known && at + sizeof(uint32_t) <= size;) {
        /* records are 8-byte aligned, as the buffer is */
        const struct etl_event_header *h = (const void *)(records + at);
        bool event = h->marker == ETL_MARKER && (h->header_type == ETL_EVENT64 || h->header_type == ETL_EVENT32);
        int  bytes = event ? h->size : etl_record_size(records + at, size - at);
        if (bytes <= 0 || (uint32_t)bytes > size - at || (event && (size_t)bytes < sizeof *h))
            return;
        at += ((uint32_t)bytes + 7u) & ~7u;
        if (!event)
            continue;
        uint64_t guid[2];
        memcpy(guid, &h->provider, sizeof guid);
        if (!provider_count_same(guid, last)) {
            memcpy(last, guid, sizeof last);
            place = provider_count_place_of(c, last);
        }
        if (place >= 0)
            events[place]++;
    }
}
