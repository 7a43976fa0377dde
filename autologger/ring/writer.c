/* writer.c - the rare half of writing, see writer.h; the hot half is fastpath.h. */
#include "autologger/ring/fastpath.h"
#include "autologger/ring/oldest.h"

#include "registry-sim/win32/filetime.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEADER_SIZE = sizeof(struct etl_event_header), ABORTS_IN_A_ROW = 100 };

/* glibc 2.35 and later registers rseq for every thread and exports its place. Weak: other C libraries don't have it. */
extern const ptrdiff_t    __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
struct ring_rseq          ring_rseq;

static void find_rseq(void)
{
#if SECTION_AVAILABLE
    if (&__rseq_offset && &__rseq_size && __rseq_size != 0) {
        if (ring_rseq.offset != __rseq_offset) /* no needless store: writers read it */
            ring_rseq.offset = __rseq_offset;
        __atomic_store_n(&ring_rseq.usable, !ring_rseq.forced_off, __ATOMIC_RELEASE);
    }
#endif
}

void ring_force_fallback(bool on)
{
    ring_rseq.forced_off = on;
    find_rseq();
}

static uint64_t view_mode(uint32_t clock_kind)
{
    uint64_t mode = clock_kind == CLOCK_READ_TSC ? RING_TSC : 0;
#if SECTION_AVAILABLE
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx"))
        mode |= RING_AVX;
#endif
    return mode;
}

static bool control_fits(const struct shm_control *c, size_t size)
{
    return size >= sizeof *c && c->header.magic == SHM_MAGIC_CONTROL && c->header.major == SHM_MAJOR &&
           c->header.header_size >= sizeof *c && c->header.size == size && c->stream_count >= 2 &&
           c->stream_count <= 65536 && c->chunk_shift >= 12 && c->chunk_shift <= 16 && c->max_event <= ETL_MAX_EVENT &&
           ((c->max_event + 7u) & ~7u) <= 1u << c->chunk_shift && c->pool_offset % 4 == 0 && c->pool_offset <= size &&
           (size - c->pool_offset) / sizeof(uint32_t) >= c->chunk_count;
}

/* True when `count` elements of `each` bytes at `offset` end before the chunks. */
static bool lies_before(uint64_t offset, uint64_t count, size_t each, uint64_t chunks)
{
    return offset % 8 == 0 && offset <= chunks && (chunks - offset) / each >= count;
}

static bool data_fits(const struct shm_control *c, const struct shm_data *d, size_t size)
{
    const uint64_t slots = (uint64_t)d->table_mask + 1;
    return d->header.magic == SHM_MAGIC_DATA && d->header.major == SHM_MAJOR && d->header.size == size &&
           d->stream_count == c->stream_count && d->chunk_offset % 4096 == 0 && d->chunk_offset <= size &&
           (size - d->chunk_offset) >> c->chunk_shift >= c->chunk_count && d->stream_offset % 64 == 0 &&
           lies_before(d->stream_offset, d->stream_count, sizeof(struct shm_stream), d->chunk_offset) &&
           (slots & d->table_mask) == 0 && slots <= 1u << 30 &&
           lies_before(d->table_offset, d->stream_count * slots, 8, d->chunk_offset) &&
           lies_before(d->taker_offset, c->chunk_count, 4, d->chunk_offset) &&
           (!d->mark_offset ||
            (d->mark_offset % 8 == 0 && lies_before(d->mark_offset, c->chunk_count, 8, d->chunk_offset))) &&
           (!d->refusal_offset ||
            lies_before(d->refusal_offset, SHM_REFUSALS, sizeof(struct shm_refusal), d->chunk_offset));
}

wstatus ring_view_init(struct ring_view *view, const void *control, size_t control_size, void *data, size_t data_size,
                       int eventfd, struct reason *why)
{
    struct shm_data d;
    if (data_size < sizeof d)
        return reason_set(why, W_INVALID_DATA, "the data memory of the session is too small");
    memcpy(&d, data, sizeof d);
    return ring_view_of(view, control, control_size, &d, data, data_size, eventfd, why);
}

