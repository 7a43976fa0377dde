/* klog.h - the kernel logger of one session: perf events in, ETL records out.
 *
 *   perf rings (one per CPU) --drain thread--> raw records in one memfd --logger thread--> ETL records per CPU, in time
 *   order
 *
 * Invariants
 *   L1 the drainer keeps raw records and adds (enriches) facts that can only be read at that time: command line, uid,
 *     start time, exit code.
 *   L2 the converter reads raw records only, never /proc; it sorts over CPUs up to a horizon and never emits beyond it.
 *   L3 raw position and perf tails are published together before data_tail moves: a successor neither loses nor
 *     doubles.
 *   L4 attempted = converted + withheld + lost_ring + lost_memory + lost_conversion, exactly, once stopped; `attempted`
 *      is the kernel's own count (perf counter reads), per source.
 *      The kernel phase is included: the kernel's count of its entries, less stacks, marks, entries that were not
 *      requested, and entries that perf has too (P1 of kphase.h).
 *   L5 time stamps are unique per CPU: a StackWalk event names its trigger by exact raw time.
 * Threads: open, start, adopt, destroy: one controlling thread. klog_drain: one drain thread, which then calls
 * klog_stop. klog_peek/pop/release: one logger thread. The two may run at once. klog_resize: any. klog_counters,
 * klog_sources: any, and they wait for no pass.
 * Ownership: create/destroy; the descriptors that klog_fds shows stay owned by the klog.
 * Not for: files and ETL buffers (session), deciding what to enable (plan). */
#ifndef AUTOLOGGER_KERNEL_KLOG_H
#define AUTOLOGGER_KERNEL_KLOG_H
#include "autologger/kernel/tables/flags.h"
#include "autologger/wire/tracepoint.h"
#include "registry-sim/base/clock.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>

/* Puts the system configuration, event by event (sysconfig.h); returns how many events it left out. */
struct raw_config;
typedef void (*klog_put)(void *ctx, const struct raw_config *head, const void *body, size_t size);
typedef unsigned (*klog_collect)(const uint32_t *mask, klog_put put, void *ctx);

struct klog_config {
    uint32_t mask[GROUP_MASK_WORDS];
    uint16_t hooks[HOOK_MAX]; /* stacks wanted on these */
    unsigned hook_count;
    uint32_t ring_bytes; /* per CPU, a power of two of pages; 0 = 4 MB */
    uint64_t raw_bytes;  /* bound of the memory for raw records */
    uint64_t raw_most;   /* the limit to which klog_resize may raise it; 0: no raising */
    /* bytes copied of each user stack, for unwinding by DWARF (wire/stack_copy.h); 0: frame pointers */
    uint32_t user_stack_bytes;
    /* size of the table of distinct stacks; 0: each stack is written whole */
    uint32_t             stack_cache_bytes, stack_cache_buckets;
    uint32_t             profile_interval; /* 100 ns units; 0 = 10,000 (1 ms) */
    struct session_clock clock;
    bool                 units; /* record the cgroup, and so the unit, of each process: convert_cgroups.c */
    /* a descriptor of /proc, borrowed, for a process that may lose the path (switch_root); 0: "/proc" */
    int proc_fd;
    /* kernel_phase: import the kernel's trace buffer at the start (kphase.h), as the kernel command line asks
     * (kphase_asked) */
    struct tracepoint_wish
               *tracepoints; /* opened[] of each is written by klog_create; borrowed until klog_start has returned */
    unsigned    tracepoint_count;
    bool        kernel_phase;
    const char *phase_instance; /* below tracefs' instances; NULL: the main one */
    /* receives conditions: a flag without a source, a source that could not be opened, a stack that is not available */
    void (*condition)(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice);
    void *condition_ctx;
    bool  devices; /* uevents, and the loading and unloading of modules */
    /* called when the session stops; NULL: the system configuration is not written */
    klog_collect system_config;
};

struct klog;

/* Opens every source that the mask asks for, disabled. Status: W_PRIVILEGE_NOT_HELD when perf events may not be opened
 * (the reason names the capability and perf_event_paranoid), W_NOT_ENOUGH_MEMORY, W_NOT_SUPPORTED when the kernel has
 * no perf events at all. A single missing source is a condition, not a failure. */
wstatus klog_create(const struct klog_config *config, struct klog **out, struct reason *why);
/* Takes over from a dead predecessor. `find` returns the descriptor handed over under a name that klog_fds showed, or
 * -1. */
wstatus klog_adopt(const struct klog_config *config, int (*find)(void *ctx, const char *name), void *ctx,
                   struct klog **out, struct reason *why);
/* Conditions go to this context from now on: for a caller that opens in one place and starts in another. */
void klog_tell(struct klog *k, void *condition_ctx);
/* Is it the reason of a condition of an event that was to have stacks? An update may end it. */
bool klog_is_hook_reason(const char *reason);
/* Arms all sources, imports the kernel phase and queues the start rundown (processes, threads, images;
 * CollectionStart). */
wstatus klog_start(struct klog *k, struct reason *why);
/* Changes the recorded flags and stacks, all at once. Sources that stay lose nothing; sources that are added or removed
 * are counted to the last event. On failure (`why`) nothing has changed: W_PRIVILEGE_NOT_HELD, W_NOT_ENOUGH_MEMORY when
 * a source may not be opened, W_NO_SYSTEM_RESOURCES when the table of sources is full, W_NOT_READY before klog_start or
 * after the stop. A source that this machine lacks is a condition, as at the start. `keep` is shown new descriptors as
 * by klog_fds, and closed ones with -1. */
