/* stream.h - the event streams of one (session, UID), daemon side: memory, the pool, and reading what clients wrote.
 * (The writer is writer.h.) Layout: autologger/wire/shm.h.
 * Invariants
 *   R1 rpos <= wpos <= limit as far as the reader believes; a wpos outside is clamped and counted as corrupt.
 *   R2 bytes are copied out of shared memory once, then walked; sizes are validated on the copy.
 *   R3 a chunk goes back to the pool only when everything in it has been released (is in the file).
 *   R4 a chunk is believed to be linked where a table says so only if this set had put it into the pool.
 *   R5 pool, taken and linked chunks together (stream_set_granted) are never more than stream_set_pool was asked for
 *     and what was busy then.
 *   R6 memory is taken by the first write to a chunk, and given back when the chunk leaves the pool for good.
 * Threads: create, close, fds: the controlling thread; snapshot .. release, pool, counters: the session's logger
 * thread. The caller serialises the two where they meet.
 * Ownership: create/destroy. Not for: merging sources (session), enabling (session). */
#ifndef AUTOLOGGER_RING_STREAM_H
#define AUTOLOGGER_RING_STREAM_H
#include "autologger/wire/shm.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

struct stream_config {
    unsigned cpus; /* possible CPUs; one fallback stream is added */
    uint32_t chunk_shift;
    uint32_t chunk_count; /* capacity: the most that can ever be granted. 0: every event is lost and counted */
    uint32_t pool;        /* chunks to take at once */
    uint32_t max_event;
    uint32_t clock_kind;
    uint32_t session, session_generation, uid;
    bool     overwrite; /* where the pool is empty, writers overwrite the oldest events */
};
struct stream_set;

/* A chunk size fit for events of a session with buffers of `buffer_bytes`: the power of two that holds the largest
 * event. */
uint32_t stream_chunk_shift(uint32_t buffer_bytes);
/* Status W_NOT_ENOUGH_MEMORY when there is no memory. */
wstatus stream_set_create(struct os *os, const struct stream_config *config, struct stream_set **out,
                          struct reason *why);
/* Takes over a predecessor's memfds (both read-write) at the published read positions rpos[cpus + 1]. Visits all CPUs.
 * Chunks that neither lie in the pool nor are linked behind these positions are free. W_INVALID_DATA when the control
 * memory is not what it should be. */
wstatus stream_set_adopt(int data_fd, int control_fd, const uint64_t *rpos, struct stream_set **out,
                         struct reason *why);
/* The same in two halves, for many sets: between them the caller visits all CPUs, once. Nothing else may be done with a
 * set until then. */
wstatus stream_set_adopt_begin(int data_fd, int control_fd, const uint64_t *rpos, struct stream_set **out,
                               struct reason *why);
void    stream_set_adopt_finish(struct stream_set *s);
void    stream_set_destroy(struct stream_set *s); /* unmaps and closes; NULL is fine */

int                       stream_set_data_fd(const struct stream_set *s);             /* read-write */
int                       stream_set_control_fd(const struct stream_set *s);          /* read-write: for a successor */
int                       stream_set_control_fd_readonly(const struct stream_set *s); /* for clients */
unsigned                  stream_set_count(const struct stream_set *s);               /* cpus + 1 */
const struct shm_control *stream_set_control(const struct stream_set *s);

/* Opens or closes the set for writers. After closing, quiesce (quiesce.h) before the final snapshot. */
void stream_set_open(struct stream_set *s, bool open);
/* Memory of chunks that no writer may have, and that its programs took all the same, goes back to the system. Returns
 * how many bytes it was, when that is more than a page here and there: an honest program takes none. */
uint64_t stream_set_trim(struct stream_set *s);
/* Of a closed set, after a visit of all CPUs: the memory of all its chunks goes back to the system. Nothing is read or
 * written any more. */
void stream_set_drop(struct stream_set *s);
/* Fills the pool up to `want` chunks, or takes back what is more. Returns how many lie in it then. 0 chunks: writers
 * are not to signal. */
uint32_t stream_set_pool(struct stream_set *s, uint32_t want);
/* Of a set that overwrites. Takes up to `chunks` chunks from it, from the pool first, then the oldest of its streams,
 * whose events count as overwritten; chunks that come back go on leaving it while it has more than `most`. Returns how
 * many it took. */
uint32_t stream_set_yield(struct stream_set *s, uint32_t chunks, uint32_t most);
/* Events that were overwritten before they were read, by the clients' own count, where it can be true. now_ns:
 * CLOCK_MONOTONIC_RAW. */
uint64_t stream_set_overwritten(struct stream_set *s, uint64_t now_ns);
/* Of a set that overwrites: from what time on (on the session's clock)
 * nothing is missing between events that were read; `now` at the latest. And whether so many chunks wait to be released
 * that writers may find none: what is held in buffers should be written, or must be, before another is read. */
uint64_t stream_set_complete_from(struct stream_set *s, uint64_t now);
/* The same of what the reader has passed so far, in the middle of its work: what is read next may bring an earlier
 * time. */
uint64_t stream_set_gap(const struct stream_set *s, uint64_t now);
enum stream_holds { STREAM_HOLDS_FEW, STREAM_HOLDS_MUCH, STREAM_HOLDS_ALL };
enum stream_holds stream_set_holds(const struct stream_set *s);
/* Chunks that the session pays for: in the pool, taken, linked. And those of them that are not in the pool: busy. */
uint32_t stream_set_granted(const struct stream_set *s);
uint32_t stream_set_busy(const struct stream_set *s);
/* Finds chunks that were taken and never linked, because their writers died or were restarted in between; `visit`
 * visits all CPUs. Returns how many came back. Cheap when there can't be any. */
