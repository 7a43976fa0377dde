/* SplitIo from raw records. Proves: issue 4, SPLIT_IO: parts lead to their disk events, also for a successor. */
#include "autologger/kernel/tests/convert_fixture.h"

enum { DISK = 254u << 20, STACKED = 252u << 20 };

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0x200500}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void split(uint64_t time, uint32_t tid, uint32_t dev, uint64_t sector, uint64_t new_sector, const char *rwbs)
{
    struct {
        uint64_t common;
        uint32_t dev, pad;
        uint64_t sector, new_sector;
        char     rwbs[10], comm[16];
    } r = {.dev = dev, .sector = sector, .new_sector = new_sector};
    memcpy(r.rwbs, rwbs, strlen(rwbs));
    maker_sample(&maker, 0, SRC_SPLIT, time, tid, tid, 0, 0, &r, 58);
}
static void remap(uint64_t time, uint32_t tid, uint32_t dev, uint64_t sector, uint32_t old, uint64_t old_sector)
{
    struct {
        uint64_t common;
        uint32_t dev, pad;
        uint64_t sector;
        uint32_t count, old;
        uint64_t old_sector;
        char     rwbs[10];
    } r = {0, dev, 0, sector, 8, old, old_sector, "W"};
    maker_sample(&maker, 0, SRC_REMAP, time, tid, tid, 0, 0, &r, 50);
}
static void finish(void)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 90000, UINT64_MAX);
    run();
}

static void in_three_parts(void **state)
{
    (void)state;
    split(1000, 500, DISK, 100, 108, "WS");
    split(1100, 500, DISK + 1, 108, 116, "WS"); /* reported for a partition */
    split(1200, 500, DISK, 900, 908, "DS");     /* a discard: it has no disk event */
    for (unsigned i = 0; i < 3; i++)
        maker_block(&maker, 0, SRC_RQ_ISSUE, 2000 + i * 10, 500, 100 + i * 8, 8, "WS");
    maker_block(&maker, 0, SRC_RQ_ISSUE, 2100, 600, 116 + 8, 8, "WS"); /* another process's */
    finish();
    const struct one *a = nth(0x1B20, 0), *b = nth(0x1B20, 1);
    assert_true(count(0x1B20) == 2 && a->size == 16 && a->version == 2 && a->type == ETL_PERFINFO64);
    assert_true(u64(a, 0) == u64(nth(0x010D, 0), 0) && u64(a, 8) == u64(nth(0x010D, 1), 0));
    assert_true(u64(b, 0) == u64(a, 8) && u64(b, 8) == u64(nth(0x010D, 2), 0));
    assert_true(u64(nth(0x010D, 3), 0) != u64(b, 8) && u64(nth(0x010D, 3), 0) >> 63);
}

static void handed_down(void **state)
{
    (void)state;
    remap(1000, 500, DISK, 2048, DISK + 1, 0);   /* a partition: the same disk */
    remap(1100, 500, DISK, 3000, 259u << 20, 0); /* also a partition */
    remap(1200, 500, DISK, 4000, STACKED, 7);
    maker_block(&maker, 0, SRC_RQ_ISSUE, 2000, 500, 4000, 8, "W");
    finish();
    assert_int_equal(count(0x1B20), 1);
    assert_int_equal(u64(nth(0x1B20, 0), 8), u64(nth(0x010D, 0), 0));
}

static void successor(void **state)
{
    (void)state;
    split(1000, 500, DISK, 100, 108, "W");
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 1500, 1400);
    left_behind();
    uint64_t child = u64(nth(0x1B20, 0), 8);
    maker_block(&maker, 0, SRC_RQ_ISSUE, 2000, 500, 108, 8, "W");
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    take_over();
    assert_int_equal(u64(nth(0x010D, 0), 0), child);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(in_three_parts), T(handed_down), T(successor),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