wstatus klog_update(struct klog *k, const struct klog_config                                   *terms,
                    void (*keep)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx,
                    struct reason *why);
struct klog_record;
/* StackCaching: shows a KeyRundown event for each known key, with that time. The thread that peeks. */
void klog_stack_keys(struct klog *k, uint64_t time, void (*show)(void *ctx, const struct klog_record *r), void *ctx);
/* From now on stacks are written whole; references that are already queued still come. The same thread. */
void klog_stack_keys_end(struct klog *k);
/* klog_size.c, which the early program does not have. The bound of the memory for raw records, and (`most`) the limit
 * to which it may be raised. */
uint64_t klog_memory(const struct klog *k, uint64_t *most);
/* Changes the bound, rounded up to whole pieces. All records stay, and the drainer and the converter go on.
 * W_NOT_ENOUGH_MEMORY; W_BUSY when more than half of a smaller memory would be in use; W_NOT_READY after the stop. On
 * failure nothing has changed. */
wstatus klog_resize(struct klog *k, uint64_t bytes, struct reason *why);
/* True while a pass runs; klog_update and klog_resize would wait for it. */
bool klog_in_pass(struct klog *k);
/* Logger thread. Sets the target size of a raw log that is to shrink; 0 cancels. Records that are in the file are freed
 * as if the log had that size already. */
void klog_goal_set(struct klog *k, uint64_t bytes);
/* The terms in force: mask, hooks and their number. */
void klog_terms(const struct klog *k, struct klog_config *out);
/* Disarms the sources, drains the rest, queues the end rundown; afterwards klog_peek runs dry. May take long, as a pass
 * may; klog_drain is not called meanwhile. */
void klog_stop(struct klog *k);
/* Before the process hands over to a successor: drains the rings, and stores the perf counters for a successor that
 * gets no perf events (only a file of the early program). Stops nothing. */
void klog_leave(struct klog *k);
void klog_destroy(struct klog *k); /* NULL is fine */

/* Every descriptor that must outlive this process, by a name unique in the session. `ring_bytes` > 0: the receiver must
 * also keep this descriptor mapped with that size (ring plus its first page) while no other process does. */
void klog_fds(struct klog *k, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx);
/* Before this process ends: waits at most 3 s for the removal of its loggers' probes. */
void klog_settle(void);
/* Those descriptors of klog_fds that klog_start opens. */
void klog_fds_started(struct klog *k, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx);

/* One pass over all rings; waits at most `timeout_ms` for data first. Returns the records taken. */
unsigned klog_drain(struct klog *k, int timeout_ms);
/* Length of the last pass in ns, without the wait. For the same thread. */
uint64_t klog_pass_ns(const struct klog *k);
/* Wakes a waiting klog_drain (from any thread). */
void klog_wake(struct klog *k);

/* One converted record: complete ETL bytes (any header; unpadded size in it). */
struct klog_record {
    const uint8_t *data;
    uint32_t       size;
    uint64_t       time; /* raw session clock, also in the header */
};
/* The next record of `cpu` in time order, converting raw records as needed (up to the horizon). False: none for now.
 * The pointer lives until klog_pop on that CPU. */
bool klog_peek(struct klog *k, unsigned cpu, struct klog_record *out);
void klog_pop(struct klog *k, unsigned cpu);
/* No later record of any CPU will have a time before this. */
uint64_t klog_horizon(const struct klog *k);
/* Bytes of converted events that are not taken yet. While these are enough, klog_peek may find none for one CPU. */
size_t klog_queued(const struct klog *k);
/* True: records may stay in the rings until a ring needs draining, because facts that vanish (command lines) are
 * recorded by other means. */
bool klog_patient(const struct klog *k);
/* More than half of the memory for raw records is in use: write converted events to the file, also partial buffers. */
bool klog_tight(struct klog *k);
/* For an adopter, before the first peek: every event of `cpu` up to and including `time` is in the file and must not
 * come again. */
void klog_suppress(struct klog *k, unsigned cpu, uint64_t time);
/* Every event of `cpu` up to and including `time` is in the file: its raw bytes may be reused, an adopter must not emit
 * it. */
void klog_release(struct klog *k, unsigned cpu, uint64_t time);

struct klog_counters {
    uint64_t attempted; /* counted by the kernel */
    uint64_t drained;   /* raw records kept */
    uint64_t converted; /* raw records that became events, or by design only changed state */
    uint64_t lost_ring, lost_memory, lost_conversion;
    /* counted by the kernel, neither delivered nor reported lost: filtered by that kernel; known once stopped */
    uint64_t withheld;
    uint64_t events;                 /* ETL records given out, stacks and rundown included */
    uint64_t stack_copies;           /* copied user stacks, to be unwound later */
    uint64_t stacks, stacks_missing; /* StackWalk events; triggers whose requested stack was empty */
    uint64_t throttled;
    uint64_t raw_peak; /* most bytes of raw memory in use */
    uint64_t clock_error_ns;
    /* records of the rundown and the system configuration that did not fit into the memory for raw records */
    uint64_t own_lost;
    uint64_t no_command_line; /* processes that were gone before their command line could be read */
};
void klog_counters(struct klog *k, struct klog_counters *out);
/* Per source: name ("sched:sched_switch"), attempted, drained, lost. Sources of the kernel phase have names of their
 * own, and the losses of the phase are those of "kernel phase". */
void klog_sources(struct klog *k,
                  void (*show)(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost),
                  void *ctx);
#endif
