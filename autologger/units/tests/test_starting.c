/* The times at which a unit with a long start is looked at. */
#include "autologger/units/starting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define S UINT64_C(1000000)

/* All looks due before `until`, each at its time, in seconds since the unit's start. */
static unsigned looks(struct starting *s, uint64_t from, uint64_t until, double out[16])
{
    unsigned n = 0;
    for (uint64_t now = from; now <= until; now += S / 10) {
        const struct starting_unit *u;
        while ((u = starting_due(s, now))) {
            assert_true(n < 16);
            out[n++] = (double)(now - u->since_us) / (double)S;
        }
        assert_true(starting_wait_ms(s, now) != 0); /* no look is due any more */
    }
    return n;
}

static void times(void **state)
{
    static const double want[] = {1, 3, 10, 30, 100};
    struct starting     s      = {0};
    double              seen[16];
    (void)state;
    assert_int_equal(starting_wait_ms(&s, 5), -1);
    starting_see(&s, "a.service", "/a", 50 * S, 50 * S);
    assert_int_equal(starting_wait_ms(&s, 50 * S), 1000);
    assert_int_equal(starting_wait_ms(&s, 50 * S + 999500), 1);
    assert_int_equal(looks(&s, 50 * S, 500 * S, seen), 5);
    for (unsigned i = 0; i < 5; i++)
        assert_true(seen[i] >= want[i] && seen[i] < want[i] + 0.11);
    assert_int_equal(starting_wait_ms(&s, 500 * S), -1);
    starting_finish(&s);
    assert_int_equal(s.count, 0);
}

/* A unit first seen late: a look at once, then at the next times. Its earlier start becomes known later still. */
static void late(void **state)
{
    struct starting s = {0};
    double          seen[16];
    (void)state;
    starting_see(&s, "a.service", "", 50 * S, 62 * S);
    assert_int_equal(looks(&s, 62 * S, 500 * S, seen), 3);
    assert_true(seen[0] == 12 && seen[1] >= 30 && seen[1] < 31 && seen[2] >= 100 && seen[2] < 101);
    starting_see(&s, "b.service", "", 600 * S, 600 * S);
    starting_see(&s, "b.service", "/b", 595 * S, 601 * S);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.unit[1].cgroup, "/b");
    assert_int_equal(looks(&s, 601 * S, 800 * S, seen), 4); /* not looked at yet: at once */
    assert_true(seen[0] == 6 && seen[1] >= 10 && seen[1] < 11);
    starting_see(&s, "c.service", "/c", 900 * S, 900 * S);
    assert_int_equal(looks(&s, 900 * S, 902 * S, seen), 1);
    starting_see(&s, "c.service", "/c", 895 * S, 902 * S); /* looked at already */
    assert_int_equal(looks(&s, 902 * S, 906 * S, seen), 1);
    assert_true(seen[0] >= 10 && seen[0] < 11);
    starting_over(&s, "c.service");
    starting_over(&s, "b.service");
    starting_over(&s, "b.service");
    starting_over(&s, "c.service");
    assert_int_equal(s.count, 1);
    starting_finish(&s);
}

/* A pause between two starts does not count; the next start begins after it, whatever systemd's time is. */
static void restarted(void **state)
{
    struct starting s = {0};
    double          seen[16];
    (void)state;
    starting_see(&s, "a.service", "/a", 50 * S, 50 * S);
    starting_see(&s, "a.service", "/a", 52 * S, 52 * S); /* the pause in between was not seen */
    assert_int_equal(looks(&s, 52 * S, 54 * S, seen), 1);
    assert_true(seen[0] >= 1 && seen[0] < 1.2);
    starting_pause(&s, "a.service");
    starting_pause(&s, "b.service"); /* first seen in its pause */
    assert_true(starting_has(&s, "b.service") && !starting_has(&s, "c.service"));
    assert_int_equal(looks(&s, 54 * S, 84 * S, seen), 0);
    assert_int_equal(starting_wait_ms(&s, 84 * S), -1);
    starting_see(&s, "a.service", "/a", 54 * S, 84 * S);
    starting_see(&s, "a.service", "/a", 54 * S, 84 * S);
    assert_int_equal(looks(&s, 84 * S, 90 * S, seen), 2);
    assert_true(seen[0] >= 1 && seen[0] < 1.2 && seen[1] >= 3 && seen[1] < 3.2);
    starting_finish(&s);
}

static void bounded(void **state)
{
    struct starting s = {0};
    char            name[40];
    (void)state;
    for (unsigned i = 0; i < STARTING_MOST + 10; i++) {
        snprintf(name, sizeof name, "%u.service", i);
        starting_see(&s, name, "", S, S);
    }
    assert_int_equal(s.count, STARTING_MOST);
    starting_over(&s, "0.service");
    starting_see(&s, "x.service", "", S, S);
    assert_int_equal(s.count, STARTING_MOST);
    starting_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times), cmocka_unit_test(late), cmocka_unit_test(restarted),
                                       cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
