/* Losses as events in the file: placed by time and CPU, by cause and source; losses that found no room in the drainer's
 * notes; failed conversions; records that the kernel withheld; a throttled source; a successor that repeats no loss.
 * Proves: ANA-12, and issue 4 "loss in band with time and CPU". */
#include "autologger/kernel/tests/convert_fixture.h"

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0x10}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

struct told {
    uint32_t    cpu;
    const char *name, *cause, *source;
    uint64_t    count, began, ended;
};

/* The n-th event that describes itself. */
static struct told told(unsigned n)
{
    struct told t = {.cpu = 77};
    for (size_t i = 0; i < out.count; i++) {
        const uint8_t *p = out.event[i].payload;
        uint16_t       total;
        if (out.event[i].type != ETL_EVENT64 || n-- > 0)
            continue;
        memcpy(&total, p, sizeof total);
        p += total; /* its provider */
        memcpy(&total, p, sizeof total);
        t.name = (const char *)p + 8 + 3;
        p += total;
        memcpy(&t.cpu, p, 4);
        t.source = (const char *)p + 4;
        if (strcmp(t.name, "Lost") != 0)
            return t;
        t.cause  = t.source;
        t.source = t.cause + strlen(t.cause) + 1;
        p        = (const uint8_t *)t.source + strlen(t.source) + 1;
        memcpy(&t.count, p, 8);
        memcpy(&t.began, p + 8, 8);
        memcpy(&t.ended, p + 16, 8);
        return t;
    }
    return t;
}

#define assert_told(n, c, why, from, number, b, e) \
    do { \
        struct told t_ = told(n); \
        assert_non_null(t_.cause); \
        assert_string_equal(t_.cause, why); \
        assert_string_equal(t_.source, from); \
        assert_true(t_.cpu == (c) && t_.count == (number) && t_.began == (b) && t_.ended == (e)); \
    } while (0)

static void lost(uint32_t cpu, uint32_t cause, uint64_t from, uint64_t to, uint32_t said, uint64_t a, uint64_t b)
{
    struct raw_lost     r      = {.own     = {RAW_LOST, 0, sizeof r + 2 * sizeof *r.row, to, 0, 0},
                                  .from_ns = from,
                                  .cpu     = cpu,
                                  .cause   = cause,
                                  .count   = said};
    struct raw_lost_row row[2] = {{SRC_SWITCH, a}, {SRC_WAKING, b}};
    maker_put(&maker, &r, sizeof r);
    maker_put(&maker, row, sizeof row);
    maker.records++;
}

static void gaps_are_placed(void **state)
{
    (void)state;
    maker_switch(&maker, 1, 1000, 0, 500, 0, 0, 0);
    maker_switch(&maker, 1, 9000, 500, 0, 1, 0, 0);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    lost(1, LOST_RING, 1000, 8000, 2, 300, 7);
    lost(0, LOST_MEMORY, 2000, 8500, 1, 11, 0);
    lost(0, 9, 2000, 8600, 2, 1, 1);          /* no such cause */
    lost(0, LOST_MEMORY, 0, 8700, 200, 5, 6); /* says more rows than there are */
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 20000, UINT64_MAX);
    run();
    assert_told(0, 1, "ring", "sched:sched_switch", 300, 7000, 0);
    assert_told(1, 1, "ring", "sched:sched_waking", 7, 7000, 0);
    assert_told(2, 0, "memory", "sched:sched_switch", 11, 6500, 0);
    assert_told(3, 0, "memory", "sched:sched_switch", 5, 0, 0);
    assert_told(4, 0, "memory", "sched:sched_waking", 6, 0, 0);
    assert_int_equal(out.count, 7);
    /* between the two switches */
    assert_true(out.event[1].type == ETL_EVENT64 && out.event[1].cpu == 1 && out.event[1].time == 8000);
}

