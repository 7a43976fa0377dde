/* stream_pool.c - which chunks of a stream set writers may take, have taken, and give back. See stream.h and
 * wire/shm.h. A chunk is free, in the pool, taken (by a writer that has not linked it yet), linked to a stream, or
 * stalled. Only the daemon changes this, except to "taken" and "linked": a writer moves the pool's head and stores a
 * table entry, and both are checked here against `state`. */
#include "autologger/ring/quiesce.h"
#include "autologger/ring/section.h"
#include "autologger/ring/stream_private.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/invariant.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD_TRIES = 64 /* a client that keeps changing the head gets no more chunks */, WAKE_BYTES = 256 << 10 };

static uint64_t *stream_pool_head_of(struct stream_set *s) { return &stream_data(s)->pool_head; }

/* A client can write the head. Writers only raise it, so a value below the last one seen is false. */
uint32_t stream_pool_index(struct stream_set *s)
{
    for (int i = 0; i < HEAD_TRIES; i++) {
        uint64_t       head  = __atomic_load_n(stream_pool_head_of(s), __ATOMIC_SEQ_CST);
        const uint32_t index = shm_pool_index(head);
        if (index >= s->pool_index && index <= s->control->chunk_count)
            return s->pool_index = index;
        s->corrupt++;
        const uint64_t right = ((head >> 32) + 1) << 32 | s->pool_index;
        __atomic_compare_exchange_n(stream_pool_head_of(s), &head, right, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    }
    return s->pool_index;
}

void stream_pool_empty(struct stream_set *s)
{
    s->pool_index = s->control->chunk_count;
    /* corrects an earlier head; if a client restores that, each look corrects it again */
    (void)stream_pool_index(s);
}

static uint32_t available(struct stream_set *s) { return s->control->chunk_count - stream_pool_index(s); }

/* Pushes a chunk on top of the pool. Its memory stays as it is: warm. */
static bool stream_pool_push(struct stream_set *s, uint32_t chunk)
{
    s->state[chunk] = SHM_CHUNK_POOL;
    __atomic_store_n(&s->taker[chunk], 0, __ATOMIC_RELAXED);
    for (int i = 0; i < HEAD_TRIES; i++) {
        const uint32_t index = stream_pool_index(s);
        uint64_t       head  = __atomic_load_n(stream_pool_head_of(s), __ATOMIC_RELAXED);
        if (shm_pool_index(head) != index || index == 0)
            continue;
        __atomic_store_n(&s->pool[index - 1], chunk, __ATOMIC_RELAXED);
        const uint64_t next = ((head >> 32) + 1) << 32 | (index - 1);
        s->pool_index       = index - 1; /* before the swap: a writer that takes it at once raises it again */
        if (__atomic_compare_exchange_n(stream_pool_head_of(s), &head, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return true;
        s->pool_index = index;
    }
    return false;
}

/* Only once: a client that names a chunk without taking it would double it. */
static void make_free(struct stream_set *s, uint32_t chunk)
{
    if (s->state[chunk] == SHM_CHUNK_FREE)
        return;
    INVARIANT(s->free_count < s->control->chunk_count); /* each chunk is free once */
    s->state[chunk]                = SHM_CHUNK_FREE;
    s->free_chunk[s->free_count++] = chunk;
}

/* R6 */
static void give_memory_back(struct stream_set *s, uint32_t chunk)
{
    const off_t at = (off_t)(stream_chunk(s, chunk) - s->data);
    (void)fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, (off_t)stream_chunk_size(s));
}

void stream_set_drop(struct stream_set *s)
{
    const uint64_t from = (uint64_t)(s->chunks - s->data);
    (void)fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(s->data_size - from));
}

uint64_t stream_set_trim(struct stream_set *s)
{
    enum { SLACK = 1 << 20 };
    struct stat    st;
    const uint64_t size = stream_chunk_size(s), good = (uint64_t)(s->chunks - s->data) + s->granted * size + SLACK;
    if (fstat(s->data_fd, &st) < 0 || (uint64_t)st.st_blocks * 512 <= good)
        return 0;
    for (uint32_t c = 0, end; c < s->control->chunk_count; c = end) {
        for (end = c; end < s->control->chunk_count && s->state[end] == SHM_CHUNK_FREE;)
            end++;
        if (end > c) /* R6, for several in a row */
            (void)fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            (off_t)(stream_chunk(s, c) - s->data), (off_t)((end - c) * size));
        end += end == c;
    }
    return (uint64_t)st.st_blocks * 512 - good + SLACK;
}

