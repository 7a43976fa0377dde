/* The time until the first kernel event can come, compared with a bare loop of the same perf_event_open calls in the
 * same run.
 * Proves: REG-19 (in time). Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/klog.h"
#include "autologger/kernel/source/rings.h"
#include "autologger/kernel/source/sources.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, RING = 4 << 20, FDS = 4096 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static int by_value(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

static struct klog_config config(void)
{
    return (struct klog_config){.mask       = {0x707, 0x286},
                                .hooks      = {0x0F2E, 0x0524, 0x0532},
                                .hook_count = 3,
                                .raw_bytes  = 64 << 20,
                                .ring_bytes = RING,
                                .clock      = {1, CLOCK_READ_RAW, 1000000000}};
}

struct bare {
    int      fd[FDS];
    void    *ring[FDS];
    unsigned count, rings;
};

static int bare_open(unsigned cpu, uint32_t type, uint64_t what, uint64_t sample, uint64_t period, bool side)
{
    struct perf_event_attr a = {.type          = type,
                                .size          = sizeof a,
                                .config        = what,
                                .disabled      = 1,
                                .sample_id_all = 1,
                                .use_clockid   = 1,
                                .clockid       = CLOCK_MONOTONIC_RAW,
                                .sample_period = period,
                                .read_format   = PERF_FORMAT_ID | PERF_FORMAT_LOST,
                                .sample_type   = sample | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                               PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                .mmap      = side,
                                .mmap2     = side,
                                .comm      = side,
                                .comm_exec = side,
                                .task      = side,
                                .build_id  = side};
    return (int)syscall(SYS_perf_event_open, &a, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The same events with the same stacks, by known ids. */
static bool bare_arm(struct bare *b, const int ids[SRC_COUNT], unsigned cpus)
{
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        int first = bare_open(cpu, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0, 0, true);
        if (first < 0 && errno == ENODEV)
            continue;
        if (first < 0)
            return false;
        b->fd[b->count++]   = first;
        b->ring[b->rings++] = mmap(NULL, RING + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, first, 0);
        for (unsigned k = 1; k < SRC_COUNT; k++) {
            const struct source_row *row   = &source_table[k];
            const struct klog_config want  = config();
            uint64_t                 stack = source_wants_chain(row, &want) ? PERF_SAMPLE_CALLCHAIN : 0;
            if ((row->flags & SOURCE_PHASE) || !source_wanted(row, &want) || b->count == FDS)
                continue;
            int fd = k == SRC_CLOCK
                         ? bare_open(cpu, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, stack, 1000000, false)
                         : bare_open(cpu, PERF_TYPE_TRACEPOINT, (uint64_t)ids[k], stack | PERF_SAMPLE_RAW, 1, false);
            if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first) < 0)
                return false;
            b->fd[b->count++] = fd;
        }
    }
    for (unsigned i = 0; i < b->count; i++)
        ioctl(b->fd[i], PERF_EVENT_IOC_ENABLE, 0);
    return true;
}
static void bare_close(struct bare *b)
{
    for (unsigned i = 0; i < b->rings; i++)
        munmap(b->ring[i], RING + 4096);
    while (b->count)
        close(b->fd[--b->count]);
    b->rings = 0;
}

static bool ids_find(int ids[SRC_COUNT])
{
    int root = tracefs_open();
    for (unsigned k = 0; k < SRC_COUNT && root >= 0; k++) {
        struct raw_source s = {0};
        const char       *missing;
        char              text[32];
        ids[k] = strchr(source_table[k].name, ':') ? tracefs_tracepoint(root, &source_table[k], &s, &missing, text) : 0;
    }
    if (root >= 0)
        close(root);
    return root >= 0;
}

/* The steps of klog_start before the first event can come: its first pass reads the clock on empty rings. */
static double enable_time(void)
{
    struct rings       r              = {0};
    struct raw_source  s[RAW_SOURCES] = {0};
    struct klog_config c              = config();
    if (rings_open(&r, &c, s, NULL))
        return 0;
    double t0 = now();
    rings_enable(&r, true);
    t0 = now() - t0;
    rings_close(&r);
    return t0;
}

int main(void)
{
    static struct bare b;
    double             ratio[ROUNDS], own[ROUNDS], bare[ROUNDS];
    int                ids[SRC_COUNT] = {0};
    struct klog       *k              = NULL;
    struct klog_config c              = config();
    unsigned           cpus           = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    if (!ids_find(ids) || klog_create(&c, &k, NULL)) {
        printf("skipped: kernel events may not be opened here\n");
        return 77;
    }
    klog_destroy(k);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double t0 = now();
        if (!bare_arm(&b, ids, cpus))
            return 1;
        bare[i] = now() - t0;
        bare_close(&b);
        t0 = now();
        if (klog_create(&c, &k, NULL))
            return 1;
        own[i] = now() - t0;
        klog_destroy(k);
        own[i] += enable_time();
        ratio[i] = own[i] / bare[i];
    }
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    qsort(own, ROUNDS, sizeof *own, by_value);
    qsort(bare, ROUNDS, sizeof *bare, by_value);
    printf(
        "{\"row\": \"kernel sources armed\", \"peer\": \"a bare loop of perf_event_open\", \"peer_version\": \"linux\", \"ratio\": %.2f, "
        "\"better\": \"lower\", \"goal\": 1.2, \"rounds\": %d, \"p25\": %.2f, \"p75\": %.2f}\n",
        ratio[ROUNDS / 2], ROUNDS, ratio[ROUNDS / 4], ratio[ROUNDS * 3 / 4]);
    printf("median %.2f ms, the bare loop %.2f ms; at best %.2f and %.2f ms\n", own[ROUNDS / 2], bare[ROUNDS / 2],
           own[0], bare[0]);
    return ratio[ROUNDS / 2] < 5 ? 0 : 1;
}
