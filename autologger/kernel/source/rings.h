/* rings.h - perf events of every CPU: one ring per CPU, held by the side-band event; the other sources join it.
 * Invariants: every record of a ring ends in, or (samples) starts with, the id of its source; all use
 *   CLOCK_MONOTONIC_RAW. sample:    header, id, [ip], pid+tid, time, [address], cpu, [chain], [raw], [registers and
 *   stack of the program], [cgroup] The ip is there where there is no tracepoint's record: of those nobody wants it,
 *   and it is 5 % of what a context switch costs. the rest:  header, body, pid+tid, time, cpu, id
 * Threads: one. Ownership: rings_open/adopt ... rings_close (closing the last descriptor of an event ends it).
 * Not for: interpreting records (drain.h, convert.h). */
#ifndef AUTOLOGGER_KERNEL_RINGS_H
#define AUTOLOGGER_KERNEL_RINGS_H
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/rawlog.h"

#include <pthread.h>

struct perf_event_mmap_page;
struct ring {
    struct perf_event_mmap_page *page; /* NULL: this CPU is not online */
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
    /* per CPU: an event that wakes the drainer at each exec; what is in its small ring is not read. NULL: none */
    struct bell *bell;
};
/* In a tracepoint's sample; in others what is behind the id is sample_shift() later. */
enum {
    SAMPLE_ID_AT   = 8,
    SAMPLE_TID_AT  = 16,
    SAMPLE_TIME_AT = 24,
    SAMPLE_CPU_AT  = 32,
    SAMPLE_BODY_AT = 40,
    TRAILER_SIZE   = 32
};
static inline unsigned sample_shift(const struct raw_source *s) { return s->flags & RAW_SOURCE_RAW ? 0 : 8; }

/* The size of one ring: what is asked for, or a half, a quarter ... of it, down to 64 KB, so that the rings of all CPUs
 * take no more together than the session's buffers may, or 64 MB. A power of two of pages. */
size_t rings_size(unsigned cpus, size_t asked, uint64_t session_bytes, size_t page);
/* A note, when they are smaller than what was asked for. */
void rings_tell_smaller(const struct rings *rings, const struct klog_config *config);
/* Opens what the mask asks for, disabled; fills sources[] (count in rings->count) and, by rings_ids, the ids. */
wstatus rings_open(struct rings *rings, const struct klog_config *config, struct raw_source sources[RAW_SOURCES],
                   struct reason *why);
wstatus rings_adopt(struct rings *rings, const struct klog_config *config, const struct rawlog *log,
                    int (*find)(void *ctx, const char *name), void *ctx, struct reason *why);
/* The sources that this kernel has for the configuration, with the numbers of tracepoints in ids[]. What it lacks is a
 * condition. */
unsigned rings_sources(const struct klog_config *config, struct raw_source *sources, int *ids);
/* Opens one of them on a CPU that has a ring, disabled, in a place of its own. One that cannot be had is a condition;
 * W_NOT_ENOUGH_MEMORY, W_PRIVILEGE_NOT_HELD: no more
 * can be opened at all. */
wstatus rings_source_open(struct rings *rings, const struct klog_config *config, const struct raw_source *s, int id,
                          unsigned slot, unsigned cpu, struct reason *why);
/* A CPU's ring and all sources (ids[i] < 0: not that one), disabled. It stays without a ring when it is not online. */
wstatus rings_cpu_open(struct rings *rings, const struct klog_config *config, const struct raw_source *sources,
                       const int *ids, unsigned cpu, struct reason *why);
void    rings_source_enable(const struct rings *rings, unsigned slot, bool on);
void    rings_ids(const struct rings *rings, struct rawlog *log);
void    rings_enable(const struct rings *rings, bool on);
bool    rings_present(const struct rings *rings); /* any event at all: false for a successor that was given none */
bool    rings_hold(const struct rings *rings);    /* any record, of this process' time or of a predecessor's */
void    rings_close(struct rings *rings);
/* From now on each exec wakes the drainer, so that /proc can still be read: for machines where argv.h can't be had. */
void rings_bell(struct rings *rings);
void rings_name(char out[64], unsigned slot, const char *source, unsigned cpu); /* as klog_fds shows it */
/* The kernel's own numbers of one source on one CPU. False when it is not open. */
bool rings_count(const struct rings *rings, unsigned cpu, unsigned source, uint64_t *value, uint64_t *lost);
enum { RINGS_OTHERS = 2 };
/* `lock`: held by whoever takes a CPU away or adds one. Waits until a ring wants draining, `wake_fd` or one of the
 * others (-1: none) is readable, or the time is over. */
void rings_wait(const struct rings *rings, pthread_mutex_t *lock, int wake_fd, const int other_fd[RINGS_OTHERS],
                int timeout_ms);
#endif
