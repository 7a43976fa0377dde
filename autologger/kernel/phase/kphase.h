/* kphase.h - the kernel phase: imports the kernel's own trace buffer, which has recorded since t = 0. The kernel
 * command line arms it (autologger=kernel trace_event=... trace_clock=perf); its entries become raw records before
 * those of perf.
 *
 *   kphase_open   finds the events, their numbers and fields (while perf events are opened; the kernel still records)
 *   kphase_sync   sync points: marks in the buffer between two readings of CLOCK_MONOTONIC_RAW
 *   ... perf is armed ...
 *   kphase_armed  for a moment both record
 *   kphase_stop   the buffer stops
 *   kphase_import its pages become records; entries that perf has too are left out (the seam)
 *   kphase_close  its events are disabled, its memory is given back
 *
 * The program may die at each step. Its successor goes on with the rest of the buffer (kphase_adopt).
 *
 * An entry's bytes are those of perf's PERF_SAMPLE_RAW, so an entry becomes a PERF_RECORD_SAMPLE with an id of our own,
 * and fork, exit and exec become perf's side-band records. The stack entry after an entry becomes its call chain.
 * Invariants
 *   P1 each entry that the kernel counted is exactly one of: record, absorbed, late, lost, damaged (struct raw_phase).
 *   P2 the seam is per CPU and event: perf's first event of that kind on that CPU is looked up in the buffer, by its
 *      content; that entry and all later ones are late. Clocks only decide between equal contents.
 *   P3 records are in the log before any pass has moved the horizon; times are CLOCK_MONOTONIC_RAW.
 * Threads: one, with the drainer kept away (its lock held) during kphase_import. Ownership: open ... close.
 * Not for: arming the buffer (done by the kernel command line), converting. */
#ifndef AUTOLOGGER_KERNEL_KPHASE_H
#define AUTOLOGGER_KERNEL_KPHASE_H
#include "autologger/kernel/phase/tracepage.h"
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/kernel/source/sources.h"

/* True if the kernel command line asks for the import ("autologger=kernel"). */
bool kphase_asked(const char *command_line);
bool kphase_asked_here(void); /* of this machine */
/* Writes the command line arguments that arm the buffer for a session with this mask and these hooks, cut to `size`
 * bytes with the NUL. Returns the length needed, NUL not counted. */
size_t kphase_arguments(const struct klog_config *config, char *out, size_t size);

struct kphase;
/* NULL: not asked for, or not available, for example because the buffer was stopped (a condition says why). Appends its
 * sources to sources[*count]. */
struct kphase *kphase_open(const struct klog_config *config, unsigned cpus, struct raw_source sources[RAW_SOURCES],
                           unsigned *count);
/* The same for the successor of a program that made this log, and died or was ended before its klog_start was done.
 * Entries that it had not read are still imported; entries that it had read are lost, and counted. `armed`: perf has
 * records already. NULL: nothing to import. A buffer that is already in the log is given back. */
struct kphase *kphase_adopt(const struct klog_config *config, const struct rawlog *log, bool armed);
void           kphase_ids(const struct kphase *p, struct rawlog *log);
void           kphase_sync(struct kphase *p);
void           kphase_armed(struct kphase *p);
void           kphase_stop(struct kphase *p);
void           kphase_import(struct kphase *p, struct drain *d);
/* The addresses of kernel functions whose names are to be looked up, in rising order. */
const uint64_t *kphase_functions(const struct kphase *p, unsigned *count);
void            kphase_close(struct kphase *p); /* NULL is fine */

/* ---- within the folder, and for tests ---- */

/* Maps the trace clock to CLOCK_MONOTONIC_RAW. Where the trace clock began earlier, times below `squeeze` are halved,
 * so that none is negative and their order stays. */
struct trace_map {
    int64_t  offset;
    uint64_t squeeze;
};
static inline struct trace_map trace_map_make(int64_t offset)
{
    return (struct trace_map){offset, offset < 0 ? (uint64_t)-offset * 2 : 0};
}
static inline uint64_t trace_map_raw(const struct trace_map *m, uint64_t time)
{
    return time < m->squeeze ? time / 2 : time + (uint64_t)m->offset;
}

