/* klog_fixture.h - for live tests: a kernel logger of this machine's real events; its output is kept, in time order.
 * Threads: a drainer and the test. Not for: records that no kernel made (convert_fixture.h). */
#ifndef AUTOLOGGER_KERNEL_TESTS_KLOG_FIXTURE_H
#define AUTOLOGGER_KERNEL_TESTS_KLOG_FIXTURE_H
#include "autologger/kernel/klog.h"
#include "autologger/kernel/tables/written.h"
#include "autologger/wire/etl.h"
#include "registry-sim/win32/utf16.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVENTS_MAX = 2000000, HOOK_DESCRIBED = 0xFFFE };
struct seen { /* one event, copied */
    uint16_t       hook, version;
    uint8_t        header_type;
    unsigned       cpu;
    uint32_t       pid, tid, size; /* pid and tid of the header; size of the payload */
    uint64_t       time;
    const uint8_t *payload;
    const uint8_t *body;     /* of a self-describing event: behind its items */
    char           name[32]; /* and its name */
};
struct collector {
    struct klog *k;
    pthread_t    drainer;
    int          stop, hold;
    struct seen *event;
    size_t       count;
    uint8_t     *bytes;
    size_t       used, capacity;
    unsigned     cpus;
    uint64_t     last[256];
    uint64_t     released;
    unsigned     conditions;
    bool         receipts_untold; /* this kernel does not show which datagram a program receives */
};

static inline void on_condition(void *ctx, wstatus number, bool note, const char *item, const char *reason,
                                const char *advice)
{
    struct collector *c        = ctx;
    bool              receipts = note && strstr(reason, "that programs receive");
    c->receipts_untold |= receipts;
    c->conditions += !receipts && !(note && strcmp(item, "CommandLine") == 0); /* depends on the build: live_argv.c */
    assert_int_equal(number, W_NOT_SUPPORTED);
    assert_true(strlen(item) > 0 && strlen(reason) > 0 && strlen(advice) > 0);
    print_message("condition%s: %s: %s. Do: %s\n", note ? " (note)" : "", item, reason, advice);
}

static inline struct klog_config config_make(struct collector *c, uint32_t word0, uint32_t word1)
{
    static struct clock_machine machine;
    if (!machine.cpu_mhz)
        clock_machine_find(&machine);
    struct klog_config config = {.mask          = {word0, word1},
                                 .hooks         = {0x0F2E, 0x0524, 0x0532},
                                 .hook_count    = 3,
                                 .raw_bytes     = 64 << 20,
                                 .clock         = clock_for_type(1, &machine, NULL),
                                 .condition     = on_condition,
                                 .condition_ctx = c};
    return config;
}

static inline void *drain_main(void *arg)
{
    struct collector *c = arg;
    while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE))
        if (__atomic_load_n(&c->hold, __ATOMIC_ACQUIRE))
            usleep(1000);
        else
            klog_drain(c->k, 10);
    return NULL;
}

/* Gets the name of a self-describing event, and returns where its payload begins. Unless it is a tracepoint's, its
 * class must have a row. */
static inline size_t described_body(const uint8_t *data, size_t size, char name[32])
{
    const char         *provider = "";
    struct etl_ext_item item     = {.linkage = 1};
    size_t              at       = sizeof(struct etl_event_header);
    while (item.linkage & 1) {
        assert_true(at + sizeof item <= size);
        memcpy(&item, data + at, sizeof item);
        if (item.type == ETL_EXT_PROV_TRAITS)
            provider = (const char *)data + at + sizeof item + 2;
        if (item.type == ETL_EXT_SCHEMA_TL)
            snprintf(name, 32, "%s", (const char *)data + at + sizeof item + 3);
        at += item.total;
    }
    if (strncmp(provider, "Autologger-", 11) == 0 && !written_find_own(provider, name))
        fail_msg("written.def has no row of %s/%s", provider, name);
    assert_true(at <= size);
    return at;
}

