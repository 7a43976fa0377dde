/* fastpath.h - the hot half of writer.c, inline for callers that write one event a call: the provider library. The
 * rules are in writer.h (W1..W4). All other callers use ring_write. */
#ifndef AUTOLOGGER_RING_FASTPATH_H
#define AUTOLOGGER_RING_FASTPATH_H
#include "autologger/ring/section.h"
#include "autologger/ring/writer.h"
#include "registry-sim/base/clock.h"

/* The rare ways out (writer.c): all of ring_write, loss and fallback included. */
wstatus ring_lost(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket, wstatus status);
wstatus ring_write_patiently(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                             struct section *s, bool *written);
void    ring_wake(int eventfd);

/* The table entry of chunk number `n` of stream `index`. */
static inline __attribute__((always_inline)) uint64_t *ring_entry(const struct ring_view *view, uint32_t index,
                                                                  uint64_t n)
{
    return &view->table[((uint64_t)index << view->table_shift) + (n & view->table_mask)];
}

/* Address of position `pos` of stream `index`. NULL: its chunk is not linked, or the table entry is invalid. */
static inline __attribute__((always_inline)) uint8_t *ring_at(const struct ring_view *view, uint32_t index,
                                                              uint64_t pos)
{
    const uint64_t n     = pos >> view->chunk_shift;
    const uint64_t entry = __atomic_load_n(ring_entry(view, index, n), __ATOMIC_ACQUIRE);
    if (__builtin_expect(!shm_entry_is(entry, n) || (uint32_t)entry >= view->chunk_count, 0))
        return NULL;
    return view->chunks + ((uint64_t)(uint32_t)entry << view->chunk_shift) + (pos & view->chunk_mask);
}

/* The same by the copy of the entry beside the write position. NULL: the copy is of another chunk. The entry of a chunk
 * number never changes. `mask`: the view's chunk_mask. */
static inline __attribute__((always_inline)) uint8_t *ring_here(const struct ring_view  *view,
                                                                const struct shm_stream *stream, uint64_t pos,
                                                                uint64_t mask)
{
    const unsigned shift = view->chunk_shift;
    const uint64_t entry = __atomic_load_n(&stream->current, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!shm_entry_is(entry, pos >> shift) || (uint32_t)entry >= view->chunk_count, 0))
        return NULL;
    return view->chunks + ((uint64_t)(uint32_t)entry << shift) + (pos & mask);
}

/* As ring_write, for an event whose parts are in `s`: first (with the size), ids, provider, descriptor, activity,
 * piece, end and total. `total` is that of `s`. May be called again with the same `s`. `where`: ring_rseq, or a copy of
 * it. Makes one attempt at the common case. In every other case (a restart, the end of a chunk, no room, another clock)
 * ring_write_patiently starts over. */
static inline __attribute__((always_inline)) wstatus ring_write_event(const struct ring_view  *view,
                                                                      const struct shm_enable *enable, uint64_t ticket,
                                                                      const struct ring_rseq *where, struct section *s,
                                                                      uint32_t total, bool *written)
{
    const uint32_t     size    = (uint32_t)sizeof(struct etl_event_header) + total;
    const uint32_t     aligned = (size + 7) & ~7u;
    const uint64_t     mask    = view->chunk_mask;
    char              *rseq    = (char *)__builtin_thread_pointer() + where->offset;
    struct shm_stream *stream;
    struct ring_place  place;

    if (__builtin_expect(!__atomic_load_n(&where->usable, __ATOMIC_RELAXED) || size > view->quick_event, 0))
        return ring_write_patiently(view, enable, ticket, s, written);
    place.cpu = __atomic_load_n((uint32_t *)(void *)(rseq + 4), __ATOMIC_RELAXED);
    if (__builtin_expect(place.cpu >= view->cpus, 0))
        return ring_write_patiently(view, enable, ticket, s, written);
    stream = &view->stream[place.cpu];
    __asm__("" : "+r"(stream)); /* one address, not computed again for each field */
    place.wpos  = &stream->wpos;
    place.old   = __atomic_load_n(place.wpos, __ATOMIC_ACQUIRE);
    place.tally = __atomic_load_n(&stream->tally, __ATOMIC_RELAXED);
    place.next  = place.old + aligned;
    if (__builtin_expect((place.old & mask) + aligned > mask + 1, 0))
        return ring_write_patiently(view, enable, ticket, s, written);
    place.dst = ring_here(view, stream, place.old, mask);
    if (__builtin_expect(!place.dst, 0) ||
        __builtin_expect(section_write(s, &place, view, enable, ticket, rseq) != SECTION_DONE, 0))
        return ring_write_patiently(view, enable, ticket, s, written);
    *written = true;
    return W_SUCCESS;
}
#endif
