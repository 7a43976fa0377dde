/* stream_claim.c - reading streams whose writers overwrite the oldest chunk when the pool is empty. See stream.h and
 * wire/shm.h. The reader owns a chunk from the moment it has moved `oldest` past it until it pushes it back into the
 * pool. It claims only the chunk that it is about to read, even one that is being filled; later chunks stay there to be
 * overwritten. A claim is noted for a successor before it is made. A successor drops notes of chunks that are linked or
 * in the pool: a writer was faster than their claim. */
#include "autologger/ring/oldest.h"
#include "autologger/ring/stream_private.h"

#include <stdlib.h>

enum {
    CLAIM_TRIES = 64 /* a word that a client keeps changing is read later */,
    AHEAD       = 16 /* more than a writer links ahead */
};

wstatus stream_claims_init(struct stream_set *s, const struct shm_data *header, uint64_t claim_offset,
                           struct reason *why)
{
    if (!s->control->overwrite)
        return W_SUCCESS;
    s->claim = (uint64_t *)(void *)((uint8_t *)s->control + claim_offset);
    if (!(s->held = calloc(s->control->chunk_count + 1u, sizeof *s->held)))
        return reason_set(why, W_OUTOFMEMORY, "no memory for %u chunks", s->control->chunk_count);
    for (unsigned i = 0; i < s->count; i++)
        s->stream[i].held_first = s->stream[i].held_last = SHM_NO_CHUNK;
    s->most = UINT32_MAX;
    return ring_view_of(&s->view, s->control, s->control_size, header, s->data, s->data_size, -1, why);
}

/* ---- claimed chunks of a stream, in order ---- */

static void stream_claim_held_append(struct stream_set *s, struct ring_stream *st, uint32_t chunk, uint64_t n)
{
    s->held[chunk] = (struct held){n, SHM_NO_CHUNK};
    if (st->held_first == SHM_NO_CHUNK)
        st->held_first = chunk;
    else
        s->held[st->held_last].next = chunk;
    st->held_last   = chunk;
    s->state[chunk] = SHM_CHUNK_LINKED;
    s->linked++;
}

void stream_claims_release(struct stream_set *s, struct ring_stream *st, uint64_t pos)
{
    for (uint32_t c; (c = st->held_first) != SHM_NO_CHUNK && (s->held[c].n + 1) << s->control->chunk_shift <= pos;) {
        st->held_first = s->held[c].next;
        s->linked--;
        __atomic_store_n(&s->claim[c], 0, __ATOMIC_RELEASE);
        stream_chunk_back(s, c);
    }
    st->released = pos;
}

/* ---- claiming ---- */

struct oldest {
    uint64_t word, n;
    uint64_t wpos; /* loaded after `word` */
};
static struct oldest stream_claim_oldest_of(const struct stream_set *s, const struct ring_stream *st)
{
    struct oldest o = {.word = __atomic_load_n(&st->shared->oldest, __ATOMIC_SEQ_CST)};
    o.wpos          = __atomic_load_n(&st->shared->wpos, __ATOMIC_ACQUIRE) & ~SHM_CLOSED;
    o.n             = shm_oldest_number(o.word, (o.wpos >> s->control->chunk_shift) + 1);
    return o;
}

bool stream_claims_absurd(const struct stream_set *s, const struct ring_stream *st, uint64_t wpos)
{
    const uint64_t here = wpos >> s->control->chunk_shift, from = stream_claim_oldest_of(s, st).n;
    return here > from && here - from > s->control->chunk_count;
}

