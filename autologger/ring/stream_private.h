/* stream_private.h - shared by stream.c (memory), stream_pool.c (the pool), stream_claim.c (streams that are
 * overwritten), stream_count.c (counts) and stream_read.c (reading). Private to them. */
#ifndef AUTOLOGGER_RING_STREAM_PRIVATE_H
#define AUTOLOGGER_RING_STREAM_PRIVATE_H
#include "autologger/ring/stream.h"
#include "autologger/ring/writer.h"

struct ring_stream {
    struct shm_stream *shared; /* hostile */
    uint64_t          *entry;  /* hostile: its row of the table */
    uint32_t          *chunk;  /* by chunk number modulo the table: the linked chunk, checked; SHM_NO_CHUNK: invalid */
    uint64_t           last_time; /* of the last record read; CPU streams */
    uint64_t           linked;    /* the chunk numbers below, from that of `released` on, are in `chunk` */
    uint64_t           released;  /* everything below is in the file */
    uint64_t           pos;       /* next record */
    uint64_t           snap;      /* write position as believed */
    uint64_t           bad_wpos;  /* the last invalid one: counted once */
    uint8_t           *copy;      /* chunk-sized private copy of [copy_pos, copy_pos + copy_size) */
    uint64_t           copy_pos;
    uint32_t           copy_size;
    uint64_t           peeked;      /* end of the record that stream_peek showed last; 0 = none */
    uint64_t           blocked_pos; /* fallback: an unpublished head, and since when */
    uint64_t           blocked_since;
    /* of a set that overwrites: the reader claimed the chunk numbers below, or they were overwritten */
    uint64_t claimed;
    uint64_t looked; /* stream_claims_look: 1 + the chunk number to look from; 0: the oldest */
    /* 1 + the number of the chunk of `pos`, when that chunk is in `chunk`; 0: unknown */
    uint64_t covered;
    bool     gap;                   /* data before `pos` was overwritten, and the next record was not seen yet */
    uint32_t held_first, held_last; /* claimed and not released, in order; SHM_NO_CHUNK: none */
};

/* A chunk that the reader has claimed. */
struct held {
    uint64_t n; /* its number in its stream */
    uint32_t next;
};

struct stream_set {
    int                 data_fd, control_fd, control_ro_fd;
    uint8_t            *data;
    uint64_t            data_size;
    struct shm_control *control;
    uint64_t            control_size;
    uint8_t            *chunks;
    struct shm_refusal *refusal; /* [SHM_REFUSALS]; hostile */
    uint32_t           *taker;   /* [chunk_count]; hostile */
    uint32_t           *pool;    /* [chunk_count], in the control memfd: valid from the head on */
    uint8_t            *state;   /* [chunk_count], in the control memfd: enum shm_chunk_state */
    uint32_t            table_mask;
    unsigned            count; /* streams */
    struct ring_stream *stream;
    uint32_t           *free_chunk; /* a stack: the most recently freed chunk is the warmest */
    uint32_t            free_count;
    uint32_t            granted; /* in the pool, taken or linked */
    uint32_t            linked;
    uint32_t            pool_index; /* of the head, as last seen: only the daemon lowers it */
    uint64_t            corrupt, abandoned, events, adjusted, falsified;
    uint64_t            floor, limit, stamp; /* stream_set_times */
    /* of a set that overwrites; else NULL */
    uint64_t        *claim; /* [chunk_count], in the control memfd */
    struct held     *held;  /* [chunk_count] */
    uint64_t         complete_from;
    struct ring_view view;      /* a writer's view: chunks are taken from streams as writers take them */
    uint8_t         *adopted;   /* between the two halves of an adoption: chunks that are accounted for */
    uint32_t         hold_most; /* the most chunks to claim, as of the last snapshot */
    uint32_t         most;      /* chunks that come back stay out of the pool while more than this are granted */
};

