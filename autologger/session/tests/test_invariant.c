/* test_invariant.c - a broken invariant is a condition of a session, once, with the place and what to do. */
#include "autologger/session/tests/fixture.h"
#include "registry-sim/base/invariant.h"

static void a_broken_invariant_is_a_condition(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct session  *s   = NULL;
    struct reason    why = {0};
    (void)state;
    fixture_init(&f, true);
    const struct plan plan = plan_make(&f, &t, "web", 64, 4, 4);
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    invariant_count_only(true);
    session_invariant_look(s);
    assert_int_equal(s->conditions.count, 0);
    INVARIANT(s->uid_count > 1000);
    session_invariant_look(s);
    session_invariant_look(s);
    assert_int_equal(s->conditions.count, 1);
    assert_int_equal(s->conditions.items[0].number, W_INTERNAL_ERROR);
    assert_non_null(strstr(s->conditions.items[0].reason, "test_invariant.c:"));
    assert_non_null(strstr(s->conditions.items[0].reason, "s->uid_count > 1000"));
    assert_non_null(strstr(s->conditions.items[0].advice, "autologger bundle"));
    invariant_count_only(true);
    session_stop(s);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_broken_invariant_is_a_condition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