/* Claims chunk number `n` for the reader. False: a writer was faster. */
static bool claim(struct stream_set *s, struct ring_stream *st, const struct oldest *o)
{
    const uint64_t n = o->n, entry = __atomic_load_n(&st->entry[n & s->table_mask], __ATOMIC_ACQUIRE);
    const uint32_t chunk = (uint32_t)entry;
    const bool good = shm_entry_is(entry, n) && chunk < s->control->chunk_count && s->state[chunk] == SHM_CHUNK_POOL;
    uint64_t   word = o->word;

    if (good)
        __atomic_store_n(&s->claim[chunk], (uint64_t)(st - s->stream + 1) << 32 | (uint32_t)n, __ATOMIC_SEQ_CST);
    if (!__atomic_compare_exchange_n(&st->shared->oldest, &word, shm_oldest(n + 1, shm_oldest_events(word)), false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        if (good)
            __atomic_store_n(&s->claim[chunk], 0, __ATOMIC_RELEASE);
        return false;
    }
    st->claimed                  = n + 1;
    st->chunk[n & s->table_mask] = good ? chunk : SHM_NO_CHUNK;
    if (good)
        stream_claim_held_append(s, st, chunk, n);
    else
        s->corrupt++;
    return true;
}

/* Goes on at chunk number `n`: writers took everything before it. */
static void go_on_at(const struct stream_set *s, struct ring_stream *st, uint64_t n)
{
    const uint64_t pos = n << s->control->chunk_shift;
    if (pos <= st->pos)
        return;
    st->gap = true;
    st->pos = pos;
    if (st->snap < pos)
        st->snap = pos; /* an honest writer has gone so far; the next snapshot tells */
    if (st->held_first == SHM_NO_CHUNK)
        st->released = pos;
}

/* After an adoption: goes through the chunks that a predecessor had claimed, in order. */
static bool cover_claimed(struct stream_set *s, struct ring_stream *st)
{
    const uint64_t here = st->pos >> s->control->chunk_shift;
    uint32_t       c    = st->held_first;

    while (c != SHM_NO_CHUNK && s->held[c].n < here)
        c = s->held[c].next;
    go_on_at(s, st, c == SHM_NO_CHUNK ? st->claimed : s->held[c].n);
    if (c == SHM_NO_CHUNK)
        return false;
    st->chunk[s->held[c].n & s->table_mask] = c;
    st->covered                             = s->held[c].n + 1;
    return true;
}

bool stream_cover(struct stream_set *s, struct ring_stream *st)
{
    const uint32_t shift = s->control->chunk_shift;

    while (st->pos < st->snap && st->pos >> shift < st->claimed)
        if (cover_claimed(s, st))
            return st->pos < st->snap;
    for (int i = 0; st->pos < st->snap && i < CLAIM_TRIES; i++) {
        const struct oldest o = stream_claim_oldest_of(s, st);
        if (o.n < st->claimed || o.n > o.wpos >> shift) { /* a program scribbled: back to the known value */
            uint64_t word = o.word;
            s->corrupt++;
            __atomic_compare_exchange_n(&st->shared->oldest, &word, shm_oldest(st->claimed, shm_oldest_events(word)),
                                        false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
            continue;
        }
        if (o.n > st->pos >> shift) {
            st->claimed = o.n;
            go_on_at(s, st, o.n);
            continue;
        }
        if (claim(s, st, &o) && o.n == st->pos >> shift) {
            st->covered = st->claimed;
            return true;
        }
    }
    return false;
}

/* ---- what is linked and waits ---- */

uint32_t stream_claims_linked(struct stream_set *s, void (*found)(struct stream_set *s, uint32_t chunk, uint8_t *seen),
                              uint8_t           *seen)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < s->count; i++) {
        struct ring_stream *st   = &s->stream[i];
        const struct oldest o    = stream_claim_oldest_of(s, st);
        const uint64_t      end  = (o.wpos >> s->control->chunk_shift) + AHEAD;
        const uint64_t      from = st->looked && st->looked - 1 < o.n ? st->looked - 1 : o.n;
        for (uint64_t n = from; n < end && n < from + s->table_mask; n++) {
            const uint64_t entry = __atomic_load_n(&st->entry[n & s->table_mask], __ATOMIC_ACQUIRE);
            if (!shm_entry_is(entry, n) || (uint32_t)entry >= s->control->chunk_count)
                continue;
            count++;
            found(s, (uint32_t)entry, seen);
        }
    }
    return count;
}

