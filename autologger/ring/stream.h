/* stream.h - the event streams of one (session, UID), daemon side: memory, the pool, and reading what clients wrote.
 * (The writer is writer.h.) Layout: autologger/wire/shm.h.
 * Invariants
 *   R1 rpos <= wpos <= limit as far as the reader believes; a wpos outside is clamped and counted as corrupt.
 *   R2 bytes are copied out of shared memory once, then walked; sizes are validated on the copy.
 *   R3 a chunk goes back to the pool only when everything in it has been released (is in the file).
 *   R4 a table entry is believed only if this set had put its chunk into the pool.
 *   R5 pool, taken and linked chunks together (stream_set_granted) never exceed the number that stream_set_pool was
 *      asked for plus the chunks that were busy then.
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
    bool     overwrite; /* while the pool is empty, writers overwrite the oldest events */
};
struct stream_set;

/* The chunk size, as a shift, for a session with buffers of `buffer_bytes`: the power of two that holds the largest
 * event. */
uint32_t stream_chunk_shift(uint32_t buffer_bytes);
/* W_NOT_ENOUGH_MEMORY when there is no memory. */
wstatus stream_set_create(struct os *os, const struct stream_config *config, struct stream_set **out,
                          struct reason *why);
/* Takes over a predecessor's memfds (both read-write) at the published read positions rpos[cpus + 1]. Visits all CPUs.
 * Chunks that are neither in the pool nor linked behind these positions are free. W_INVALID_DATA: the control memory is
 * invalid. */
wstatus stream_set_adopt(int data_fd, int control_fd, const uint64_t *rpos, struct stream_set **out,
                         struct reason *why);
/* The same in two halves, for many sets: the caller visits all CPUs once in between. Until the second half nothing else
 * may be done with a set. */
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
/* Gives back memory that programs took in chunks which no writer may have. Returns the number of bytes, if it is more
 * than a page here and there: an honest program takes none. */
uint64_t stream_set_trim(struct stream_set *s);
/* For a closed set, after a visit of all CPUs: gives back the memory of all its chunks. The set is neither read nor
 * written any more. */
void stream_set_drop(struct stream_set *s);
/* Fills the pool up to `want` chunks, or takes back the excess. Returns the number of chunks in it then. 0 chunks:
 * writers do not signal. */
uint32_t stream_set_pool(struct stream_set *s, uint32_t want);
/* For a set that overwrites. Takes up to `chunks` chunks out of the set: from the pool first, then the oldest of its
 * streams, whose events count as overwritten. Chunks that come back keep leaving the set while it has more than `most`.
 * Returns the number of chunks taken. */
uint32_t stream_set_yield(struct stream_set *s, uint32_t chunks, uint32_t most);
/* Events that were overwritten before they were read: the clients' count, as far as it is plausible. now_ns:
 * CLOCK_MONOTONIC_RAW. */
uint64_t stream_set_overwritten(struct stream_set *s, uint64_t now_ns);
/* For a set that overwrites: the time (on the session's clock) from which on no event is missing between those that
 * were read; `now` at the latest. */
uint64_t stream_set_complete_from(struct stream_set *s, uint64_t now);
/* The same for what the reader has passed so far, in the middle of its work: the next record may give an earlier time.
 * stream_set_holds: whether so many chunks wait to be released that writers may find none. Then events held in buffers
 * should be written (MUCH), or must be (ALL), before another chunk is read. */
uint64_t stream_set_gap(const struct stream_set *s, uint64_t now);
enum stream_holds { STREAM_HOLDS_FEW, STREAM_HOLDS_MUCH, STREAM_HOLDS_ALL };
enum stream_holds stream_set_holds(const struct stream_set *s);
/* Chunks that the session pays for: in the pool, taken, linked. Busy chunks are those that are not in the pool. */
uint32_t stream_set_granted(const struct stream_set *s);
uint32_t stream_set_busy(const struct stream_set *s);
/* Finds chunks that were taken and never linked, because their writers died or were restarted in between. `visit`
 * visits all CPUs. Returns how many came back. Cheap when there can be none. */
