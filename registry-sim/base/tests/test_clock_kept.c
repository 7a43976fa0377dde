/* One frequency a boot (D-09): the first one is kept and holds for all; a file of another boot, or one that another
 * user may write, is ignored. */
#include "registry-sim/base/clock.h"
#include "registry-sim/base/clock_kept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], path[128];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/autologger-clock-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/made/clock", dir);
    return setenv("AUTOLOGGER_CLOCK", path, 1);
}
static int teardown(void **state)
{
    (void)state;
    char made[128];
    snprintf(made, sizeof made, "%s/made", dir);
    unlink(path);
    rmdir(made);
    return rmdir(dir); /* fails when something else was left */
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_first_counts(void **state)
{
    struct clock_machine m;
    (void)state;
    assert_int_equal(clock_kept_read(path), 0);
    assert_int_equal(clock_kept_write(path, 2596145809), 2596145809);
    assert_int_equal(clock_kept_write(path, 2596145832), 2596145809);
    assert_int_equal(clock_kept_read(path), 2596145809);
    clock_machine_find(&m);
    if (m.tsc_usable)
        assert_int_equal(m.tsc_hz, 2596145809);
    assert_string_equal(clock_kept_path(), path);
}

static void others_do_not(void **state)
{
    static const char *const of_no_use[] = {"", "2596145809\n", "00000000-0000-0000-0000-000000000000 2596145809\n",
                                            "\xff\xff"};
    (void)state;
    for (unsigned i = 0; i < sizeof of_no_use / sizeof *of_no_use; i++) {
        clock_kept_write(path, 5);
        put(of_no_use[i]);
        assert_int_equal(clock_kept_read(path), 0);
        assert_int_equal(clock_kept_write(path, 1000 + i), 1000 + i);
        assert_int_equal(clock_kept_read(path), 1000 + i);
        unlink(path);
    }
    clock_kept_write(path, 7);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(clock_kept_read(path), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(clock_kept_read(path), 7);
    unlink(path);
    assert_int_equal(symlink("/proc/self/status", path), 0);
    assert_int_equal(clock_kept_read(path), 0);
    assert_int_equal(clock_kept_write("/proc/none/clock", 9), 9); /* cannot be made */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(the_first_counts, setup, teardown),
                                       cmocka_unit_test_setup_teardown(others_do_not, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
