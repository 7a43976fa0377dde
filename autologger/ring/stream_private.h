/* stream_private.h - what stream.c (memory, grants), stream_shrink.c and stream_read.c (reading) share. Nobody else includes it. */
#ifndef AUTOLOGGER_RING_STREAM_PRIVATE_H
#define AUTOLOGGER_RING_STREAM_PRIVATE_H
#include "autologger/ring/stream.h"

struct stream {
    struct shm_stream         *shared;  /* hostile */
    struct shm_stream_control *control; /* ours */
    uint32_t                  *table;   /* ours, in the control memfd */
    uint64_t                   released; /* all below is in the file */
    uint64_t                   pos;      /* next record */
    uint64_t                   snap;     /* write position as believed */
    uint64_t                   bad_wpos; /* the last one that made no sense: counted once */
    uint8_t                   *copy;     /* chunk-sized private copy of [copy_pos, copy_pos + copy_size) */
    uint64_t                   copy_pos;
    uint32_t                   copy_size;
    uint64_t                   peeked; /* end of the record that stream_peek showed last; 0 = none */
    uint64_t                   blocked_pos; /* fallback: an unpublished head, and since when */
    uint64_t                   blocked_since;
};

struct stream_set {
    int                 data_fd, control_fd, control_ro_fd;
    uint8_t            *data;
    uint64_t            data_size;
    struct shm_control *control;
    uint64_t            control_size;
    uint8_t            *chunks;
    struct shm_refusal *refusal;    /* [SHM_REFUSALS]; hostile */
    uint8_t            *quarantine; /* per chunk, in the control memfd */
    unsigned            count;      /* streams */
    struct stream      *stream;
    uint32_t           *free_chunk; /* a stack: the most recently freed chunk is the warmest */
    uint32_t            free_count;
    uint32_t            granted;
    uint64_t            corrupt, abandoned, events;
};

static inline uint32_t stream_chunk_size(const struct stream_set *s) { return 1u << s->control->chunk_shift; }
static inline bool     stream_is_fallback(const struct stream_set *s, unsigned index) { return index == s->count - 1; }
/* Where the next writer who crosses it signals, by released, limit and write position. */
void stream_wake_set(struct stream_set *s, struct stream *st);
/* The chunk that holds stream position `pos`. */
static inline uint32_t *stream_slot(const struct stream_set *s, const struct stream *st, uint64_t pos)
{
    return &st->table[(pos >> s->control->chunk_shift) & st->control->table_mask];
}
static inline uint8_t *stream_at(const struct stream_set *s, const struct stream *st, uint64_t pos)
{
    return s->chunks + ((uint64_t)*stream_slot(s, st, pos) << s->control->chunk_shift) +
           (pos & (stream_chunk_size(s) - 1));
}
#endif