static inline void take(struct collector *c, unsigned cpu, const struct klog_record *r)
{
    struct etl_system_header h;
    struct etl_full_header   f;
    if (c->count == EVENTS_MAX || c->used + r->size > c->capacity)
        return;
    memcpy(&h, r->data, sizeof h < r->size ? sizeof h : r->size);
    assert_true(r->time > c->last[cpu]); /* L5 */
    c->last[cpu]   = r->time;
    struct seen *s = &c->event[c->count++];
    *s             = (struct seen){.hook        = (uint16_t)(h.group << 8 | h.type),
                                   .version     = h.version,
                                   .header_type = h.header_type,
                                   .cpu         = cpu,
                                   .time        = r->time};
    size_t head    = h.header_type == ETL_PERFINFO64 ? 16 : 32;
    if ((h.header_type == ETL_PERFINFO64 || h.header_type == ETL_SYSTEM64) &&
        !written_find(s->hook, (uint8_t)s->version))
        fail_msg("written.def has no row of %04x v%u", s->hook, s->version);
    if (h.header_type == ETL_SYSTEM64) {
        assert_int_equal(h.time, r->time);
        assert_int_equal(h.size, r->size);
        s->pid = h.process_id;
        s->tid = h.thread_id;
    } else if (h.header_type == ETL_FULL64) {
        memcpy(&f, r->data, sizeof f);
        assert_int_equal(f.size, r->size);
        assert_int_equal(f.time, r->time);
        s->hook = 0xFFFF;
        head    = sizeof f;
    } else if (h.header_type == ETL_EVENT64) { /* self-describing: here its items are part of the payload */
        struct etl_event_header d;
        memcpy(&d, r->data, sizeof d);
        assert_int_equal(d.size, r->size);
        assert_int_equal(d.time, r->time);
        s->hook = HOOK_DESCRIBED;
        s->pid  = d.process_id;
        s->tid  = d.thread_id;
        head    = sizeof d;
    } else {
        assert_int_equal(h.header_type, ETL_PERFINFO64);
        assert_int_equal(h.size, r->size);
    }
    s->size    = (uint32_t)(r->size - head);
    s->payload = c->bytes + c->used;
    memcpy(c->bytes + c->used, r->data + head, s->size);
    if (s->hook == HOOK_DESCRIBED)
        s->body = s->payload + described_body(r->data, r->size, s->name) - head;
    c->used += (s->size + 7) & ~(size_t)7;
}

static inline size_t collect(struct collector *c)
{
    size_t before = c->count;
    bool   any    = true;
    while (any) {
        any = false;
        for (unsigned cpu = 0; cpu < c->cpus; cpu++) {
            struct klog_record r;
            uint64_t           time = 0;
            for (int i = 0; i < 1000 && klog_peek(c->k, cpu, &r); i++) {
                take(c, cpu, &r);
                time = r.time;
                klog_pop(c->k, cpu);
                any = true;
            }
            if (time)
                klog_release(c->k, cpu, time);
        }
    }
    return c->count - before;
}

