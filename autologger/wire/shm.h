/* shm.h - every byte of shared memory between the daemon and the programs that write events.
 *
 * Three kinds of memfd, all sealed against shrink and grow:
 *   directory   one per daemon; daemon writes, clients map read-only: which provider is enabled in which session
 *   control     one per (session, UID); daemon writes, clients map read-only: is it open, which chunks lie in its pool
 *   data        one per (session, UID); clients write: write positions, chunk tables, the pool's head, loss counters,
 *   events
 *
 * A stream is one CPU's sequence of events of one (session, UID); the last stream (index = cpus) is the fallback stream
 * for threads without rseq. A write position is a 64-bit byte count that only grows. Chunk number n holds the positions
 * from n << chunk_shift on. It is the chunk that table[n & table_mask] names, if that entry has the tag of n
 * (shm_entry). An event never straddles chunks: a writer that moves on to the next chunk leaves ETL_FILLER in the first
 * dword of the gap (a gap of 0 bytes has none).
 *
 * The pool is a stack of free chunks: pool[head .. chunk_count) are there to take. A writer that needs chunk number n
 * takes pool[head] by one compare-and-swap of the head, and links it: it stores the entry. It asks neither kernel nor
 * daemon. The daemon pushes chunks below the head, with another version, and takes some back as a writer does. A writer
 * that dies between the two steps leaves a chunk that is neither in the pool nor linked: the daemon finds it
 * (stream_set_reclaim). All chunks of pool and tables together are within the session's MaximumBuffers; their memory
 * comes with the first write.
 *
 * In a set that overwrites (shm_control.overwrite: BUFFERING) a writer that finds the pool empty takes the oldest chunk
 * that a stream of the set has filled: by one compare-and-swap of that stream's `oldest` instead of the pool's head.
 * The daemon takes a chunk that it wants to read by the same step, even the one being filled, and returns it to the
 * pool. So each chunk has one owner.
 *
 * In memory an event is exactly its on-disk form (EVENT_HEADER, items, payload), padded to 8.
 *
 * Offsets are asserted; major changes break, minor ones add at the end. The client states its highest version, the
 * daemon picks. Everything in `data` is hostile input to the daemon. */
#ifndef AUTOLOGGER_WIRE_SHM_H
#define AUTOLOGGER_WIRE_SHM_H
#include "registry-sim/win32/guid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2.0: writers take chunks from a pool; 2.1: in a set that overwrites also the oldest of a stream; 3.0: events are
 * counted where they are written; 3.1: the believed part of the writers' counts (shm_told) */
enum { SHM_MAJOR = 3, SHM_MINOR = 1 };
#define SHM_MAGIC_DIRECTORY UINT32_C(0x44534C41) /* "ALSD" */
#define SHM_MAGIC_CONTROL UINT32_C(0x43534C41)   /* "ALSC" */
#define SHM_MAGIC_DATA UINT32_C(0x57534C41)      /* "ALSW" */

struct shm_header {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t header_size; /* of the struct that starts with this header */
    uint32_t flags;
    uint64_t size; /* of the whole memfd */
};
_Static_assert(sizeof(struct shm_header) == 24, "shm_header");

/* ---- directory ---- */
enum { SHM_PROVIDERS = 4096, SHM_PROVIDER_SESSIONS = 8, SHM_SESSIONS = 64 };
/* the second two are only reported back */
enum { SHM_ENABLE_IGNORE_KEYWORD_0 = 1, SHM_ENABLE_KEYWORD_0 = 2, SHM_ENABLE_SILOS = 4 };
enum { SHM_FILTER_BYTES = 1 << 20, SHM_FILTER_ALIGN = 64 };
/* shm_enable.enabled: by level and keywords alone, or by a block of wire/filter.h as well */
enum { SHM_ENABLED_PLAINLY = 1, SHM_ENABLED_FILTERED = 2 };

/* One provider in one session. The first 8 bytes are the ticket: a writer loads them as one u64 when it decides that
 * the event passes, and compares them again inside its critical section. The daemon changes `generation` with every
 * change, so an equal ticket means that nothing about this enablement has changed. enabled = 0 and a quiesce end it. */
struct shm_enable {
    uint8_t  enabled; /* SHM_ENABLED_* */
    uint8_t  level;   /* 0 = all */
    uint8_t  session; /* index, 0 .. SHM_SESSIONS - 1 */
    uint8_t  flags;
    uint32_t generation;
    uint64_t any; /* 0 = all keywords */
    uint64_t all;
};
_Static_assert(sizeof(struct shm_enable) == 24 && offsetof(struct shm_enable, any) == 8, "shm_enable");

