/* Rings on machines with many processors stay inside of a bound. Proves: issue 4, limits for many CPUs. */
#include "autologger/kernel/source/rings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { KB = 1024, MB = 1024 * 1024 };

static void rings_stay_inside_of_the_bound(void **state)
{
    static const struct {
        unsigned cpus;
        size_t   asked;
        uint64_t session;
        size_t   page, bytes;
    } rows[] = {
        {1, 4 * MB, 2 * MB, 4 * KB, 4 * MB},
        {2, 4 * MB, 2 * MB, 4 * KB, 4 * MB}, /* a small session's buffers do not limit its rings */
        {16, 4 * MB, 2 * MB, 4 * KB, 4 * MB},
        {17, 4 * MB, 2 * MB, 4 * KB, 2 * MB},
        {64, 4 * MB, 2 * MB, 4 * KB, 1 * MB},
        {64, 4 * MB, 256 * MB, 4 * KB, 4 * MB}, /* a large session's buffers do */
        {256, 4 * MB, 2 * MB, 4 * KB, 256 * KB},
        {256, 4 * MB, 256 * MB, 4 * KB, 1 * MB},
        {256, 4 * MB, UINT64_C(1) << 30, 4 * KB, 4 * MB},
        {4096, 4 * MB, 2 * MB, 4 * KB, 64 * KB}, /* no smaller: a burst must find room */
        {2, 3 * MB, 2 * MB, 4 * KB, 4 * MB},     /* a power of two */
        {2, 1, 2 * MB, 4 * KB, 4 * KB},
        {256, 4 * MB, 2 * MB, 64 * KB, 256 * KB},
        {1024, 64 * KB, 2 * MB, 64 * KB, 64 * KB},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t bytes = rings_size(rows[i].cpus, rows[i].asked, rows[i].session, rows[i].page);
        if (bytes != rows[i].bytes)
            fail_msg("row %zu: %zu KB", i, bytes / KB);
        assert_int_equal(bytes & (bytes - 1), 0);
        /* a successor computes the same from the size alone */
        assert_int_equal(rings_size(rows[i].cpus, bytes, rows[i].session, rows[i].page), bytes);
    }
}

static unsigned told;
static void on_condition(void *ctx, wstatus number, bool note, const char *item, const char *reason, const char *advice)
{
    (void)ctx;
    told++;
    assert_true(number == W_NOT_ENOUGH_MEMORY && note && strcmp(item, "rings") == 0 &&
                strstr(advice, "MaximumBuffers"));
    assert_non_null(strstr(
        reason,
        "256 processors: the rings of kernel events have 256 KB each instead of 4096 KB, so that they take 64 MB together"));
}

static void smaller_ones_are_told(void **state)
{
    const struct klog_config config = {.raw_bytes = 2 * MB, .condition = on_condition};
    struct rings             rings  = {.cpus = 256, .bytes = rings_size(256, 4 * MB, config.raw_bytes, 4 * KB)};
    (void)state;
    rings_tell_smaller(&rings, &config);
    assert_int_equal(told, 1);
    rings = (struct rings){.cpus = 2, .bytes = rings_size(2, 4 * MB, config.raw_bytes, 4 * KB)};
    rings_tell_smaller(&rings, &config);
    assert_int_equal(told, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rings_stay_inside_of_the_bound),
                                       cmocka_unit_test(smaller_ones_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
