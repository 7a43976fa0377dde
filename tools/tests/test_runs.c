/* Several boots in a row: which of the history are theirs, median and spread. Proves: CTL-16 (N runs). */
#include "tools/setup/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void spread(void **state)
{
    (void)state;
    static const struct {
        uint64_t           values[5];
        unsigned           count;
        struct runs_spread want;
    } rows[] = {
        {{0}, 0, {0, 0, 0}},
        {{7}, 1, {7, 7, 7}},
        {{9, 1}, 2, {5, 1, 9}},
        {{30, 10, 20}, 3, {20, 10, 30}},
        {{5, 1, 9, 7, 3}, 5, {5, 1, 9}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t values[5];
        for (unsigned k = 0; k < 5; k++)
            values[k] = rows[i].values[k];
        struct runs_spread s = runs_spread_of(values, rows[i].count);
        assert_true(s.median == rows[i].want.median && s.least == rows[i].want.least && s.most == rows[i].want.most);
    }
}

static void which(void **state)
{
    (void)state;
    struct history_boot boots[] = {
        {.finished = true, .list = {.number = 8}},  {.finished = true, .list = {.number = 7, .rehearsal = true}},
        {.finished = false, .list = {.number = 6}}, {.finished = true, .list = {.number = 5}},
        {.finished = true, .list = {.number = 4}},
    };
    struct history h = {.boots = boots, .count = 5};
    struct runs    r = {.wanted = 3, .from = 4};
    assert_int_equal(runs_done(&r, &h), 2); /* 8 and 5 */
    assert_true(runs_left(&r, &h));
    r.wanted = 2;
    assert_false(runs_left(&r, &h));
    r = (struct runs){.wanted = 5, .from = 3}; /* 3 of 5 are done, and the history has every traced boot */
    assert_true(runs_left(&r, &h));
    r.from = 2; /* boot 3 was given up: 6 boots were traced, more would not help */
    assert_false(runs_left(&r, &h));
    r.wanted = 7; /* with 7 wanted another boot helps */
    assert_true(runs_left(&r, &h));
    r.from = 8;
    assert_int_equal(runs_done(&r, &h), 0);
    assert_true(runs_left(&r, &(struct history){0}));
}

static void kept(void **state)
{
    (void)state;
    struct regstore *store = NULL;
    struct runs      r     = {.wanted = 5, .from = 12, .reboot = true, .accept_tpm = true, .word = "boot-cpu"}, got;
    struct reason    why   = {0};
    assert_int_equal(regstore_open_memory(&store, &why), 0);
    assert_int_equal(runs_load(store, &got, &why), W_FILE_NOT_FOUND);
    assert_int_equal(runs_save(store, &r, &why), 0);
    assert_int_equal(runs_load(store, &got, &why), 0);
    assert_true(got.wanted == 5 && got.from == 12 && got.reboot && got.accept_tpm && !got.force && !got.no_initramfs);
    assert_string_equal(got.word, "boot-cpu");
    regstore_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spread), cmocka_unit_test(which), cmocka_unit_test(kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
