/* stream_private.h - what stream.c (memory), stream_pool.c (the pool), stream_claim.c (streams that are overwritten)
 * and stream_read.c (reading) share. Nobody else includes it. */
#ifndef AUTOLOGGER_RING_STREAM_PRIVATE_H
#define AUTOLOGGER_RING_STREAM_PRIVATE_H
#include "autologger/ring/stream.h"
#include "autologger/ring/writer.h"

struct ring_stream {
    struct shm_stream *shared; /* hostile */
    uint64_t          *entry;  /* hostile: its row of the table */
    uint32_t          *chunk;  /* by chunk number modulo the table: what was linked, checked; SHM_NO_CHUNK: nonsense */
    uint64_t           last_time; /* of what was read; CPU streams */
    uint64_t           linked;    /* chunk numbers below are in `chunk`, from that of `released` on */
    uint64_t           released;  /* all below is in the file */
    uint64_t           pos;       /* next record */
    uint64_t           snap;      /* write position as believed */
    uint64_t           bad_wpos;  /* the last one that made no sense: counted once */
    uint8_t           *copy;      /* chunk-sized private copy of [copy_pos, copy_pos + copy_size) */
    uint64_t           copy_pos;
    uint32_t           copy_size;
    uint64_t           peeked;      /* end of the record that stream_peek showed last; 0 = none */
    uint64_t           blocked_pos; /* fallback: an unpublished head, and since when */
    uint64_t           blocked_since;
    /* of a set that overwrites: chunk numbers below `claimed` are the reader's, or were overwritten */
    uint64_t claimed;
    uint64_t looked; /* stream_claims_look: 1 + the chunk number from which on is looked; 0: as usual */
    /* 1 + the number of the chunk of `pos`, when that is in `chunk`; 0: it is not known */
    uint64_t covered;
    bool     gap;                   /* what lay before `pos` was overwritten, and the next record was not seen yet */
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
    uint32_t            pool_index; /* of the head, as last seen: the daemon alone lowers it */
    uint64_t            corrupt, abandoned, events, adjusted, falsified;
    uint64_t            floor, limit, stamp; /* stream_set_times */
    /* of a set that overwrites; else NULL */
    uint64_t        *claim; /* [chunk_count], in the control memfd */
    struct held     *held;  /* [chunk_count] */
    uint64_t         complete_from;
    struct ring_view view;      /* as a writer has it: chunks are taken from streams as writers take them */
    uint8_t         *adopted;   /* between the two halves of an adoption: chunks that are accounted for */
    uint32_t         hold_most; /* claimed chunks, as of the last snapshot */
    uint32_t         most;      /* chunks that come back stay out of the pool while more are granted */
};

static inline uint32_t stream_chunk_size(const struct stream_set *s) { return 1u << s->control->chunk_shift; }
static inline bool     stream_is_fallback(const struct stream_set *s, unsigned index) { return index == s->count - 1; }
static inline struct shm_data *stream_data(const struct stream_set *s) { return (struct shm_data *)(void *)s->data; }
/* The chunk that holds stream position `pos`, as it was checked. */
static inline uint32_t *stream_slot(const struct stream_set *s, const struct ring_stream *st, uint64_t pos)
{
    return &st->chunk[(pos >> s->control->chunk_shift) & s->table_mask];
}
static inline uint8_t *stream_chunk(const struct stream_set *s, uint32_t chunk)
{
    return s->chunks + ((uint64_t)chunk << s->control->chunk_shift);
}
/* NULL: the table names no chunk for it. */
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
/* Is there something to read at stream->pos? Makes its chunk the reader's; where it was overwritten, goes on to the
 * oldest that was not. */
bool               stream_cover(struct stream_set *s, struct ring_stream *st);
static inline bool stream_covered(struct stream_set *s, struct ring_stream *st)
{
    return st->pos < st->snap &&
           (!s->claim || st->covered == (st->pos >> s->control->chunk_shift) + 1 || stream_cover(s, st));
}
/* No honest stream has so many chunks. */
bool stream_claims_absurd(const struct stream_set *s, const struct ring_stream *st, uint64_t wpos);
/* As stream_release, of a position that was read. */
void stream_claims_release(struct stream_set *s, struct ring_stream *st, uint64_t pos);
/* The next record after a gap. */
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
/* The oldest chunk of all streams leaves the set, as a writer would have taken it. False: there is none. */
bool stream_claims_take(struct stream_set *s);
void stream_claims_limit(struct stream_set *s);
/* From now on stream_claims_linked finds what was linked since, too, overwritten meanwhile or not; `begin` false: no
 * longer. */
void stream_claims_look(struct stream_set *s, bool begin);
/* True: all of that is still in the tables. */
bool stream_claims_looked(const struct stream_set *s);
/* A predecessor's claims. `used`: chunks that lie in the pool or are linked. */
void stream_claims_adopt(struct stream_set *s, uint8_t *used);

/* ---- stream_pool.c ---- */

/* Takes note of a table entry: chunk number `st->linked`. */
void stream_link(struct stream_set *s, struct ring_stream *st);
/* A chunk that nobody writes to any more. */
void stream_chunk_back(struct stream_set *s, uint32_t chunk);
/* The same, but it leaves the set. */
void stream_chunk_free(struct stream_set *s, uint32_t chunk);
/* Which chunks are linked to a stream beyond what the snapshots saw: calls `found` for each. */
void stream_ahead(struct stream_set *s, void (*found)(struct stream_set *s, uint32_t chunk, uint8_t *seen),
                  uint8_t           *seen);
/* The pool's head by this set's memory, not by what a client made of it. */
uint32_t stream_pool_index(struct stream_set *s);
void     stream_pool_empty(struct stream_set *s); /* after an adoption: as if writers had taken all of it */
bool     stream_thread_gone(uint32_t tid);
/* Of a chunk that was taken and is not linked: a living thread of the fallback stream has it. Else nobody will link
 * it. */
bool stream_will_link(struct stream_set *s, uint32_t chunk);
/* After that: a thread may have taken it without a mark, and must find the one made here whenever it goes on: never
 * used again. */
bool stream_unmarked(const struct stream_set *s, uint32_t chunk);
#endif
