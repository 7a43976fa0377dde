/* rawlog.h - raw kernel records of one session in one memfd, from the drainer to the converter.
 *
 *   header | source table | perf ids | released times | slot 0 | slot 1 | data: ring of chunks, mapped twice in a row
 *
 * The ring's memory is a list of pieces of the file (struct raw_layout), so that it can grow and shrink while in use. A
 * chunk holds the records that one pass took from one CPU's perf ring, or own records. A pass ends with a chunk
 * RAW_CHUNK_PASS that carries a clock pair and the horizon: no later pass brings a record from before it.
 * Invariants
 *   R1 the write position, the perf tails and the counts of a pass are published together, by switching slots; data
 *     after the published position never happened.
 *   R2 positions only grow; a chunk never wraps (the data are mapped twice); free_pos <= read <= write <= free_pos +
 *     size.
 *   R3 a reader checks every length against the published position: the bytes may be damaged.
 *   R4 a new layout moves no record: the data between free_pos and the write position are in both layouts, the one in
 *     force and the next. So one store changes the layout, and a process that dies around it has lost nothing.
 *   R5 the reader has a view of its own. It takes over the layout in force before it reads what was published under it,
 *     and before it frees: until then all data that it may read stay in place.
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

/* One source as it was opened; field offsets come from the kernel's format file, 0xFFFF where a field is missing. */
struct raw_source {
    char     name[48];
    uint32_t kind;  /* enum source_kind */
    uint32_t flags; /* RAW_SOURCE_* */
    uint32_t wish;  /* SRC_TRACEPOINT: index of the session's wish (wire/tracepoint.h) */
    struct raw_field {
        uint16_t offset, size;
    } field[RAW_FIELDS];
};
#define RAW_PHASE_NAME "kernel phase " /* prefix of the name of a source with RAW_SOURCE_PHASE */
enum {
    RAW_SOURCE_CHAIN   = 1,
    RAW_SOURCE_COUNTER = 2,  /* its perf counter counts events */
    RAW_SOURCE_CGROUP  = 32, /* its samples end with the cgroup's id */
    /* its samples end with the program's registers and a copy of its stack, after the tracepoint's record */
    RAW_SOURCE_USER     = 64,
    RAW_SOURCE_ADDRESS  = 16,      /* its samples have an address between time and CPU, and no tracepoint's record */
    RAW_SOURCE_RAW      = 8,       /* its samples carry a tracepoint's record, and no ip */
    RAW_SOURCE_MEMCALLS = 0x10000, /* records only the memory calls among the system calls */
    RAW_SOURCE_ENDS     = 0x20000, /* records the ends of all file operations */
    RAW_SOURCE_PHASE = 4 /* from the kernel's trace buffer, of the time before perf: no descriptor, an id of our own */
};
#define RAW_NO_FIELD UINT16_C(0xFFFF)
/* A record's id in the log is the source's index with this bit, set by the drainer. perf counts its own ids up from 1,
 * and gives a reopened event a new one. */
#define RAW_ID_SOURCE UINT64_C(0x8000000000000000)
enum raw_source_state { RAW_OPEN, RAW_CLOSED, RAW_ARMING, RAW_LEAVING }; /* the last two: during a change (change.h) */
struct raw_terms {                                                       /* the recorded flags and hooks */
    uint32_t mask[GROUP_MASK_WORDS], hook_count;
    uint16_t hooks[HOOK_MAX];
};

struct raw_slot {
    uint64_t write_pos;
    uint64_t horizon_ns; /* of the last pass */
    uint64_t drained[RAW_SOURCES], lost_memory[RAW_SOURCES];
    uint64_t throttled;
    uint64_t own_lost;        /* own records (rundown, command lines) that did not fit */
    uint64_t no_command_line; /* programs that ended before their command line could be read */
    uint64_t peak;
    uint64_t device_number; /* the kernel's number of the last uevent (devices.h) */
    uint64_t change;        /* the number of the last change whose records are in the log */
    uint64_t tail[];        /* per CPU; then a struct raw_loss for each (rawlog_loss) */
};
/* Lost records of one CPU that no record RAW_LOST reports yet (drain_loss.c). */
struct raw_loss {
    uint64_t last_ns;                                    /* of the last record taken from the ring */
    uint64_t ring_from, ring_to, memory_from, memory_to; /* the spans of unreported losses; 0: not known */
    struct raw_untold {
        uint64_t seen, ring, memory;
    } source[]; /* seen: how much of the kernel's count of ring losses was read already */
};

/* The kernel phase, as imported. All zero: there was none. Each entry that the kernel counted is one of: a record
 * (drained or lost_memory of its source), absorbed, late, lost, damaged. */
struct raw_phase {
    uint64_t entries;  /* the kernel's own count */
    uint64_t absorbed; /* stacks, joined to the entry before them; our own marks; unwanted entries */
    uint64_t late;     /* perf recorded them too */
    uint64_t lost;     /* overwritten, dropped, or read by another process */
    uint64_t damaged;  /* counted, but not found in the pages */
    uint64_t error_ns;
};

/* The ring's memory in the file: its n-th piece is the file's piece[n]. */
struct raw_layout {
    uint32_t count;
    uint16_t piece[RAW_PIECES];
};

