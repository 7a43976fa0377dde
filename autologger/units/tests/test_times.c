/* systemd's times on the raw clock: interpolated between pairs, and outside of them at the nearest pair's distance. */
#include "autologger/units/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SECOND = 1000000000 };

static void times_between_and_outside_of_pairs(void **state)
{
    static const struct {
        uint64_t us, raw_ns;
    } cases[] = {
        {7000000, 6700000000},   /* before the first pair: 0.3 s behind, as at that pair */
        {299999, 0},             /* before the raw clock began */
        {300001, 1000},          /* after it began */
        {10000000, 9700000000},  /* a pair itself */
        {10500000, 10200050000}, /* the raw clock is faster by 100 ppm here */
        {11000000, 10700100000}, /* the last pair */
        {21000000, 20700100000}, /* after it: at that pair's distance */
    };
    static struct times t = {.count = 2};
    (void)state;
    t.pair[0].monotonic_ns = 10ull * SECOND;
    t.pair[0].raw_ns       = 9700000000;
    t.pair[1].monotonic_ns = 11ull * SECOND;
    t.pair[1].raw_ns       = 10700100000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (times_raw(&t, cases[i].us) != cases[i].raw_ns)
            fail_msg("%llu us: %llu ns instead of %llu", (unsigned long long)cases[i].us,
                     (unsigned long long)times_raw(&t, cases[i].us), (unsigned long long)cases[i].raw_ns);
}

/* More pairs than fit: the first one stays. */
static void the_first_pair_stays(void **state)
{
    static struct times t;
    (void)state;
    times_init(&t);
    assert_int_equal(t.count, 1);
    const uint64_t first = t.pair[0].monotonic_ns;
    for (unsigned i = 0; i < TIMES_PAIRS + 3; i++) {
        t.pair[t.count - 1].monotonic_ns -= t.count > 1 ? 2ull * SECOND : 0; /* as if it were old */
        if (t.count == 1)
            t.pair[0].monotonic_ns -= 2000ull * SECOND;
        times_sync(&t);
        assert_true(t.count >= 1 && t.count <= TIMES_PAIRS);
    }
    assert_int_equal(t.count, TIMES_PAIRS);
    assert_true(t.pair[0].monotonic_ns == first - 2000ull * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_between_and_outside_of_pairs),
                                       cmocka_unit_test(the_first_pair_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
