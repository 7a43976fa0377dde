/* A child process: its command line, its end, and that it never outlives its parent. */
#include "autologger/daemon/child.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_MS = 30000 }; /* nothing here takes so long, even on a loaded machine */

static bool start(struct child *c, const char *const *argv)
{
    return child_start(c, (char *const *)(uintptr_t)argv, -1);
}

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static void its_words_and_code_are_kept(void **state)
{
    static const char *const argv[] = {"sh", "-c", "echo one; echo two >&2; read line || echo eof; exit 7", NULL};
    struct child             c;
    char                     text[CHILD_TEXT];
    int                      code = -1;

    (void)state;
    assert_true(start(&c, argv));
    assert_true(readable(c.end_fd, LONG_MS));
    assert_true(child_ended(&c, &code, text));
    assert_int_equal(code, 7);
    assert_string_equal(text, "one\neof\n");
    assert_false(child_ended(&c, &code, text));
    child_finish(&c);
}

static void what_is_not_there_is_said(void **state)
{
    static const char *const argv[] = {"autologger-no-such-command", NULL};
    struct child             c;

    (void)state;
    errno = 0;
    assert_false(start(&c, argv));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(c.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void signals_of_the_parent_are_not_inherited(void **state)
{
    static const char *const argv[] = {"sh", "-c", "kill -TERM $$; echo ignored", NULL};
    struct child             c;
    char                     text[CHILD_TEXT];
    sigset_t                 term, old;
    int                      code = -1;

    (void)state;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &old);
    void (*before)(int) = signal(SIGTERM, SIG_IGN);
    assert_true(start(&c, argv));
    signal(SIGTERM, before);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_true(readable(c.end_fd, LONG_MS));
    assert_true(child_ended(&c, &code, text));
    assert_int_equal(code, 128 + SIGTERM);
    assert_string_equal(text, "");
}

/* A parent that gets SIGKILL can't end its child: the kernel does. */
static void a_killed_parent_takes_it_along(void **state)
{
    static const char *const argv[] = {"sleep", "1000", NULL};
    int                      tell[2];
    pid_t                    grandchild = 0;

    (void)state;
    assert_int_equal(pipe(tell), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct child c;
        if (!start(&c, argv) || write(tell[1], &c.pid, sizeof c.pid) != sizeof c.pid)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(parent > 0);
    assert_true(readable(tell[0], LONG_MS));
    assert_int_equal(read(tell[0], &grandchild, sizeof grandchild), sizeof grandchild);
    int end_fd = (int)syscall(SYS_pidfd_open, grandchild, 0);
    assert_true(end_fd >= 0);
    assert_false(readable(end_fd, 0)); /* it runs */
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    bool ended = readable(end_fd, LONG_MS);
    if (!ended)
        kill(grandchild, SIGKILL);
    assert_true(ended);
    close(end_fd);
    close(tell[0]);
    close(tell[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_words_and_code_are_kept),
        cmocka_unit_test(what_is_not_there_is_said),
        cmocka_unit_test(signals_of_the_parent_are_not_inherited),
        cmocka_unit_test(a_killed_parent_takes_it_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
