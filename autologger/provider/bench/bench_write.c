/* bench_write.c - the cost of EventWrite. The library gets a directory and a session in this process, without a daemon:
 * the whole path of a program's call is timed. */
#include "autologger/include/evntprov.h"
#include "autologger/provider/bench/bench.h"
#include "autologger/provider/process.h"
#include "autologger/ring/stream.h"
#include "registry-sim/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { CHUNKS = 4, RING = CHUNKS << 16, BATCHES = 200, PAYLOADS = 3, ROUNDS_MAX = 101 };

struct payload {
    ULONG                 bytes, count;
    double                goal_memcpy, goal_clock;
    EVENT_DATA_DESCRIPTOR data[2];
};
struct rig {
    struct stream_set *set;
    unsigned           stream;
    REGHANDLE          enabled, disabled;
    EVENT_DESCRIPTOR   event;
    uint8_t           *copy_ring; /* the memcpy's: the same kind and size of memory */
    uint64_t           copy_pos;
    uint8_t            header[80];
};
static uint8_t payload_bytes[512];

static double bench_write_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The limit: header and payload copied into the ring, nothing else. */
static __attribute__((noinline)) void copy_record(struct rig *g, ULONG n, const EVENT_DATA_DESCRIPTOR *data)
{
    uint8_t *start = g->copy_ring + (g->copy_pos & (RING - 1)), *p = start + sizeof g->header;
    memcpy(start, g->header, sizeof g->header);
    for (ULONG i = 0; i < n; i++) {
        memcpy(p, (const void *)(uintptr_t)data[i].Ptr, data[i].Size);
        p += data[i].Size;
    }
    g->copy_pos += (uint64_t)(p - start + 7) & ~7u;
    if ((g->copy_pos & (RING - 1)) > RING - 1024)
        g->copy_pos = (g->copy_pos | (RING - 1)) + 1;
}

/* Makes room for another batch; not timed. */
static uint64_t empty_ring(struct rig *g)
{
    static uint8_t out[1 << 16];
    uint64_t       events = 0;
    stream_snapshot(g->set);
    for (unsigned i = 0; i < stream_set_count(g->set) - 1; i++) {
        struct stream_run run;
        do {
            run = stream_copy(g->set, i, out, sizeof out, UINT64_MAX);
            events += run.events;
        } while (run.events);
        stream_release(g->set, i, stream_position(g->set, i));
    }
    return events;
}

enum contestant { WRITE, DISABLED, MEMCPY, CLOCK, CONTESTANTS };

/* Nanoseconds of one batch of `n`. */
static double batch(struct rig *g, struct payload *p, enum contestant c, unsigned n)
{
    struct timespec t;
    double          start = bench_write_now();
    switch (c) {
    case WRITE:
        for (unsigned i = 0; i < n; i++)
            EventWrite(g->enabled, &g->event, p->count, p->data);
        break;
    case DISABLED:
        for (unsigned i = 0; i < n; i++)
            EventWrite(g->disabled, &g->event, p->count, p->data);
        break;
    case MEMCPY:
        for (unsigned i = 0; i < n; i++)
            copy_record(g, p->count, p->data);
        break;
    default:
        for (unsigned i = 0; i < n; i++)
            clock_gettime(CLOCK_MONOTONIC, &t);
    }
    return bench_write_now() - start;
}