uint32_t stream_set_reclaim(struct stream_set *s, wstatus (*visit)(struct reason *why));
/* Ends the chunks of streams whose events were all read, so that they can be released: visits their CPUs. Returns their
 * number; the next snapshot sees it. */
unsigned stream_set_retire(struct stream_set *s);
/* While the pool is empty and nothing could be released, writers do not signal. A reader that can release again must
 * call this before it sleeps. */
void stream_set_want_signals(struct stream_set *s);
/* For a set that overwrites: writers do not signal until stream_set_want_signals. */
void stream_set_want_silence(struct stream_set *s);
/* Bytes ever written, over all streams, by the last snapshot. */
uint64_t stream_set_written(const struct stream_set *s);
/* Bytes written but not released, over all streams, by the last snapshot. */
uint64_t stream_set_used(const struct stream_set *s);
/* True when the last snapshot shows unread data of stream `index`. */
bool stream_waits(const struct stream_set *s, unsigned index);
/* True when no event waits: everything written has been released. By the last snapshot. */
bool stream_set_idle(const struct stream_set *s);

/* Sets the range of plausible times. `floor` (the last horizon): a record read from a CPU's stream from now on is not
 * older than this, nor than the record before it; 0: not checked, as the clock may be set back. `limit`: nor is it
 * younger than this. A time outside was not written by ring_write: it is replaced by the nearest plausible one (`stamp`
 * where it lies in the future), and counted. */
void stream_set_times(struct stream_set *s, uint64_t floor, uint64_t limit, uint64_t stamp);
/* The same for `limit` alone: after a snapshot, from a clock read behind it. */
void stream_set_limit(struct stream_set *s, uint64_t limit);
/* Loads every write position (acquire). Records beyond it are not seen until the next snapshot. */
void stream_snapshot(struct stream_set *s);
struct stream_record {
    const uint8_t *data; /* private copy; valid until stream_pop on that stream */
    uint32_t       size; /* unpadded */
    /* from the stream, or from the record on the fallback stream; the number of CPUs means none */
    uint16_t cpu;
    uint64_t time; /* raw session clock */
    uint64_t end;  /* stream position after it */
};
/* The next record of stream `index` that the snapshot covers; malformed data is skipped and counted. False: none; on
 * the fallback stream also while its head is reserved but not published (see stream_fallback_blocked). */
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
/* Receives what was copied: `count` events in a row of one provider (its GUID as two words). */
struct stream_tally {
    void (*events)(void *ctx, const uint64_t guid[2], uint32_t count);
    void *ctx;
};
/* The same for one chunk at most. Records are copied and parsed in small steps, while they are in the nearest cache.
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
    uint64_t lost;      /* the clients' count, as far as it is plausible: no room, too large */
    uint64_t corrupt;   /* invalid records or positions */
    uint64_t abandoned; /* fallback reservations given up; each is one lost event, in `lost` too */
    uint64_t aborts;
    uint64_t events;    /* popped or copied */
    uint64_t filtered;  /* the clients' count: kept out by filters */
    uint64_t adjusted;  /* events whose time was implausible, by a second and more */
    uint64_t falsified; /* implausibly large steps of a client's count: not counted */
};
/* now_ns: CLOCK_MONOTONIC_RAW. */
void stream_counters(struct stream_set *s, uint64_t now_ns, struct stream_counters *out);
/* Events that found no room or were too large, as of now: the clients' count, as far as it is plausible. now_ns: as
 * above. Like stream_counters it stores the believed count: the caller serialises them. */
uint64_t stream_set_lost(struct stream_set *s, uint64_t now_ns);

/* Adds to *out the clients' note of events that the provider in directory slot `slot` tried to write and its enablement
 * kept out. */
struct stream_refused {
    bool     by_level, by_keywords, by_filter;
    uint8_t  level;    /* the lowest level that was kept out; valid if by_level */
    uint64_t keywords; /* all keywords of the events kept out by keywords */
};
void stream_refused(const struct stream_set *s, uint32_t slot, struct stream_refused *out);
/* The slot belongs to another provider from now on. */
void stream_refused_forget(struct stream_set *s, uint32_t slot);
#endif