uint32_t stream_set_reclaim(struct stream_set *s, wstatus (*visit)(struct reason *why));
/* Ends the chunks of streams whose events were all read, so that they can be released: visits their CPUs. How many it
 * were; the next snapshot sees it. */
unsigned stream_set_retire(struct stream_set *s);
/* While the pool is empty and nothing could be released, writers do not signal. Before the reader goes to sleep, and
 * can release what comes, it must want signals again. */
void stream_set_want_signals(struct stream_set *s);
/* Of a set that overwrites: writers do not signal until stream_set_want_signals. */
void stream_set_want_silence(struct stream_set *s);
/* Bytes that were ever written, over all streams, by the last snapshot. */
uint64_t stream_set_written(const struct stream_set *s);
/* Bytes written but not released, over all streams, by the last snapshot. */
uint64_t stream_set_used(const struct stream_set *s);
/* True when the last snapshot shows something of stream `index` that was not read. */
bool stream_waits(const struct stream_set *s, unsigned index);
/* True when no event waits: everything that was written has been released. By the last snapshot. */
bool stream_set_idle(const struct stream_set *s);

/* What times can be true, from now on. `floor`: what is read from a CPU's stream now is not older (the last horizon),
 * nor than what was read before; 0: that is not asked, as the clock may be set back. `limit`: nor younger than this.
 * Another time was not written by ring_write: it becomes the nearest one, `stamp` where it is of the future, and is
 * counted. */
void stream_set_times(struct stream_set *s, uint64_t floor, uint64_t limit, uint64_t stamp);
/* Loads every write position (acquire). Records beyond it are not seen until the next snapshot. */
void stream_snapshot(struct stream_set *s);
struct stream_record {
    const uint8_t *data; /* private copy; valid until stream_pop on that stream */
    uint32_t       size; /* unpadded */
    /* from the stream, or from the record on the fallback stream, where the number of CPUs stands for none */
    uint16_t cpu;
    uint64_t time; /* raw session clock */
    uint64_t end;  /* stream position after it */
};
/* The next record of stream `index` that the snapshot covers; skips and counts what is malformed. False: none; on the
 * fallback stream also while its head is reserved but not published (see stream_fallback_blocked). */
bool stream_peek(struct stream_set *s, unsigned index, struct stream_record *out);
void stream_pop(struct stream_set *s, unsigned index);
/* Copies whole records of one CPU stream straight into `out` while they fit into `capacity` and are older than
 * `horizon`: the single-source fast path. Returns bytes (a multiple of 8); *events, *end (position after them), *first
 * and *last time. */
struct stream_run {
    uint32_t bytes;
    uint32_t events;
    uint64_t end, first_time, last_time;
    bool     more; /* of stream_copy_chunk: another call may give more */
};
/* Told of what was copied: so many events in a row of one provider (its GUID as two words). */
struct stream_tally {
    void (*events)(void *ctx, const uint64_t guid[2], uint32_t count);
    void *ctx;
};
/* One chunk of it at most. Its records are copied and looked at bit by bit, while they are in the nearest cache.
 * `tally` may be NULL. */
struct stream_run stream_copy_chunk(struct stream_set *s, unsigned index, void *out, uint32_t capacity,
                                    uint64_t horizon, const struct stream_tally *tally);
struct stream_run stream_copy(struct stream_set *s, unsigned index, void *out, uint32_t capacity, uint64_t horizon);
/* The oldest unpublished reservation blocks the fallback stream; `now_ns` (any steady clock) drives the bound after
 * which it is abandoned (its thread is gone, or 1 s has passed). */
bool stream_fallback_blocked(struct stream_set *s, uint64_t now_ns);
/* Everything before `pos` is in the file: chunks wholly below go back to the pool. */
void     stream_release(struct stream_set *s, unsigned index, uint64_t pos);
uint64_t stream_position(const struct stream_set *s, unsigned index); /* next record to be peeked */
uint64_t stream_released(const struct stream_set *s, unsigned index);

struct stream_counters {
    uint64_t lost;      /* by the clients' own count, where it can be true: no room, too large */
    uint64_t corrupt;   /* records or positions that made no sense */
    uint64_t abandoned; /* fallback reservations given up; each is one lost event, in `lost` too */
    uint64_t aborts;
    uint64_t events;    /* popped or copied */
    uint64_t filtered;  /* by the clients' own count: kept out by filters */
    uint64_t adjusted;  /* events whose time could not be true, by a second and more */
    uint64_t falsified; /* how many times a client's count grew by more than can be: such a step is not counted */
};
/* now_ns: CLOCK_MONOTONIC_RAW. */
void stream_counters(struct stream_set *s, uint64_t now_ns, struct stream_counters *out);
/* Events that found no room or were too large, as of now: by the clients' own count, where it can be true. now_ns: as
 * above. Like stream_counters it notes what it believes: the caller serialises them. */
uint64_t stream_set_lost(struct stream_set *s, uint64_t now_ns);

/* What the clients say that the provider in directory slot `slot` tried to write in vain: adds it to *out. */
struct stream_refused {
    bool     by_level, by_keywords, by_filter;
    uint8_t  level;    /* the lowest that was kept out by its level; valid if by_level */
    uint64_t keywords; /* of what was kept out by keywords, together */
};
void stream_refused(const struct stream_set *s, uint32_t slot, struct stream_refused *out);
/* The slot belongs to another provider from now on. */
void stream_refused_forget(struct stream_set *s, uint32_t slot);
#endif
