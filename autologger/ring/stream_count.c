/* See stream.h. The programs' counts of events that were lost or overwritten, as far as they are plausible. Programs
 * count in memory that they can write, so they can store any number there.
 * Invariants
 *   C1 each event takes time, at least LEAST_NS of one stream's; a step that exceeds the time passed is left out, and
 *      counted as falsified. Of the time that no event took, STREAM_SAVED_NS are kept for the next look: clock and
 *      counts are not read at one moment.
 *   C2 the believed counts lie in the control memory: a successor goes on from them. */
#include "autologger/ring/stream_private.h"

#include <string.h>

enum { LEAST_NS = 5 /* an attempt that finds no room takes 10 and more */, OVERWRITTEN_BITS = 64 - SHM_OLDEST_BITS };

/* shm_told.at_ns: all time up to it was taken by events, or given up. */
static uint64_t believe(struct stream_set *s, struct shm_told *told, uint64_t said, uint64_t grown, uint64_t now_ns)
{
    const uint64_t room  = now_ns > told->at_ns ? now_ns - told->at_ns : 0,
                   saved = now_ns > STREAM_SAVED_NS ? now_ns - STREAM_SAVED_NS : 1;
    const bool may       = !told->at_ns || grown / s->count <= room / LEAST_NS;

    told->said = said;
    if (may) {
        told->believed += grown;
        told->at_ns += told->at_ns ? grown / s->count * LEAST_NS : 0;
    } else {
        s->falsified++;
    }
    if (told->at_ns < saved)
        told->at_ns = saved;
    return told->believed;
}

uint64_t stream_set_lost(struct stream_set *s, uint64_t now_ns)
{
    struct shm_told *told = &s->control->lost;
    uint64_t         said = 0;

    for (unsigned i = 0; i < s->count; i++)
        said += __atomic_load_n(&s->stream[i].shared->lost, __ATOMIC_RELAXED);
    return believe(s, told, said, said - told->said, now_ns);
}

uint64_t stream_set_overwritten(struct stream_set *s, uint64_t now_ns)
{
    struct shm_told *told = &s->control->overwritten;
    uint64_t         said = 0;

    for (unsigned i = 0; stream_overwrites(s) && i < s->count; i++)
        said += shm_oldest_events(__atomic_load_n(&s->stream[i].shared->oldest, __ATOMIC_RELAXED));
    /* each stream counts modulo 2^OVERWRITTEN_BITS */
    return believe(s, told, said, (said - told->said) & ((UINT64_C(1) << OVERWRITTEN_BITS) - 1), now_ns);
}

void stream_counters(struct stream_set *s, uint64_t now_ns, struct stream_counters *out)
{
    *out = (struct stream_counters){
        .corrupt = s->corrupt, .abandoned = s->abandoned, .events = s->events, .adjusted = s->adjusted};
    out->lost = s->abandoned + stream_set_lost(s, now_ns);
    stream_set_overwritten(s, now_ns);
    out->falsified = s->falsified;
    for (unsigned i = 0; i < s->count; i++) {
        out->aborts += __atomic_load_n(&s->stream[i].shared->aborts, __ATOMIC_RELAXED);
        out->filtered += __atomic_load_n(&s->stream[i].shared->filtered, __ATOMIC_RELAXED);
    }
}
