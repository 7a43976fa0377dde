/* rawlog.h - raw kernel records of one session in one memfd: what the drainer keeps and the converter reads.
 *
 *   header | source table | perf ids | released times | slot 0 | slot 1 |  data: a ring of chunks, mapped twice in a
 *   row
 *
 * The ring's memory is a list of pieces of the file (struct raw_layout), so that it can be made larger and smaller
 * while it is in use. A chunk is the records that one pass took from one CPU's perf ring, or records of our own. A pass
 * ends with a chunk RAW_CHUNK_PASS that carries a clock pair and the horizon: no later pass brings a record from before
 * it. Invariants
 *   R1 the write position, the perf tails and the counts of a pass are published together, by switching slots; what is
 *      behind the published position never happened.
 *   R2 positions only grow; a chunk never wraps (the data are mapped twice); free_pos <= read <= write <= free_pos +
 *     size.
 *   R3 a reader checks every length against the published position: the bytes may be damaged.
 *   R4 another layout moves no record: what lies between free_pos and the write position is in both, the one in force
 *      and the one that comes. So it is changed by one store, and whoever dies around it has lost nothing.
 *   R5 the reader has a view of its own, and takes over the layout in force before it reads what was published under
 *      it, and before it frees: until then all that it may read stays where it was.
 * Threads: one writer (publish, resize), one reader (free). Ownership: init/attach ... finish; the descriptor is the
 * rawlog's.
 * Not for: what records mean (convert.h), where they come from (drain.h). */
#ifndef AUTOLOGGER_KERNEL_RAWLOG_H
#define AUTOLOGGER_KERNEL_RAWLOG_H
#include "autologger/kernel/tables/flags.h"
#include "registry-sim/win32/wstatus.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAW_VERSION = 13, RAW_SOURCES = 256, RAW_FIELDS = 8, RAW_SYSCALLS = 512, RAW_PIECES = 4096 };
#define RAW_MAGIC UINT64_C(0x474f4c5741524c41) /* "ALRAWLOG" */

/* One source as it was opened; offsets come from the kernel's format file, 0xFFFF where the field is missing. */
struct raw_source {
    char     name[48];
    uint32_t kind;  /* enum source_kind */
    uint32_t flags; /* RAW_SOURCE_* */
    uint32_t wish;  /* SRC_TRACEPOINT: index of the session's wish (wire/tracepoint.h) */
    struct raw_field {
        uint16_t offset, size;
    } field[RAW_FIELDS];
};
#define RAW_PHASE_NAME "kernel phase " /* before the name of a source that is RAW_SOURCE_PHASE */
enum {
    RAW_SOURCE_CHAIN   = 1,
    RAW_SOURCE_COUNTER = 2,  /* its perf counter counts events */
    RAW_SOURCE_CGROUP  = 32, /* its samples end with the cgroup's id */
    /* its samples have the program's registers and a copy of its stack, behind the tracepoint's record */
    RAW_SOURCE_USER     = 64,
    RAW_SOURCE_ADDRESS  = 16,      /* its samples have an address, between time and CPU, and no tracepoint's record */
    RAW_SOURCE_RAW      = 8,       /* its samples carry a tracepoint's record, and no ip */
    RAW_SOURCE_MEMCALLS = 0x10000, /* of the system calls only those of memory */
    RAW_SOURCE_ENDS     = 0x20000, /* of file operations the ends of all */
    RAW_SOURCE_PHASE = 4 /* from the kernel's trace buffer, of the time before perf: no descriptor, its id is our own */
};
#define RAW_NO_FIELD UINT16_C(0xFFFF)
/* A record's id in the log is the source's index with this bit: the drainer puts it there. perf counts its own ids up
 * from 1, and gives an event that is opened again another one. */
#define RAW_ID_SOURCE UINT64_C(0x8000000000000000)
enum raw_source_state {
    RAW_OPEN,
    RAW_CLOSED,
    RAW_ARMING,
    RAW_LEAVING
};                 /* the last two: while a change is under way (change.h) */
struct raw_terms { /* what is recorded */
    uint32_t mask[GROUP_MASK_WORDS], hook_count;
    uint16_t hooks[HOOK_MAX];
};

