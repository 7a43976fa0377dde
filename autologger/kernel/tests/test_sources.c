/* Each source of interrupts, deferred work, timers, power, priorities and log lines: raw records in, fields out.
 * Proves: KRN-06 and the layouts of issue 4 that this machine's kernel may not show. */
#include "autologger/kernel/tests/convert_fixture.h"

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0x707, 0x286}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

/* A tracepoint's record: 8 common bytes, then the bytes given. */
struct record {
    uint8_t  bytes[96];
    uint32_t size;
};
static struct record record(void) { return (struct record){.size = 8}; }
static void          r32(struct record *r, uint32_t v)
{
    memcpy(r->bytes + r->size, &v, 4);
    r->size += 4;
}
static void r64(struct record *r, uint64_t v)
{
    memcpy(r->bytes + r->size, &v, 8);
    r->size += 8;
}
static void at(uint64_t time, unsigned source, const struct record *r)
{
    maker_sample(&maker, 0, source, time, 500, 501, 0x400100, 3, r->bytes, r->size);
}
static void at32(uint64_t time, unsigned source, uint32_t a, uint32_t b, uint32_t c)
{
    struct record r = record();
    r32(&r, a);
    r32(&r, b);
    r32(&r, c);
    at(time, source, &r);
}
static void at64(uint64_t time, unsigned source, uint64_t a, uint64_t b, uint64_t c)
{
    struct record r = record();
    r64(&r, a);
    r64(&r, b);
    r64(&r, c);
    at(time, source, &r);
}
static void done(void)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
}

/* The n-th self-describing event of that name, or NULL. Returns its payload, which begins behind its items. */
static const uint8_t *told(const char *name, unsigned n, const struct one **event)
{
    for (size_t i = 0; i < out.count; i++) {
        const struct one   *e    = &out.event[i];
        const uint8_t      *p    = e->payload;
        struct etl_ext_item item = {.linkage = 1};
        bool                same = false;
        if (e->type != ETL_EVENT64)
            continue;
        while (item.linkage & 1) {
            memcpy(&item, p, sizeof item);
            same |= item.type == ETL_EXT_SCHEMA_TL && strcmp((const char *)p + sizeof item + 3, name) == 0;
            p += item.total;
        }
        if (same && n-- == 0) {
            if (event)
                *event = e;
            return p;
        }
    }
    return NULL;
}
static uint32_t p32(const uint8_t *p, size_t at)
{
    uint32_t v;
    memcpy(&v, p + at, 4);
    return v;
}
static uint64_t p64(const uint8_t *p, size_t at)
{
    uint64_t v;
    memcpy(&v, p + at, 8);
    return v;
}

static void interrupts(void **state)
{
    (void)state;
    struct record r = record();
    r32(&r, 24);
    r32(&r, 16 | 5 << 16); /* __data_loc: 5 bytes at 16 */
    memcpy(r.bytes + r.size, "eth0", 5);
    r.size += 5;
    at32(900, SRC_IRQ_EXIT, 24, 1, 0); /* it began before the trace */
    at(1000, SRC_IRQ_ENTRY, &r);
    maker_sample(&maker, 0, SRC_CLOCK, 1100, 500, 501, 0x400200, 3, NULL, 0);
    at32(1200, SRC_IRQ_EXIT, 24, 1, 0);
    at(1300, SRC_IRQ_ENTRY, &r);
    at32(1400, SRC_IRQ_EXIT, 24, 0, 0);
    done();
    const struct one *a = nth(0x0F43, 0), *b = nth(0x0F43, 1);
    assert_true(count(0x0F43) == 2 && a->size == 20 && a->version == 2 && a->time == 1200);
    assert_true(u64(a, 0) == 1000 && u64(a, 8) == 0 && a->payload[16] == 1 && a->payload[17] == 24 &&
                a->payload[18] == 0);
    assert_true(u64(b, 0) == 1300 && b->payload[16] == 0);
    assert_int_equal(nth(0x0F2E, 0)->payload[14] & 2, 2); /* a sample inside of an ISR */
    const uint8_t *name = told("InterruptName", 0, NULL);
    assert_true(name && p32(name, 0) == 24 && strcmp((const char *)name + 4, "eth0") == 0);
    assert_null(told("InterruptName", 1, NULL)); /* once */
}