struct shm_provider {
    struct guid guid;
    uint32_t    generation; /* of the slot; odd = in use */
    uint8_t     mask;       /* bit i: enable[i].enabled */
    /* bit i: it has a filter; set before the bit of `mask`, so that one load of both tells which entries have one */
    uint8_t           filtered;
    uint8_t           reserved1[2];
    uint32_t          filter[SHM_PROVIDER_SESSIONS]; /* offset in the filters' memory; 0: none */
    uint8_t           reserved2[8];
    struct shm_enable enable[SHM_PROVIDER_SESSIONS];
};
_Static_assert(sizeof(struct shm_provider) == 256 && offsetof(struct shm_provider, enable) == 64 &&
                   offsetof(struct shm_provider, mask) == 20 && offsetof(struct shm_provider, filter) == 24,
               "shm_provider");

struct shm_directory {
    struct shm_header header;
    uint32_t          provider_count;  /* slots in the array */
    uint32_t          provider_offset; /* from the start of the memfd */
    /* memory of the filters; 0: none (1.1). A place is reused when no enablement uses it: a reader trusts a filter only
     * while the ticket is the same afterwards, and trusts no length in it */
    uint32_t            filter_offset, filter_bytes;
    uint8_t             reserved[216];
    struct shm_provider provider[]; /* at provider_offset = 256 */
};
_Static_assert(offsetof(struct shm_directory, provider) == 256, "shm_directory");

/* ---- control: one per (session, UID) ---- */

/* A count that writers keep in the data memory, and what the daemon believes of it. */
struct shm_told {
    uint64_t said, believed; /* by all writers together; the part of it that can be true */
    /* the believed events account for all time up to here, CLOCK_MONOTONIC_RAW; 0: before the first look, which
     * believes all */
    uint64_t at_ns;
};
struct shm_control {
    struct shm_header header;
    uint32_t          open;       /* 1 = may be written; tested inside the section. A page of zeros means closed */
    uint32_t          clock_kind; /* enum clock_read_kind */
    uint32_t          session;    /* index */
    uint32_t          session_generation;
    uint32_t          stream_count; /* possible CPUs + 1 */
    uint32_t          chunk_shift;  /* chunk size = 1 << chunk_shift, 12 .. 16 */
    /* chunks in the data memfd; may be 0 (a UID that was not admitted: all its events are lost and counted) */
    uint32_t chunk_count;
    uint32_t max_event;   /* largest Size of an event: BufferSize - 72, at most 65,535 */
    uint32_t pool_offset; /* of uint32_t pool[chunk_count], from the start of the memfd */
    uint32_t uid;
    uint32_t state_offset; /* of uint8_t[chunk_count], enum shm_chunk_state: for a successor */
    /* a writer that takes pool[i] with i + 1 >= this signals the session's eventfd, and so does one that finds no
     * chunk. SHM_WAKE_NEVER: neither does */
    uint32_t pool_wake;
    uint32_t overwrite; /* 1: when the pool is empty, the oldest chunk is overwritten (2.1) */
    /* of uint64_t claim[chunk_count]: the chunks that the daemon has taken to read, for a successor: stream + 1, chunk
     * number (32 bits) */
    uint32_t        claim_offset;
    struct shm_told lost, overwritten; /* for a successor (3.1) */
};
_Static_assert(sizeof(struct shm_control) == 128, "shm_control");

/* What the daemon knows of a chunk. POOL: in the pool, or taken from it and not yet seen linked. STALLED: a writer of
 * the fallback stream may still write there, so it is never granted again. */
enum shm_chunk_state { SHM_CHUNK_FREE, SHM_CHUNK_POOL, SHM_CHUNK_LINKED, SHM_CHUNK_STALLED };

/* ---- data: one per (session, UID) ---- */

/* A table entry: which chunk has the number n. The tag tells it from an entry of another lap. */
#define SHM_NO_CHUNK UINT32_MAX
static inline uint64_t shm_entry(uint64_t n, uint32_t chunk) { return (n + 1) << 32 | chunk; }
static inline bool     shm_entry_is(uint64_t entry, uint64_t n) { return (uint32_t)(entry >> 32) == (uint32_t)(n + 1); }
/* The head of the pool: the version in the upper half changes with each push, so that an old head never fits again. */
static inline uint32_t shm_pool_index(uint64_t head) { return (uint32_t)head; }

struct shm_stream { /* 128 bytes: two lines, so that neighbours' prefetch does not meet */
    uint64_t wpos;
    uint64_t tally;          /* by shm_tally_event(): moves with wpos, in one store. The fallback stream has none */
    uint64_t lost;           /* events that found no room or were too large; added with one LOCK instruction */
    uint64_t aborts;         /* rseq restarts, for diagnosis */
    uint64_t filtered;       /* events that a filter kept out: neither written nor lost */
    uint64_t oldest;         /* of a set that overwrites: shm_oldest() */
    uint64_t overwritten_to; /* the time of its newest overwritten event; raised after `oldest` has moved */
    /* the table's entry of the chunk being filled, or of an older one (2.1): beside wpos, so that a writer with cold
     * caches waits for one line */
    uint64_t current;
    uint8_t  reserved[64];
};
_Static_assert(sizeof(struct shm_stream) == 128 && offsetof(struct shm_stream, tally) == 8, "shm_stream");

