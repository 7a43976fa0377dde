/* convert_fixture.h - for tests of converters: takes raw records (raw_maker.h), and keeps the ETL records of the
 * converter.
 * Threads: one. Not for: real events (klog_fixture.h). */
#ifndef AUTOLOGGER_KERNEL_TESTS_CONVERT_FIXTURE_H
#define AUTOLOGGER_KERNEL_TESTS_CONVERT_FIXTURE_H
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/tests/raw_maker.h"
#include "autologger/wire/etl.h"
#include "tools/dev/read_back.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { OUT_MAX = 20000, OUT_BYTES = 8 << 20 };
struct out { /* the converter's records, in time order */
    struct one {
        uint16_t       hook;
        uint8_t        version, type;
        unsigned       cpu;
        uint32_t       pid, tid, size;
        uint64_t       time;
        const uint8_t *payload;
    } event[OUT_MAX];
    size_t   count;
    uint8_t *bytes;
    size_t   used;
};
static struct maker       maker;
static struct out         out;
static struct klog_config config;

static inline void fixture_begin(const struct klog_config *with)
{
    config = *with;
    maker_init(&maker, 2, 4 << 20);
    if (!out.bytes)
        out.bytes = malloc(OUT_BYTES);
    out.count = out.used = 0;
}
static inline int teardown(void **state)
{
    (void)state;
    maker_finish(&maker);
    return 0;
}

static inline void take(const struct klog_record *r, unsigned cpu)
{
    struct etl_system_header h = {0};
    assert_true(out.count < OUT_MAX && out.used + r->size + 8 < OUT_BYTES && r->size >= 16);
    memcpy(&h, r->data, r->size < sizeof h ? r->size : sizeof h);
    read_back_see(r->data, r->size);
    size_t      head = h.header_type == ETL_PERFINFO64 ? 16
                       : h.header_type == ETL_FULL64   ? 48
                       : h.header_type == ETL_EVENT64  ? 80
                                                       : 32;
    struct one *e    = &out.event[out.count++];
    *e               = (struct one){(uint16_t)(h.group << 8 | h.type),
                                    (uint8_t)h.version,
                                    h.header_type,
                                    cpu,
                                    h.process_id,
                                    h.thread_id,
                                    (uint32_t)(r->size - head),
                                    r->time,
                                    out.bytes + out.used};
    memcpy(out.bytes + out.used, r->data + head, e->size);
    memset(out.bytes + out.used + e->size, 0, 8);
    out.used += (e->size + 15) & ~(size_t)7;
}

/* Takes all records, as the logger does: the earliest over CPUs first. */
static inline void take_all(struct convert *c)
{
    for (;;) {
        struct klog_record r, best = {0};
        unsigned           from = 0;
        for (unsigned cpu = 0; cpu < c->cpus; cpu++)
            if (convert_peek(c, cpu, &r) && (!best.data || r.time < best.time)) {
                best = r;
                from = cpu;
            }
        if (!best.data)
            return;
        take(&best, from);
        convert_pop(c, from);
    }
}

/* The payload of a self-describing event, behind traits and schema, each with a header of 8 bytes and padded to 8. */
static inline const char *described_fields(unsigned event)
{
    const uint8_t *p = out.event[event].payload;
    for (int item = 0; item < 2; item++) {
        uint16_t total;
        memcpy(&total, p, sizeof total);
        p += total;
    }
    return (const char *)p;
}

static inline void run(void)
{
    struct convert c;
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_int_equal(c.converted + c.lost, maker.drained);
    assert_int_equal(c.lost, 0);
    assert_int_equal(c.events, out.count);
    convert_finish(&c);
}

/* A converter that stops here, and its successor: `out` then holds the successor's records alone. */
static int         handed_over_fd;
static uint64_t    handed_over_needed; /* the successor has the log from here on */
static inline void left_behind(void)
{
    struct convert c;
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    handed_over_fd     = memfd_create("snapshot", MFD_CLOEXEC);
    handed_over_needed = convert_needed(&c);
    assert_int_equal(convert_snapshot_write(&c, handed_over_needed, handed_over_fd, NULL), 0);
    convert_finish(&c);
}
static inline void take_over(void)
{
    struct convert c;
    out.count                  = 0;
    maker.log.header->free_pos = handed_over_needed;
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&c, handed_over_fd, NULL), 0);
    take_all(&c);
    convert_finish(&c);
    close(handed_over_fd);
}

static inline uint32_t u32(const struct one *e, size_t at)
{
    uint32_t v;
    memcpy(&v, e->payload + at, 4);
    return v;
}
static inline uint64_t u64(const struct one *e, size_t at)
{
    uint64_t v;
    memcpy(&v, e->payload + at, 8);
    return v;
}
static inline const struct one *nth(uint16_t hook, unsigned n)
{
    for (size_t i = 0; i < out.count; i++)
        if (out.event[i].hook == hook && n-- == 0)
            return &out.event[i];
    return NULL;
}
static inline unsigned count(uint16_t hook)
{
    unsigned n = 0;
    while (nth(hook, n))
        n++;
    return n;
}
#endif