static void deferred_work(void **state)
{
    (void)state;
    config.mask[1] |= 0x40000;
    at32(1000, SRC_SOFTIRQ_RAISE, 6, 0, 0);
    at32(1100, SRC_SOFTIRQ_ENTRY, 6, 0, 0);
    at64(1200, SRC_TASKLET_ENTRY, 0xffffffff81000010, 0, 0);
    at64(1300, SRC_TASKLET_EXIT, 0xffffffff81000010, 0, 0);
    at64(1400, SRC_TASKLET_ENTRY, 0xffffffff81000020, 0, 0);
    at64(1500, SRC_TASKLET_EXIT, 0xffffffff81000020, 0, 0);
    at32(1600, SRC_SOFTIRQ_EXIT, 6, 0, 0);
    at32(1700, SRC_SOFTIRQ_ENTRY, 1, 0, 0);
    at32(1800, SRC_SOFTIRQ_EXIT, 1, 0, 0);
    done();
    assert_true(count(0x0F64) == 1 && u64(nth(0x0F64, 0), 0) == 6 && nth(0x0F64, 0)->size == 24);
    assert_true(count(0x0F65) == 2 && u64(nth(0x0F65, 0), 8) == 6 && u64(nth(0x0F65, 1), 8) == 1);
    assert_int_equal(count(0x0F44), 2); /* one for each tasklet, none for the softirq around them */
    assert_true(u64(nth(0x0F44, 0), 0) == 1200 && u64(nth(0x0F44, 0), 8) == 0xffffffff81000010 &&
                nth(0x0F44, 0)->time == 1300);
    assert_true(count(0x0F45) == 1 && u64(nth(0x0F45, 0), 0) == 1700);
}

static void clock_and_ipi(void **state)
{
    (void)state;
    at32(900, SRC_CLOCK_EXIT, 236, 0, 0);
    at32(1000, SRC_CLOCK_ENTRY, 236, 0, 0);
    at32(1100, SRC_CLOCK_EXIT, 236, 0, 0);
    at32(1200, SRC_RESCHEDULE_ENTRY, 253, 0, 0);
    at32(1300, SRC_RESCHEDULE_EXIT, 253, 0, 0);
    at32(1400, SRC_CALL_SINGLE_ENTRY, 251, 0, 0);
    at32(1500, SRC_CALL_SINGLE_EXIT, 251, 0, 0);
    struct record r = record();
    r32(&r, 1);
    r32(&r, 0);
    r64(&r, 0xffffffff81000100);
    r64(&r, 0xffffffff81000200);
    at(1600, SRC_IPI_SEND, &r);
    done();
    const struct one *e;
    const uint8_t    *p = told("ClockInterrupt", 0, &e);
    assert_true(p && p32(p, 0) == 236 && p64(p, 4) == 1000 && e->time == 1100 && !told("ClockInterrupt", 1, NULL));
    p = told("IpiReschedule", 0, NULL);
    assert_true(p && p64(p, 4) == 1200);
    p = told("IpiCallFunction", 0, NULL);
    assert_true(p && p32(p, 0) == 251 && p64(p, 4) == 1400);
    p = told("IpiSend", 0, NULL);
    assert_true(p && p32(p, 0) == 1 && p64(p, 4) == 0xffffffff81000100 && p64(p, 12) == 0xffffffff81000200);
}

static void timers(void **state)
{
    (void)state;
    at64(1000, SRC_TIMER_START, 0xffff888000000010, 0xffffffff81000300, 4711);
    at64(1100, SRC_HRTIMER_START, 0xffff888000000020, 0xffffffff81000400, 5000000);
    struct record r = record();
    r64(&r, 0xffff888000000010); /* timer, now, function */
    r64(&r, 4711);
    r64(&r, 0xffffffff81000300);
    at(1200, SRC_TIMER_EXPIRE, &r);
    at(1300, SRC_HRTIMER_EXPIRE, &r);
    done();
    static const char *const names[] = {"TimerStart", "HighResolutionTimerStart", "TimerExpire",
                                        "HighResolutionTimerExpire"};
    static const uint64_t    when[]  = {4711, 5000000, 4711, 4711};
    for (unsigned i = 0; i < 4; i++) {
        const struct one *e;
        const uint8_t    *p = told(names[i], 0, &e);
        assert_true(p && p64(p, 8) >> 32 == 0xffffffff && p64(p, 16) == when[i] && e->time == 1000 + i * 100);
    }
}

