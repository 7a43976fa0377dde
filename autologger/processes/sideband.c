#include "autologger/processes/sideband.h"
#include "autologger/kernel/source/reach.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RING_BYTES = 256 << 10, PAGE = 4096, RECORD_MOST = 65536, CPUS_MOST = 4096 };

/* Records as perf writes them; each ends with pid, tid, time and CPU (sample_id_all). */
struct task_record {
    struct perf_event_header header;
    uint32_t                 pid, ppid, tid, ptid;
    uint64_t                 time;
};
struct comm_record {
    struct perf_event_header header;
    uint32_t                 pid, tid;
    char                     comm[];
};
struct code_record {
    struct perf_event_header header;
    uint32_t                 pid, tid;
    uint64_t                 address, size, offset;
    uint32_t                 major, minor;
    uint64_t                 inode, generation;
    uint32_t                 protection, flags;
    char                     file[];
};
struct lost_record {
    struct perf_event_header header;
    uint64_t                 id, lost;
};
struct trailer {
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
};

struct sideband_ring {
    int                          fd;
    struct perf_event_mmap_page *page;
};
struct sideband_held { /* a record that was copied out of its ring */
    uint64_t time, order;
    size_t   at; /* in bytes[] */
};
struct sideband {
    struct sideband_ring *ring;
    struct pollfd        *wait; /* [count + 1]: the last is the caller's */
    unsigned              count;
    uint8_t              *bytes;
    size_t                used, room;
    struct sideband_held *held;
    size_t                held_count, held_room;
    uint64_t              order;
    uint64_t              unheld; /* records for which there was no memory */
};

