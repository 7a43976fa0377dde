/* Clocks that are set and machines that sleep, by made-up readings; and the real timer, which nothing cancels. */
#include "autologger/daemon/sleep_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static void a_sleep_is_reported_once(void **state)
{
    struct sleep_watch w = {-1, 0};
    (void)state;
    assert_int_equal(sleep_watch_slept(&w, 100 * S, 100 * S), 0);
    assert_int_equal(sleep_watch_slept(&w, 100 * S + 9999999, 100 * S), 0); /* read one after the other */
    assert_true(sleep_watch_slept(&w, 160 * S, 101 * S) == 59 * S);
    assert_int_equal(sleep_watch_slept(&w, 161 * S, 102 * S), 0);
    assert_true(sleep_watch_slept(&w, 171 * S, 102 * S) == 10 * S);
}

static void what_was_slept_before_does_not_count(void **state)
{
    struct sleep_watch w = {-1, 3600 * S};
    (void)state;
    assert_int_equal(sleep_watch_slept(&w, 3700 * S, 100 * S), 0);
    assert_true(sleep_watch_slept(&w, 3702 * S, 101 * S) == S);
}

static void clocks_that_stand_wrong_are_no_sleep(void **state)
{
    struct sleep_watch w = {-1, 5 * S};
    (void)state;
    assert_int_equal(sleep_watch_slept(&w, 100 * S, 101 * S), 0);
    assert_int_equal(sleep_watch_slept(&w, 100 * S, 99 * S), 0);
    assert_int_equal(w.apart_ns, 5 * S);
}

static void the_real_timer_waits(void **state)
{
    struct sleep_watch w;
    (void)state;
    assert_true(sleep_watch_open(&w));
    assert_true(w.fd >= 0);
    assert_int_equal(sleep_watch_step(&w), 0);
    sleep_watch_close(&w);
    assert_int_equal(w.fd, -1);
    assert_int_equal(sleep_watch_step(&w), 0);
    sleep_watch_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleep_is_reported_once), cmocka_unit_test(what_was_slept_before_does_not_count),
        cmocka_unit_test(clocks_that_stand_wrong_are_no_sleep), cmocka_unit_test(the_real_timer_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
