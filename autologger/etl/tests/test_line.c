/* Files on one time line, and files that are not (D-05, D-09): frequencies as two programs measure them, corrected
 * dates, other boots.
 * Proves: SES-16. */
#include "autologger/etl/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define HZ INT64_C(2596145809)
#define SECOND INT64_C(10000000)
#define START INT64_C(132268250824476034)

/* A file that begins `at` s after raw 0, whose date is START, and lasts `length` s. */
static struct etl_file_header file(int64_t at, int64_t length)
{
    return (struct etl_file_header){.raw       = {.clock_type = 1,
                                                  .perf_freq  = HZ,
                                                  .cpu_mhz    = 2596,
                                                  .start_time = START + at * SECOND,
                                                  .boot_time  = START,
                                                  .end_time   = length ? START + (at + length) * SECOND : 0},
                                    .start_raw = at * HZ};
}

static void one_line(void **state)
{
    struct etl_file_header a = file(100, 60), b = file(110, 30);
    uint64_t               off;
    (void)state;
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_ONE);
    assert_true(off <= 1);
    b.raw.perf_freq = 2596145832; /* another daemon's figure */
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_ONE);
    b.raw.perf_freq = HZ + HZ / 1000;
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_CLOCKS);
    b.raw.perf_freq  = HZ;
    b.raw.clock_type = 3;
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_CLOCKS);
}

static void dates_that_moved(void **state)
{
    struct etl_file_header a = file(100, 86400), b = file(110, 30);
    uint64_t               off;
    (void)state;
    a.raw.start_time += 2 * SECOND; /* a day's slewing, as the last header of `a` has it */
    a.raw.end_time += 2 * SECOND;
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_ONE);
    assert_int_equal(etl_lines_compare(&b, &a, &off), ETL_LINES_ONE);
    a = file(100, 60);
    b.raw.start_time += 2 * SECOND; /* too much within a minute */
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_APART);
    assert_true(off / SECOND == 2);
    b           = file(110, 30);
    b.start_raw = 5 * HZ; /* another boot's clock began anew */
    assert_int_equal(etl_lines_compare(&a, &b, &off), ETL_LINES_APART);
}

static void the_later_date(void **state)
{
    struct etl_file_header a = file(100, 60), b = file(110, 80), c = file(150, 0);
    (void)state;
    assert_true(etl_line_later(&a, &b) && !etl_line_later(&b, &a));
    assert_true(!etl_line_later(&a, &c)); /* not finished: its start counts */
    b.raw.start_time += SECOND;
    b.raw.end_time += SECOND;
    b.raw.perf_freq = HZ + 23;
    etl_line_follow(&a, &b);
    assert_true(llabs(a.raw.start_time - (START + 101 * SECOND)) <= 1);
    assert_int_equal(a.raw.end_time - a.raw.start_time, 60 * SECOND);
    assert_int_equal(a.raw.start_time - a.raw.boot_time, 100 * SECOND);
    assert_int_equal(a.raw.perf_freq, HZ + 23);
    for (int64_t s = 0; s < 1000; s += 37) { /* each moment has one date in both files */
        const uint64_t one = etl_filetime(&a, s * HZ), two = etl_filetime(&b, s * HZ);
        assert_true(one - two + 1 <= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_line), cmocka_unit_test(dates_that_moved),
                                       cmocka_unit_test(the_later_date)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
