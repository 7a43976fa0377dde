/* Proves: API-07 TLG-18 (ratios, goals printed beside them): the rows of `autologger bench write`. */
// timeout: 120
#include "autologger/provider/bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_write(void **state)
{
    struct bench_result result;
    struct reason       why = {0};
    (void)state;
    assert_int_equal(bench_write(BENCH_ROUNDS_MIN, &result, &why), W_SUCCESS);
    bench_print_text(&result, stdout);
    bench_print_json(&result, stdout);
    assert_int_equal(result.count, 12); /* 3 sizes x enabled, disabled x memcpy, clock */
    for (unsigned i = 0; i < result.count; i++) {
        const struct bench_row *r = &result.row[i];
        assert_true(r->ratio > 0 && r->p25 <= r->ratio && r->ratio <= r->p75 && r->goal > 0);
        assert_int_equal(r->rounds, BENCH_ROUNDS_MIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
