/* The meaning of units' properties, from a record of "systemctl show". */
#include "autologger/units/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct unit read_unit(const char *wanted)
{
    struct unit u = {0};
    char        line[512];
    FILE       *f = fopen(AL_TEST_DIR "/units-debian12.txt", "re");

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line) {
            assert_true(unit_set_line(&u, line));
            continue;
        }
        if (strcmp(u.name, wanted) == 0)
            break;
        unit_finish(&u);
    }
    fclose(f);
    assert_string_equal(u.name, wanted);
    return u;
}

static struct unit_known *known_new(void)
{
    struct unit_known *known = calloc(1, sizeof *known);
    assert_non_null(known);
    return known;
}

static void every_time_is_told_once(void **state)
{
    struct unit_known *known = known_new();
    struct unit        u     = read_unit("systemd-remount-fs.service");
    struct unit_event  e[UNIT_STEPS];
    bool               full;
    (void)state;

    assert_int_equal(unit_news(known, &u, e, &full), 4);
    static const enum unit_step steps[] = {UNIT_ACTIVATING, UNIT_PROCESS_START, UNIT_PROCESS_EXIT, UNIT_ACTIVE};
    static const uint64_t       times[] = {1214561, 1215600, 1297800, 1298001};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(e[i].step, steps[i]);
        assert_int_equal(e[i].time, times[i]);
        assert_ptr_equal(e[i].unit, &u);
        assert_false(full || e[i].failed);
    }
    assert_int_equal(unit_news(known, &u, e, &full), 4); /* new until they are marked as told */
    unit_told(known, &u);
    assert_int_equal(unit_news(known, &u, e, &full), 0);
    unit_set_number(&u, "ActiveExitTimestampMonotonic", 2000000);
    assert_int_equal(unit_news(known, &u, e, &full), 1);
    assert_int_equal(e[0].step, UNIT_DEACTIVATING);
    unit_told(known, &u);
    unit_forget(known, u.name); /* then another unit of that name */
    assert_int_equal(unit_news(known, &u, e, &full), 5);
    assert_int_equal(u.exec_pid, 213);
    assert_int_equal(u.exec_code, 1);
    assert_string_equal(u.invocation, "9a2f0c57a9b54cc49a5e2e7f6a7b1c9d");
    unit_finish(&u);
    free(known);
}

static void a_failure_is_one(void **state)
{
    struct unit_known *known = known_new();
    struct unit        u     = read_unit("broken.service");
    struct unit_event  e[UNIT_STEPS];
    bool               full;
    (void)state;

    assert_int_equal(unit_news(known, &u, e, &full), 4);
    assert_int_equal(e[3].step, UNIT_INACTIVE);
    assert_true(e[3].failed);
    assert_string_equal(u.result, "exit-code");
    unit_finish(&u);

    u = read_unit("local-fs.target"); /* both at one time: activating comes first */
    assert_int_equal(unit_news(known, &u, e, &full), 2);
    assert_int_equal(e[0].step, UNIT_ACTIVATING);
    assert_int_equal(e[1].step, UNIT_ACTIVE);
    assert_int_equal(e[0].time, e[1].time);
    unit_finish(&u);

    u = read_unit("home.mount");
    assert_int_equal(unit_news(known, &u, e, &full), 0);
    unit_finish(&u);
    free(known);
}

static void a_full_table_says_so(void **state)
{
    struct unit_known *known = known_new();
    struct unit_event  e[UNIT_STEPS];
    char               name[32];
    bool               full;
    (void)state;

    for (unsigned i = 0; i < UNIT_KNOWN_PLACES; i++) {
        snprintf(name, sizeof name, "run-%u.scope", i);
        struct unit u = {.name = name, .time = {i + 1}};
        assert_int_equal(unit_news(known, &u, e, &full), 1);
        assert_false(full);
        unit_told(known, &u);
        assert_true(unit_cgroup_news(known, name, i + 1));
        assert_false(unit_cgroup_news(known, name, i + 1));
    }
    struct unit more = {.name = name, .time = {7}};
    snprintf(name, sizeof name, "more.scope");
    assert_int_equal(unit_news(known, &more, e, &full), 0);
    assert_true(full);
    unit_told(known, &more);
    unit_forget(known, "run-77.scope");
    assert_int_equal(unit_news(known, &more, e, &full), 1);
    assert_false(full);
    for (unsigned i = 0; i < UNIT_KNOWN_PLACES; i++) {
        snprintf(name, sizeof name, "run-%u.scope", i);
        struct unit u = {.name = name, .time = {i + 1}};
        assert_int_equal(unit_news(known, &u, e, &full), i == 77);
    }
    free(known);
}

static void patterns(void **state)
{
    (void)state;
    assert_true(unit_matches(NULL, "a.service") && unit_matches("", "a.mount"));
    assert_true(unit_matches("web", "web.service"));
    assert_false(unit_matches("web", "web.socket"));
    assert_true(unit_matches("x, web.socket ;y", "web.socket"));
    assert_true(unit_matches("*.mount", "home.mount"));
    assert_true(unit_matches("systemd-*", "systemd-journald.service"));
    assert_false(unit_matches("systemd-*", "ssh.service"));
    assert_true(unit_matches("getty@*", "getty@tty1.service"));
    /* a glob without a dot also matches full names */
    assert_true(unit_matches("systemd-*", "systemd-journald.socket"));
    assert_false(unit_matches(",;", "ssh.service"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_time_is_told_once), cmocka_unit_test(a_failure_is_one),
                                       cmocka_unit_test(a_full_table_says_so), cmocka_unit_test(patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
