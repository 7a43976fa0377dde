/* Figures of memory from raw records. Proves: issue 4, MEMINFO and MEMINFO_WS: names as the kernel's, what changed
 * alone. */
#include "autologger/kernel/tests/convert_fixture.h"

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {3, 0x880000}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void sets(uint64_t time, uint32_t resident_of_second)
{
    struct raw_sets      head   = {.own = {RAW_WORKING_SETS, 0, 0, time, 0, 0}, .count = 2, .page_kb = 4};
    const struct raw_set set[2] = {{500, 100, 50, 10}, {600, 200, resident_of_second, 20}};
    uint8_t              bytes[sizeof head + sizeof set];
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, set, sizeof set);
    maker_own(&maker, bytes, sizeof bytes, NULL, NULL);
}
static uint64_t at_end(const struct one *e, size_t before_end) { return u64(e, e->size - before_end); }

static void machine(void **state)
{
    static const char text[] =
        "MemTotal:       16000 kB\nMemFree:         9000 kB\nMemAvailable:   12000 kB\nActive:          111 kB\nActive(anon):    999 kB\n"
        "KernelStack:      77 kB\nPageTables:       66 kB\nCommitLimit:      55 kB\nCommitted_AS:     44 kB\nHugePages_Total:   3";
    struct raw_own r = {RAW_MEMORY, 0, 0, 1000, 0, 0};
    (void)state;
    maker_own(&maker, &r, sizeof r, text, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(out.count, 1);
    const struct one *e = &out.event[0];
    assert_true(e->type == ETL_EVENT64 && e->time == 1000);
    assert_true(memmem(e->payload, e->size, "MemAvailable", 13) &&
                memmem(e->payload, e->size, "Autologger-Kernel-Memory", 25));
    assert_true(at_end(e, 8) == 44 && at_end(e, 16) == 55 && at_end(e, 24) == 66 && at_end(e, 32) == 77 &&
                at_end(e, 40) == 0);
    assert_true(at_end(e, 23 * 8) == 16000 && at_end(e, 22 * 8) == 9000 && at_end(e, 21 * 8) == 12000 &&
                at_end(e, 17 * 8) == 111);
}

static void working_sets(void **state)
{
    (void)state;
    sets(1000, 60);
    sets(2000, 60); /* unchanged: no event */
    sets(3000, 61);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(out.count, 3);
    const struct one *last = &out.event[2];
    assert_true(last->time == 3000 && last->pid == 600 && at_end(last, 8) == 80 && at_end(last, 16) == 244 &&
                at_end(last, 24) == 800);
    uint32_t pid;
    memcpy(&pid, last->payload + last->size - 28, 4);
    assert_int_equal(pid, 600);
}

/* A successor does not repeat events of the file. */
static void successor(void **state)
{
    (void)state;
    sets(1000, 60);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 1500, 1400);
    left_behind();
    sets(2000, 61);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    take_over();
    assert_true(out.count == 1 && out.event[0].pid == 600);
}

/* Counts larger than the record */
static void damaged(void **state)
{
    struct raw_sets r = {.own = {RAW_WORKING_SETS, 0, 0, 1000, 0, 0}, .count = 1000000, .page_kb = 4};
    struct raw_own  m = {RAW_MEMORY, 0, 0, 1100, 0, 0};
    (void)state;
    maker_own(&maker, &r, sizeof r, NULL, NULL);
    maker_own(&maker, &m, sizeof m, NULL, NULL);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    assert_int_equal(out.count, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(machine), T(working_sets), T(successor), T(damaged),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
