/* Sources told field by field, and pairs of a begin and an end: pool, pages, cache, work, locks, debuggers. Raw
 * records in, every class read back. Proves: issue 4, MEMORY, POOL, SPINLOCK, SYNCOBJECTS, KQUEUE, CC, DEBUG_EVENTS,
 * AFFINITY, CONTMEMGEN, WS, KE_CLOCK. */
#include "autologger/kernel/tests/convert_fixture.h"

enum { TID = 501, OTHER = 700 };

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask       = {0x400000, 0x09131041, 0x08100000, 0, 0x20000},
                                        .hooks      = {0x0E20, 0x052B},
                                        .hook_count = 2,
                                        .clock      = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

/* A record of `source` with these numbers in the order of its fields; a text replaces the number `text_at`: somewhere
 * in the record, or (array) in the field itself. */
static void record_text(unsigned source, uint64_t time, unsigned numbers, const uint64_t *number, int text_at,
                        const char *text, bool array)
{
    struct {
        uint64_t common, number[6];
        char     text[32];
    } raw = {0};
    for (unsigned i = 0; i < numbers; i++) {
        raw.number[i]                             = number[i];
        maker.log.header->source[source].field[i] = (struct raw_field){(uint16_t)(8 + i * 8), 8};
    }
    if (text) {
        memcpy(raw.text, text, strlen(text) + 1);
        raw.number[text_at]                             = offsetof(__typeof__(raw), text) | (strlen(text) + 1) << 16;
        maker.log.header->source[source].field[text_at] = array
                                                              ? (struct raw_field){offsetof(__typeof__(raw), text), 32}
                                                              : (struct raw_field){(uint16_t)(8 + text_at * 8), 4};
    }
    maker.log.header->source[source].flags |= RAW_SOURCE_CHAIN;
    maker_sample(&maker, 0, source, time, TID - 1, TID, 0x7000, 3, &raw, sizeof raw);
}
#define RECORD(source, time, ...) \
    record_text(source, time, sizeof(uint64_t[]){__VA_ARGS__} / 8, (const uint64_t[]){__VA_ARGS__}, 0, NULL, false)

static void finish(void)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 90000, UINT64_MAX);
    run();
}

static void told_as_it_is(void **state)
{
    (void)state;
    RECORD(SRC_KMALLOC, 1000, 0xffffffff81000100, 0xffff888000001000, 100, 128, 0xcc0);
    RECORD(SRC_CACHE_ALLOC, 1010, 0xffffffff81000200, 0xffff888000002000, 200, 256, 0xdc0);
    RECORD(SRC_KFREE, 1020, 0xffffffff81000300, 0xffff888000001000);
    record_text(SRC_CACHE_FREE, 1030, 3, (const uint64_t[]){0xffffffff81000400, 0xffff888000002000, 0}, 2, "dentry",
                false);
    RECORD(SRC_PAGE_ALLOC, 1100, 4711, 3, 0x400cc0, 1);
    RECORD(SRC_PAGE_FREE, 1110, 4711, 3);
    RECORD(SRC_RECLAIM_BEGIN, 1130, 9, 0xcc1);
    RECORD(SRC_RECLAIM_END, 1140, 32);
    RECORD(SRC_KSWAPD_WAKE, 1150, 1, 2);
    RECORD(SRC_KSWAPD_SLEEP, 1160, 1);
    RECORD(SRC_RSS, 1170, 0xabcd, 1, 2, (uint64_t)-8192);
    RECORD(SRC_COMPACT_BEGIN, 1180, 1000, 2000, 1);
    RECORD(SRC_COMPACT_END, 1190, 1000, 2000, 1, 8);
    RECORD(SRC_CACHE_ADD, 1200, 8 << 20 | 1, 77, 5, 2);
    RECORD(SRC_CACHE_REMOVE, 1210, 8 << 20 | 1, 77, 6, 1);
    RECORD(SRC_WRITEBACK_START, 1220, 8 << 20 | 1, 1024, 2);
    RECORD(SRC_WRITEBACK_WRITTEN, 1230, 8 << 20 | 1, (uint64_t)-3, 4);
    record_text(SRC_WRITEBACK_INODE, 1240, 4, (const uint64_t[]){0, 78, (uint64_t)-5, 9}, 0, "8:0", true);
    record_text(SRC_WORK_QUEUE, 1250, 5, (const uint64_t[]){0xffff888000003000, 0xffffffff81000500, 0, (uint64_t)-1, 1},
                2, "events", false);
    RECORD(SRC_MIGRATE, 1260, 600, 1, 2);
    RECORD(SRC_TICK_STOP, 1270, 1, 0x4);
    finish();
    assert_int_equal(count(0x1820), 2); /* only PoolAlloc has stacks: for both kinds of allocation */
    assert_true(u64(nth(0x1820, 0), 0) == 1000 && u32(nth(0x1820, 0), 12) == TID && u64(nth(0x1820, 1), 0) == 1010);
}