/* Takes the top of the pool as a writer does. */
static bool take_back(struct stream_set *s)
{
    for (int i = 0; i < HEAD_TRIES; i++) {
        const uint32_t index = stream_pool_index(s);
        uint64_t       head  = __atomic_load_n(stream_pool_head_of(s), __ATOMIC_RELAXED);
        if (index >= s->control->chunk_count)
            return false;
        if (shm_pool_index(head) != index || !__atomic_compare_exchange_n(stream_pool_head_of(s), &head, head + 1,
                                                                          false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            continue;
        s->pool_index        = index + 1;
        const uint32_t chunk = s->pool[index];
        if (s->state[chunk] != SHM_CHUNK_POOL) { /* a client linked it without taking it: the reader has it */
            s->corrupt++;
            continue;
        }
        give_memory_back(s, chunk);
        make_free(s, chunk);
        s->granted -= s->granted != 0;
        return true;
    }
    return false;
}

/* Writers may take half of the pool without a signal, but not much: data that is read soon is still in the caches. */
static void set_wake(struct stream_set *s, uint32_t there)
{
    const uint32_t most = WAKE_BYTES >> s->control->chunk_shift, half = there / 2;
    __atomic_store_n(&s->control->pool_wake, s->pool_index + (half < most ? half : most) + 1, __ATOMIC_SEQ_CST);
}

uint32_t stream_set_pool(struct stream_set *s, uint32_t want)
{
    uint32_t there = available(s);
    while (there > want && take_back(s))
        there = available(s);
    while (there < want && s->free_count) {
        const uint32_t chunk = s->free_chunk[--s->free_count];
        INVARIANT(s->state[chunk] == SHM_CHUNK_FREE);
        if (!stream_pool_push(s, chunk)) {
            make_free(s, chunk);
            break;
        }
        s->granted++;
        there = available(s);
    }
    if (there)
        set_wake(s, there);
    else
        __atomic_store_n(&s->control->pool_wake, SHM_WAKE_NEVER, __ATOMIC_RELAXED);
    return there;
}

uint32_t stream_set_yield(struct stream_set *s, uint32_t chunks, uint32_t most)
{
    uint32_t taken = 0;
    s->most        = most;
    while (taken < chunks && take_back(s))
        taken++;
    while (taken < chunks && stream_claims_take(s))
        taken++;
    return taken;
}

void stream_set_want_signals(struct stream_set *s)
{
    if (__atomic_load_n(&s->control->pool_wake, __ATOMIC_RELAXED) == SHM_WAKE_NEVER && s->control->chunk_count)
        set_wake(s, available(s));
}

void stream_set_want_silence(struct stream_set *s)
{
    __atomic_store_n(&s->control->pool_wake, SHM_WAKE_NEVER, __ATOMIC_RELAXED);
}

uint32_t stream_set_granted(const struct stream_set *s) { return s->granted; }

uint32_t stream_set_busy(const struct stream_set *s)
{
    const uint32_t there = available((struct stream_set *)(uintptr_t)s);
    return s->granted > there ? s->granted - there : 0;
}

/* ---- linked chunks ---- */

void stream_link(struct stream_set *s, struct ring_stream *st)
{
    const uint64_t n = st->linked++;
    /* loaded once: it is the clients' memory */
    const uint64_t entry = __atomic_load_n(&st->entry[n & s->table_mask], __ATOMIC_ACQUIRE);
    const uint32_t chunk = (uint32_t)entry;
    uint32_t      *known = &st->chunk[n & s->table_mask];
    if (!shm_entry_is(entry, n) || chunk >= s->control->chunk_count || s->state[chunk] != SHM_CHUNK_POOL) {
        *known = SHM_NO_CHUNK;
        s->corrupt++;
        return;
    }
    *known          = chunk;
    s->state[chunk] = SHM_CHUNK_LINKED;
    s->linked++;
    INVARIANT(s->linked <= s->control->chunk_count);
}

void stream_chunk_back(struct stream_set *s, uint32_t chunk)
{
    const bool stays = !stream_overwrites(s) || s->granted <= s->most;
    INVARIANT(s->state[chunk] != SHM_CHUNK_FREE); /* else it would be in the pool and free at once */
    if (s->state[chunk] == SHM_CHUNK_FREE)
        return;
    if (s->state[chunk] == SHM_CHUNK_STALLED)
        s->granted -= s->granted != 0;
    else if (!stays || !stream_pool_push(s, chunk))
        stream_chunk_free(s, chunk);
}

void stream_chunk_free(struct stream_set *s, uint32_t chunk)
{
    give_memory_back(s, chunk);
    make_free(s, chunk);
    s->granted -= s->granted != 0;
}

void stream_release(struct stream_set *s, unsigned index, uint64_t pos)
{
    struct ring_stream *st   = &s->stream[index];
    const uint64_t      size = stream_chunk_size(s);

    if (pos > st->pos)
        pos = st->pos; /* R3: unread data is not released */
    if (pos <= st->released)
        return;
    if (stream_overwrites(s)) {
        stream_claims_release(s, st, pos);
        return;
    }
    uint64_t base = st->released & ~(size - 1);
    st->released  = pos;
    for (; base + size <= pos; base += size) {
        const uint32_t chunk = *stream_slot(s, st, base);
        if (chunk == SHM_NO_CHUNK)
            continue;
        s->linked--;
        stream_chunk_back(s, chunk);
    }
}

/* ---- chunks that were taken and never linked ---- */

enum { AHEAD = 16 /* more than a writer links ahead */ };

void stream_ahead(struct stream_set *s, void (*found)(struct stream_set *s, uint32_t chunk, uint8_t *seen),
                  uint8_t           *seen)
{
    if (stream_overwrites(s)) {
        stream_claims_linked(s, found, seen);
        return;
    }
    for (unsigned i = 0; i < s->count; i++) {
        const struct ring_stream *st = &s->stream[i];
        for (uint64_t n = st->linked; n < st->linked + AHEAD; n++) {
            const uint64_t entry = __atomic_load_n(&st->entry[n & s->table_mask], __ATOMIC_ACQUIRE);
            if (shm_entry_is(entry, n) && (uint32_t)entry < s->control->chunk_count)
                found(s, (uint32_t)entry, seen);
        }
    }
}

static void mark_linked(struct stream_set *s, uint32_t chunk, uint8_t *seen)
{
    (void)s;
    seen[chunk] = 1;
}

/* A visit does not stop a thread of the fallback stream. A living thread that has marked the chunk will link it. One
 * that has not marked it yet finds it marked here, and leaves it. */
bool stream_unmarked(const struct stream_set *s, uint32_t chunk)
{
    return __atomic_load_n(&s->taker[chunk], __ATOMIC_ACQUIRE) == UINT32_MAX &&
           __atomic_load_n(&stream_data(s)->fallback_used, __ATOMIC_SEQ_CST) == 1;
}

bool stream_will_link(struct stream_set *s, uint32_t chunk)
{
    uint32_t tid = 0;
    if (__atomic_compare_exchange_n(&s->taker[chunk], &tid, UINT32_MAX, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        tid == UINT32_MAX)
        return false;
    if (!stream_thread_gone(tid))
        return true;
    /* in a set that overwrites, this may be the thread that had the chunk before */
    return stream_overwrites(s) &&
           !__atomic_compare_exchange_n(&s->taker[chunk], &tid, UINT32_MAX, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* `seen`: chunks that are not lost: linked or in the pool. */
static uint32_t take_lost(struct stream_set *s, const uint8_t *candidate, const uint8_t *seen)
{
    uint32_t back = 0;
    for (uint32_t c = 0; c < s->control->chunk_count; c++) {
        if (!candidate[c] || seen[c] || s->state[c] != SHM_CHUNK_POOL)
            continue;
        if (stream_will_link(s, c))
            continue;
        if (stream_unmarked(s, c))
            s->state[c] = SHM_CHUNK_STALLED;
        stream_chunk_back(s, c);
        back++;
    }
    return back;
}

/* True: all granted chunks are in the pool or linked. */
static bool none_lost(struct stream_set *s, uint8_t *seen)
{
    const uint32_t linked = stream_overwrites(s) ? stream_claims_linked(s, mark_linked, seen) : 0;
    return s->granted == available(s) + s->linked + linked;
}

/* Chunks without a visible owner: not in the pool, and in an overwritten set not linked. */
static bool candidates_find(struct stream_set *s, uint32_t index, uint8_t *candidate, uint8_t *seen)
{
    const uint32_t count = s->control->chunk_count;
    if (stream_overwrites(s))
        stream_claims_look(s, true); /* first: the next look also finds chunks linked since, even overwritten ones */
    if (none_lost(s, seen))
        return false;
    for (uint32_t c = 0; c < count; c++)
        candidate[c] = s->state[c] == SHM_CHUNK_POOL && !seen[c];
    for (uint32_t i = index; i < count; i++)
        candidate[s->pool[i]] = 0;
    memset(seen, 0, count);
    return true;
}

uint32_t stream_set_reclaim(struct stream_set *s, wstatus (*visit)(struct reason *why))
{
    const uint32_t count = s->control->chunk_count, index = stream_pool_index(s);
    struct reason  why;
    uint32_t       back = 0;

    if (!stream_overwrites(s) && none_lost(s, NULL))
        return 0;
    uint8_t *candidate = calloc(count + 1u, 2), *seen = candidate + count;
    if (!candidate)
        return 0;
    /* a chunk that a section had taken when the head was read is linked after the visit, or never */
    if (candidates_find(s, index, candidate, seen) && visit(&why) == W_SUCCESS) {
        stream_snapshot(s);
        stream_ahead(s, mark_linked, seen);
        if (!stream_overwrites(s) || stream_claims_looked(s))
            back = take_lost(s, candidate, seen);
    }
    if (stream_overwrites(s))
        stream_claims_look(s, false);
    free(candidate);
    return back;
}

/* ---- chunks that hold nothing and that no writer holds ---- */

static bool can_retire(const struct stream_set *s, const struct ring_stream *st)
{
    return st->pos == st->snap && (st->pos & (stream_chunk_size(s) - 1)) != 0 &&
           *stream_slot(s, st, st->pos) != SHM_NO_CHUNK &&
           (!stream_overwrites(s) || st->covered == (st->pos >> s->control->chunk_shift) + 1) &&
           (__atomic_load_n(&st->shared->wpos, __ATOMIC_ACQUIRE) & ~SHM_CLOSED) == st->pos;
}

static bool retire_fallback(struct stream_set *s, struct ring_stream *st)
{
    uint64_t pos = st->pos, empty = 0;
    if (!__atomic_compare_exchange_n(&st->shared->wpos, &pos, (st->pos | (stream_chunk_size(s) - 1)) + 1, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return false;
    __atomic_compare_exchange_n((uint64_t *)(void *)stream_at(s, st, st->pos), &empty, (uint64_t)ETL_FILLER, false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return true;
}

#if SECTION_AVAILABLE
extern const ptrdiff_t    __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

struct retiring {
    struct stream_set *s;
    unsigned           index, done;
};

/* On the stream's own CPU: no writer is in the middle of a section there. */
static void retire_here(void *ctx)
{
    struct retiring    *r    = ctx;
    struct ring_stream *st   = &r->s->stream[r->index];
    char               *rseq = (char *)__builtin_thread_pointer() + __rseq_offset;
    if (can_retire(r->s, st) && __atomic_load_n((uint32_t *)(void *)(rseq + 4), __ATOMIC_RELAXED) == r->index &&
        section_retire(&st->shared->wpos, st->pos, (st->pos | (stream_chunk_size(r->s) - 1)) + 1,
                       __atomic_load_n(&st->shared->tally, __ATOMIC_RELAXED), stream_at(r->s, st, st->pos), r->index,
                       rseq) == SECTION_DONE)
        r->done++;
}

static unsigned retire_cpus(struct stream_set *s)
{
    struct retiring r = {.s = s};
    if (!&__rseq_offset || !&__rseq_size || __rseq_size == 0)
        return 0;
    for (r.index = 0; r.index < s->count - 1; r.index++)
        if (can_retire(s, &s->stream[r.index]))
            (void)quiesce_visit(r.index, retire_here, &r);
    return r.done;
}
#else
static unsigned retire_cpus(struct stream_set *s)
{
    (void)s;
    return 0;
}
#endif

unsigned stream_set_retire(struct stream_set *s)
{
    struct ring_stream *last = &s->stream[s->count - 1];
    unsigned            done = retire_cpus(s);
    if (can_retire(s, last))
        done += retire_fallback(s, last);
    return done;
}