wstatus ring_view_of(struct ring_view *view, const void *control, size_t control_size, const struct shm_data *header,
                     void *data, size_t data_size, int eventfd, struct reason *why)
{
    const struct shm_control *c = control;
    const struct shm_data     d = *header;

    if (!control_fits(c, control_size))
        return reason_set(why, W_INVALID_DATA, "the control page of the session makes no sense");
    if (!data_fits(c, &d, data_size))
        return reason_set(why, W_INVALID_DATA, "the data memory of the session does not fit its control page");
    *view             = (struct ring_view){.control     = c,
                                           .mode        = view_mode(c->clock_kind),
                                           .stream      = (void *)((char *)data + d.stream_offset),
                                           .table       = (void *)((char *)data + d.table_offset),
                                           .chunks      = (uint8_t *)data + d.chunk_offset,
                                           .cpus        = c->stream_count - 1,
                                           .chunk_shift = c->chunk_shift,
                                           .chunk_count = c->chunk_count,
                                           .max_event   = c->max_event,
                                           .chunk_mask  = (UINT64_C(1) << c->chunk_shift) - 1,
                                           .table_mask  = d.table_mask,
                                           .table_shift = (uint32_t)__builtin_ctzll((uint64_t)d.table_mask + 1),
                                           .data        = data,
                                           .pool        = (const void *)((const char *)control + c->pool_offset),
                                           .taker       = (void *)((char *)data + d.taker_offset),
                                           .clock_kind  = c->clock_kind,
                                           .eventfd     = eventfd,
                                           .overwrite   = c->overwrite == 1,
                                           .mark        = d.mark_offset ? (void *)((char *)data + d.mark_offset) : NULL,
                                           .refusal     = d.refusal_offset ? (void *)((char *)data + d.refusal_offset) : NULL};
    view->quick_event = view->mode & RING_TSC ? view->max_event : 0;
    find_rseq();
    return W_SUCCESS;
}

