/* writer.h - writing one event into a stream: the whole event inside one rseq critical section whose last store moves
 * wpos. Used by the provider library and by benchmarks; works on mapped shared memory only.
 * Invariants
 *   W1 no lock, allocation, print or system call, except the eventfd write of a thread that takes a chunk beyond
 *      `pool_wake`, or that finds no chunk where a signal is wanted (a thread that is killed before the write loses its
 *      signal).
 *   W2 wpos is loaded before the clock is read, and compared inside the section: no stamp goes backwards in a stream.
 *   W3 open and the enable ticket are tested inside the section: after a quiesce nothing can commit.
 *   W4 a thread without rseq, or after 100 aborts in a row, uses the fallback stream (LOCK cmpxchg reserve, publish).
 *   W5 writers extend their streams themselves: one compare-and-swap takes a chunk from the pool. An event finds no
 *      room only when the pool is empty; in a set that overwrites, only when besides no stream has a full chunk
 *      (oldest.h).
 * Threads: any number, signal handlers too. Ownership: views over mappings that the caller keeps alive for ever. */
#ifndef AUTOLOGGER_RING_WRITER_H
#define AUTOLOGGER_RING_WRITER_H
#include "autologger/wire/etl.h"
#include "autologger/wire/shm.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

/* One attached session as a writer sees it: all pointers into mappings whose sizes were checked at attach. */
struct ring_view {
    const struct shm_control *control;
    uint64_t                  mode;   /* enum ring_mode; the section knows the offsets of these two */
    struct shm_stream        *stream; /* [stream_count] */
    uint64_t                 *table;  /* [stream_count][table_mask + 1] */
    uint8_t                  *chunks;
    uint32_t                  cpus;        /* stream_count - 1 */
    uint32_t                  chunk_shift; /* copies of the control page's values at attach */
    uint32_t                  chunk_count;
    uint32_t                  max_event;
    /* the same for the one attempt of fastpath.h; 0 without RING_TSC */
    uint32_t            quick_event;
    uint64_t            chunk_mask; /* chunk size - 1 */
    uint32_t            table_mask;
    uint32_t            table_shift; /* table_mask + 1 == 1 << table_shift */
    struct shm_data    *data;
    const uint32_t     *pool;  /* [chunk_count], daemon's */
    uint32_t           *taker; /* [chunk_count] */
    uint64_t           *mark;  /* [chunk_count], or NULL */
    uint32_t            clock_kind;
    int                 eventfd;
    struct shm_refusal *refusal; /* [SHM_REFUSALS], or NULL */
    bool                overwrite;
};
enum ring_mode { RING_TSC = 1, RING_AVX = 2 };
/* Where this process finds rseq areas. A caller may keep a copy of `ring_rseq` beside the other data that its events
 * read (fastpath.h). */
struct ring_rseq {
    ptrdiff_t offset;     /* from the thread pointer */
    bool      usable;     /* set after `offset`, by the first ring_view_init */
    bool      forced_off; /* by a test */
};
extern struct ring_rseq ring_rseq __attribute__((visibility("hidden")));
/* Checks two mappings against each other and fills the view; W_INVALID_DATA with the reason when they don't fit. */
wstatus ring_view_init(struct ring_view *view, const void *control, size_t control_size, void *data, size_t data_size,
                       int eventfd, struct reason *why);
/* The same with a trusted header: any program of the user can change the header in the data. */
wstatus ring_view_of(struct ring_view *view, const void *control, size_t control_size, const struct shm_data *header,
                     void *data, size_t data_size, int eventfd, struct reason *why);

/* A piece of the event's bytes after the 80-byte header; same layout as EVENT_DATA_DESCRIPTOR. */
struct ring_piece {
    uint64_t ptr;
    uint32_t size;
    uint32_t reserved;
};
/* Writes `header` (size, ids, everything but time filled in) and the pieces, if `*enable`'s first 8 bytes still equal
 * `ticket`. W_SUCCESS: written, or not enabled any more (*written = false); W_NOT_ENOUGH_MEMORY: no room (counted);
 * W_MORE_DATA: too large for the session (counted). `total` = sum of the pieces' sizes; the record's size, time,
 * kernel_time and user_time are set by the callee. */
wstatus ring_write(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                   struct etl_event_header *header, const struct ring_piece *pieces, unsigned count, uint32_t total,
                   bool *written);

/* A late event: the caller states its time. It goes to the fallback stream with the CPU `view->cpus`, which means none.
 * Readers accept it only from a stream of the daemon's own user (session/logger.c). */
struct ring_told {
    uint64_t time;       /* on the view's clock */
    bool     count_loss; /* false: without room W_NOT_ENOUGH_MEMORY, not counted; the caller tries again */
};
struct section;
wstatus ring_write_told(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket,
                        const struct section *s, const struct ring_told *told, bool *written);

/* Notes that `enable` kept out an event of the provider in directory slot `slot`. Stores only what is new. */
void ring_refuse(const struct ring_view *view, const struct shm_enable *enable, uint32_t slot, uint8_t level,
                 uint64_t keyword);
/* The same for an event that a filter kept out. It is also counted, as neither written nor lost. False: the ticket is
 * outdated, or the session is closed; nothing was counted. */
bool ring_filtered(const struct ring_view *view, const struct shm_enable *enable, uint64_t ticket, uint32_t slot);

/* For tests: every thread uses the fallback stream from now on (or no longer). */
void ring_force_fallback(bool on);
#endif
