/* Counters of processes from raw records, and the kernel's messages about those that exit. Proves: issue 4,
 * PERF_COUNTER: threads are summed, a program's own end tells nothing, nothing is told that is not known. */
#include "autologger/kernel/source/counters.h"
#include "autologger/kernel/tests/convert_fixture.h"
#include "registry-sim/base/cursor.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0xB}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void note(uint32_t pid, uint32_t tid, uint64_t time, uint64_t faults, uint64_t peak)
{
    struct raw_counters r = {
        .own = {RAW_NOTE_COUNTERS, 0, 0, time, pid, tid}, .faults = faults, .peak_set = peak, .peak_virtual = peak * 2};
    maker_own(&maker, &r, sizeof r, NULL, NULL);
}

static void history(void)
{
    maker_task(&maker, 0, PERF_RECORD_FORK, 2000, 600, 500, 600, 500);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2100, 600, 600, 601, 600);
    maker_task(&maker, 0, PERF_RECORD_FORK, 2200, 700, 500, 700, 500);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 3000, 600, 600, 601, 600);
}
static void ends(void)
{
    maker_comm(&maker, 0, 4000, 600, 600, "new", true);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 5000, 600, 500, 600, 500);
    maker_task(&maker, 0, PERF_RECORD_EXIT, 6000, 700, 500, 700, 500); /* no message of the kernel came for it */
}

static void check_end(const struct one *e)
{
    assert_true(e && e->size == 104 && e->version == 2 && e->type == ETL_PERFINFO64);
    assert_true(u32(e, 0) == 600 && u32(e, 4) == 42 && u32(e, 8) == 0 && u64(e, 16) == 2000 && u64(e, 24) == 1000);
    for (size_t at = 32; at < 104; at += 8)
        assert_int_equal(u64(e, at), 0);
}

static void at_the_end(void **state)
{
    (void)state;
    history();
    ends();
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    note(600, 601, 3000, 10, 1000);
    note(600, 600, 5000, 32, 900);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(count(0x0320), 1);
    check_end(nth(0x0320, 0));
    assert_true(count(0x0302) == 3 && nth(0x0320, 0)->time < nth(0x0302, 1)->time);
}

static void at_the_stop(void **state)
{
    struct raw_process  p    = {.own = {RAW_PROCESS, 0, 0, 1000, 500, 500}};
    struct raw_counters r    = {.own          = {RAW_COUNTERS, 0, 0, 7000, 500, 500},
                                .faults       = 5,
                                .peak_virtual = 1,
                                .peak_set     = 2,
                                .size         = 3,
                                .resident     = 4,
                                .swapped      = 6,
                                .handles      = 7};
    struct raw_own      stop = {RAW_STOP, 0, 0, 8000, 0, 0};
    (void)state;
    maker_own(&maker, &p, sizeof p, "p", "");
    maker_own(&maker, &r, sizeof r, NULL, NULL);
    maker_own(&maker, &stop, sizeof stop, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    const struct one *e = nth(0x0321, 0);
    assert_true(count(0x0321) == 1 && e->size == 104 && u32(e, 0) == 500 && u32(e, 4) == 5 && u32(e, 8) == 7);
    assert_true(u64(e, 16) == 1 && u64(e, 24) == 2 && u64(e, 56) == 3 && u64(e, 64) == 4 && u64(e, 72) == 6 &&
                u64(e, 96) == 0);
}

static void successor(void **state)
{
    (void)state;
    history();
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    note(600, 601, 3000, 10, 1000);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 3900, 3500);
    left_behind();
    ends();
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    note(600, 600, 5000, 32, 900);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    take_over();
    assert_int_equal(count(0x0320), 1);
    check_end(nth(0x0320, 0));
}

/* What the kernel sends of one thread: AGGR_PID {PID, padding, STATS} */
static size_t message_make(uint8_t *out_bytes, uint32_t tid, const struct taskstats *s, size_t stats_size)
{
    struct writer w = wr_make(out_bytes, 1024);
    wr_u32(&w, 0); /* the command */
    wr_u16(&w, (uint16_t)(4 + 8 + 4 + 4 + stats_size));
    wr_u16(&w, TASKSTATS_TYPE_AGGR_PID | NLA_F_NESTED);
    wr_u16(&w, 8);
    wr_u16(&w, TASKSTATS_TYPE_PID);
    wr_u32(&w, tid);
    wr_u16(&w, 4);
    wr_u16(&w, TASKSTATS_TYPE_NULL);
    wr_u16(&w, (uint16_t)(4 + stats_size));
    wr_u16(&w, TASKSTATS_TYPE_STATS);
    wr_bytes(&w, s, stats_size);
    return w.pos;
}

static void messages(void **state)
{
    struct counters    *c;
    struct taskstats    s   = {.ac_minflt = 30, .ac_majflt = 2, .hiwater_rss = 4, .hiwater_vm = 8};
    struct raw_counters r   = {.own = {.pid = 77}};
    struct reason       why = {0};
    uint8_t             bytes[1024];
    uint32_t            seed = 4711;
    (void)state;
    if (counters_open(&c, &why)) {
        print_message("skipped: %s\n", why.text);
        skip();
    }
    counters_message(c, bytes, message_make(bytes, 3000000001u, &s, sizeof s));
    /* an older kernel's */
    counters_message(c, bytes, message_make(bytes, 3000000002u, &s, offsetof(struct taskstats, read_char)));
    /* too old */
    counters_message(c, bytes, message_make(bytes, 3000000003u, &s, offsetof(struct taskstats, hiwater_vm)));
    assert_true(counters_take(c, 3000000001u, &r) && r.faults == 32 && r.peak_set == 4096 && r.peak_virtual == 8192 &&
                r.own.pid == 77);
    assert_false(counters_take(c, 3000000001u, &r)); /* only once */
    assert_true(counters_take(c, 3000000002u, &r));
    assert_false(counters_take(c, 3000000003u, &r));
    size_t whole = message_make(bytes, 3000000001u, &s, sizeof s);
    for (size_t cut = 0; cut < whole; cut++) {
        uint8_t *copy = malloc(cut + 1); /* exact size: a sanitizer finds a read behind it */
        memcpy(copy, bytes, cut);
        counters_message(c, copy, cut);
        free(copy);
    }
    for (int round = 0; round < 20000; round++) {
        message_make(bytes, 3000000001u, &s, sizeof s);
        for (int i = 0; i < 4; i++) {
            seed                    = seed * 1664525 + 1013904223;
            bytes[(seed >> 8) % 40] = (uint8_t)(seed >> 24);
        }
        counters_message(c, bytes, whole);
    }
    counters_close(c);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(at_the_end), T(at_the_stop), T(successor), T(messages),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
