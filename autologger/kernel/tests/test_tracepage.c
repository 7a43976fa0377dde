/* Pages of the kernel's trace buffer, built by hand after the format that the kernel documents in events/header_event.
 * Proves: no length of the trace buffer is believed. */
#include "autologger/kernel/tests/page_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void entries_of_all_kinds(void **state)
{
    struct page_maker  m;
    struct trace_page  p;
    struct trace_entry e;
    uint8_t            data[200] = {7, 0, 1, 2, 9, 0, 0, 0, 0xAA};
    (void)state;
    page_begin(&m, 1000);
    page_entry(&m, 5, data, 12); /* short: the length in the type */
    page_extend(&m, UINT64_C(1) << 40);
    page_entry(&m, 1, data, 112); /* the longest short one */
    page_discarded(&m, 7, 20);
    page_entry(&m, 3, data, 200); /* long: the length in a word of its own */
    page_absolute(&m, (UINT64_C(1) << 41) + 5);
    page_entry(&m, 0, data, 8);
    page_pad(&m);
    assert_true(trace_page_begin(&p, m.bytes, sizeof m.bytes));
    assert_true(trace_page_next(&p, &e));
    assert_int_equal(e.time, 1005);
    assert_int_equal(e.size, 12);
    assert_memory_equal(e.data, data, 12);
    assert_true(trace_page_next(&p, &e));
    assert_int_equal(e.time, 1006 + (UINT64_C(1) << 40));
    assert_int_equal(e.size, 112);
    assert_true(trace_page_next(&p, &e));
    assert_int_equal(e.time, 1016 + (UINT64_C(1) << 40));
    assert_int_equal(e.size, 200);
    assert_memory_equal(e.data, data, 200);
    assert_true(trace_page_next(&p, &e));
    assert_int_equal(e.time, (UINT64_C(1) << 41) + 5);
    assert_false(trace_page_next(&p, &e));
    assert_false(p.damaged);
}

/* 59 bits of time: the top ones come from before, and a carry goes on. */
static void absolute_times_carry(void **state)
{
    struct page_maker  m;
    struct trace_page  p;
    struct trace_entry e;
    uint8_t            data[8] = {7};
    (void)state;
    page_begin(&m, (UINT64_C(3) << 59) + 100);
    page_absolute(&m, 200);
    page_entry(&m, 0, data, 8);
    page_absolute(&m, 50);
    page_entry(&m, 0, data, 8);
    assert_true(trace_page_begin(&p, m.bytes, sizeof m.bytes));
    assert_true(trace_page_next(&p, &e));
    assert_int_equal(e.time, (UINT64_C(3) << 59) + 200);
    assert_true(trace_page_next(&p, &e));
    assert_int_equal(e.time, (UINT64_C(4) << 59) + 50);
}

static unsigned walk(const uint8_t *bytes, size_t size, bool *damaged)
{
    struct trace_page  p;
    struct trace_entry e;
    unsigned           n = 0;
    for (trace_page_begin(&p, bytes, size); trace_page_next(&p, &e); n++)
        assert_true(e.size >= TRACE_ENTRY_HEAD && e.data >= bytes && e.data + e.size <= bytes + size);
    *damaged = p.damaged;
    return n;
}

static void no_length_is_believed(void **state)
{
    uint8_t data[16] = {7};
    bool    damaged;
    (void)state;
    struct page_maker m;
    page_begin(&m, 1);
    page_entry(&m, 1, data, 16);
    page_entry(&m, 1, data, 16);
    size_t whole = m.used;
    assert_int_equal(walk(m.bytes, whole, &damaged), 2);
    assert_false(damaged);
    for (size_t cut = 0; cut < whole; cut++) { /* cut anywhere: more is committed than the page holds */
        assert_int_equal(walk(m.bytes, cut, &damaged), 0);
        assert_true(damaged);
    }
    uint64_t commit = 30; /* an entry beyond the committed bytes */
    memcpy(m.bytes + 8, &commit, 8);
    assert_int_equal(walk(m.bytes, sizeof m.bytes, &damaged), 1);
    assert_true(damaged);
    static const uint32_t bad[][3] = {{1u << 5, 3, 0},
                                      {1u << 5, 0, 0},
                                      {1u << 5, UINT32_MAX, 0},
                                      {29 | 1 << 5, 3, 0},
                                      {29 | 1 << 5, UINT32_MAX, 0},
                                      {1 | 1 << 5, 7, 0},
                                      {1u << 5, 8, 7}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        page_begin(&m, 1);
        page_entry(&m, 1, data, 16);
        page_raw(&m, bad[i], 12);
        assert_int_equal(walk(m.bytes, sizeof m.bytes, &damaged), 1);
        assert_true(damaged);
    }
    /* the flags for missing entries are no part of the length */
    page_begin(&m, 1);
    page_entry(&m, 1, data, 16);
    m.bytes[11] |= 0xC0;
    assert_int_equal(walk(m.bytes, sizeof m.bytes, &damaged), 1);
    assert_false(damaged);
    /* a time that would overflow stays at UINT64_MAX */
    struct trace_page  p;
    struct trace_entry e;
    page_begin(&m, UINT64_MAX - 1);
    page_entry(&m, 5, data, 16);
    assert_true(trace_page_begin(&p, m.bytes, sizeof m.bytes) && trace_page_next(&p, &e));
    assert_int_equal(e.time, UINT64_MAX);
}

static void stats(void **state)
{
    struct trace_stats s;
    (void)state;
    assert_true(
        trace_stats_parse("entries: 24\noverrun: 3\ncommit overrun: 2\nbytes: 2036\noldest event ts: 12764.542579\n"
                          "now ts: 12764.604121\ndropped events: 4\nread events: 5\n",
                          &s));
    assert_int_equal(s.entries, 24);
    assert_int_equal(s.overrun, 3);
    assert_int_equal(s.commit_overrun, 2);
    assert_int_equal(s.dropped, 4);
    assert_int_equal(s.read, 5);
    assert_int_equal(s.now_ns, UINT64_C(12764604121000));
    assert_true(trace_stats_parse("entries: 1\ncommit overrun: 9\nnow ts: 99999\n", &s)); /* not a clock of time */
    assert_true(s.entries == 1 && s.overrun == 0 && s.commit_overrun == 9 && s.now_ns == 0);
    assert_false(trace_stats_parse("", &s));
    assert_false(trace_stats_parse("no entries: 1\n", &s));
}

static void page_sizes(void **state)
{
    (void)state;
    assert_int_equal(
        trace_page_size(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"),
        4096);
    assert_int_equal(trace_page_size("\tfield: char data;\toffset:16;\tsize:16368;\tsigned:0;\n"), 16384);
    assert_int_equal(trace_page_size("\tfield: char data;\toffset:16;\tsize:4294967295;\tsigned:0;\n"), 4096);
    /* a 32-bit kernel's format: not supported */
    assert_int_equal(trace_page_size("\tfield: char data;\toffset:12;\tsize:4080;\tsigned:0;\n"), 4096);
    assert_int_equal(trace_page_size(""), 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(entries_of_all_kinds), cmocka_unit_test(absolute_times_carry),
                                       cmocka_unit_test(no_length_is_believed), cmocka_unit_test(stats),
                                       cmocka_unit_test(page_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
