/* Proves: a keeper waits for a daemon that has said that it is busy, and its successor has what that daemon kept last (REG-26). */
#include "autologger/daemon/handover.h"
#include "autologger/daemon/keeper.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUSY_MS = 1500 /* longer than a keeper waits for one that says nothing */ };

static char path[128];

static void put(struct handed *handed, const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    handed_keep(handed, name, fd, 0);
    close(fd);
}

/* A daemon that hears no signal for a while (keeper_run has blocked them), as one that reads the kernel's trace buffer on a slow machine. */
static int daemon_run(void *ctx, struct handed *handed)
{
    const bool says_so = *(bool *)ctx;
    if (says_so)
        handed_notify(handed, "BUSY=1");
    put(handed, "first");
    usleep(BUSY_MS * 1000);
    put(handed, "last");
    handed_notify(handed, "BUSY=0");
    return 0;
}

static bool has(const struct kept *k, const char *name)
{
    for (unsigned i = 0; i < k->count; i++)
        if (strcmp(k->item[i].name, name) == 0)
            return true;
    return false;
}

/* What a successor gets that asks while the daemon is at it. */
static void take_over(bool says_so, struct kept *k)
{
    struct reason         why;
    struct keeper_options options = {.run = daemon_run, .ctx = &says_so, .handover_path = path, .watch_fd = -1};
    int                   status, connection;
    snprintf(path, sizeof path, "/tmp/test-keeper-%d", (int)getpid());
    pid_t keeper = fork();
    if (keeper == 0)
        _exit(keeper_run(&options));
    while (access(path, F_OK) != 0)
        usleep(1000);
    usleep(200000); /* the daemon has begun */
    for (unsigned i = 0; (connection = handover_connect(path)) < 0 && i < 50; i++)
        usleep(10000);
    assert_true(connection >= 0);
    assert_true(kept_init(k));
    assert_int_equal(handover_receive(connection, k, &why), W_SUCCESS);
    handover_acknowledge(connection);
    close(connection);
    assert_int_equal(waitpid(keeper, &status, 0), keeper);
    assert_int_equal(status, 0);
    unlink(path);
}

static void one_that_is_busy_is_waited_for(void **state)
{
    struct kept k;
    (void)state;
    take_over(true, &k);
    assert_true(has(&k, "first") && has(&k, "last"));
    kept_finish(&k);
}

static void one_that_says_nothing_is_not(void **state)
{
    struct kept k;
    (void)state;
    take_over(false, &k);
    assert_true(has(&k, "first") && !has(&k, "last"));
    kept_finish(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_that_is_busy_is_waited_for), cmocka_unit_test(one_that_says_nothing_is_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
