/* Proves: API-07 TLG-17 TLG-18 TLG-19 (ratios, goals printed beside them): issue 6 "autologger bench write, latency,
 * disk --json": their rows, on small runs. Needs LTTng: else skipped, and what is missing is said. */
// timeout: 240
#include "tools/bench/bench_bare.h"
#include "tools/bench/bench_disk.h"
#include "tools/bench/bench_latency.h"
#include "tools/bench/bench_write_peer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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
        assert_true(r->row[i].ratio > 0 && r->row[i].p25 <= r->row[i].ratio && r->row[i].ratio <= r->row[i].p75 &&
                    *r->row[i].unit && r->row[i].ours > 0);
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
    struct reason                          why       = {0};
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
    look(bench_disk(1, 300000, AL_BINARY_DIR, &r, &why), &why, &r, 5);
}

/* The least there is to do is done: the file has all full buffers, as long as it is there; and no folder is an error,
 * also for who fills. */
static void test_bare(void **state)
{
    static const struct bench_bare_size size = {
        .memory = 1 << 20, .buffer = 256 << 10, .record = 88, .records = 100000};
    struct bench_bare bare;
    struct reason     why = {0};
    (void)state;
    assert_int_equal(bench_bare("bench-bare", &size, &bare, &why), W_SUCCESS);
    assert_true(bare.copy > 0 && bare.write > 0);
    assert_int_equal(access("bench-bare", F_OK), -1);
    assert_int_not_equal(bench_bare("no-such-folder/bench-bare", &size, &bare, &why), W_SUCCESS);
    assert_non_null(strstr(why.text, "no-such-folder/bench-bare"));

    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){.rlim_cur = size.buffer + 4096, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_not_equal(bench_bare("bench-bare", &size, &bare, &why), W_SUCCESS);
    assert_non_null(strstr(why.text, "cannot write"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(access("bench-bare", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write), cmocka_unit_test(test_latency),
                                       cmocka_unit_test(test_disk), cmocka_unit_test(test_bare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