/* At the end: losses still in the slot, losses that only the counters have, and records that the kernel withheld. */
static void the_rest_is_told_at_the_end(void **state)
{
    (void)state;
    struct raw_header *h = maker.log.header;
    struct raw_loss   *l = rawlog_loss(&maker.log, maker.log.work, 1);
    *l = (struct raw_loss){.last_ns = 5000, .ring_from = 3000, .ring_to = 4000, .memory_from = 3500, .memory_to = 4500};
    l->source[SRC_SWITCH].seen              = 50;
    l->source[SRC_SWITCH].ring              = 20;
    l->source[SRC_WAKING].memory            = 9;
    maker.log.work->lost_memory[SRC_WAKING] = 9;
    h->final_lost[SRC_SWITCH]               = 53;
    h->source[SRC_SWITCH].flags |= RAW_SOURCE_COUNTER;
    h->final_value[SRC_SWITCH] = 60;
    maker_switch(&maker, 0, 5000, 0, 500, 0, 0, 0);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 20000, UINT64_MAX);
    run();
    assert_told(0, 1, "ring", "sched:sched_switch", 20, 2000, 1000);
    assert_told(1, UINT32_MAX, "ring", "sched:sched_switch", 3, 0, 0);
    assert_told(2, 1, "memory", "sched:sched_waking", 9, 1500, 500);
    /* 60 attempted, 53 of them lost; here `drained` is counted in source 0 */
    assert_told(3, UINT32_MAX, "withheld", "sched:sched_switch", 7, 0, 0);
    assert_int_equal(out.count, 5);
}

static void conversion_and_throttling(void **state)
{
    (void)state;
    struct convert c;
    uint64_t       raw[8] = {0};
    maker_sample(&maker, 1, SRC_TRACEPOINT, 1000, 5, 5, 0, 0, raw, 60); /* its layout is not known */
    maker_sample(&maker, 1, SRC_TRACEPOINT, 1100, 5, 5, 0, 0, raw, 60);
    for (int i = 0; i < 2; i++) {
        size_t at = maker_begin(&maker, i ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE, 0);
        maker_u64(&maker, 1200 + (uint64_t)i * 100);
        maker_u64(&maker, maker_id(1, SRC_CLOCK));
        maker_u64(&maker, maker_id(1, SRC_CLOCK));
        maker_trailer(&maker, 1, 5, 5, 1200 + (uint64_t)i * 100);
        maker_end(&maker, at);
        maker.records--; /* not counted as events */
        maker.drained--;
    }
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    maker_pass(&maker, 20000, 15000);
    maker_pass(&maker, 20000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_true(c.lost == 2 && c.converted == 0);
    struct told t = told(0);
    assert_true(t.cpu == 1 && strcmp(t.name, "Throttled") == 0 && strcmp(t.source, "cpu-clock") == 0 &&
                out.event[0].time == 1200);
    t = told(1);
    assert_true(t.cpu == 1 && strcmp(t.name, "Unthrottled") == 0 && strcmp(t.source, "cpu-clock") == 0 &&
                out.event[1].time == 1300);
    assert_told(2, 1, "conversion", "tracepoint", 2, 0, 0);
    assert_int_equal(out.count, 3);
    convert_finish(&c);
}

static void a_successor_tells_nothing_twice(void **state)
{
    (void)state;
    struct convert     c, d;
    struct reason      why    = {0};
    int                fd     = memfd_create("snapshot", MFD_CLOEXEC);
    uint64_t           raw[8] = {0};
    struct raw_header *h      = maker.log.header;
    maker_sample(&maker, 1, SRC_TRACEPOINT, 1000, 5, 5, 0, 0, raw, 60);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    lost(0, LOST_RING, 1000, 2000, 2, 300, 7);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    h->final_lost[SRC_SWITCH] = 5;
    maker_pass(&maker, 20000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_int_equal(out.count, 4); /* two ring losses, one of the conversion, one without a place */
    assert_int_equal(convert_horizon(&c), UINT64_MAX);
    assert_int_equal(convert_snapshot_write(&c, convert_needed(&c), fd, NULL), 0);
    assert_int_equal(convert_init(&d, &config, &maker.log, NULL), 0);
    if (convert_snapshot_read(&d, fd, &why))
        fail_msg("%s", why.text);
    out.count = 0;
    take_all(&d);
    assert_int_equal(out.count, 0);
    assert_int_equal(convert_horizon(&d), UINT64_MAX);
    convert_finish(&c);
    convert_finish(&d);
    close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(gaps_are_placed), T(the_rest_is_told_at_the_end), T(conversion_and_throttling),
                                       T(a_successor_tells_nothing_twice), cmocka_unit_test(every_class_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
