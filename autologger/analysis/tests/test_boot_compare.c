/* Comparisons of recorded boots: the cause planted in one of them is reported as slower. */
#include "autologger/analysis/boot_compare.h"
#include "autologger/analysis/tests/boot_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct boot *recorded(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, AL_TEST_DIR "/boots/%s.facts", name);
    struct boot *b = facts_read(path);
    assert_non_null(b);
    return b;
}

static const struct boot_change *row_of(const struct boot_comparison *c, enum boot_compare_kind kind, const char *name)
{
    for (unsigned i = 0; i < c->rows; i++)
        if (c->row[i].kind == kind && (!name || strcmp(c->row[i].name, name) == 0))
            return &c->row[i];
    return NULL;
}

static void a_boot_is_as_long_as_itself(void **state)
{
    struct boot            *b = recorded("lock-held");
    struct boot_comparison *c;
    (void)state;
    assert_int_equal(boot_comparison_create((const struct boot *const[]){b}, 1, b, 1, &c, NULL), W_SUCCESS);
    assert_int_equal(c->rows, 1 + b->phases); /* the boot and its phases; no row of a change */
    assert_int_equal(c->row[0].change, 0);
    boot_comparison_destroy(c);
    boot_destroy(b);
}

static void what_is_new_got_slower(void **state)
{
    struct boot            *a = recorded("wait-online"), *b = recorded("lock-held");
    struct boot_comparison *c;
    (void)state;
    assert_int_equal(boot_comparison_create((const struct boot *const[]){a}, 1, b, 1000000, &c, NULL), W_SUCCESS);
    const struct boot_change *gone = row_of(c, COMPARE_UNIT, "systemd-networkd-wait-online.service"),
                             *new  = row_of(c, COMPARE_UNIT, "slow-waiter.service");
    assert_non_null(gone);
    assert_true(gone->after == -1 && gone->change == -gone->before && gone->before > INT64_C(8000000000));
    assert_non_null(new);
    assert_true(new->before == -1 && new->change == new->after);
    assert_int_equal(row_of(c, COMPARE_BOOT, NULL)->change, b->finish - a->finish);
    for (unsigned i = 1; i < c->rows; i++) /* by kind, then the largest change first */
        assert_true(c->row[i - 1].kind < c->row[i].kind || llabs(c->row[i - 1].change) >= llabs(c->row[i].change));
    boot_comparison_destroy(c);
    boot_destroy(a);
    boot_destroy(b);
}

static void the_median_of_several_stands_for_them(void **state)
{
    static const char *const names[] = {"wait-online", "udev-settle", "fsck", "big-module"};
    struct boot             *before[4], *after = recorded("passphrase");
    struct boot_comparison  *c;
    int64_t                  value[4], middle;
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        before[i] = recorded(names[i]);
        value[i]  = before[i]->finish;
    }
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = i + 1; k < 4; k++)
            if (value[k] < value[i])
                middle = value[i], value[i] = value[k], value[k] = middle;
    assert_int_equal(boot_comparison_create((const struct boot *const *)before, 4, after, 1000000, &c, NULL),
                     W_SUCCESS);
    assert_int_equal(c->row[0].before, (value[1] + value[2]) / 2);
    assert_non_null(strstr(c->sentence, "the median of 4 boots"));
    const struct boot_change *asked = row_of(c, COMPARE_PROCESS, "systemd-ask-password");
    assert_true(asked && asked->before == -1 && asked->after > INT64_C(8000000000));
    boot_comparison_destroy(c);
    boot_destroy(after);
    for (unsigned i = 0; i < 4; i++)
        boot_destroy(before[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_boot_is_as_long_as_itself),
                                       cmocka_unit_test(what_is_new_got_slower),
                                       cmocka_unit_test(the_median_of_several_stands_for_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
