/* When the daemon takes over from the early program. Proves: REG-19 (what can wait is no part
 * of a boot). */
// timeout: 120
#include "autologger/daemon/calm.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char folder[40], lock[64], hurry[64], stat[64];
    int  lock_fd, signal_fd;
};

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* An early program that lives, on a machine whose counters stand still: never calm. */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/al-calm-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->lock, sizeof f->lock, "%s/early.lock", f->folder);
    snprintf(f->hurry, sizeof f->hurry, "%s/" CALM_HURRY, f->folder);
    snprintf(f->stat, sizeof f->stat, "%s/stat", f->folder);
    put(f->stat, "cpu  10 0 10 100 0 0 0 0 0 0\ncpu0 10 0 10 100 0 0 0 0 0 0\n");
    f->lock_fd   = open(f->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    f->signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *state       = f;
    return f->lock_fd < 0 || flock(f->lock_fd, LOCK_EX) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close(f->lock_fd);
    close(f->signal_fd);
    unlink(f->lock);
    unlink(f->hurry);
    unlink(f->stat);
    rmdir(f->folder);
    free(f);
    return 0;
}

static unsigned waited_ms(const struct fixture *f)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    calm_wait(f->folder, f->stat, f->signal_fd);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (unsigned)((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
}

static void the_first_line_is_read(void **state)
{
    uint64_t idle, total;
    (void)state;
    assert_true(calm_parse("cpu  1 2 3 400 50 6 7 8 900 1000\ncpu0 1\n", &idle, &total));
    assert_int_equal(idle, 400);
    assert_int_equal(total, 1 + 2 + 3 + 400 + 50 + 6 + 7 + 8); /* guest time is in user time already */
    assert_false(calm_parse("intr 1 2 3 4", &idle, &total));
    assert_false(calm_parse("", &idle, &total));
}

/* Each of these ends the wait at once, on a machine that never becomes calm. */
static void there_is_no_wait_without_a_reason(void **state)
{
    struct fixture *f = *state;
    put(f->hurry, "");
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2); /* its memory is tight */
    unlink(f->hurry);
    eventfd_write(f->signal_fd, 1);
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2);
    eventfd_t value;
    assert_int_equal(eventfd_read(f->signal_fd, &value), 0); /* it is still there to be read */
    flock(f->lock_fd, LOCK_UN); /* the early program is gone */
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2);
    flock(f->lock_fd, LOCK_EX);
    unlink(f->stat); /* nobody says whether it is calm */
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2);
}

static void a_busy_machine_is_waited_for_and_no_longer_than_that(void **state)
{
    const struct fixture *f = *state;
    assert_in_range(waited_ms(f), CALM_LIMIT_MS - CALM_SLICE_MS, UINT32_MAX);
}

/* Another process counts idle time. */
static void a_calm_machine_is_not_waited_for_long(void **state)
{
    const struct fixture *f   = *state;
    pid_t                 pid = fork();
    if (pid == 0)
        for (unsigned i = 0;; i++) {
            char text[100];
            int  n  = snprintf(text, sizeof text, "cpu  10 0 10 %010u 0 0 0 0 0 0\n", 1000 + i * 100);
            int  fd = open(f->stat, O_WRONLY | O_CLOEXEC);
            if (fd < 0 || pwrite(fd, text, (size_t)n, 0) != n)
                _exit(1);
            close(fd);
            usleep(5000);
        }
    unsigned ms = waited_ms(f);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_in_range(ms, (CALM_SLICES - 1) * CALM_SLICE_MS, CALM_LIMIT_MS - 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_is_read), cmocka_unit_test_setup_teardown(there_is_no_wait_without_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_calm_machine_is_not_waited_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_machine_is_waited_for_and_no_longer_than_that, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
