/* test_invariant.c - a broken invariant is counted, and the first is kept; in a checked build it ends the program. */
#include "registry-sim/base/invariant.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void counted_and_the_first_is_kept(void **state)
{
    (void)state;
    int one = 1;
    invariant_count_only(true);
    INVARIANT(one == 1);
    assert_int_equal(invariant_count(), 0);
    assert_string_equal(invariant_first(), "");
    INVARIANT(one == 2);
    INVARIANT(one == 3);
    assert_int_equal(invariant_count(), 2);
    assert_non_null(strstr(invariant_first(), "test_invariant.c:"));
    assert_non_null(strstr(invariant_first(), ": one == 2"));
    invariant_count_only(true);
    assert_int_equal(invariant_count(), 0);
}

/* How a child ends that breaks one: the default of this build, and that of a checked one. */
static int child_status(bool checked)
{
    int         status = 0;
    const pid_t child  = fork();
    if (child == 0) {
        if (checked)
            invariant_count_only(false);
        close(STDERR_FILENO);
        INVARIANT(child != 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void ends_a_checked_build(void **state)
{
    (void)state;
    assert_true(WIFSIGNALED(child_status(true)));
}

static void what_this_build_does(void **state)
{
    (void)state;
#ifdef AL_CHECKED
    assert_true(WIFSIGNALED(child_status(false)));
#else
    assert_true(WIFEXITED(child_status(false)));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_this_build_does), /* first: nothing is set yet */
        cmocka_unit_test(ends_a_checked_build),
        cmocka_unit_test(counted_and_the_first_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