static void waits_and_work(void **state)
{
    (void)state;
    RECORD(SRC_LOCK_END, 900, 0xffff888000009000, 0);         /* it began before the trace */
    RECORD(SRC_LOCK_BEGIN, 1000, 0xffff888000004000, 32 | 1); /* a mutex spins first, */
    RECORD(SRC_LOCK_BEGIN, 1100, 0xffff888000005000, 1);      /* and in between an interrupt waits for another lock */
    RECORD(SRC_LOCK_END, 1200, 0xffff888000005000, 0);
    RECORD(SRC_LOCK_END, 1300, 0xffff888000004000, (uint64_t)-4);
    RECORD(SRC_WORK_END, 1900, 0xffff888000003000, 0xffffffff81000500);
    RECORD(SRC_WORK_START, 2000, 0xffff888000003000, 0xffffffff81000500);
    RECORD(SRC_WORK_END, 2100, 0xffff888000003000, 0xffffffff81000500);
    RECORD(SRC_PTRACE, 3000, 16, OTHER);
    RECORD(SRC_PTRACE_EXIT, 3010, (uint64_t)-1);
    RECORD(SRC_PTRACE, 3020, 3, OTHER); /* PTRACE_PEEKUSER: neither comes nor goes */
    RECORD(SRC_PTRACE_EXIT, 3030, 0);
    RECORD(SRC_PTRACE, 3040, 17, OTHER);
    RECORD(SRC_PTRACE_EXIT, 3050, (uint64_t)-3);
    RECORD(SRC_PTRACE, 3060, 0, 0); /* PTRACE_TRACEME */
    RECORD(SRC_PTRACE_EXIT, 3070, 0);
    finish();
    /* SpinLockWait, LockWait with its stack, WorkStart, WorkerThread, WorkEnd, three of debuggers */
    assert_int_equal(out.count, 9);
    assert_true(count(0x1820) == 1 && count(0x0539) == 1 && u64(nth(0x0539, 0), 4) == 2000);
    const struct one *own = &out.event[out.count - 1]; /* PTRACE_TRACEME: the caller is the target */
    assert_true(u32(own, own->size - 12) == TID && u32(own, own->size - 8) == 0);
}

static void only_what_was_asked_for(void **state)
{
    (void)state;
    config.mask[1] = 0x10000;
    RECORD(SRC_LOCK_BEGIN, 1000, 0xffff888000004000, 32);
    RECORD(SRC_LOCK_END, 1300, 0xffff888000004000, 0);
    RECORD(SRC_LOCK_BEGIN, 1400, 0xffff888000004000, 1);
    RECORD(SRC_LOCK_END, 1500, 0xffff888000004000, 0);
    RECORD(SRC_WORK_START, 2000, 0xffff888000003000, 0xffffffff81000500);
    RECORD(SRC_WORK_END, 2100, 0xffff888000003000, 0xffffffff81000500);
    finish();
    assert_true(out.count == 2 && count(0x0539) == 1); /* a spinning lock; WORKER_THREAD */
}

/* A successor knows operations in progress. */
static void successor(void **state)
{
    (void)state;
    RECORD(SRC_LOCK_BEGIN, 1000, 0xffff888000004000, 32);
    RECORD(SRC_WORK_START, 1100, 0xffff888000003000, 0xffffffff81000500);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 1500, 1400);
    left_behind();
    RECORD(SRC_LOCK_END, 2000, 0xffff888000004000, 0);
    RECORD(SRC_WORK_END, 2100, 0xffff888000003000, 0xffffffff81000500);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    take_over();
    assert_true(out.count == 4 && count(0x0539) == 1 && u64(nth(0x0539, 0), 4) == 1100);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(told_as_it_is), T(waits_and_work), T(only_what_was_asked_for), T(successor),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
