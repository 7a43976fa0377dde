/* rings.h - perf events of every CPU: one ring per CPU, held by the side-band event; the other sources join it.
 * Invariants: every record of a ring ends in, or (samples) starts with, the id of its source; all use
 * CLOCK_MONOTONIC_RAW.
 *   sample:    header, id, [ip], pid+tid, time, [address], cpu, [chain], [raw], [program's registers, stack], [cgroup]
 *   the rest:  header, body, pid+tid, time, cpu, id
 * A sample with a tracepoint's record has no ip: it is not used there, and would be 5 % of the cost of a context
 * switch.
 * Threads: one. Ownership: rings_open/adopt ... rings_close (closing the last descriptor of an event ends it).
 * Not for: interpreting records (drain.h, convert.h). */
#ifndef AUTOLOGGER_KERNEL_RINGS_H
#define AUTOLOGGER_KERNEL_RINGS_H
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/rawlog.h"

#include <pthread.h>

struct perf_event_mmap_page;
struct ring {
    struct perf_event_mmap_page *page; /* NULL: the CPU is not online */
    uint8_t                     *data;
    int                          fd[RAW_SOURCES]; /* by index in the source table of the raw log; -1 = none */
};
struct bell {
    int   fd;
    void *page;
};
struct rings {
    unsigned     cpus;  /* possible */
    unsigned     count; /* sources */
    size_t       bytes; /* of one ring's data, a power of two */
    struct ring *ring;
    /* per CPU: an event that wakes the drainer at each exec; the contents of its small ring are not read. NULL: none */
    struct bell *bell;
};
/* In a sample with a tracepoint's record; in other samples the fields after the id are sample_shift() bytes later. */
enum {
    SAMPLE_ID_AT   = 8,
    SAMPLE_TID_AT  = 16,
    SAMPLE_TIME_AT = 24,
    SAMPLE_CPU_AT  = 32,
    SAMPLE_BODY_AT = 40,
    TRAILER_SIZE   = 32
};
static inline unsigned sample_shift(const struct raw_source *s) { return s->flags & RAW_SOURCE_RAW ? 0 : 8; }

/* The size of one ring: the wanted size, halved until the rings of all CPUs together take at most the session's buffer
 * memory, or 64 MB if that is more; at least 64 KB. A power of two of pages. */
size_t rings_size(unsigned cpus, size_t asked, uint64_t session_bytes, size_t page);
/* A note when the rings are smaller than wanted. */
void rings_tell_smaller(const struct rings *rings, const struct klog_config *config);
/* Opens the sources of the mask, disabled; fills sources[] (count in rings->count) and, by rings_ids, the ids. */
wstatus rings_open(struct rings *rings, const struct klog_config *config, struct raw_source sources[RAW_SOURCES],
                   struct reason *why);
wstatus rings_adopt(struct rings *rings, const struct klog_config *config, const struct rawlog *log,
                    int (*find)(void *ctx, const char *name), void *ctx, struct reason *why);
/* The sources of the configuration that this kernel has, with the numbers of tracepoints in ids[]. A missing source is
 * a condition. */
unsigned rings_sources(const struct klog_config *config, struct raw_source *sources, int *ids);
/* Opens one source on a CPU that has a ring, disabled, in a slot of its own. A failure is a condition;
 * W_NOT_ENOUGH_MEMORY, W_PRIVILEGE_NOT_HELD: no further source can be opened at all. */
wstatus rings_source_open(struct rings *rings, const struct klog_config *config, const struct raw_source *s, int id,
                          unsigned slot, unsigned cpu, struct reason *why);
/* Opens a CPU's ring and all sources (ids[i] < 0: not this one), disabled. A CPU that is not online stays without a
 * ring. */
wstatus rings_cpu_open(struct rings *rings, const struct klog_config *config, const struct raw_source *sources,
                       const int *ids, unsigned cpu, struct reason *why);
void    rings_source_enable(const struct rings *rings, unsigned slot, bool on);
void    rings_ids(const struct rings *rings, struct rawlog *log);
void    rings_enable(const struct rings *rings, bool on);
bool    rings_present(const struct rings *rings); /* any event open: false for a successor that was given none */
bool    rings_hold(const struct rings *rings);    /* any record written, in this process or a predecessor */
void    rings_close(struct rings *rings);
/* From now on each exec wakes the drainer, so that it can still read /proc: for machines without the programs of
 * argv.h. */
void rings_bell(struct rings *rings);
void rings_name(char out[64], unsigned slot, const char *source, unsigned cpu); /* the name in klog_fds */
/* The kernel's own counts of one source on one CPU. False when it is not open. */
bool rings_count(const struct rings *rings, unsigned cpu, unsigned source, uint64_t *value, uint64_t *lost);
enum { RINGS_OTHERS = 2 };
/* `lock`: held by the thread that adds or removes a CPU. Waits until a ring is to be drained, `wake_fd` or one of the
 * others (-1: none) is readable, or the time is over. */
void rings_wait(const struct rings *rings, pthread_mutex_t *lock, int wake_fd, const int other_fd[RINGS_OTHERS],
                int timeout_ms);
#endif
