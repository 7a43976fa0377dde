/* Proves: API-07 TLG-17 TLG-18 TLG-19 (ratios, goals printed beside them): issue 6 "autologger bench write, latency, disk --json": their rows, on small
 * runs. Needs LTTng: else skipped, and what is missing is said. */
// timeout: 240
#include "tools/bench_disk.h"
#include "tools/bench_latency.h"
#include "tools/bench_write_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void look(wstatus st, const struct reason *why, const struct bench_result *r, unsigned rows)
{
    if (st == W_FILE_NOT_FOUND) {
        print_message("skipped: %s\n", why->text);
        assert_non_null(strstr(why->text, "Do: "));
        skip();
    }
    if (st)
        fail_msg("%u: %s", st, why->text);
    bench_print_text(r, stdout);
    bench_print_json(r, stdout);
    assert_int_equal(r->count, rows);
    for (unsigned i = 0; i < r->count; i++)
        assert_true(r->row[i].ratio > 0 && r->row[i].p25 <= r->row[i].ratio && r->row[i].ratio <= r->row[i].p75 && *r->row[i].unit && r->row[i].ours > 0);
}

static void test_write(void **state)
{
    static struct bench_result r;
    struct reason              why = {0};
    (void)state;
    look(bench_write_peer(1, AL_BINARY_DIR, &r, &why), &why, &r, 7);
    for (unsigned i = 0; i < r.count; i++)
        if (strcmp(r.row[i].unit, "instructions") == 0)
            assert_true(r.row[i].ratio <= r.row[i].goal); /* counted: no load of the machine changes that */
}

static void test_latency(void **state)
{
    static const struct bench_latency_size small = {.samples = 21, .changes = 20, .runs = 3, .run_ms = 50};
    static struct bench_result             r;
    struct reason                          why = {0};
    char                                   line[200] = "", all[4096] = "";
    (void)state;
    look(bench_latency(1, &small, AL_BINARY_DIR, "bench-runs.json", &r, &why), &why, &r, 6);
    FILE *f = fopen("bench-runs.json", "re");
    while (f && fgets(line, sizeof line, f))
        strncat(all, line, sizeof all - strlen(all) - 1);
    if (f)
        fclose(f);
    remove("bench-runs.json");
    assert_non_null(strstr(all, "\"on_wall_us\": ["));
}

static void test_disk(void **state)
{
    static struct bench_result r;
    struct reason              why = {0};
    (void)state;
    look(bench_disk(1, 300000, AL_BINARY_DIR, &r, &why), &why, &r, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write), cmocka_unit_test(test_latency), cmocka_unit_test(test_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
