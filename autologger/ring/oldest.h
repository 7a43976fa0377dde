/* oldest.h - the oldest chunk of a set that overwrites: a writer takes it when the pool is empty. Private to the ring
 * writer. */
#ifndef AUTOLOGGER_RING_OLDEST_H
#define AUTOLOGGER_RING_OLDEST_H
#include "autologger/ring/writer.h"

/* The one compare-and-swap that makes `chunk` the writer's. */
struct ring_step {
    uint64_t *word, from, to;
    uint32_t  chunk;
    uint32_t  stream; /* set by ring_oldest: the chunk's stream, and its number there */
    uint64_t  n;
    uint64_t *last_at, last; /* set by ring_oldest: the word ring_overwrote raises, the time of the last event */
};
/* False: no stream has a full chunk that the daemon has not taken. */
bool ring_oldest(const struct ring_view *view, struct ring_step *step);
/* After the step: notes the time after which the stream is complete. */
void ring_overwrote(const struct ring_step *step);
/* A changed value means that chunks were taken or came back meanwhile. */
uint64_t ring_oldest_version(const struct ring_view *view);
#endif
