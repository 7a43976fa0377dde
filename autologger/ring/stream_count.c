/* See stream.h. What the programs of a set say of events that were lost or overwritten, as far as it can be true. They count in memory that
 * is theirs to write, so a program can write there what it likes.
 * Invariants
 *   C1 a count grows by an event in LEAST_NS on each CPU at most, besides what no clock bounds. Another step is left out, and counted as falsified.
 *   C2 what was believed lies in the control memory: a successor goes on from it. */
#include "autologger/ring/stream_private.h"

#include <string.h>

enum {
    LEAST_NS = 2, /* an attempt that finds no room takes 10 and more */
    SLACK    = 1000, /* attempts between the look at the clock and that at the counts */
    SMALLEST = 16 /* bytes; events are larger */
};

/* `slack`: by how much it may grow at once. */
static uint64_t believe(struct stream_set *s, struct shm_told *told, uint64_t said, uint64_t elapsed_ns, uint64_t slack)
{
    const uint64_t grown = said - told->said, most = elapsed_ns / LEAST_NS;

    told->said = said;
    if (grown <= slack || (grown - slack) / s->count <= most)
        told->believed += grown;
    else
        s->falsified++;
    return told->believed;
}

static uint64_t elapsed(const struct shm_told *told, uint64_t now_ns) { return now_ns > told->at_ns ? now_ns - told->at_ns : 0; }

uint64_t stream_set_lost(struct stream_set *s, uint64_t now_ns)
{
    struct shm_told *told = &s->control->lost;
    const uint64_t   age  = elapsed(told, now_ns);
    uint64_t         said = 0;

    for (unsigned i = 0; i < s->count; i++)
        said += __atomic_load_n(&s->stream[i].shared->lost, __ATOMIC_RELAXED);
    told->at_ns += age;
    return believe(s, told, said, age, SLACK);
}

uint64_t stream_set_overwritten(struct stream_set *s, uint64_t now_ns)
{
    struct shm_told *told  = &s->control->overwritten;
    const uint64_t   age   = elapsed(told, now_ns);
    const uint64_t   bytes = (uint64_t)s->control->chunk_count << s->control->chunk_shift; /* the reader overwrites as much at once */
    uint64_t         said  = 0;

    for (unsigned i = 0; stream_overwrites(s) && i < s->count; i++)
        said += shm_oldest_events(__atomic_load_n(&s->stream[i].shared->oldest, __ATOMIC_RELAXED));
    told->at_ns += age;
    return believe(s, told, said, age, SLACK + bytes / SMALLEST);
}

void stream_counters(struct stream_set *s, uint64_t now_ns, struct stream_counters *out)
{
    *out = (struct stream_counters){.corrupt = s->corrupt, .abandoned = s->abandoned, .events = s->events, .adjusted = s->adjusted};
    out->lost = s->abandoned + stream_set_lost(s, now_ns);
    stream_set_overwritten(s, now_ns);
    out->falsified   = s->falsified;
    for (unsigned i = 0; i < s->count; i++) {
        out->aborts += __atomic_load_n(&s->stream[i].shared->aborts, __ATOMIC_RELAXED);
        out->filtered += __atomic_load_n(&s->stream[i].shared->filtered, __ATOMIC_RELAXED);
    }
}
