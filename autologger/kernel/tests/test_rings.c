/* Rings on machines with many processors stay inside of a bound. Proves: issue 4, limits for many CPUs. */
#include "autologger/kernel/rings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { KB = 1024, MB = 1024 * 1024 };

static void rings_stay_inside_of_the_bound(void **state)
{
    static const struct { unsigned cpus; size_t asked; uint64_t session; size_t page, bytes; } rows[] = {
        {1, 4 * MB, 2 * MB, 4 * KB, 4 * MB},
        {2, 4 * MB, 2 * MB, 4 * KB, 4 * MB},   /* the buffers of a small session are no measure for its rings */
        {16, 4 * MB, 2 * MB, 4 * KB, 4 * MB},
        {17, 4 * MB, 2 * MB, 4 * KB, 2 * MB},
        {64, 4 * MB, 2 * MB, 4 * KB, 1 * MB},
        {64, 4 * MB, 256 * MB, 4 * KB, 4 * MB}, /* that of a large one is */
        {256, 4 * MB, 2 * MB, 4 * KB, 256 * KB},
        {256, 4 * MB, 256 * MB, 4 * KB, 1 * MB},
        {256, 4 * MB, UINT64_C(1) << 30, 4 * KB, 4 * MB},
        {4096, 4 * MB, 2 * MB, 4 * KB, 64 * KB}, /* not less: a burst must find room */
        {2, 3 * MB, 2 * MB, 4 * KB, 4 * MB},    /* a power of two */
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
        /* a successor has the same from the size alone */
        assert_int_equal(rings_size(rows[i].cpus, bytes, rows[i].session, rows[i].page), bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rings_stay_inside_of_the_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
