/* When the daemon takes over from the early program. Proves: what can wait is no part
 * of a boot. */
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
#include <sys/socket.h>
#include <sys/un.h>
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

/* A living early program, on a machine whose counters stand still: never calm. */
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

/* Each of these events ends the wait at once, on a machine that never becomes calm. */
static void there_is_no_wait_without_a_reason(void **state)
{
    struct fixture *f = *state;
    put(f->hurry, "");
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2); /* the early program's memory is tight */
    unlink(f->hurry);
    eventfd_write(f->signal_fd, 1);
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2);
    eventfd_t value;
    assert_int_equal(eventfd_read(f->signal_fd, &value), 0); /* the wait has not consumed it */
    flock(f->lock_fd, LOCK_UN);                              /* the early program is gone */
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2);
    flock(f->lock_fd, LOCK_EX);
    unlink(f->stat); /* without counters calm can't be seen */
    assert_true(waited_ms(f) < CALM_LIMIT_MS / 2);
}

static void a_busy_machine_is_waited_for_and_no_longer_than_that(void **state)
{
    const struct fixture *f = *state;
    assert_uint_in_range(waited_ms(f), CALM_LIMIT_MS - CALM_SLICE_MS, UINT32_MAX);
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
    assert_uint_in_range(ms, (CALM_SLICES - 1) * CALM_SLICE_MS, CALM_LIMIT_MS - 1000);
}

/* ---- autologger-calm ---- */

/* Runs autologger-calm with a program that shows its own signals; SIGTERM is pending from the start. Returns its exit
 * code. */
static int run_calm(const struct fixture *f, const char *notify, const char *program, char *out, size_t size)
{
    int      pipes[2], status;
    sigset_t term;
    assert_int_equal(pipe(pipes), 0);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[1], 1);
        close(pipes[0]);
        close(pipes[1]);
        setenv("AUTOLOGGER_RUNTIME_DIR", f->folder, 1);
        setenv("NOTIFY_SOCKET", notify, 1);
        kill(getpid(), SIGTERM);
        execl(AL_BINARY_DIR "/autologger-calm", "autologger-calm", program, "^ShdPnd", "/proc/self/status",
              (char *)NULL);
        _exit(1);
    }
    close(pipes[1]);
    size_t used = 0;
    for (ssize_t n; (n = read(pipes[0], out + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    out[used] = 0;
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_waiting_program_says_ready_keeps_the_signal_and_becomes_the_daemon(void **state)
{
    const struct fixture *f = *state;
    struct sockaddr_un    a = {.sun_family = AF_UNIX};
    char                  handover[64], out[256], said[32] = "";
    int                   s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "%s/notify", f->folder);
    snprintf(handover, sizeof handover, "%s/handover", f->folder);
    assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(run_calm(f, a.sun_path, "/bin/grep", out, sizeof out), 0);
    assert_true(recv(s, said, sizeof said - 1, 0) < 0); /* no hand-over is pending: the daemon will send READY */
    put(handover, "");
    assert_int_equal(run_calm(f, a.sun_path, "/bin/grep", out, sizeof out), 0);
    assert_true(recv(s, said, sizeof said - 1, 0) > 0);
    assert_string_equal(said, "READY=1");
    const char *pending = strchr(out, ':'); /* the signal that ended the wait is still pending */
    assert_true(pending && strtoull(pending + 1, NULL, 16) & 1u << (SIGTERM - 1));
    assert_int_equal(run_calm(f, a.sun_path, "/no/such/program", out, sizeof out), 111);
    assert_int_equal(run_calm(f, a.sun_path, "grep", out, sizeof out), 100); /* a path is required */
    close(s);
    unlink(a.sun_path);
    unlink(handover);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_is_read),
        cmocka_unit_test_setup_teardown(there_is_no_wait_without_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_waiting_program_says_ready_keeps_the_signal_and_becomes_the_daemon, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_calm_machine_is_not_waited_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_machine_is_waited_for_and_no_longer_than_that, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
