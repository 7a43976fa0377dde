/* Keys of stacks (StackCaching): a repeated stack is defined once and then referred to; no key is used without a
 * definition in the file: with a full table, after a predecessor, and after a hand-over. At the end all definitions are
 * repeated.
 * Proves: issue 4, optional de-duplication of stacks. */
#include "autologger/kernel/tests/convert_fixture.h"

enum { STACK = 0x1820, CREATE = 0x1822, RUNDOWN = 0x1824, KERNEL = 0x1825, USER = 0x1826 };
static const uint64_t in_kernel[] = {0xffffffff81000010, 0xffffffff81000020, 0xffffffff81000030};
static struct convert c;

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask                = {1},
                                        .raw_bytes           = 1 << 20,
                                        .clock               = {1, CLOCK_READ_RAW, 1000000000},
                                        .stack_cache_bytes   = 4096,
                                        .stack_cache_buckets = 3});
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    return 0;
}
static int end(void **state)
{
    convert_finish(&c);
    return teardown(state);
}

/* The stack of a thread: `kernel` frames of the kernel, then `user` frames that begin with `base`. */
static void stack(unsigned cpu, uint64_t trigger, uint32_t tid, unsigned kernel, unsigned user, uint64_t base)
{
    uint64_t chain[64];
    unsigned n = 0;
    for (unsigned i = 0; i < kernel; i++)
        chain[n++] = in_kernel[i];
    chain[n++] = (uint64_t)-512; /* PERF_CONTEXT_USER */
    for (unsigned i = 0; i < user; i++)
        chain[n++] = base + i * 16;
    emit_stack(&c, &(struct actor){cpu, 100, tid}, trigger, (const uint8_t *)chain, n);
}

static void taken(void)
{
    out.count = 0;
    take_all(&c);
}

/* Every reference follows its definition, in the order in which events are read. */
static void check_defined(void)
{
    for (size_t i = 0; i < out.count; i++) {
        bool defined = out.event[i].hook != KERNEL && out.event[i].hook != USER;
        for (size_t k = 0; k < i && !defined; k++)
            defined = out.event[k].hook == CREATE && u64(&out.event[k], 0) == u64(&out.event[i], 16) &&
                      out.event[k].time < out.event[i].time;
        assert_true(defined);
    }
}

static void who_comes_again_gets_a_key(void **state)
{
    (void)state;
    stack(0, 1000, 7, 3, 4, 0x400000);
    stack(1, 2000, 8, 3, 4, 0x400000);
    stack(0, 2500, 7, 3, 4, 0x400000);
    stack(0, 3000, 7, 3, 4, 0x500000); /* another program's part behind the same kernel part: used once */
    stack(0, 4000, 7, 2, 0, 0);        /* a kernel thread */
    stack(1, 5000, 9, 2, 0, 0);
    taken();
    check_defined();
    assert_true(count(STACK) == 3 && count(CREATE) == 2 && count(KERNEL) == 1 && count(USER) == 2 && c.stacks == 6);
    const struct one *first = nth(CREATE, 0), *used = nth(USER, 0), *again = nth(USER, 1);
    assert_true(first->size == 64 && first->version == 2 && first->type == ETL_PERFINFO64 &&
                memcmp(first->payload + 8, in_kernel, 24) == 0 && u64(first, 32) == 0x400000);
    assert_memory_equal(first->payload + 8, nth(STACK, 0)->payload + 16, 56); /* the frames written whole */
    assert_true(used->size == 24 && u64(used, 0) == 2000 && u32(used, 8) == 100 && u32(used, 12) == 8 &&
                u64(used, 16) == u64(first, 0) && used->cpu == 1);
    assert_true(u64(again, 16) == u64(first, 0) && u32(again, 12) == 7 && u64(again, 0) == 2500);
    assert_true(u64(nth(KERNEL, 0), 16) == u64(nth(CREATE, 1), 0) && u32(nth(KERNEL, 0), 12) == 9 &&
                nth(CREATE, 1)->size == 24);
}

static void what_a_key_does_not_shorten_is_whole(void **state)
{
    (void)state;
    for (uint64_t trigger = 1000; trigger < 4000; trigger += 1000)
        stack(0, trigger, 7, 0, 1, 0x400000);
    stack(0, 5000, 7, 0, 0, 0);
    taken();
    assert_true(count(STACK) == 3 && out.count == 3 && c.stacks == 3 && c.stacks_missing == 1);
    assert_true(nth(STACK, 1)->size == 24 && u64(nth(STACK, 1), 16) == 0x400000 && u64(nth(STACK, 1), 0) == 2000);
}

