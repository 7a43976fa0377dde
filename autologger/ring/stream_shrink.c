/* stream_shrink.c - takes chunks that nobody uses back from the streams of a session whose MaximumBuffers was lowered. See stream.h.
 * In a file of its own, which the early program does not have. */
#include "autologger/ring/stream_private.h"

#include <fcntl.h>

/* As far as a stream is written; a hostile position that lies before what was read counts for nothing. */
static uint64_t written(const struct stream *st)
{
    const uint64_t wpos = __atomic_load_n(&st->shared->wpos, __ATOMIC_SEQ_CST) & ~SHM_CLOSED;
    return wpos > st->snap ? wpos : st->snap;
}

/* A writer takes a write position first, then the limit, and its write succeeds only while the position is still the same; an event reaches at
 * most into the chunk behind that of its position. So who took the limit before it was lowered took a position that is not beyond the one that
 * is read here afterwards, and writes below what is kept: the chunk of that position, and the next. */
static unsigned stream_take(struct stream_set *s, unsigned index, unsigned most)
{
    struct stream *st    = &s->stream[index];
    const uint64_t chunk = stream_chunk_size(s), old = st->control->limit;
    uint64_t       wpos  = written(st);
    uint64_t       least = (wpos & ~(chunk - 1)) + 2 * chunk;
    if (wpos > old || least >= old || !most) /* hostile, or nothing to spare */
        return 0;
    uint64_t limit = (old - least) / chunk > most ? old - most * chunk : least;
    __atomic_store_n(&st->control->limit, limit, __ATOMIC_SEQ_CST);
    wpos  = written(st);
    least = wpos > old ? old : (wpos & ~(chunk - 1)) + 2 * chunk;
    if (limit < least) {
        limit = least < old ? least : old;
        __atomic_store_n(&st->control->limit, limit, __ATOMIC_SEQ_CST);
    }
    for (uint64_t p = limit; p < old; p += chunk) {
        const uint32_t freed = *stream_slot(s, st, p);
        const uint64_t at    = (uint64_t)(s->chunks - s->data) + ((uint64_t)freed << s->control->chunk_shift);
        s->granted--;
        if (s->quarantine[freed])
            continue;
        (void)fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)chunk); /* else it is free, and populated */
        s->free_chunk[s->free_count++] = freed;
    }
    return (unsigned)((old - limit) / chunk);
}

unsigned stream_set_shrink(struct stream_set *s, unsigned chunks)
{
    unsigned done = 0, before;
    do { /* one from each in turn */
        before = done;
        for (unsigned i = 0; i < s->count && done < chunks; i++)
            done += stream_take(s, i, 1);
    } while (done < chunks && done > before);
    for (unsigned i = 0; i < s->count; i++)
        stream_wake_set(s, &s->stream[i]);
    return done;
}
