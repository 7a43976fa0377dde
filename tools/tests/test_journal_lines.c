/* Journal lines for a unit: the last ones of the requested time; a hostile trace can request nothing else. journalctl
 * is a script of this test; a guest of boot-tests/slow has the real one. */
#include "tools/files/journal_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BOOT "13d49426-a0ee-4600-81cc-7fb93601dc39"
#define S INT64_C(1000000000)
static char folder[64];

static void script(const char *text)
{
    char  path[128];
    FILE *f;
    snprintf(path, sizeof path, "%s/args", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/journalctl", folder);
    assert_non_null(f = fopen(path, "w"));
    fprintf(f, "#!/bin/sh\necho \"$@\" >>%s/args\n%s\n", folder, text);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

/* The arguments that journalctl was called with; NULL: it was not called. */
static const char *called(void)
{
    static char text[1024];
    char        path[128];
    snprintf(path, sizeof path, "%s/args", folder);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static struct journal_told asked(const char *unit, const char *boot)
{
    struct journal_lines j   = journal_begin();
    struct journal_ask   ask = {.from_ns = 10 * S, .to_ns = 20 * S};
    struct journal_told  out;
    snprintf(ask.unit, sizeof ask.unit, "%s", unit);
    snprintf(ask.boot_id, sizeof ask.boot_id, "%s", boot);
    journal_ask(&j, &ask, &out);
    journal_end(&j);
    return out;
}

static void last_lines_of_the_time(void **state)
{
    (void)state;
    script(
        "echo '-- Boot x --'; echo '[bad] x y'; for t in 0.5 9.4 11.25 12 13 14.000001 20.4 20.6 12.5; do echo \"[   $t] prog[1]: at $t\"; done; sleep 600");
    struct journal_told told = asked("slow.service", BOOT);
    assert_int_equal(told.count, 3);
    assert_string_equal(told.line[0], "prog[1]: at 13");
    assert_string_equal(told.line[1], "prog[1]: at 14.000001");
    assert_string_equal(told.line[2], "prog[1]: at 20.4");
    assert_string_equal(
        called(),
        "--quiet --no-pager --no-hostname --output=short-monotonic --boot 13d49426a0ee460081cc7fb93601dc39 --unit=slow.service --priority=warning\n");
}

/* Without a warning all lines are requested. */
static void all_lines_where_there_is_no_warning(void **state)
{
    (void)state;
    script("case \"$*\" in *=info) echo '[   12.0] systemd[1]: Starting it';; esac");
    struct journal_told told = asked("foo-bar@x\\x2dy.service", BOOT);
    assert_int_equal(told.count, 1);
    assert_string_equal(told.line[0], "systemd[1]: Starting it");
    assert_non_null(strstr(called(), "--unit=foo-bar@x\\x2dy.service"));
}

/* A long line ends with a whole character. */
static void long_lines(void **state)
{
    (void)state;
    script(
        "printf '[   12.0] a[1]: x'; for i in 1 2 3 4 5 6 7 8 9 10; do printf '\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244'; done; echo");
    struct journal_told told = asked("a.service", BOOT);
    assert_int_equal(told.count, 1);
    const size_t n = strlen(told.line[0]);
    assert_true(n >= JOURNAL_LINE - 3 && n < JOURNAL_LINE && (n - strlen("a[1]: x")) % 2 == 0);
}

static void hostile_questions(void **state)
{
    static const char *const units[] = {"",
                                        "x",
                                        "--file=/etc/shadow",
                                        "-.mount",
                                        "*.service",
                                        "a b.service",
                                        "a/../b.service",
                                        "a\n.service",
                                        "a[0-9].service",
                                        "noending"};
    static const char *const boots[] = {"",
                                        "0",
                                        "all",
                                        "-1",
                                        "13d49426a0ee460081cc7fb93601dc3",
                                        "13d49426a0ee460081cc7fb93601dc399",
                                        "13d49426a0ee460081cc7fb93601dc3g"};
    (void)state;
    script("echo '[   12.0] a[1]: b'");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (asked(units[i], BOOT).count || called())
            fail_msg("the unit \"%s\" was asked for", units[i]);
    for (size_t i = 0; i < sizeof boots / sizeof *boots; i++)
        if (asked("a.service", boots[i]).count || called())
            fail_msg("the boot \"%s\" was asked for", boots[i]);
    assert_int_equal(asked("a.service", BOOT).count, 1);
}

/* journalctl writes without end, or nothing at all: it is ended after five seconds. */
static void one_that_hangs_is_ended(void **state)
{
    static const char *const kinds[] = {"echo $$ >$(dirname $0)/pid; exec sleep 600",
                                        "echo $$ >$(dirname $0)/pid; exec yes '[   12.0] a[1]: b'"};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char            path[128], text[32] = "";
        struct timespec begin, end;
        script(kinds[i]);
        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* orphans of its process become children of this one */
        clock_gettime(CLOCK_MONOTONIC, &begin);
        assert_int_equal(asked("a.service", BOOT).count, 0);
        clock_gettime(CLOCK_MONOTONIC, &end);
        assert_true(end.tv_sec - begin.tv_sec >= 4);
        snprintf(path, sizeof path, "%s/pid", folder);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_non_null(fgets(text, sizeof text, f));
        fclose(f);
        unlink(path);
        while (waitpid(-1, NULL, 0) > 0) {
        }
        assert_true(kill(atoi(text), 0) < 0);
    }
}

static void none_is_installed(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/journalctl", folder);
    unlink(path);
    char *before = strdup(getenv("PATH"));
    setenv("PATH", folder, 1);
    assert_int_equal(asked("a.service", BOOT).count, 0);
    setenv("PATH", before, 1);
    free(before);
}

static int set_up(void **state)
{
    char path[4096];
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/al-journal-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    return setenv("PATH", path, 1);
}
static int tear_down(void **state)
{
    char path[128];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "args" : "journalctl");
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(last_lines_of_the_time),
                                       cmocka_unit_test(all_lines_where_there_is_no_warning),
                                       cmocka_unit_test(long_lines),
                                       cmocka_unit_test(hostile_questions),
                                       cmocka_unit_test(one_that_hangs_is_ended),
                                       cmocka_unit_test(none_is_installed)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