struct raw_slot {
    uint64_t write_pos;
    uint64_t horizon_ns; /* of the last pass */
    uint64_t drained[RAW_SOURCES], lost_memory[RAW_SOURCES];
    uint64_t throttled;
    uint64_t own_lost;        /* records of our own (rundown, command lines) that did not fit */
    uint64_t no_command_line; /* programs that were gone before their command line could be read */
    uint64_t peak;
    uint64_t device_number; /* the kernel's number of the last uevent (devices.h) */
    uint64_t change;        /* the number of the last change whose records are in the log */
    uint64_t tail[];        /* per CPU; then a struct raw_loss for each (rawlog_loss) */
};
/* What of one CPU's records is lost and was not told yet, by a record RAW_LOSS (drain_loss.c). */
struct raw_loss {
    uint64_t last_ns;                                    /* of the last record taken from the ring */
    uint64_t ring_from, ring_to, memory_from, memory_to; /* the span of what is not told; 0: not known */
    struct raw_untold {
        uint64_t seen, ring, memory;
    } source[]; /* seen: of the kernel's count of what the ring lost */
};

/* The kernel phase, as it was imported. All zero: there was none. Every entry that the kernel counted is one of:
 * a record (drained or lost_memory of its source), absorbed, late, lost, damaged. */
struct raw_phase {
    uint64_t entries;  /* the kernel's own count */
    uint64_t absorbed; /* stacks, which went to the entry before them; marks of ours; what was not asked for */
    uint64_t late;     /* perf has them too */
    uint64_t lost;     /* overwritten, dropped, read by somebody else */
    uint64_t damaged;  /* counted, and not found in the pages */
    uint64_t error_ns;
};

/* Where the ring's memory is in the file: its n-th piece is the file's piece[n]. */
struct raw_layout {
    uint32_t count;
    uint16_t piece[RAW_PIECES];
};

struct raw_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    uint64_t data_most; /* bytes behind the header; memory is taken where the ring is */
    uint32_t piece_bytes;
    uint32_t layout; /* the one in force; atomic */
    uint32_t cpus, source_count;
    uint32_t slot_bytes, ids_at, released_at, slots_at;
    uint32_t active; /* slot in force; atomic */
    uint32_t stopped;
    uint32_t snapshot;     /* 1 + the state memfd in force, 0 = none; atomic */
    uint16_t cut;          /* stopped by a successor without perf events: what came after the last count is not known */
    uint16_t started;      /* the rundown of the start is in it: a successor needs none */
    uint64_t free_pos;     /* everything before it may be overwritten; atomic */
    uint64_t devices_left; /* whoever left had taken nothing from the socket of uevents that is not in here */
    uint32_t ring_bytes, profile_interval; /* as they were set up: a successor needs the same */
    uint64_t live_pos, live_horizon; /* copies for a reader beside the writer; atomic, the horizon is stored last */
    struct raw_phase  phase;         /* written before the first record is published */
    struct raw_source source[RAW_SOURCES];
    /* addresses of the kernel's functions behind system calls, by number (narrow: of 32-bit programs); written before
     * their first record */
    uint64_t syscall[RAW_SYSCALLS], narrow[RAW_SYSCALLS];
    /* of the perf counters, once stopped, left or closed: they may be gone by then */
    uint64_t final_value[RAW_SOURCES], final_lost[RAW_SOURCES];
    /* of the perf events that a source had before it was closed and opened again; of one that is closed the above
     * holds */
    uint64_t          base_value[RAW_SOURCES], base_lost[RAW_SOURCES];
    uint8_t           state[RAW_SOURCES];    /* enum raw_source_state */
    struct raw_terms  first, now, next;      /* at the log's beginning; in force; of the change that is under way */
    uint32_t          source_room, reserved; /* so many sources may come to be */
    uint64_t          change_begin_ns;       /* CLOCK_MONOTONIC_RAW; 0: no change is under way */
    uint64_t          change;                /* its number, or that of the last one */
    struct raw_layout layouts[2];
};

enum raw_chunk_kind { RAW_CHUNK_PERF = 1, RAW_CHUNK_OWN = 2, RAW_CHUNK_PASS = 3 };
#define RAW_CHUNK_MAGIC UINT32_C(0x4b4e4843)
struct raw_chunk {
    uint32_t magic;
    uint32_t bytes; /* of what follows; a multiple of 8 */
    uint16_t cpu;
    uint16_t kind;
    uint32_t records;
};
struct raw_pass {
    struct raw_chunk chunk;
    uint64_t         raw_ns, value, error_ns; /* a clock pair: CLOCK_MONOTONIC_RAW and the session's clock */
    uint64_t         horizon_ns;
};

/* One mapping of the ring, by one layout. */
struct rawlog_view {
    struct rawlog_view *older; /* which the reader may still have */
    uint8_t            *data;  /* twice in a row */
    uint64_t            size;
};

/* The numbers of the published slot. The slot itself is reused two passes later: who reads it keeps the writer away,
 * and waits for a pass. */
