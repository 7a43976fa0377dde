/* Proves: issue 5 "autologger bench read --json": its rows, with ratios and goals printed beside them. Needs
 * babeltrace2 and LTTng: else skipped, and what is missing is said. */
// timeout: 240
#include "tools/bench/bench_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void rows(void **state)
{
    static const struct bench_read_size small = {100000, 16};
    struct bench_result                 result;
    struct reason                       why = {0};
    (void)state;
    wstatus st = bench_read(BENCH_READ_LEAST, &small, AL_BINARY_DIR, &result, &why);
    if (st == W_FILE_NOT_FOUND) {
        print_message("skipped: %s\n", why.text);
        assert_non_null(strstr(why.text, "Do: "));
        skip();
    }
    if (st)
        fail_msg("%u: %s", st, why.text);
    bench_print_text(&result, stdout);
    bench_print_json(&result, stdout);
    assert_int_equal(result.count, 4);
    for (unsigned i = 0; i < result.count; i++) {
        const struct bench_row *r = &result.row[i];
        assert_true(r->ratio > 0 && r->p25 <= r->ratio && r->ratio <= r->p75 && r->ours > 0 && r->theirs > 0 &&
                    *r->unit && r->goal > 0);
    }
    assert_true(result.row[3].ratio < 1); /* memory: no load of the machine changes that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