static inline uint32_t stream_chunk_size(const struct stream_set *s) { return 1u << s->control->chunk_shift; }
static inline bool     stream_is_fallback(const struct stream_set *s, unsigned index) { return index == s->count - 1; }
static inline struct shm_data *stream_data(const struct stream_set *s) { return (struct shm_data *)(void *)s->data; }
/* The checked chunk that holds stream position `pos`. */
static inline uint32_t *stream_slot(const struct stream_set *s, const struct ring_stream *st, uint64_t pos)
{
    return &st->chunk[(pos >> s->control->chunk_shift) & s->table_mask];
}
static inline uint8_t *stream_chunk(const struct stream_set *s, uint32_t chunk)
{
    return s->chunks + ((uint64_t)chunk << s->control->chunk_shift);
}
/* NULL: the table names no valid chunk for it. */
static inline uint8_t *stream_at(const struct stream_set *s, const struct ring_stream *st, uint64_t pos)
{
    const uint32_t chunk = *stream_slot(s, st, pos);
    return chunk == SHM_NO_CHUNK ? NULL : stream_chunk(s, chunk) + (pos & (stream_chunk_size(s) - 1));
}
/* ---- stream_count.c ---- */

enum { STREAM_SAVED_NS = 50000000 };

/* ---- stream_claim.c ---- */

static inline bool stream_overwrites(const struct stream_set *s) { return s->claim != NULL; }
wstatus            stream_claims_init(struct stream_set *s, const struct shm_data *header, uint64_t claim_offset,
                                      struct reason *why);
/* True when there is something to read at stream->pos. Claims its chunk; if that was overwritten, goes on to the oldest
 * chunk that was not. */
bool               stream_cover(struct stream_set *s, struct ring_stream *st);
static inline bool stream_covered(struct stream_set *s, struct ring_stream *st)
{
    return st->pos < st->snap &&
           (!s->claim || st->covered == (st->pos >> s->control->chunk_shift) + 1 || stream_cover(s, st));
}
/* True: no honest stream has so many chunks. */
bool stream_claims_absurd(const struct stream_set *s, const struct ring_stream *st, uint64_t wpos);
/* As stream_release, for a position that was read. */
void stream_claims_release(struct stream_set *s, struct ring_stream *st, uint64_t pos);
/* The next record after a gap was read, with this time. */
static inline void stream_gap_ends(struct stream_set *s, struct ring_stream *st, uint64_t time)
{
    if (__builtin_expect(st->gap, 0)) {
        st->gap = false;
        if (time > s->complete_from)
            s->complete_from = time;
    }
}
/* Calls `found` for each chunk that is linked and not claimed. Returns how many. */
uint32_t stream_claims_linked(struct stream_set *s, void (*found)(struct stream_set *s, uint32_t chunk, uint8_t *seen),
                              uint8_t           *seen);
/* Takes the oldest chunk of all streams out of the set, by a writer's step. False: there is none. */
bool stream_claims_take(struct stream_set *s);
void stream_claims_limit(struct stream_set *s);
/* From now on stream_claims_linked also finds chunks linked since this call, even if they were overwritten meanwhile;
 * `begin` false: no longer. */
void stream_claims_look(struct stream_set *s, bool begin);
/* True: all of these are still in the tables. */
bool stream_claims_looked(const struct stream_set *s);
/* A predecessor's claims. `used`: chunks that lie in the pool or are linked. */
void stream_claims_adopt(struct stream_set *s, uint8_t *used);

/* ---- stream_pool.c ---- */

/* Checks and notes a table entry: chunk number `st->linked`. */
void stream_link(struct stream_set *s, struct ring_stream *st);
/* Takes back a chunk that has no writer any more. */
void stream_chunk_back(struct stream_set *s, uint32_t chunk);
/* The same, but the chunk leaves the set. */
void stream_chunk_free(struct stream_set *s, uint32_t chunk);
/* Calls `found` for each chunk that is linked to a stream beyond the snapshots. */
void stream_ahead(struct stream_set *s, void (*found)(struct stream_set *s, uint32_t chunk, uint8_t *seen),
                  uint8_t           *seen);
/* The pool's head. Where a client has changed it, this set's own memory of it counts. */
uint32_t stream_pool_index(struct stream_set *s);
void     stream_pool_empty(struct stream_set *s); /* after an adoption: as if writers had taken all of it */
bool     stream_thread_gone(uint32_t tid);
/* For a chunk that was taken and is not linked. True: a living thread of the fallback stream has it. Else nobody will
 * link it. */
bool stream_will_link(struct stream_set *s, uint32_t chunk);
/* After stream_will_link. True: a thread may have taken the chunk without marking it, and must find the mark made here
 * whenever it goes on: the chunk is never used again. */
bool stream_unmarked(const struct stream_set *s, uint32_t chunk);
#endif
