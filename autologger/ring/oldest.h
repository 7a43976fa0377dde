/* oldest.h - the oldest chunk of a set that overwrites: which one a writer takes that finds the pool empty. Private to
 * the ring writer. */
#ifndef AUTOLOGGER_RING_OLDEST_H
#define AUTOLOGGER_RING_OLDEST_H
#include "autologger/ring/writer.h"

/* One compare-and-swap by which `chunk` becomes the writer's. */
struct ring_step {
    uint64_t *word, from, to;
    uint32_t  chunk;
    uint32_t  stream; /* of ring_oldest: whose chunk it is, and its number there */
    uint64_t  n;
    uint64_t *last_at, last; /* of ring_oldest: what ring_overwrote raises, and the time of the chunk's last event */
};
/* False: no stream has filled a chunk that the daemon has not taken. */
bool ring_oldest(const struct ring_view *view, struct ring_step *step);
/* After the step: from what time on the stream is whole. */
void ring_overwrote(const struct ring_step *step);
/* Another one than before: chunks were taken or came back meanwhile. */
uint64_t ring_oldest_version(const struct ring_view *view);
#endif
