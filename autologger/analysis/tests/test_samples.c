/* Samples: the published critical values of the rank sum, shifts and effects of small samples, and how often intervals
 * have the true shift in them, beside those of the bootstrap. */
#include "autologger/analysis/samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 1;
static double   chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}
/* Boots have a long tail: the exponential of a normal distribution. */
static double length(double middle, double spread)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += chance();
    return middle * exp(spread * sum);
}

/* Mann and Whitney's table: U at or below the critical value is significant. The differences of 1, 2, ... and 0.001,
 * 0.002, ... are all different, and the interval leaves out one more of them than that value. */
static void published(void **state)
{
    static const struct {
        unsigned n, m;
        double   risk;
        unsigned critical;
    } rows[] = {{4, 4, 0.05, 0},    {5, 5, 0.05, 2},    {5, 8, 0.05, 6},     {8, 8, 0.05, 13},
                {10, 10, 0.05, 23}, {7, 12, 0.05, 18},  {20, 20, 0.05, 127}, {5, 5, 0.01, 0},
                {8, 8, 0.01, 7},    {10, 10, 0.01, 16}, {20, 20, 0.01, 105}, {15, 20, 0.01, 73}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const unsigned      n = rows[r].n, m = rows[r].m;
        double              a[20], b[20], all[400];
        struct sample_shift s;
        for (unsigned i = 0; i < n; i++)
            a[i] = i * 0.001;
        for (unsigned j = 0; j < m; j++)
            b[j] = j;
        for (unsigned i = 0; i < n * m; i++)
            all[i] = b[i % m] - a[i / m];
        samples_median(all, n * m);
        assert_true(samples_shift(a, n, b, m, rows[r].risk, &s));
        assert_true(s.low == all[rows[r].critical] && s.high == all[n * m - 1 - rows[r].critical]);
    }
}

static void small_ones(void **state)
{
    const double        a[] = {1, 2, 3, 4, 5, 6}, b[] = {11, 12, 13, 14, 15, 16};
    double              odd[] = {3, 1, 2}, even[] = {4, 1, 2, 3};
    struct sample_shift s;
    (void)state;
    assert_true(samples_median(odd, 3) == 2 && samples_median(even, 4) == 2.5);
    assert_true(samples_shift(a, 6, b, 6, 0.05, &s) && s.shift == 10 && s.effect == 1 && s.low > 5 && s.high < 15);
    assert_true(samples_shift(b, 6, a, 6, 0.05, &s) && s.shift == -10 && s.effect == -1);
    assert_true(samples_shift(a, 6, a, 6, 0.05, &s) && s.shift == 0 && s.effect == 0 && s.low < 0 && s.high > 0);
    assert_true(samples_shift(a, 1, b, 1, 0.05, &s) && s.shift == 10 && isinf(s.low) && isinf(s.high));
    assert_int_equal(samples_least(0.05), 4); /* 2 of 70 orders */
    assert_int_equal(samples_least(0.02), 5);
    assert_int_equal(samples_least(0.02 / 50), 8);
    assert_true(samples_shift(a, 3, b, 3, 0.05, &s) && isinf(s.low)); /* three boots a side show nothing */
}

enum { RUNS = 2000, DRAWS = 400 };
static bool bootstrap_has(const double *a, const double *b, unsigned n, double shift)
{
    double drawn[DRAWS], x[64], y[64];
    for (unsigned d = 0; d < DRAWS; d++) {
        for (unsigned i = 0; i < n; i++) {
            x[i] = a[(unsigned)(chance() * n)];
            y[i] = b[(unsigned)(chance() * n)];
        }
        drawn[d] = samples_median(y, n) - samples_median(x, n);
    }
    samples_median(drawn, DRAWS);
    return drawn[DRAWS / 40] <= shift && shift <= drawn[DRAWS - 1 - DRAWS / 40];
}

/* Of 95 % intervals, 95 % have the true shift in them, whatever the number of boots. */
static void intervals_hold(void **state)
{
    static const unsigned numbers[] = {4, 6, 10, 20, 40};
    (void)state;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const unsigned n     = numbers[k];
        unsigned       ranks = 0, drawn = 0;
        for (unsigned r = 0; r < RUNS; r++) {
            double              a[64], b[64];
            struct sample_shift s;
            for (unsigned i = 0; i < n; i++) {
                a[i] = length(10, 0.1);
                b[i] = length(10, 0.1) + 0.5;
            }
            assert_true(samples_shift(a, n, b, n, 0.05, &s));
            ranks += s.low <= 0.5 && 0.5 <= s.high;
            drawn += r < RUNS / 4 && bootstrap_has(a, b, n, 0.5);
        }
        print_message("%u a side: %.1f %% of the intervals hold; by bootstrap %.1f %%\n", n, 100.0 * ranks / RUNS,
                      400.0 * drawn / RUNS);
        assert_true(ranks > RUNS * 94 / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published), cmocka_unit_test(small_ones),
                                       cmocka_unit_test(intervals_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