/* The table is bounded: a stack that finds no room is written whole, each time, and the stacks in it stay. */
static void the_table_is_bounded(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        stack(0, 1000 + i * 100, 7, 0, 20, 0x400000 + i / 3 * 0x1000);
    stack(0, 90000, 7, 0, 20, 0x400000);
    taken();
    check_defined();
    const unsigned known = count(CREATE), entry = 24 + 20 * 8, for_seen = config.stack_cache_bytes / 8;
    assert_int_equal(known, (config.stack_cache_bytes - for_seen) / entry);
    assert_true(count(USER) == 2 * known + 1 && count(STACK) == 300 - 2 * known && c.stacks == 301);
    assert_int_equal(u64(nth(USER, 2 * known), 16), u64(nth(CREATE, 0), 0));
    assert_int_equal(nth(STACK, 0)->size, 16 + 160);
}

/* While an adopter repeats its predecessor's part it gives nothing, and takes no definition as written: its predecessor
 * may have had no room for it. */
static void an_adopter_defines_what_it_uses(void **state)
{
    (void)state;
    stack(0, 900, 7, 3, 0, 0);
    stack(0, 1000, 7, 3, 0, 0);
    taken();
    uint64_t key = u64(nth(CREATE, 0), 0), create = nth(CREATE, 0)->time;
    /* the file has neither, the definition alone, or both */
    for (uint64_t upto = create - 1; upto <= create + 1; upto++) {
        convert_finish(&c);
        assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
        convert_suppress(&c, 0, upto);
        stack(0, 900, 7, 3, 0, 0);
        stack(0, 1000, 7, 3, 0, 0);
        stack(0, 2000, 7, 3, 0, 0);
        taken();
        check_defined();
        assert_int_equal(count(CREATE), 1);
        assert_int_equal(u64(nth(CREATE, 0), 0), key); /* every converter gives the same key */
        assert_true(count(KERNEL) == (upto < create ? 2 : 1) && count(STACK) == (upto == create ? 1 : 0));
    }
}

static void all_are_told_at_the_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        stack(0, 1000 + i * 100, 7, 3, 4, 0x400000);
        stack(1, 2000 + i * 100, 8, 2, 4, 0x400000);
    }
    maker_pass(&maker, 9000, UINT64_MAX);
    taken();
    assert_true(count(CREATE) == 2 && count(RUNDOWN) == 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct one *at_end = nth(RUNDOWN, i);
        unsigned          same   = 0;
        for (unsigned k = 0; k < 2; k++)
            same += nth(CREATE, k)->size == at_end->size &&
                    memcmp(nth(CREATE, k)->payload, at_end->payload, at_end->size) == 0;
        assert_int_equal(same, 1);
        assert_true(at_end->time > nth(USER, 3)->time);
    }
    size_t before = out.count;
    take_all(&c);
    assert_int_equal(out.count, before); /* only once */
}

static struct {
    unsigned told, known;
} keys;
static void key_is_a_definition(void *ctx, const struct klog_record *r)
{
    (void)ctx;
    struct etl_perfinfo_header h;
    memcpy(&h, r->data, sizeof h);
    assert_true(h.size == r->size && r->time == 77 && h.time == 77 && (h.type | h.group << 8) == RUNDOWN);
    keys.told++;
    for (unsigned k = 0; k < count(CREATE); k++)
        keys.known += nth(CREATE, k)->size == r->size - sizeof h &&
                      memcmp(nth(CREATE, k)->payload, r->data + sizeof h, r->size - sizeof h) == 0;
}

/* For a file that follows another: all definitions, whenever they are asked for. After the end they can still be
 * told. */
static void all_can_be_told_and_ended(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < 5; k++)
            stack(0, 1000 + i * 1000 + k * 100, 7, 3, 1 + k, 0x400000);
    taken();
    assert_int_equal(count(CREATE), 5);
    for (unsigned twice = 0; twice < 2; twice++) {
        keys.told = keys.known = 0;
        convert_stack_keys(&c, 77, key_is_a_definition, NULL);
        assert_true(keys.told == 5 && keys.known == 5);
        if (!twice)
            convert_stack_keys_end(&c);
    }
    stack(0, 4000, 7, 3, 1, 0x400000);
    stack(0, 4100, 7, 3, 1, 0x400000);
    taken();
    assert_true(out.count == 2 && count(STACK) == 2);
}

static void off_is_as_ever(void **state)
{
    (void)state;
    config.stack_cache_bytes = 0;
    stack(0, 1000, 7, 3, 4, 0x400000);
    taken();
    assert_true(out.count == 1 && count(STACK) == 1 && nth(STACK, 0)->size == 16 + 56 && nth(STACK, 0)->time == 1001);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, end)
    const struct CMUnitTest tests[] = {T(who_comes_again_gets_a_key),
                                       T(what_a_key_does_not_shorten_is_whole),
                                       T(the_table_is_bounded),
                                       T(an_adopter_defines_what_it_uses),
                                       T(all_are_told_at_the_end),
                                       T(all_can_be_told_and_ended),
                                       T(off_is_as_ever),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