static inline bool start(struct collector *c, const struct klog_config *config)
{
    struct reason why = {0};
    wstatus       r   = klog_create(config, &c->k, &why);
    if (r == W_PRIVILEGE_NOT_HELD || r == W_NOT_SUPPORTED) {
        print_message("skipped: %s\n", why.text);
        return false;
    }
    if (r)
        fail_msg("%u: %s", r, why.text);
    c->cpus     = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    c->event    = malloc(EVENTS_MAX * sizeof *c->event);
    c->capacity = 512u << 20;
    c->bytes    = mmap(NULL, c->capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_non_null(c->event);
    assert_true(c->bytes != MAP_FAILED);
    assert_int_equal(pthread_create(&c->drainer, NULL, drain_main, c), 0);
    assert_int_equal(klog_start(c->k, &why), 0);
    return true;
}

static inline int by_time(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

static inline void halt(struct collector *c)
{
    klog_stop(c->k);
    __atomic_store_n(&c->stop, 1, __ATOMIC_RELEASE);
    klog_wake(c->k);
    pthread_join(c->drainer, NULL);
    collect(c);
    qsort(c->event, c->count, sizeof *c->event, by_time);
}

static inline void finish(struct collector *c)
{
    klog_destroy(c->k);
    munmap(c->bytes, c->capacity);
    free(c->event);
    memset(c, 0, sizeof *c);
}

/* Records that the kernel delivered, by source: a guest kernel may count events and deliver none (see klog.c's
 * note). */
static struct {
    char     name[48];
    uint64_t drained;
} delivered_row[64];
static inline uint64_t delivered(const char *name)
{
    for (unsigned i = 0; i < 64; i++)
        if (strcmp(delivered_row[i].name, name) == 0)
            return delivered_row[i].drained;
    return 0;
}
static inline void show_source(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost)
{
    (void)ctx;
    print_message("  %-28s attempted %8llu drained %8llu lost %6llu\n", name, (unsigned long long)attempted,
                  (unsigned long long)drained, (unsigned long long)lost);
    assert_true(attempted >= drained + lost); /* the rest is withheld: counted below */
    unsigned i = 0;
    while (i < 63 && delivered_row[i].name[0] && strcmp(delivered_row[i].name, name) != 0)
        i++;
    snprintf(delivered_row[i].name, sizeof delivered_row[i].name, "%s", name);
    delivered_row[i].drained = drained;
}

/* Has each request that the kernel issued to the disks a completion or a requeue? (Not those in progress, or of an idle
 * task on some guests.) */
static inline bool requests_told(void)
{
    return delivered("block:block_rq_complete") + delivered("block:block_rq_requeue") ==
           delivered("block:block_rq_issue");
}

/* The sum of the losses that the events themselves report. */
static inline uint64_t told_lost(const struct collector *c)
{
    uint64_t sum = 0, n;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if (s->hook != HOOK_DESCRIBED || strcmp(s->name, "Lost") != 0)
            continue;
        const uint8_t *p = s->body + sizeof(uint32_t); /* the CPU, then cause and source */
        for (int text = 0; text < 2; text++)
            p += strlen((const char *)p) + 1;
        memcpy(&n, p, sizeof n);
        sum += n;
    }
    return sum;
}

static inline void check_balance(struct collector *c, struct klog_counters *n)
{
    klog_counters(c->k, n);
    klog_sources(c->k, show_source, NULL);
    print_message(
        "  attempted %llu converted %llu lost ring %llu memory %llu conversion %llu; events %llu stacks %llu (missing "
        "%llu), peak %llu KB, clock error %llu ns\n",
        (unsigned long long)n->attempted, (unsigned long long)n->converted, (unsigned long long)n->lost_ring,
        (unsigned long long)n->lost_memory, (unsigned long long)n->lost_conversion, (unsigned long long)n->events,
        (unsigned long long)n->stacks, (unsigned long long)n->stacks_missing, (unsigned long long)n->raw_peak >> 10,
        (unsigned long long)n->clock_error_ns);
    assert_int_equal(n->attempted, n->converted + n->withheld + n->lost_ring + n->lost_memory + n->lost_conversion);
    assert_int_equal(n->lost_conversion, 0);
    assert_int_equal(n->events, c->count);
    assert_int_equal(told_lost(c), n->lost_ring + n->lost_memory + n->lost_conversion + n->withheld);
}

/* Some guests' kernels count events and deliver them to nobody: so many may be missing; none may be too many. */
#define assert_count(found, wanted, n) \
    do { \
        uint64_t found_ = (found), wanted_ = (wanted); \
        if (found_ > wanted_ || found_ + (n).withheld < wanted_) \
            fail_msg("%s: %llu of %llu, withheld %llu", #found, (unsigned long long)found_, \
                     (unsigned long long)wanted_, (unsigned long long)(n).withheld); \
    } while (0)

static inline uint32_t u32_at(const struct seen *s, size_t at)
{
    uint32_t v = 0;
    if (at + 4 <= s->size)
        memcpy(&v, s->payload + at, 4);
    return v;
}
static inline uint64_t u64_at(const struct seen *s, size_t at)
{
    uint64_t v = 0;
    if (at + 8 <= s->size)
        memcpy(&v, s->payload + at, 8);
    return v;
}

static inline size_t count_named(const struct collector *c, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == HOOK_DESCRIBED && strcmp(c->event[i].name, name) == 0;
    return n;
}
static inline uint32_t body_u32(const struct seen *s, size_t at)
{
    uint32_t v;
    memcpy(&v, s->body + at, sizeof v);
    return v;
}
static inline uint64_t body_u64(const struct seen *s, size_t at)
{
    uint64_t v;
    memcpy(&v, s->body + at, sizeof v);
    return v;
}

static inline size_t count_of(const struct collector *c, uint16_t hook)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->event[i].hook == hook;
    return n;
}

static inline const struct seen *find(const struct collector *c, uint16_t hook, size_t at, uint32_t value, size_t from)
{
    for (size_t i = from; i < c->count; i++)
        if (c->event[i].hook == hook && u32_at(&c->event[i], at) == value)
            return &c->event[i];
    return NULL;
}

/* Does the UTF-16 text at `at` of the payload end in / contain `part`? */
static inline bool text_has(const struct seen *s, size_t at, const char *part)
{
    char text[4096];
    utf16le_to_utf8(s->payload + at, s->size - at, text, sizeof text);
    for (size_t i = 0; i + strlen(part) < sizeof text; i++)
        if (memcmp(text + i, part, strlen(part)) == 0)
            return true;
    return false;
}

static inline void write_and_sync(void)
{
    char path[] = AL_BINARY_DIR "/klogXXXXXX", block[65536];
    int  fd     = mkstemp(path);
    assert_true(fd >= 0);
    memset(block, 'k', sizeof block);
    for (int i = 0; i < 16; i++)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    assert_int_equal(fsync(fd), 0);
    close(fd);
    unlink(path);
}

static inline void spin(uint64_t ms)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((uint64_t)(b.tv_sec - a.tv_sec) * 1000 + (uint64_t)(b.tv_nsec / 1000000) <
             ms + (uint64_t)(a.tv_nsec / 1000000));
}
#endif