struct raw_told {
    uint64_t throttled, own_lost, no_command_line, peak;
    uint64_t drained[RAW_SOURCES], lost_memory[RAW_SOURCES];
};

struct rawlog {
    int                 fd;
    struct raw_header  *header;
    uint8_t            *data; /* the writer's view */
    uint64_t            size;
    struct rawlog_view *view; /* the same; atomic */
    uint8_t            *seen; /* the reader's view */
    uint64_t            seen_size;
    struct raw_slot    *work;      /* the slot being filled by the writer */
    pthread_mutex_t     told_lock; /* behind the drainer's; never held for as long as a pass takes */
    struct raw_told     told;      /* of any thread; under told_lock */
};

/* A new log with about `bytes` of data, which can be given up to `most` later (rawlog_size.c). W_NOT_ENOUGH_MEMORY when
 * memory is short. */
wstatus rawlog_init(struct rawlog *log, uint64_t bytes, uint64_t most, unsigned cpus, const struct raw_source *sources,
                    unsigned count, struct reason *why);
/* Takes over a predecessor's log (owns `fd` then). W_INVALID_DATA: it is no raw log, or has another version. */
wstatus rawlog_attach(struct rawlog *log, int fd, struct reason *why);
void    rawlog_finish(struct rawlog *log);

/* Writer: room for `bytes` more, R2. Then write at rawlog_at and advance. Nothing shows before rawlog_publish. */
uint64_t               rawlog_room(const struct rawlog *log);
static inline uint8_t *rawlog_at(const struct rawlog *log, uint64_t pos) { return log->data + pos % log->size; }
void                   rawlog_append(struct rawlog *log, const void *bytes, size_t size);
void                   rawlog_publish(struct rawlog *log);
/* Reader: how far the log may be read, and the horizon of all that is before it. Then read at rawlog_seen; what that
 * gave before is gone. */
uint64_t                     rawlog_live(struct rawlog *log, uint64_t *horizon_ns);
static inline const uint8_t *rawlog_seen(const struct rawlog *log, uint64_t pos)
{
    return log->seen + pos % log->seen_size;
}
/* Reader: everything before `pos` may be overwritten. */
void rawlog_free(struct rawlog *log, uint64_t pos);
/* The published slot: for the writer, and for others while the writer is kept away (the slot is reused two passes
 * later). */
const struct raw_slot *rawlog_published(const struct rawlog *log);
/* A CPU's part of a slot: the one being filled, or the published one. */
struct raw_loss *rawlog_loss(const struct rawlog *log, struct raw_slot *slot, unsigned cpu);
uint64_t        *rawlog_ids(const struct rawlog *log, unsigned cpu); /* RAW_SOURCES perf ids of a CPU, 0 = not open */
/* The source with that id among a CPU's, RAW_SOURCES when there is none. The kernel numbers the events that are opened,
 * so the first guess nearly always holds. */
static inline unsigned rawlog_source(const uint64_t *ids, unsigned count, uint64_t id)
{
    if (id & RAW_ID_SOURCE)
        return (id ^ RAW_ID_SOURCE) < count ? (unsigned)(id ^ RAW_ID_SOURCE) : RAW_SOURCES;
    uint64_t guess = id - ids[0];
    if (guess < count && ids[guess] == id)
        return (unsigned)guess;
    for (unsigned i = 0; i < count && i < RAW_SOURCES; i++)
        if (ids[i] == id)
            return i;
    return RAW_SOURCES;
}
uint64_t *rawlog_released(const struct rawlog *log); /* per CPU, in session clock; written by the reader's side */

/* Within the folder. */
static inline const struct raw_layout *rawlog_layout(const struct rawlog *log)
{
    return &log->header->layouts[__atomic_load_n(&log->header->layout, __ATOMIC_ACQUIRE) & 1];
}
/* A mapping of the ring by a layout; NULL and a reason when it can't be had. */
struct rawlog_view *rawlog_view_new(const struct rawlog *log, const struct raw_layout *layout, struct reason *why);

/* ---- rawlog_size.c, which the early program does not have ---- */
/* Writer, while the reader goes on: a ring of `bytes`, rounded up to whole pieces, at most data_most. What is in it
 * stays; nothing else is kept of it. W_BUSY more than half of what it would be is in use; W_NOT_ENOUGH_MEMORY. Either
 * it is done or nothing has changed. */
wstatus rawlog_resize(struct rawlog *log, uint64_t bytes, struct reason *why);
/* Gives back the memory that is not the ring's any more. Not at the same time as rawlog_resize. */
void rawlog_trim(const struct rawlog *log);
#endif