/* Of a CPU's stream: its events so far, and the distance from the start of the last one to wpos, in units of 8 bytes.
 * So a writer that overwrites a chunk knows its number of events, and the time of the last one, without a walk through
 * it. */
enum { SHM_TALLY_BITS = 16 };
#define SHM_TALLY_MASK ((UINT64_C(1) << SHM_TALLY_BITS) - 1)
static inline uint64_t shm_tally_event(uint64_t tally, uint32_t aligned)
{
    return (tally | SHM_TALLY_MASK) + 1 + (aligned >> 3);
}
static inline uint64_t shm_tally_skip(uint64_t tally, uint64_t gap)
{
    return (tally & ~SHM_TALLY_MASK) | ((tally + (gap >> 3)) & SHM_TALLY_MASK);
}

/* Of a stream that is overwritten: the number of the oldest chunk not taken yet, and the number of events overwritten
 * so far. A writer takes that chunk once the stream has gone beyond it, and adds its events. */
enum { SHM_OLDEST_BITS = 24 };
#define SHM_OLDEST_MASK ((UINT64_C(1) << SHM_OLDEST_BITS) - 1)
static inline uint64_t shm_oldest(uint64_t n, uint64_t overwritten)
{
    return overwritten << SHM_OLDEST_BITS | (n & SHM_OLDEST_MASK);
}
static inline uint64_t shm_oldest_events(uint64_t oldest) { return oldest >> SHM_OLDEST_BITS; }
/* `most`: the largest possible number, the one after the chunk being filled. */
static inline uint64_t shm_oldest_number(uint64_t oldest, uint64_t most)
{
    return most - ((most - oldest) & SHM_OLDEST_MASK);
}

/* What programs of one UID tried to write to this session and its enablement kept out: noted, not counted, to answer
 * "why is it empty". Written with plain stores, and only when there is something new to note: in the common case never.
 * A provider's place is its slot in the directory modulo SHM_REFUSALS. A writer that finds another slot's note there
 * writes nothing. */
enum { SHM_REFUSALS = 256, SHM_REFUSED_LEVEL = 1, SHM_REFUSED_KEYWORDS = 2, SHM_REFUSED_FILTER = 4 };
struct shm_refusal {
    uint64_t keywords; /* of all events that their keywords kept out, by OR */
    uint16_t slot;     /* in the directory, + 1; 0 = nothing was refused */
    uint8_t  why;      /* SHM_REFUSED_* */
    uint8_t  level;    /* the lowest level of the events that their level kept out */
    uint32_t reserved;
};
_Static_assert(sizeof(struct shm_refusal) == 16, "shm_refusal");

struct shm_data {
    struct shm_header header;
    uint32_t          stream_count;
    uint32_t          stream_offset;  /* of struct shm_stream[stream_count] */
    uint64_t          chunk_offset;   /* of chunk 0, page-aligned */
    uint32_t          refusal_offset; /* of struct shm_refusal[SHM_REFUSALS] */
    uint32_t          table_offset;   /* of uint64_t[stream_count][table_mask + 1] */
    uint32_t          table_mask;
    /* of uint32_t taker[chunk_count]: the thread of the fallback stream that took the chunk, until it is linked */
    uint32_t taker_offset;
    uint64_t pool_head;     /* index of the first chunk of the pool, and a version (shm_pool_index) */
    uint32_t fallback_used; /* 1: a thread without rseq has taken chunks here */
    /* of uint64_t mark[chunk_count], of a set that overwrites: a CPU's tally at the beginning of the chunk. Else 0 */
    uint32_t mark_offset;
    /* whose set it is, for observers from outside (`autologger dev state`): the session's index + 1, 0 before this was
     * written; and the UID. Nothing relies on them */
    uint32_t session_number, uid;
    uint8_t  reserved[48];
};
_Static_assert(sizeof(struct shm_data) == 128, "shm_data");

/* The fallback stream. Its wpos moves by LOCK cmpxchg; bit 63 (SHM_CLOSED, set and cleared by the daemon) makes every
 * such cmpxchg fail, so that closing needs no quiesce there. A reserved record's first 8 bytes go from 0 to {size |
 * SHM_RESERVED, tid} at once, and publishing swaps those for the final first 8 bytes of the event (release). The logger
 * may swap in SHM_ABANDONED when the thread is gone or has not published within a bound; the logger counts the loss,
 * the writer returns W_NOT_ENOUGH_MEMORY. The record's CPU is kept in kernel_time, which the logger sets to 0 in the
 * file. A writer zeroes a chunk before it links it to this stream; a chunk that holds an abandoned record of a living
 * thread is never granted again. By the last byte of the first dword: 0xC0 published, 0x40 reserved, 0x20 abandoned,
 * 0xFF filler. */
#define SHM_RESERVED UINT32_C(0x40000000)
#define SHM_ABANDONED UINT32_C(0x20000000)
#define SHM_CLOSED (UINT64_C(1) << 63)
/* shm_control.pool_wake when no signal is wanted: the daemon has no more memory to give. */
#define SHM_WAKE_NEVER UINT32_MAX
#endif
