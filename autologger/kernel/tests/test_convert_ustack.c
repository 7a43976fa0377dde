/* Copies of programs' stacks: an event of ours behind the one that asked, of the thread that comes at a context switch;
 * none where there is no program; bounded; the same after a change of hands. Damaged sizes are lost records. Proves:
 * KRN-16 (two parts of one stack). */
#include "autologger/kernel/tests/convert_fixture.h"
#include "autologger/wire/stack_copy.h"

#include <sys/mman.h>

enum { MS = 1000000, REGISTERS = STACK_COPY_REGISTERS * 8 };
static const struct klog_config asked = {.mask             = {0x11 | 0x01000000},
                                         .hooks            = {0x0524, 0x0F2E},
                                         .hook_count       = 2,
                                         .user_stack_bytes = 64,
                                         .raw_bytes        = 1 << 20,
                                         .clock            = {1, CLOCK_READ_RAW, 1000000000}};

struct copy {
    uint64_t trigger, first; /* trigger, and the first register */
    uint32_t pid, tid, size;
    uint8_t  byte; /* byte of the stack */
};

static bool nth_copy(unsigned n, struct copy *to)
{
    for (size_t i = 0; i < out.count; i++) {
        const struct one *e = &out.event[i];
        if (e->type != ETL_EVENT64 || !memmem(e->payload, e->size, STACK_COPY_EVENT, sizeof STACK_COPY_EVENT) ||
            n-- != 0)
            continue;
        const uint8_t *p = e->payload;
        uint16_t       size;
        for (struct etl_ext_item item = {.linkage = 1}; item.linkage & 1; p += item.total)
            memcpy(&item, p, sizeof item);
        memcpy(&to->trigger, p, 8);
        memcpy(&to->pid, p + 8, 4);
        memcpy(&to->tid, p + 12, 4);
        memcpy(&size, p + 16, 2);
        assert_int_equal(size, REGISTERS);
        memcpy(&to->first, p + 18, 8);
        memcpy(&size, p + 18 + REGISTERS, 2);
        to->size = size;
        to->byte = p[20 + REGISTERS];
        assert_true(e->time > to->trigger);
        return true;
    }
    return false;
}

static int setup(void **state)
{
    (void)state;
    fixture_begin(&asked);
    maker.log.header->source[SRC_SWITCH].flags |= RAW_SOURCE_CHAIN | RAW_SOURCE_USER;
    maker.log.header->source[SRC_CLOCK].flags |= RAW_SOURCE_CHAIN | RAW_SOURCE_USER;
    maker.user_words = 2;
    maker.user_asked = 64;
    maker.user_had   = 40;
    return 0;
}

static void profile(uint64_t time, uint32_t tid, uint64_t base)
{
    maker.user_base = base;
    maker_sample(&maker, 0, SRC_CLOCK, time, tid, tid, 0, 0, NULL, 0);
}

static void leaves(uint64_t time, uint32_t from, uint32_t to, uint64_t base)
{
    maker.user_base = base;
    maker_switch(&maker, 0, time, from, to, 1, 0xffffffff81000000, 2);
}

static void tasks(void)
{
    maker_task(&maker, 0, PERF_RECORD_FORK, 1 * MS, 100, 1, 100, 1);
    maker_task(&maker, 0, PERF_RECORD_FORK, 1 * MS + 1, 200, 1, 200, 1);
}

static void end(uint64_t time)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, time, time);
}

static void a_copy_goes_with_its_event(void **state)
{
    struct copy c;
    (void)state;
    tasks();
    profile(2 * MS, 100, 0x10);
    maker.user_words = 0; /* a thread of the kernel's */
    maker.user_asked = 0;
    profile(3 * MS, 200, 0x20);
    maker.user_words = 1; /* a 32-bit program */
    maker.user_asked = 64;
    profile(4 * MS, 200, 0x30);
    maker.user_words = 2;
    maker.user_had   = 1000; /* more than requested is impossible */
    profile(5 * MS, 200, 0x40);
    end(6 * MS);
    run();
    assert_true(nth_copy(0, &c));
    assert_true(c.trigger == nth(0x0F2E, 0)->time && c.pid == 100 && c.tid == 100 && c.first == 0x10 && c.size == 40 &&
                c.byte == 0x10);
    assert_true(nth_copy(1, &c));
    assert_true(c.trigger == nth(0x0F2E, 3)->time && c.size == 64 && c.first == 0x40);
    assert_false(nth_copy(2, &c));
}

static void a_switch_has_that_of_the_thread_that_comes(void **state)
{
    struct copy c;
    (void)state;
    tasks();
    leaves(2 * MS, 100, 200, 0x11); /* the first switch to 200: its leaving was not seen */
    leaves(3 * MS, 200, 100, 0x22);
    leaves(4 * MS, 100, 200, 0x33);
    end(5 * MS);
    run();
    assert_true(nth_copy(0, &c));
    assert_true(c.trigger == nth(0x0524, 1)->time && c.tid == 100 && c.first == 0x11);
    assert_true(nth_copy(1, &c));
    assert_true(c.trigger == nth(0x0524, 2)->time && c.tid == 200 && c.first == 0x22);
    assert_false(nth_copy(2, &c));
    /* the kernel's part has its own event, with the same time, process and thread */
    assert_int_equal(count(0x1820), 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct one *kernel = nth(0x1820, i);
        assert_true(nth_copy(i, &c));
        assert_true(u64(kernel, 0) == c.trigger && u32(kernel, 8) == c.pid && u32(kernel, 12) == c.tid &&
                    c.pid == c.tid);
    }
}

static void a_successor_has_it_too(void **state)
{
    struct convert c, next;
    struct copy    copy;
    int            fd = memfd_create("snapshot", MFD_CLOEXEC);
    (void)state;
    tasks();
    leaves(2 * MS, 100, 200, 0x11);
    end(3 * MS);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_int_equal(convert_snapshot_write(&c, convert_needed(&c), fd, NULL), 0);
    convert_finish(&c);
    leaves(4 * MS, 200, 100, 0x22);
    end(5 * MS);
    assert_int_equal(convert_init(&next, &config, &maker.log, NULL), 0);
    assert_int_equal(convert_snapshot_read(&next, fd, NULL), 0);
    take_all(&next);
    convert_finish(&next);
    close(fd);
    assert_true(nth_copy(0, &copy) && copy.tid == 100 && copy.first == 0x11);
    assert_false(nth_copy(1, &copy));
}

static void a_damaged_size_is_a_lost_record(void **state)
{
    struct convert c;
    (void)state;
    tasks();
    maker.user_base = 0x10;
    maker_sample(&maker, 0, SRC_CLOCK, 2 * MS, 100, 100, 0, 0, NULL, 0);
    uint64_t wild = UINT64_C(0x4000000000000010);
    memcpy(maker.chunk + maker.used - 8 - 64 - 8, &wild, 8); /* how much of the stack follows */
    end(3 * MS);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_int_equal(c.lost, 1);
    convert_finish(&c);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {T(a_copy_goes_with_its_event), T(a_switch_has_that_of_the_thread_that_comes),
                                       T(a_successor_has_it_too), T(a_damaged_size_is_a_lost_record)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