static void power(void **state)
{
    (void)state;
    at32(1000, SRC_CPU_IDLE, 2, 0, 0);
    at32(1100, SRC_CPU_IDLE, UINT32_MAX, 0, 0);
    maker_switch(&maker, 0, 1200, 0, 500, 0, 0, 0);
    at32(1300, SRC_CPU_FREQUENCY, 2400000, 1, 0);
    struct record r = record();
    r64(&r, 0xffffffff82000000);
    r32(&r, 3);
    r32(&r, 1);
    at(1400, SRC_SUSPEND, &r);
    done();
    const uint8_t *p = told("CpuIdle", 0, NULL);
    assert_true(p && p32(p, 0) == 0 && p32(p, 4) == 2);
    assert_int_equal(p32(told("CpuIdle", 1, NULL), 4), UINT32_MAX);
    assert_int_equal(nth(0x0524, 0)->payload[10], 2); /* the depth of the CPU's sleep */
    p = told("CpuFrequency", 0, NULL);
    assert_true(p && p32(p, 0) == 1 && p32(p, 4) == 2400000);
    p = told("SuspendResume", 0, NULL);
    assert_true(p && p64(p, 0) == 0xffffffff82000000 && p32(p, 8) == 3 && p32(p, 12) == 1);
}

static void priorities_and_counters(void **state)
{
    (void)state;
    at32(1000, SRC_SET_PRIORITY, 501, 120, 79);
    maker_sample(&maker, 0, SRC_PMC, 1100, 500, 501, 0x400300, 3, NULL, 0);
    done();
    const struct one *a = nth(0x0530, 0), *b = nth(0x0F2F, 0);
    assert_true(a->size == 8 && u32(a, 0) == 501 && a->payload[4] == 8 && a->payload[5] == 16 + 20 * 15 / 99);
    assert_true(b->size == 16 && u64(b, 0) == 0x400300 && u32(b, 8) == 501 && b->payload[12] == 19);
}

static void log_line(uint64_t time, const char *text)
{
    struct record r = record();
    r32(&r, 12 | (uint32_t)(strlen(text) + 1) << 16);
    memcpy(r.bytes + r.size, text, strlen(text) + 1);
    r.size += (uint32_t)strlen(text) + 1;
    at(time, SRC_CONSOLE, &r);
}

static void log_lines(void **state)
{
    (void)state;
    struct record hostile = record();
    log_line(1000, "<4>usb 1-1: new device\n");
    log_line(1100, "plain");
    log_line(1200, "");
    r32(&hostile, 12 | 0xFFFFu << 16); /* longer than the record */
    at(1300, SRC_CONSOLE, &hostile);
    done();
    assert_int_equal(count(0x0A20), 4);
    assert_true(u32(nth(0x0A20, 0), 4) == 4 &&
                strcmp((const char *)nth(0x0A20, 0)->payload + 8, "usb 1-1: new device") == 0);
    assert_true(u32(nth(0x0A20, 1), 4) == 0 && strcmp((const char *)nth(0x0A20, 1)->payload + 8, "plain") == 0);
    assert_true(nth(0x0A20, 2)->size == 9 && nth(0x0A20, 3)->size == 9 && nth(0x0A20, 3)->payload[8] == 0);
    assert_true(nth(0x0A20, 0)->pid == 500 && nth(0x0A20, 0)->tid == 501);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(interrupts), T(deferred_work),           T(clock_and_ipi), T(timers),
        T(power),      T(priorities_and_counters), T(log_lines),     cmocka_unit_test(every_class_is_read_back)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