#define KPHASE_MARK "autologger "
struct kphase_sync {
    uint64_t before, after, trace;
    unsigned cpu;
}; /* trace 0: the mark has not been seen */
struct kphase_task {
    uint32_t tid, pid;
    bool     kernel, thread;
    char     name[16];
};
enum { KPHASE_WAITS = 8, KPHASE_FRAMES = 256, KPHASE_CHUNK = 65536, KPHASE_SYNCS = 5, KPHASE_IDS = 65536 };
struct kphase_wait { /* an entry whose stack may follow */
    uint64_t time;
    unsigned source;
    uint32_t size, frames;
    bool     done; /* its stack was read */
    uint8_t  data[512];
    uint64_t frame[KPHASE_FRAMES];
};
/* an entry near the seam; its record is tail_bytes + `at` */
struct kphase_late {
    uint64_t time, hash;
    uint32_t at, size;
    uint8_t  source, drop;
};
struct kphase_exec {
    uint64_t time;
    unsigned cpu;
    uint32_t pid, tid;
    bool     before;
    char     name[48];
};
struct kphase_name {
    unsigned        cpu;
    struct raw_name record;
};
struct kphase_cpu {                         /* state that is kept from page to page */
    struct kphase_wait  wait[KPHASE_WAITS]; /* a ring */
    unsigned            wait_head, waits;
    struct kphase_late *late;
    size_t              late_count, late_capacity;
    uint8_t            *tail_bytes;
    size_t              tail_used, tail_capacity;
    struct trace_map    map;
    uint64_t            seen, first; /* entries in its pages; time of the first */
    uint64_t            entries, kept, lost;
};
struct kphase {
    const struct klog_config *config;
    unsigned                  wish;                /* index of the tracepoint_wish that is being matched */
    int                       dir, proc;           /* the tracing instance; /proc */
    unsigned                  cpus, first, count;  /* sources [first, first + count) of the table are ours */
    struct raw_source         source[RAW_SOURCES]; /* by index in the table */
    uint8_t                   by_id[KPHASE_IDS];   /* event id -> source, 0 = not requested */
    uint16_t                  stack_id, mark_id;
    struct raw_field          stack_size, stack_frames, mark_text;
    char                      clock[16];
    size_t                    page_size;
    bool                      late_start; /* adopted: perf was armed earlier, at an unknown time */
    bool                      late_stop;  /* adopted: the buffer was stopped earlier, at an unknown time */
    uint64_t                  tail_from;  /* trace time: entries from here on wait for the seam */
    struct kphase_sync       *sync;
    unsigned                  syncs;
    /* raw times: perf was armed between the first two, the buffer stopped between the last two */
    uint64_t            arming, armed, stop_before, stop_after;
    uint64_t            error_ns; /* of the joined clocks */
    struct kphase_cpu  *cpu;
    struct rawlog      *log;
    uint64_t            log_from; /* times of records are mapped from here on (times_map) */
    uint8_t            *chunk, *page;
    unsigned            chunk_cpu;
    uint32_t            chunk_used, chunk_records;
    struct idmap        tasks, functions;
    uint64_t           *function;
    unsigned            function_count;
    struct kphase_name *name;
    size_t              names, name_capacity;
    struct kphase_exec *exec;
    size_t              execs, exec_capacity;
    struct raw_phase    sum;
    uint64_t            marker; /* tells our marks from others */
};
void kphase_tell(const struct kphase *p, wstatus number, bool note, const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* True if the session records the source's events, and a trace buffer can. */
bool           kphase_wants(const struct source_row *row, const struct klog_config *config);
struct kphase *kphase_new(const struct klog_config *config, unsigned cpus);
/* Reads formats and event numbers from the files below p->dir. */
void kphase_sources(struct kphase *p, struct raw_source sources[RAW_SOURCES], unsigned *count);
/* kphase_import in its parts; between these two, kphase_page and kphase_cpu_end for each CPU */
void kphase_begin(struct kphase *p, struct drain *d);
void kphase_end(struct kphase *p, struct drain *d);
/* kphase_entry.c: one page, the end of one CPU; records go to the log, those near the seam wait */
void kphase_page(struct kphase *p, unsigned cpu, const void *bytes, size_t size);
void kphase_cpu_end(struct kphase *p, unsigned cpu);
void kphase_late_append(struct kphase *p, unsigned cpu); /* the waiting records that the seam keeps */
void kphase_chunk_end(struct kphase *p);
bool kphase_room(struct kphase *p, size_t bytes);
void kphase_put(struct kphase *p, unsigned cpu, unsigned source, const uint8_t *record, uint32_t size);
/* kphase_seam.c */
struct seam_event {
    uint64_t time, hash;
};
/* Returns how many of `trace` to keep: those before the one that is perf's first event. Both lists are in time order;
 * all times are raw, with their error allowed for. Perf has no event before `arming`, and every event after `armed`;
 * the buffer has every event before `stopping` and none after `stopped`. In between, both records of one event are at
 * most `apart` from each other, unless the buffer's is after `armed`: then perf has the event, however long a slow
 * machine took between the two records. */
struct seam_times {
    uint64_t arming, armed, stopping, stopped, apart;
};
size_t   seam_find(const struct seam_event *trace, size_t traces, const struct seam_event *perf, size_t perfs,
                   const struct seam_times *times);
uint64_t seam_hash(const struct raw_source *source, const uint8_t *data, size_t size);
void     kphase_seam(struct kphase *p, const struct rings *rings);
/* kphase_clock.c: makes one mapping of the sync points (or one per CPU, where their clocks differ) */
void kphase_join(struct kphase *p);
#endif