static void add_row(struct bench_result *out, const char *state, const struct payload *p, bool clock, double goal,
                    double *ratio, unsigned rounds)
{
    struct bench_row *r = &out->row[out->count++];
    struct utsname    u = {0};
    uname(&u);
    memset(r, 0, sizeof *r);
    snprintf(r->row, sizeof r->row, "write %u bytes, %s", p->bytes, state);
    snprintf(r->peer, sizeof r->peer, clock ? "one vDSO clock call" : "memcpy of the record");
    if (clock)
        snprintf(r->peer_version, sizeof r->peer_version, "Linux %.60s", u.release);
    else
        snprintf(r->peer_version, sizeof r->peer_version, "glibc %s", gnu_get_libc_version());
    r->lower_is_better = true;
    r->goal            = goal;
    bench_quartiles(ratio, rounds, r);
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double bench_write_median(double *times, unsigned count)
{
    qsort(times, count, sizeof *times, compare_times);
    return times[count / 2];
}

/* All contestants in turn, batch by batch. A round's ratio is that of the median batches: a preempted batch says
 * nothing about the code. False: an event was lost, the figures mean nothing. */
static bool measure(struct rig *g, struct payload *p, unsigned rounds, struct bench_result *out)
{
    double   ratio[4][ROUNDS_MAX];
    unsigned n = (RING - (1 << 16)) / ((80 + p->bytes + 7) & ~7u) - 16;

    for (unsigned round = 0; round < rounds; round++) {
        static double times[CONTESTANTS][BATCHES];
        double        middle[CONTESTANTS];
        for (unsigned b = 0; b < BATCHES; b++)
            for (unsigned c = 0; c < CONTESTANTS; c++) {
                times[c][b] = batch(g, p, (enum contestant)c, n);
                if (c == WRITE && empty_ring(g) != n)
                    return false;
            }
        for (unsigned c = 0; c < CONTESTANTS; c++)
            middle[c] = bench_write_median(times[c], BATCHES);
        ratio[0][round] = middle[WRITE] / middle[MEMCPY];
        ratio[1][round] = middle[WRITE] / middle[CLOCK];
        ratio[2][round] = middle[DISABLED] / middle[MEMCPY];
        ratio[3][round] = middle[DISABLED] / middle[CLOCK];
    }
    add_row(out, "enabled", p, false, p->goal_memcpy, ratio[0], rounds);
    add_row(out, "enabled", p, true, p->goal_clock, ratio[1], rounds);
    add_row(out, "disabled", p, false, 0.5, ratio[2], rounds);
    add_row(out, "disabled", p, true, 0.1, ratio[3], rounds);
    return true;
}

/* A directory in which slot 0 is enabled in session 0, level 4, one keyword. */
static int make_directory(void)
{
    const uint64_t        size = sizeof(struct shm_directory) + sizeof(struct shm_provider);
    struct shm_directory *d;
    int                   fd = memfd_create("bench-directory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0 ||
        (d = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    d->header          = (struct shm_header){SHM_MAGIC_DIRECTORY, SHM_MAJOR, SHM_MINOR, sizeof *d, 0, size};
    d->provider_count  = 1;
    d->provider_offset = sizeof *d;
    d->provider[0]     = (struct shm_provider){.generation = 1, .mask = 1};
    d->provider[0].enable[0] =
        (struct shm_enable){.enabled = 1, .level = 4, .generation = 1, .any = 0x8000000000000001};
    munmap(d, size);
    return fd;
}

static wstatus connect_rig(struct rig *g, struct reason *why)
{
    struct registration *r      = &al_table[registration_index(g->enabled)];
    int                  fd     = make_directory();
    int                  fds[3] = {dup(stream_set_data_fd(g->set)), dup(stream_set_control_fd_readonly(g->set)),
                                   eventfd(0, EFD_NONBLOCK)};
    wstatus              status = W_SUCCESS;

    process_lock();
    if (fd < 0 || !attach_directory(fd))
        status = reason_set(why, W_OUTOFMEMORY, "no memory for a directory: %s", strerror(errno));
    attach_session(0, 1, fds);
    if (status == W_SUCCESS && !al_views[0])
        status = reason_set(why, W_OUTOFMEMORY, "the session can't be attached");
    if (status == W_SUCCESS) {
        r->slot_generation = 1;
        __atomic_store_n(&r->slot, attach_slot(0), __ATOMIC_RELEASE);
        registration_recompute(registration_index(g->enabled));
    }
    process_unlock();
    return status;
}

static wstatus open_rig(struct rig *g, struct reason *why)
{
    static const GUID    id = {0x62656E63, 0x68, 0, {1}};
    struct clock_machine m;
    clock_machine_find(&m);
    struct session_clock clock = clock_for_type(1, &m, NULL);
    struct stream_config c     = {.cpus               = (unsigned)sysconf(_SC_NPROCESSORS_CONF),
                                  .chunk_shift        = 16,
                                  .pool               = CHUNKS,
                                  .max_event          = 65464,
                                  .clock_kind         = clock.read_kind,
                                  .session_generation = 1};
    cpu_set_t            set;
    int                  cpu = sched_getcpu();
    wstatus              status;

    memset(g, 0, sizeof *g);
    c.chunk_count = CHUNKS;
    if ((status = stream_set_create(os_linux(), &c, &g->set, why)) != W_SUCCESS)
        return status;
    stream_set_open(g->set, true);
    CPU_ZERO(&set);
    CPU_SET(cpu < 0 ? 0 : cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    g->copy_ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (g->copy_ring == MAP_FAILED) {
        g->copy_ring = NULL;
        return reason_set(why, W_OUTOFMEMORY, "no memory for the peer's ring");
    }
    setenv("AUTOLOGGER_RUNTIME_DIR", "/nonexistent/autologger-bench", 1); /* no daemon may interfere */
    if (EventRegister(&id, NULL, NULL, &g->enabled) != 0 || EventRegister(&id, NULL, NULL, &g->disabled) != 0)
        return reason_set(why, W_OUTOFMEMORY, "the provider can't be registered");
    EventDescCreate(&g->event, 1, 0, 11, 4, 0, 0, 1);
    return connect_rig(g, why);
}

wstatus bench_write(unsigned rounds, struct bench_result *out, struct reason *why)
{
    static struct payload payload[PAYLOADS] = {
        {.bytes = 8, .count = 1, .goal_memcpy = 5, .goal_clock = 2},
        {.bytes = 44, .count = 2, .goal_memcpy = 5, .goal_clock = 2},
        {.bytes = 320, .count = 2, .goal_memcpy = 3, .goal_clock = 3},
    };
    static const ULONG first[PAYLOADS] = {8, 8, 64};
    struct rig         g;
    cpu_set_t          before;
    wstatus            status;

    out->count = 0;
    rounds     = rounds < BENCH_ROUNDS_MIN ? BENCH_ROUNDS_MIN : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    bool saved = sched_getaffinity(0, sizeof before, &before) == 0;
    if ((status = open_rig(&g, why)) != W_SUCCESS)
        goto out;
    for (unsigned i = 0; i < PAYLOADS && status == W_SUCCESS; i++) {
        EventDataDescCreate(&payload[i].data[0], payload_bytes, first[i]);
        EventDataDescCreate(&payload[i].data[1], payload_bytes + first[i], payload[i].bytes - first[i]);
        if (!measure(&g, &payload[i], rounds, out))
            status = reason_set(why, W_INVALID_OPERATION, "an event of %u bytes was lost", payload[i].bytes);
    }
out:
    EventUnregister(g.enabled);
    EventUnregister(g.disabled);
    process_lock();
    attach_drop_all();
    process_unlock();
    if (g.copy_ring)
        munmap(g.copy_ring, RING);
    stream_set_destroy(g.set);
    if (saved)
        sched_setaffinity(0, sizeof before, &before);
    return status;
}
