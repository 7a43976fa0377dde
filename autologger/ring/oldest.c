/* oldest.c - see oldest.h.
 * A chunk that a stream has gone beyond has no writer: a CPU's writers work at the write position alone, and a chunk of
 * the fallback stream is passed over while a place in it is reserved. Data read here from a chunk is valid only if the
 * step succeeds: else the chunk may already have had another owner. */
#include "autologger/ring/oldest.h"

#include "autologger/ring/fastpath.h"

enum { HEADER_SIZE = sizeof(struct etl_event_header) };

/* Functions that may read another owner's data, and find that out by the step: hidden from ThreadSanitizer. */
#if defined(__clang__)
#define UNSEEN __attribute__((disable_sanitizer_instrumentation))
#else
#define UNSEEN
#endif

UNSEEN static uint64_t word_at(const uint8_t *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* The oldest chunk of stream `index`. False: there is none that is full and not taken. */
static bool ring_oldest_of(const struct ring_view *view, uint32_t index, struct ring_step *step)
{
    struct shm_stream *st    = &view->stream[index];
    const uint64_t     word  = __atomic_load_n(&st->oldest, __ATOMIC_ACQUIRE);
    const uint64_t     here  = (__atomic_load_n(&st->wpos, __ATOMIC_ACQUIRE) & ~SHM_CLOSED) >> view->chunk_shift;
    const uint64_t     n     = shm_oldest_number(word, here + 1);
    const uint64_t     entry = __atomic_load_n(ring_entry(view, index, n), __ATOMIC_ACQUIRE);
    if (n >= here || !shm_entry_is(entry, n) || (uint32_t)entry >= view->chunk_count)
        return false;
    *step = (struct ring_step){&st->oldest,         word,  shm_oldest(n + 1, shm_oldest_events(word)),
                               (uint32_t)entry,     index, n,
                               &st->overwritten_to, 0};
    return true;
}

struct content {
    uint32_t events;
    uint64_t last; /* time of the last one */
};
/* False: a thread may still write there. Every program of this user can write the memory: no length is believed. */
UNSEEN static bool content_of(const struct ring_view *view, uint32_t chunk, struct content *c)
{
    const uint8_t *data = view->chunks + ((uint64_t)chunk << view->chunk_shift);
    const uint64_t end  = view->chunk_mask + 1;
    uint64_t       at   = 0;

    for (*c = (struct content){0, 0}; end - at >= HEADER_SIZE;) {
        const uint64_t word = word_at(data + at);
        const uint32_t size = (uint32_t)(word & 0xFFFF), aligned = (size + 7) & ~7u;
        if (word == 0 || (word & 0xFF000000u) == SHM_RESERVED || (word & 0xFF000000u) == SHM_ABANDONED)
            return false;
        if ((uint32_t)word == ETL_FILLER || (word >> 24 & 0xFF) != ETL_MARKER || size < HEADER_SIZE ||
            aligned > end - at)
            break;
        c->last = word_at(data + at + offsetof(struct etl_event_header, time));
        c->events++;
        at += aligned;
    }
    return true;
}

/* The same for a CPU's chunk number `n`, by the tallies at its beginning and at its end. False: the next chunk is not
 * linked, or a program scribbled over these. */
UNSEEN static bool content_by_tally(const struct ring_view *view, const struct ring_step *step, struct content *c)
{
    const uint64_t next = __atomic_load_n(ring_entry(view, step->stream, step->n + 1), __ATOMIC_ACQUIRE),
                   size = view->chunk_mask + 1;
    if (!view->mark || step->stream == view->cpus || !shm_entry_is(next, step->n + 1) ||
        (uint32_t)next >= view->chunk_count)
        return false;
    const uint64_t from   = __atomic_load_n(&view->mark[step->chunk], __ATOMIC_RELAXED),
                   to     = __atomic_load_n(&view->mark[(uint32_t)next], __ATOMIC_RELAXED);
    const uint64_t events = (to >> SHM_TALLY_BITS) - (from >> SHM_TALLY_BITS), back = (to & SHM_TALLY_MASK) << 3;
    if (events == 0 || events > size / HEADER_SIZE || back < HEADER_SIZE || back > size)
        return false;
    const uint8_t *last = view->chunks + ((uint64_t)step->chunk << view->chunk_shift) + size - back;
    *c                  = (struct content){(uint32_t)events, word_at(last + offsetof(struct etl_event_header, time))};
    return (word_at(last) >> 24 & 0xFF) == ETL_MARKER;
}

/* The time of the chunk's first event; 0: it begins with none. */
UNSEEN static uint64_t begins(const struct ring_view *view, uint32_t chunk)
{
    const uint8_t *data = view->chunks + ((uint64_t)chunk << view->chunk_shift);
    return (word_at(data) >> 24 & 0xFF) == ETL_MARKER ? word_at(data + offsetof(struct etl_event_header, time)) : 0;
}

void ring_overwrote(const struct ring_step *step)
{
    uint64_t was = __atomic_load_n(step->last_at, __ATOMIC_RELAXED);
    while (was < step->last &&
           !__atomic_compare_exchange_n(step->last_at, &was, step->last, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

uint64_t ring_oldest_version(const struct ring_view *view)
{
    uint64_t sum = shm_pool_index(__atomic_load_n(&view->data->pool_head, __ATOMIC_ACQUIRE));
    for (uint32_t i = 0; i <= view->cpus; i++)
        sum += __atomic_load_n(&view->stream[i].oldest, __ATOMIC_ACQUIRE) & SHM_OLDEST_MASK;
    return sum;
}

struct oldest_order {
    uint64_t time;   /* of the chunk's first event; 0: it begins with none */
    uint32_t stream; /* the lower one first, where times are equal */
};
static bool goes_before(struct oldest_order a, struct oldest_order b)
{
    return a.time != b.time ? a.time < b.time : a.stream < b.stream;
}

/* The first of the streams' oldest chunks that come after `after` (NULL: of all). */
static bool first_after(const struct ring_view *view, const struct oldest_order *after, struct ring_step *step,
                        struct oldest_order *first)
{
    struct ring_step one;
    bool             found = false;

    for (uint32_t i = 0; i <= view->cpus; i++) {
        if (!ring_oldest_of(view, i, &one))
            continue;
        const struct oldest_order order = {begins(view, one.chunk), i};
        if ((after && !goes_before(*after, order)) || (found && !goes_before(order, *first)))
            continue;
        *first = order;
        *step  = one;
        found  = true;
    }
    return found;
}

/* Only the chunk that will be overwritten is parsed: with many processors each has an oldest one. */
bool ring_oldest(const struct ring_view *view, struct ring_step *step)
{
    struct content             content;
    struct oldest_order        first, tried;
    const struct oldest_order *after = NULL;

    while (first_after(view, after, step, &first)) {
        if (content_by_tally(view, step, &content) || content_of(view, step->chunk, &content)) {
            step->to += (uint64_t)content.events << SHM_OLDEST_BITS;
            step->last = content.last;
            return true;
        }
        tried = first; /* still being written: the next one */
        after = &tried;
    }
    return false;
}
