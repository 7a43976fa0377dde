/* fastpath.h - the hot half of writer.c, inline for those who write an event a call: the provider library. See writer.h for
 * the rules (W1..W4); everybody else calls ring_write. */
#ifndef AUTOLOGGER_RING_FASTPATH_H
#define AUTOLOGGER_RING_FASTPATH_H
#include "autologger/ring/section.h"
#include "autologger/ring/writer.h"
#include "registry-sim/base/clock.h"

enum { RING_ABORTS_IN_A_ROW = 100 };

/* An event in parts: what struct etl_event_header holds, from where it is. KernelTime and UserTime are 0. */
struct ring_event {
    uint64_t                 first; /* header bytes 0..7; the size is put in */
    uint64_t                 ids;   /* thread, process */
    const void              *provider, *descriptor, *activity; /* 16 bytes each */
    const struct ring_piece *pieces;
    uint32_t                 count;
    uint32_t                 total; /* sum of the pieces */
};

/* Where this process finds rseq areas. */
struct ring_rseq {
    ptrdiff_t offset; /* from the thread pointer */
    bool      usable;
    bool      forced_off; /* by a test */
    bool      avx;
};
extern struct ring_rseq ring_rseq __attribute__((visibility("hidden")));

/* The rare ways out (writer.c). */
wstatus  ring_lost(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket, wstatus status);
wstatus  ring_write_fallback(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                             const struct ring_event *event, bool *written);
void     ring_wake(int eventfd);
uint64_t ring_read_clock(uint32_t kind);

/* One event's place in a stream. */
struct ring_place {
    uint64_t start;
    uint8_t *dst;
    uint8_t *fill; /* where the filler goes; dst when there is no gap */
};

/* False: no room, or a table entry that can't be. */
static inline __attribute__((always_inline)) bool ring_find_place(const struct ring_view *view, unsigned index,
                                                                  uint64_t old, uint32_t aligned, struct ring_place *out)
{
    const struct shm_stream_control *sc    = &view->stream_control[index];
    const uint64_t                   chunk = UINT64_C(1) << view->chunk_shift;
    const uint64_t                   room  = chunk - (old & (chunk - 1));
    const uint64_t                   start = __builtin_expect(aligned <= room, 1) ? old : old + room;

    if (__builtin_expect(start + aligned > __atomic_load_n(&sc->limit, __ATOMIC_ACQUIRE), 0))
        return false;
    const uint32_t *table = (const uint32_t *)((const char *)view->control + sc->table_offset);
    uint32_t        entry = __atomic_load_n(&table[(start >> view->chunk_shift) & sc->table_mask], __ATOMIC_RELAXED);
    if (__builtin_expect(entry >= view->chunk_count, 0))
        return false;
    out->start = start;
    out->dst   = view->chunks + ((uint64_t)entry << view->chunk_shift) + (start & (chunk - 1));
    out->fill  = out->dst;
    if (__builtin_expect(start != old, 0)) {
        entry = __atomic_load_n(&table[(old >> view->chunk_shift) & sc->table_mask], __ATOMIC_RELAXED);
        if (entry >= view->chunk_count)
            return false;
        out->fill = view->chunks + ((uint64_t)entry << view->chunk_shift) + (old & (chunk - 1));
    }
    return true;
}

static inline void ring_wake_if_crossed(const struct ring_view *view, unsigned index, uint64_t old, uint64_t next)
{
    uint64_t mark = __atomic_load_n(&view->stream_control[index].wake, __ATOMIC_RELAXED);
    if (__builtin_expect(old < mark && next >= mark, 0))
        ring_wake(view->eventfd);
}

/* As ring_write. */
static inline __attribute__((always_inline)) wstatus ring_write_event(const struct ring_view *view,
                                                                      const struct shm_enable *enable, uint64_t ticket,
                                                                      const struct ring_event *event, bool *written)
{
    const uint32_t size    = (uint32_t)sizeof(struct etl_event_header) + event->total;
    const uint32_t aligned = (size + 7) & ~7u;

    *written = false;
    if (__builtin_expect(event->total > ETL_MAX_EVENT || size > view->max_event, 0))
        return ring_lost(view, enable, ticket, W_MORE_DATA);
    if (__builtin_expect(!__atomic_load_n(&ring_rseq.usable, __ATOMIC_RELAXED), 0))
        return ring_write_fallback(view, enable, ticket, event, written);

    char          *rseq = (char *)__builtin_thread_pointer() + ring_rseq.offset;
    struct section s; /* field by field: clearing it first would cost as much as the copying */
    s.tsc        = view->clock_kind == CLOCK_READ_TSC;
    s.first      = (event->first & ~UINT64_C(0xFFFF)) | size;
    s.ids        = event->ids;
    s.provider   = event->provider;
    s.descriptor = event->descriptor;
    s.activity   = event->activity;
    s.piece      = event->pieces;
    s.end        = (const void *)((uintptr_t)event->pieces + event->count * sizeof *event->pieces);
    s.open       = &view->control->open;
    s.enable     = enable;
    s.ticket     = ticket;
    s.wide       = ring_rseq.avx;
    for (int i = 0; i < RING_ABORTS_IN_A_ROW; i++) {
        struct ring_place place;
        s.cpu = __atomic_load_n((uint32_t *)(void *)(rseq + 4), __ATOMIC_RELAXED);
        if (__builtin_expect(s.cpu >= view->cpus, 0))
            break; /* not registered for this thread */
        s.wpos = &view->stream[s.cpu].wpos;
        s.old  = __atomic_load_n(s.wpos, __ATOMIC_ACQUIRE);
        if (__builtin_expect(!s.tsc, 0))
            s.time = ring_read_clock(view->clock_kind);
        if (__builtin_expect(!ring_find_place(view, s.cpu, s.old, aligned, &place), 0))
            return ring_lost(view, enable, ticket, W_NOT_ENOUGH_MEMORY);
        s.next = place.start + aligned;
        s.fill = place.fill;
        s.dst  = place.dst;
        s.last = place.dst + aligned - 8;
        switch (section_write(&s, rseq)) {
        case SECTION_DONE:
            ring_wake_if_crossed(view, s.cpu, s.old, s.next);
            *written = true;
            return W_SUCCESS;
        case SECTION_CLOSED: return W_SUCCESS;
        case SECTION_ABORTED: __atomic_fetch_add(&view->stream[s.cpu].aborts, 1, __ATOMIC_RELAXED); break;
        }
    }
    return ring_write_fallback(view, enable, ticket, event, written);
}
#endif