void ring_refuse(const struct ring_view *view, const struct shm_enable *enable, uint32_t slot, uint8_t level,
                 uint64_t keyword)
{
    struct shm_refusal *r          = view->refusal ? &view->refusal[slot % SHM_REFUSALS] : NULL;
    bool                level_kept = enable->level != 0 && level > enable->level;
    uint16_t            nobody     = 0;

    if (!r || !enable->enabled || !__atomic_load_n(&view->control->open, __ATOMIC_RELAXED))
        return;
    if (__atomic_load_n(&r->slot, __ATOMIC_RELAXED) != slot + 1 &&
        !__atomic_compare_exchange_n(&r->slot, &nobody, (uint16_t)(slot + 1), false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    uint8_t why = __atomic_load_n(&r->why, __ATOMIC_RELAXED);
    if (level_kept) {
        if (!(why & SHM_REFUSED_LEVEL) || level < __atomic_load_n(&r->level, __ATOMIC_RELAXED))
            __atomic_store_n(&r->level, level, __ATOMIC_RELAXED);
        if (!(why & SHM_REFUSED_LEVEL))
            __atomic_fetch_or(&r->why, SHM_REFUSED_LEVEL, __ATOMIC_RELEASE);
        return;
    }
    if ((__atomic_load_n(&r->keywords, __ATOMIC_RELAXED) & keyword) != keyword)
        __atomic_fetch_or(&r->keywords, keyword, __ATOMIC_RELAXED);
    if (!(why & SHM_REFUSED_KEYWORDS))
        __atomic_fetch_or(&r->why, SHM_REFUSED_KEYWORDS, __ATOMIC_RELEASE);
}

static bool still_enabled(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket)
{
    return __atomic_load_n(&view->control->open, __ATOMIC_ACQUIRE) == 1 &&
           __atomic_load_n((const uint64_t *)(const void *)enable, __ATOMIC_ACQUIRE) == ticket;
}

__attribute__((noinline, cold)) bool ring_filtered(const struct ring_view *view, const struct shm_enable *enable,
                                                   uint64_t ticket, uint32_t slot)
{
    struct shm_refusal *r      = view->refusal ? &view->refusal[slot % SHM_REFUSALS] : NULL;
    uint16_t            nobody = 0;
    const int           cpu    = sched_getcpu();

    if (!still_enabled(view, enable, ticket))
        return false;
    __atomic_fetch_add(&view->stream[cpu >= 0 && (uint32_t)cpu < view->cpus ? (uint32_t)cpu : view->cpus].filtered, 1,
                       __ATOMIC_RELAXED);
    if (r &&
        (__atomic_load_n(&r->slot, __ATOMIC_RELAXED) == slot + 1 ||
         __atomic_compare_exchange_n(&r->slot, &nobody, (uint16_t)(slot + 1), false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) &&
        !(__atomic_load_n(&r->why, __ATOMIC_RELAXED) & SHM_REFUSED_FILTER))
        __atomic_fetch_or(&r->why, SHM_REFUSED_FILTER, __ATOMIC_RELEASE);
    return true;
}

static uint64_t read_clock(uint32_t kind)
{
    struct timespec t;
#if defined(__x86_64__)
    if (kind == CLOCK_READ_TSC) {
        __builtin_ia32_lfence(); /* not before the load of wpos: another CPU may have moved it since */
        return __builtin_ia32_rdtsc();
    }
#endif
    clock_gettime(kind == CLOCK_READ_COARSE ? CLOCK_REALTIME_COARSE : CLOCK_MONOTONIC_RAW, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return kind == CLOCK_READ_COARSE ? filetime_from_unix_ns(ns) : ns;
}

/* The one system call. The program may have closed the descriptor and reused its number for a file of its own: an
 * eventfd has no file type. */
__attribute__((noinline, cold)) void ring_wake(int eventfd)
{
    int         error = errno;
    uint64_t    one   = 1;
    struct stat st;
    if (eventfd >= 0 && fstat(eventfd, &st) == 0 && (st.st_mode & S_IFMT) == 0) {
        ssize_t n = write(eventfd, &one, sizeof one);
        (void)n; /* full: the logger is awake already */
    }
    errno = error;
}

/* Where an event of `aligned` bytes goes when wpos is `old`. */
enum place_found {
    PLACE_HERE,
    PLACE_NEXT,     /* no room in the chunk: skip the gap. `fill`: where the filler goes */
    PLACE_UNLINKED, /* the chunk of this position must be taken from the pool */
};
static enum place_found writer_find_place(const struct ring_view *view, unsigned index, uint64_t old, uint32_t aligned,
                                          struct ring_place *out)
{
    const uint64_t in_chunk = old & view->chunk_mask;

    out->old  = old;
    out->next = old + aligned;
    out->cpu  = index;
    out->dst = out->fill = ring_at(view, index, old);
    if (!out->dst)
        return PLACE_UNLINKED;
    if (in_chunk && in_chunk + aligned > view->chunk_mask + 1) {
        out->next = (old | view->chunk_mask) + 1;
        return PLACE_NEXT;
    }
    return PLACE_HERE;
}

/* ---- the pool ---- */

/* Wakes the daemon, which gives more chunks, or drains: after a chunk beyond pool_wake was taken, and whenever there is
 * none. */
static void wake_after_take(const struct ring_view *view, uint32_t index)
{
    if (index + 1 >= __atomic_load_n(&view->control->pool_wake, __ATOMIC_RELAXED))
        ring_wake(__atomic_load_n(&view->eventfd, __ATOMIC_RELAXED));
}

static void wake_if_empty(const struct ring_view *view)
{
    if (__atomic_load_n(&view->control->pool_wake, __ATOMIC_RELAXED) != SHM_WAKE_NEVER)
        ring_wake(__atomic_load_n(&view->eventfd, __ATOMIC_RELAXED));
}

/* The chunk on top of the pool. False: it is empty. */
static bool pool_top(const struct ring_view *view, uint64_t *head, uint32_t *chunk)
{
    *head = __atomic_load_n(&view->data->pool_head, __ATOMIC_ACQUIRE);
    if (shm_pool_index(*head) >= view->chunk_count)
        return false;
    *chunk = __atomic_load_n(&view->pool[shm_pool_index(*head)], __ATOMIC_RELAXED);
    return *chunk < view->chunk_count;
}

/* Finds the chunk to take, and the step that takes it. False: there is none. While others are moving a chunk it tries
 * again. */
static bool find_chunk(const struct ring_view *view, struct ring_step *step)
{
    enum { TRIES = 1000 };
    uint64_t before = view->overwrite ? ring_oldest_version(view) : 0, now;
    for (int i = 0; i < TRIES; i++, before = now) {
        step->word = &view->data->pool_head;
        if (pool_top(view, &step->from, &step->chunk)) {
            step->to = step->from + 1;
            return true;
        }
        if (!view->overwrite)
            return false;
        if (ring_oldest(view, step))
            return true;
        now = ring_oldest_version(view);
        if (now == before && i > 0)
            return false;
    }
    return false;
}

static void wake_after(const struct ring_view *view, const struct ring_step *step)
{
    if (step->word == &view->data->pool_head) {
        wake_after_take(view, shm_pool_index(step->from));
        return;
    }
    ring_overwrote(step);
    wake_if_empty(view);
}

/* True when others moved on from position `old` of stream `index`, or linked its chunk. */
static bool went_on(const struct ring_view *view, uint32_t index, uint64_t old)
{
    return __atomic_load_n(&view->stream[index].wpos, __ATOMIC_ACQUIRE) != old || ring_at(view, index, old);
}

/* Links a chunk for position `old`, its beginning, to this CPU's stream. False: there is none. */
static bool take_chunk(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                       const struct ring_place *place, void *rseq, enum section_result *done)
{
    const uint64_t   n = place->old >> view->chunk_shift;
    struct ring_step step;
    uint64_t         nowhere = 0;
    struct ring_take t       = {
              .wpos = place->wpos, .old = place->old, .entry = ring_entry(view, place->cpu, n), .tally = place->tally};

    *done  = SECTION_ABORTED;
    t.seen = __atomic_load_n(t.entry, __ATOMIC_ACQUIRE);
    if ((place->old & view->chunk_mask) != 0 /* only after a program scribbled */ || shm_entry_is(t.seen, n) ||
        !find_chunk(view, &step))
        return went_on(view, place->cpu, place->old);
    t.head  = step.word;
    t.from  = step.from;
    t.to    = step.to;
    t.value = shm_entry(n, step.chunk);
    t.mark  = view->mark ? &view->mark[step.chunk] : &nowhere;
    /* loads its page now: a fault between the section's two steps would cost the chunk */
    (void)__atomic_load_n(t.mark, __ATOMIC_RELAXED);
    *done = section_take(&t, view, enable, ticket, place->cpu, rseq);
    if (*done == SECTION_DONE)
        wake_after(view, &step);
    return true;
}

void (*ring_take_testpoint)(void); /* tests: called between taking and linking */

/* The daemon read the earlier writers' data to its end before it put the chunk into the pool. That half of the order
 * goes through the daemon's own mapping, where ThreadSanitizer does not see it. */
__attribute__((no_sanitize("thread"))) static void make_zero(uint8_t *chunk, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 8; i++)
        ((volatile uint64_t *)(void *)chunk)[i] = 0;
}

/* Links from the stream's present position on: others went on while the chunk was zeroed. An entry of a younger number
 * than k is of a later lap, and in use. */
static bool link_ahead(const struct ring_view *view, uint32_t chunk)
{
    enum { AHEAD = 8 };
    const uint64_t n =
        (__atomic_load_n(&view->stream[view->cpus].wpos, __ATOMIC_ACQUIRE) & ~SHM_CLOSED) >> view->chunk_shift;
    for (uint64_t k = n; k < n + AHEAD; k++) {
        uint64_t     *entry = ring_entry(view, view->cpus, k), seen = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
        const int32_t age = (int32_t)((uint32_t)(seen >> 32) - (uint32_t)(k + 1));
        if (age < 0 &&
            __atomic_compare_exchange_n(entry, &seen, shm_entry(k, chunk), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* As take_chunk, for the fallback stream, where several threads may take at once: a thread that comes too late links
 * its chunk ahead. Until then the chunk carries its thread, so that the daemon can tell whether the thread still
 * lives. */
static bool take_fallback(const struct ring_view *view, uint64_t old, uint32_t thread)
{
    const uint64_t   n    = old >> view->chunk_shift;
    const uint64_t   seen = __atomic_load_n(ring_entry(view, view->cpus, n), __ATOMIC_ACQUIRE);
    struct ring_step step;

    if ((old & view->chunk_mask) != 0 || shm_entry_is(seen, n))
        return went_on(view, view->cpus, old);
    if (!__atomic_load_n(&view->data->fallback_used, __ATOMIC_RELAXED))
        __atomic_store_n(&view->data->fallback_used, 1, __ATOMIC_SEQ_CST);
    do {
        if (!find_chunk(view, &step))
            return went_on(view, view->cpus, old);
    } while (!__atomic_compare_exchange_n(step.word, &step.from, step.to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    uint32_t *taker = &view->taker[step.chunk], before = __atomic_load_n(taker, __ATOMIC_RELAXED);
    if (step.word == &view->data->pool_head)
        before = 0; /* else: the last taker of the overwritten chunk */
    if (before == UINT32_MAX ||
        !__atomic_compare_exchange_n(taker, &before, thread, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return true; /* the daemon has given it up meanwhile */
    if (ring_take_testpoint)
        ring_take_testpoint();
    make_zero(view->chunks + ((uint64_t)step.chunk << view->chunk_shift), view->chunk_mask + 1);
    if (!link_ahead(view, step.chunk))
        __atomic_store_n(taker, 0, __ATOMIC_RELEASE); /* the daemon finds it */
    wake_after(view, &step);
    return true;
}

static wstatus fallback_lost(const struct ring_view *view, wstatus status)
{
    __atomic_fetch_add(&view->stream[view->cpus].lost, 1, __ATOMIC_RELAXED);
    return status;
}

/* Counts a loss on this CPU's stream, exactly (no loss is counted after a quiesce), and returns `status`. */
__attribute__((noinline, cold)) wstatus ring_lost(const struct ring_view *view, const struct shm_enable *enable,
                                                  uint64_t ticket, wstatus status)
{
    if (__atomic_load_n(&ring_rseq.usable, __ATOMIC_ACQUIRE)) {
        char *rseq = (char *)__builtin_thread_pointer() + ring_rseq.offset;
        for (int i = 0; i < ABORTS_IN_A_ROW; i++) {
            uint32_t cpu = __atomic_load_n((uint32_t *)(void *)(rseq + 4), __ATOMIC_RELAXED);
            if (cpu >= view->cpus)
                break;
            switch (section_count_lost(view, enable, ticket, cpu, &view->stream[cpu].lost, rseq)) {
            case SECTION_DONE: return status;
            case SECTION_CLOSED: return W_SUCCESS;
            case SECTION_ABORTED: break;
            }
        }
    }
    return still_enabled(view, enable, ticket) ? fallback_lost(view, status) : W_SUCCESS;
}

/* Copies everything but the first 8 bytes into a slot that this thread has reserved. */
static void fill_slot(uint8_t *dst, const struct section *e, uint64_t time, uint32_t cpu)
{
    struct etl_event_header h;
    memcpy((char *)&h + 8, &e->ids, 8);
    h.time = (int64_t)time;
    memcpy(&h.provider, e->provider, 16);
    memcpy(&h.id, e->descriptor, 16);
    memcpy(&h.activity, e->activity, 16);
    h.kernel_time = cpu;
    h.user_time   = 0;
    memcpy(dst + 8, (char *)&h + 8, HEADER_SIZE - 8);
    dst += HEADER_SIZE;
    for (const struct ring_piece *p = e->piece; p != e->end; p++)
        if (p->size) {
            memcpy(dst, (const void *)(uintptr_t)p->ptr, p->size);
            dst += p->size;
        }
}

void (*ring_fallback_testpoint)(void); /* tests: called between reserve and publish */

static wstatus writer_publish(const struct ring_place *place, const struct section *e, uint32_t size, uint64_t time,
                              uint32_t cpu)
{
    uint64_t *word  = (uint64_t *)(void *)place->dst;
    uint64_t  mark  = (size | SHM_RESERVED) | (e->ids & 0xFFFFFFFFu) << 32; /* the thread */
    uint64_t  final = e->first, seen = 0;

    if (!__atomic_compare_exchange_n(word, &seen, mark, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return W_NOT_ENOUGH_MEMORY; /* the logger has given it up and counted the loss */
    if (ring_fallback_testpoint)
        ring_fallback_testpoint();
    fill_slot(place->dst, e, time, cpu);
    if (!__atomic_compare_exchange_n(word, &mark, final, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return W_NOT_ENOUGH_MEMORY;
    return W_SUCCESS;
}

static void put_filler(uint8_t *at)
{
    uint64_t empty = 0;
    __atomic_compare_exchange_n((uint64_t *)(void *)at, &empty, (uint64_t)ETL_FILLER, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

/* The chunk of `old` has no room for this event: gives up the rest of it, so that the logger can release the whole
 * chunk. */
static void skip_rest(uint64_t *wpos, const struct ring_place *place)
{
    uint64_t old = place->old;
    if (__atomic_compare_exchange_n(wpos, &old, place->next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        put_filler(place->fill);
}

/* `told`: NULL, or the time of a late event, which has no CPU. */
static wstatus write_fallback(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                              const struct section *event, const struct ring_told *told, bool *written)
{
    uint64_t      *wpos    = &view->stream[view->cpus].wpos;
    const uint32_t size    = HEADER_SIZE + event->total;
    const uint32_t aligned = (size + 7) & ~7u;
    const int      cpu     = told ? (int)view->cpus : sched_getcpu();

    for (;;) {
        uint64_t          old = __atomic_load_n(wpos, __ATOMIC_ACQUIRE);
        struct ring_place place;
        if ((old & SHM_CLOSED) || !still_enabled(view, enable, ticket))
            return W_SUCCESS;
        uint64_t time = told ? told->time : read_clock(view->clock_kind);
        switch (writer_find_place(view, view->cpus, old, aligned, &place)) {
        case PLACE_NEXT: skip_rest(wpos, &place); continue;
        case PLACE_UNLINKED:
            if (take_fallback(view, old, (uint32_t)event->ids))
                continue;
            wake_if_empty(view);
            if (told && !told->count_loss) {
                /* this caller waits and asks often; an ordinary writer does not */
                ring_wake(__atomic_load_n(&view->eventfd, __ATOMIC_RELAXED));
                return W_NOT_ENOUGH_MEMORY;
            }
            return still_enabled(view, enable, ticket) ? fallback_lost(view, W_NOT_ENOUGH_MEMORY) : W_SUCCESS;
        case PLACE_HERE: break;
        }
        if (!__atomic_compare_exchange_n(wpos, &old, place.next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        wstatus status = writer_publish(&place, event, size, time, cpu < 0 ? 0 : (uint32_t)cpu);
        *written       = status == W_SUCCESS;
        return status;
    }
}

/* For a clock that is not read inside the section. */
static enum section_result write_stamped(struct section *s, const struct ring_place *place,
                                         const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                                         void *rseq)
{
    section_write_stamped(s, place, view, enable, ticket, rseq, 1);
    s->time                        = read_clock(view->clock_kind);
    const enum section_result done = section_write_stamped(s, place, view, enable, ticket, rseq, 0);
    section_forget(rseq);
    return done;
}

/* For ring_here. */
static void note_current(const struct ring_view *view, uint32_t cpu, uint64_t pos)
{
    const uint64_t n = pos >> view->chunk_shift, entry = __atomic_load_n(ring_entry(view, cpu, n), __ATOMIC_RELAXED);
    if (shm_entry_is(entry, n) && __atomic_load_n(&view->stream[cpu].current, __ATOMIC_RELAXED) != entry)
        __atomic_store_n(&view->stream[cpu].current, entry, __ATOMIC_RELEASE);
}

__attribute__((noinline)) wstatus ring_write_patiently(const struct ring_view *view, const struct shm_enable *enable,
                                                       uint64_t ticket, struct section *s, bool *written)
{
    const uint32_t size    = HEADER_SIZE + s->total;
    const uint32_t aligned = (size + 7) & ~7u;

    *written = false;
    if (size > view->max_event)
        return ring_lost(view, enable, ticket, W_MORE_DATA);
    if (!__atomic_load_n(&ring_rseq.usable, __ATOMIC_ACQUIRE))
        return write_fallback(view, enable, ticket, s, NULL, written);
    char *rseq = (char *)__builtin_thread_pointer() + ring_rseq.offset;
    for (int i = 0; i < ABORTS_IN_A_ROW; i++) {
        struct ring_place   place;
        enum section_result done;
        const uint32_t      cpu = __atomic_load_n((uint32_t *)(void *)(rseq + 4), __ATOMIC_RELAXED);
        if (__builtin_expect(cpu >= view->cpus, 0))
            break; /* not registered for this thread */
        place.wpos                   = &view->stream[cpu].wpos;
        const uint64_t old           = __atomic_load_n(place.wpos, __ATOMIC_ACQUIRE);
        place.tally                  = __atomic_load_n(&view->stream[cpu].tally, __ATOMIC_RELAXED);
        const enum place_found found = writer_find_place(view, cpu, old, aligned, &place);
        switch (found) {
        case PLACE_HERE:
            done = view->mode & RING_TSC ? section_write(s, &place, view, enable, ticket, rseq)
                                         : write_stamped(s, &place, view, enable, ticket, rseq);
            break;
        case PLACE_NEXT: done = section_skip(&place, view, enable, ticket, place.next, rseq); break;
        case PLACE_UNLINKED:
        default:
            if (!take_chunk(view, enable, ticket, &place, rseq, &done)) {
                wake_if_empty(view);
                return ring_lost(view, enable, ticket, W_NOT_ENOUGH_MEMORY);
            }
        }
        if (done == SECTION_DONE && found == PLACE_HERE) {
            note_current(view, cpu, old);
            *written = true;
            return W_SUCCESS;
        }
        if (done == SECTION_DONE)
            continue; /* the gap is skipped, or the chunk is linked */
        if (done == SECTION_CLOSED)
            return W_SUCCESS;
        __atomic_fetch_add(&view->stream[cpu].aborts, 1, __ATOMIC_RELAXED);
    }
    return write_fallback(view, enable, ticket, s, NULL, written);
}

wstatus ring_write(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                   struct etl_event_header *header, const struct ring_piece *pieces, unsigned count, uint32_t total,
                   bool *written)
{
    struct section s;
    if (total > ETL_MAX_EVENT - HEADER_SIZE) {
        *written = false;
        return ring_lost(view, enable, ticket, W_MORE_DATA);
    }
    header->size = (uint16_t)(HEADER_SIZE + total);
    memcpy(&s.first, header, sizeof s.first);
    memcpy(&s.ids, &header->thread_id, sizeof s.ids);
    s.provider   = &header->provider;
    s.descriptor = &header->id;
    s.activity   = &header->activity;
    s.piece      = pieces;
    s.end        = (const void *)((uintptr_t)pieces + count * sizeof *pieces);
    s.total      = total;
    return ring_write_event(view, enable, ticket, &ring_rseq, &s, total, written);
}

wstatus ring_write_told(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                        const struct section *s, const struct ring_told *told, bool *written)
{
    *written = false;
    if (HEADER_SIZE + s->total > view->max_event)
        return still_enabled(view, enable, ticket) ? fallback_lost(view, W_MORE_DATA) : W_SUCCESS;
    return write_fallback(view, enable, ticket, s, told, written);
}
