/* Proves: issue 4 "autologger bench kernel --json": its rows, with ratios and goals printed beside them. Needs root,
 * perf and tracefs: else skipped, and what is missing is said. */
// timeout: 240
#include "tools/bench/bench_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void rows(void **state)
{
    struct bench_result result;
    struct reason       why = {0};
    (void)state;
    wstatus st = bench_kernel(BENCH_KERNEL_LEAST, AL_BINARY_DIR, &result, &why);
    if (st == W_PRIVILEGE_NOT_HELD || st == W_FILE_NOT_FOUND || st == W_NOT_SUPPORTED) {
        print_message("skipped: %s\n", why.text);
        assert_non_null(strstr(why.text, "Do: "));
        skip();
    }
    if (st)
        fail_msg("%u: %s", st, why.text);
    bench_print_text(&result, stdout);
    bench_print_json(&result, stdout);
    assert_int_equal(result.count, 8);
    for (unsigned i = 0; i < result.count; i++) {
        const struct bench_row *r = &result.row[i];
        assert_true(r->ratio > 0 && r->p25 <= r->ratio && r->ratio <= r->p75 && r->ours > 0 && r->theirs > 0 &&
                    *r->unit && *r->peer_version);
        assert_int_equal(r->rounds, BENCH_KERNEL_LEAST);
        if (strstr(r->row, "daemon CPU"))
            assert_true(r->ratio <= r->goal); /* passes by far, whatever the load of the machine */
        if (strcmp(r->row, "switches that have a stack") == 0)
            assert_true(r->ours > 98);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