struct raw_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    uint64_t data_most; /* bytes after the header; memory is taken only where the ring is */
    uint32_t piece_bytes;
    uint32_t layout; /* the one in force; atomic */
    uint32_t cpus, source_count;
    uint32_t slot_bytes, ids_at, released_at, slots_at;
    uint32_t active; /* slot in force; atomic */
    uint32_t stopped;
    uint32_t snapshot;     /* 1 + the state memfd in force, 0 = none; atomic */
    uint16_t cut;          /* stopped by a successor without perf events: records after the last count are not known */
    uint16_t started;      /* the log has the start's rundown: a successor needs none */
    uint64_t free_pos;     /* everything before it may be overwritten; atomic */
    uint64_t devices_left; /* the leaving process published every message that it took from the uevent socket */
    uint32_t ring_bytes, profile_interval; /* as set up: a successor needs the same */
    uint64_t live_pos,
        live_horizon;        /* copies for a reader that runs beside the writer; atomic, the horizon is stored last */
    struct raw_phase  phase; /* written before the first record is published */
    struct raw_source source[RAW_SOURCES];
    /* addresses of the kernel's functions behind system calls, by number (narrow: of 32-bit programs); written before
     * the first record of system calls */
    uint64_t syscall[RAW_SYSCALLS], narrow[RAW_SYSCALLS];
    /* last values of the perf counters, read at stop, leave or close: the events may be gone later */
    uint64_t final_value[RAW_SOURCES], final_lost[RAW_SOURCES];
    /* values of a source's earlier perf events, before it was closed and opened again; for a closed source see above */
    uint64_t          base_value[RAW_SOURCES], base_lost[RAW_SOURCES];
    uint8_t           state[RAW_SOURCES];    /* enum raw_source_state */
    struct raw_terms  first, now, next;      /* at the log's beginning; in force; of the change under way */
    uint32_t          source_room, reserved; /* the most sources that the log has room for */
    uint64_t          change_begin_ns;       /* CLOCK_MONOTONIC_RAW; 0: no change is under way */
    uint64_t          change;                /* number of the change under way, or of the last one */
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
    struct rawlog_view *older; /* which the reader may still use */
    uint8_t            *data;  /* mapped twice in a row */
    uint64_t            size;
};

/* The numbers of the published slot. The slot itself is reused two passes later: to read it, a thread must keep the
 * writer away, and so waits for a pass. */
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
    pthread_mutex_t     told_lock; /* taken after the drainer's lock; never held for as long as a pass takes */
    struct raw_told     told;      /* for any thread; under told_lock */
};

/* A new log with about `bytes` of data, which may grow up to `most` later (rawlog_size.c). W_NOT_ENOUGH_MEMORY when
 * memory is short. */
wstatus rawlog_init(struct rawlog *log, uint64_t bytes, uint64_t most, unsigned cpus, const struct raw_source *sources,
                    unsigned count, struct reason *why);
/* Takes over a predecessor's log (owns `fd` from then on). W_INVALID_DATA: it is no raw log, or has another version. */
wstatus rawlog_attach(struct rawlog *log, int fd, struct reason *why);
void    rawlog_finish(struct rawlog *log);

/* Writer: the number of free bytes, R2. Then write at rawlog_at and advance. Nothing is visible before
 * rawlog_publish. */
uint64_t               rawlog_room(const struct rawlog *log);
static inline uint8_t *rawlog_at(const struct rawlog *log, uint64_t pos) { return log->data + pos % log->size; }
void                   rawlog_append(struct rawlog *log, const void *bytes, size_t size);
void                   rawlog_publish(struct rawlog *log);
/* Reader: the end of the readable data, and its horizon. Then read at rawlog_seen; earlier results of rawlog_seen are
 * invalid. */
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
/* A CPU's losses in a slot: the one being filled, or the published one. */
struct raw_loss *rawlog_loss(const struct rawlog *log, struct raw_slot *slot, unsigned cpu);
uint64_t        *rawlog_ids(const struct rawlog *log, unsigned cpu); /* RAW_SOURCES perf ids of a CPU, 0 = not open */
/* The source with this id among a CPU's ids, or RAW_SOURCES. The kernel numbers the events as they are opened, so the
 * first guess is nearly always right. */
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
uint64_t *rawlog_released(const struct rawlog *log); /* per CPU, in session clock; written on the reader's side */

/* Within the folder. */
static inline const struct raw_layout *rawlog_layout(const struct rawlog *log)
{
    return &log->header->layouts[__atomic_load_n(&log->header->layout, __ATOMIC_ACQUIRE) & 1];
}
/* A mapping of the ring by a layout; NULL and a reason on failure. */
struct rawlog_view *rawlog_view_new(const struct rawlog *log, const struct raw_layout *layout, struct reason *why);

/* ---- rawlog_size.c, which the early program does not have ---- */
/* Writer, while the reader goes on: resizes the ring to `bytes`, rounded up to whole pieces, at most data_most. Its
 * data stay. W_BUSY: more than half of the smaller ring would be in use; W_NOT_ENOUGH_MEMORY. On failure nothing has
 * changed. */
wstatus rawlog_resize(struct rawlog *log, uint64_t bytes, struct reason *why);
/* Gives back memory that the ring no longer uses. Not at the same time as rawlog_resize. */
void rawlog_trim(const struct rawlog *log);
#endif