bool stream_claims_take(struct stream_set *s)
{
    struct ring_step step;
    for (int i = 0; i < CLAIM_TRIES && ring_oldest(&s->view, &step); i++)
        if (__atomic_compare_exchange_n(step.word, &step.from, step.to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            ring_overwrote(&step);
            if (s->state[step.chunk] != SHM_CHUNK_POOL) { /* a program scribbled: the chunk is not the stream's */
                s->corrupt++;
                return false;
            }
            stream_chunk_free(s, step.chunk);
            return true;
        }
    return false;
}

void stream_claims_look(struct stream_set *s, bool begin)
{
    for (unsigned i = 0; i < s->count; i++)
        s->stream[i].looked =
            begin ? (stream_claim_oldest_of(s, &s->stream[i]).wpos >> s->control->chunk_shift) + 1 : 0;
}

bool stream_claims_looked(const struct stream_set *s)
{
    bool all = true;
    for (unsigned i = 0; i < s->count; i++)
        all &= (stream_claim_oldest_of(s, &s->stream[i]).wpos >> s->control->chunk_shift) + AHEAD + 1 -
                   s->stream[i].looked <
               s->table_mask / 2;
    return all;
}

/* For a gap that no record follows yet: the time from which on the stream is complete. */
static uint64_t gap_ends_at(const struct ring_stream *st, uint64_t now)
{
    const uint64_t gone = __atomic_load_n(&st->shared->overwritten_to, __ATOMIC_ACQUIRE);
    return gone && gone >= st->last_time && gone < now ? gone + 1 : now;
}

uint64_t stream_set_gap(const struct stream_set *s, uint64_t now)
{
    uint64_t from = s->complete_from;
    for (unsigned i = 0; stream_overwrites(s) && i < s->count; i++) {
        const uint64_t at = s->stream[i].gap ? gap_ends_at(&s->stream[i], now) : 0;
        from              = at > from ? at : from;
    }
    return from < now ? from : now; /* later than `now`: a program scribbled */
}

uint64_t stream_set_complete_from(struct stream_set *s, uint64_t now)
{
    for (unsigned i = 0; stream_overwrites(s) && i < s->count; i++)
        if (s->stream[i].gap)
            stream_gap_ends(s, &s->stream[i], gap_ends_at(&s->stream[i], now));
    if (s->complete_from > now)
        s->complete_from = now;
    return s->complete_from;
}

enum stream_holds stream_set_holds(const struct stream_set *s)
{
    if (!stream_overwrites(s) || !s->linked)
        return STREAM_HOLDS_FEW;
    if (s->linked >= s->hold_most)
        return STREAM_HOLDS_ALL;
    return s->linked > 1 && s->linked >= s->hold_most / 2 ? STREAM_HOLDS_MUCH : STREAM_HOLDS_FEW;
}

/* Each stream that is written to has a chunk that can't be overwritten: the one being filled. The reader may hold the
 * others at most, better half of them: threads that lost their processor while they held a chunk have some, too. */
void stream_claims_limit(struct stream_set *s)
{
    uint32_t active = 0;
    for (unsigned i = 0; i < s->count; i++)
        active += s->stream[i].snap != 0;
    s->hold_most = s->granted > active ? s->granted - active : 0;
}

/* ---- a successor ---- */

static void held_insert(struct stream_set *s, struct ring_stream *st, uint32_t chunk, uint64_t n)
{
    uint32_t *at = &st->held_first;
    while (*at != SHM_NO_CHUNK && s->held[*at].n < n)
        at = &s->held[*at].next;
    s->held[chunk] = (struct held){n, *at};
    if (*at == SHM_NO_CHUNK)
        st->held_last = chunk;
    *at             = chunk;
    s->state[chunk] = SHM_CHUNK_LINKED;
    s->linked++;
    s->granted++;
}

void stream_claims_adopt(struct stream_set *s, uint8_t *used)
{
    for (unsigned i = 0; i < s->count; i++)
        s->stream[i].claimed = stream_claim_oldest_of(s, &s->stream[i]).n;
    for (uint32_t c = 0; c < s->control->chunk_count; c++) {
        const uint64_t      claim = s->claim[c];
        struct ring_stream *st    = claim >> 32 && claim >> 32 <= s->count ? &s->stream[(claim >> 32) - 1] : NULL;
        const uint64_t      last = st ? st->claimed - 1 : 0, n = last - (uint32_t)(last - claim);
        s->claim[c] = 0;
        if (!st || st->claimed == 0 || used[c] || s->state[c] == SHM_CHUNK_STALLED || n > last ||
            (n + 1) << s->control->chunk_shift <= st->released)
            continue;
        used[c]     = 1;
        s->claim[c] = claim;
        held_insert(s, st, c, n);
    }
}