static int sideband_ring_open(struct sideband_ring *r, unsigned cpu)
{
    struct perf_event_attr attr = {.type             = PERF_TYPE_SOFTWARE,
                                   .size             = sizeof attr,
                                   .config           = PERF_COUNT_SW_DUMMY,
                                   .sample_id_all    = 1,
                                   .use_clockid      = 1,
                                   .clockid          = CLOCK_MONOTONIC_RAW,
                                   .watermark        = 1,
                                   .wakeup_watermark = 1,
                                   .task             = 1,
                                   .comm             = 1,
                                   .comm_exec        = 1,
                                   .mmap             = 1,
                                   .mmap2            = 1,
                                   .sample_type      = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU};

    r->page = NULL;
    r->fd   = reach_perf(&attr, cpu);
    if (r->fd < 0)
        return -r->fd;
    void *map = mmap(NULL, PAGE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (map == MAP_FAILED) {
        int error = errno;
        close(r->fd);
        r->fd = -1;
        return error;
    }
    r->page = map;
    return 0;
}

static wstatus sideband_refused(int error, struct reason *why)
{
    if (error == EACCES || error == EPERM)
        return reason_set(
            why, W_ACCESS_DENIED,
            "perf refuses the records of all processes: CAP_PERFMON is missing, or the kernel is locked down");
    if (error == ENOMEM)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for perf's rings");
    return reason_set(why, W_NOT_SUPPORTED, "perf gives no records of processes here: %s", strerror(error));
}

wstatus sideband_open(struct sideband **out, struct reason *why)
{
    const long       cpus  = sysconf(_SC_NPROCESSORS_CONF);
    struct sideband *s     = calloc(1, sizeof *s);
    int              error = 0;

    if (s && cpus > 0 && cpus <= CPUS_MOST)
        s->ring = calloc((size_t)cpus, sizeof *s->ring), s->wait = calloc((size_t)cpus + 1, sizeof *s->wait);
    if (!s || !s->ring || !s->wait) {
        sideband_close(s);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for perf's rings");
    }
    for (unsigned cpu = 0; cpu < (unsigned)cpus; cpu++) {
        int result = sideband_ring_open(&s->ring[s->count], cpu);
        if (result == ENODEV || result == ENXIO)
            continue; /* a CPU that is absent or offline */
        if (result) {
            error = result;
            break;
        }
        s->wait[s->count] = (struct pollfd){s->ring[s->count].fd, POLLIN, 0};
        s->count++;
    }
    if (error || !s->count) {
        sideband_close(s);
        return sideband_refused(error ? error : ENODEV, why);
    }
    *out = s;
    return W_SUCCESS;
}

/* ---- out of the rings ---- */

/* Reads the time of a record. The length is checked although the kernel wrote it. */
static bool sideband_time_of(const struct perf_event_header *h, uint64_t *time)
{
    struct trailer t;
    if (h->size < sizeof *h + sizeof t)
        return false;
    memcpy(&t, (const uint8_t *)h + h->size - sizeof t, sizeof t);
    *time = t.time;
    return true;
}

static uint8_t *sideband_room_for(struct sideband *s, size_t size)
{
    if (s->held_count == s->held_room) {
        size_t                room  = s->held_room ? 2 * s->held_room : 256;
        struct sideband_held *grown = realloc(s->held, room * sizeof *grown);
        if (!grown)
            return NULL;
        s->held      = grown;
        s->held_room = room;
    }
    if (s->used + size > s->room) {
        size_t   room  = s->room ? 2 * s->room + size : RECORD_MOST + size;
        uint8_t *grown = realloc(s->bytes, room);
        if (!grown)
            return NULL;
        s->bytes = grown;
        s->room  = room;
    }
    return s->bytes + s->used;
}

static void sideband_ring_take(struct sideband *s, struct sideband_ring *r)
{
    const uint8_t *data = (const uint8_t *)r->page + PAGE;
    const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t       tail = r->page->data_tail;

    while (tail < head) {
        const uint64_t at = tail % RING_BYTES;
        /* 8-byte units: never split */
        const uint16_t size = ((const struct perf_event_header *)(const void *)(data + at))->size;
        if (size < sizeof(struct perf_event_header) || size > head - tail)
            break;
        uint8_t *to = sideband_room_for(s, size);
        if (to) {
            const size_t         first = size < RING_BYTES - at ? size : (size_t)(RING_BYTES - at);
            struct sideband_held h     = {.order = s->order++, .at = s->used};
            memcpy(to, data + at, first);
            memcpy(to + first, data, size - first);
            if (sideband_time_of((const struct perf_event_header *)(const void *)to, &h.time)) {
                s->held[s->held_count++] = h;
                s->used += (size_t)(size + 7) & ~(size_t)7;
            }
        } else {
            s->unheld++;
        }
        tail += size;
    }
    __atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

/* ---- in order ---- */

static int sideband_by_time(const void *a, const void *b)
{
    const struct sideband_held *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->order < y->order ? -1 : 1;
}

/* The text if it ends inside its record; else NULL. */
static const char *sideband_text_of(const struct perf_event_header *h, const char *text)
{
    const size_t room = h->size - sizeof(struct trailer) - (size_t)(text - (const char *)h);
    return memchr(text, 0, room) ? text : NULL;
}

static bool understand(const struct perf_event_header *h, struct sideband_record *out)
{
    const void  *record = h;
    const size_t body   = h->size - sizeof(struct trailer);

    if ((h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT) && body >= sizeof(struct task_record)) {
        const struct task_record *t = record;
        out->kind                   = h->type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
        out->pid = t->pid, out->tid = t->tid, out->parent = t->ppid;
        return true;
    }
    if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC && body > sizeof(struct comm_record)) {
        const struct comm_record *c = record;
        out->kind                   = SIDEBAND_EXEC;
        out->pid = c->pid, out->tid = c->tid;
        return (out->text = sideband_text_of(h, c->comm)) != NULL;
    }
    /* PERF_RECORD_MISC_MMAP_BUILD_ID is ignored: the kernel leaves the bit in the record of the next event when another
     * event of the machine asked for build ids. The name stands at the same place in both forms. */
    if (h->type == PERF_RECORD_MMAP2 && body > sizeof(struct code_record)) {
        const struct code_record *c = record;
        out->kind                   = SIDEBAND_CODE;
        out->pid = c->pid, out->tid = c->tid, out->address = c->address, out->size = c->size, out->offset = c->offset;
        return (out->text = sideband_text_of(h, c->file)) != NULL;
    }
    if (h->type == PERF_RECORD_LOST && body >= sizeof(struct lost_record)) {
        out->kind = SIDEBAND_LOST;
        out->lost = ((const struct lost_record *)record)->lost;
        return true;
    }
    return false;
}

/* Drops the first `count` records, and compacts the rest if there is memory for that (else their room is reused
 * later). */
static void sideband_forget(struct sideband *s, size_t count)
{
    size_t used = 0;

    s->held_count -= count;
    memmove(s->held, s->held + count, s->held_count * sizeof *s->held);
    for (size_t i = 0; i < s->held_count; i++)
        s->held[i].order = i;
    s->order      = s->held_count;
    uint8_t *kept = s->held_count ? malloc(s->room) : NULL;
    if (s->held_count && !kept)
        return;
    for (size_t i = 0; i < s->held_count; i++) {
        const struct perf_event_header *h = (const void *)(s->bytes + s->held[i].at);
        memcpy(kept + used, h, h->size);
        s->held[i].at = used;
        used += (size_t)(h->size + 7) & ~(size_t)7;
    }
    if (kept) {
        free(s->bytes);
        s->bytes = kept;
    }
    s->used = used;
}

void sideband_take(struct sideband *s, uint64_t until_ns, sideband_fn *each, void *ctx)
{
    size_t done = 0;

    for (unsigned i = 0; i < s->count; i++)
        sideband_ring_take(s, &s->ring[i]);
    if (s->held_count)
        qsort(s->held, s->held_count, sizeof *s->held, sideband_by_time);
    for (; done < s->held_count && s->held[done].time <= until_ns; done++) {
        struct sideband_record r = {.time_ns = s->held[done].time};
        if (understand((const struct perf_event_header *)(const void *)(s->bytes + s->held[done].at), &r))
            each(ctx, &r);
    }
    if (s->unheld) {
        struct sideband_record r = {.kind = SIDEBAND_LOST, .time_ns = until_ns, .lost = s->unheld};
        s->unheld                = 0;
        each(ctx, &r);
    }
    if (done)
        sideband_forget(s, done);
}

void sideband_wait(struct sideband *s, int fd, int wait_ms)
{
    struct pollfd alone = {fd, POLLIN, 0};
    if (!s) {
        poll(&alone, 1, wait_ms);
        return;
    }
    s->wait[s->count] = alone;
    poll(s->wait, s->count + 1, wait_ms);
}

void sideband_close(struct sideband *s)
{
    if (!s)
        return;
    for (unsigned i = 0; s->ring && i < s->count; i++) {
        munmap(s->ring[i].page, PAGE + RING_BYTES);
        close(s->ring[i].fd);
    }
    free(s->ring);
    free(s->wait);
    free(s->bytes);
    free(s->held);
    free(s);
}
