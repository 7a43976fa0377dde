/* The process that keeps the rights to become other users starts what its table names, and nothing else; whoever asks it has these rights no
 * more, and neither has what that one executes. Proves: SEC-09. */
#include "autologger/daemon/collector.h"

#include "autologger/daemon/merge_job.h"
#include "autologger/daemon/self_start.h"
#include "autologger/daemon/writer.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define BIT(capability) (UINT64_C(1) << (capability))
static const uint64_t gone = BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP) | BIT(CAP_KILL) | BIT(CAP_FOWNER) | BIT(CAP_SYS_MODULE) |
                             BIT(CAP_MKNOD) | BIT(CAP_SYS_BOOT) | BIT(CAP_SYS_RAWIO) | BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_CHROOT);

/* A number of /proc/self/status. */
static uint64_t status_of(const char *name)
{
    char  line[256];
    FILE *f = fopen("/proc/self/status", "re");
    uint64_t value = ~UINT64_C(0);
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoull(line + strlen(name) + 1, NULL, 16);
    fclose(f);
    return value;
}

/* What the process at the other end of a socket was started as: each ends after a message that is none of its own. */
static bool ends_by(int fd, const void *message, size_t size)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char          byte;
    return send(fd, message, size, MSG_NOSIGNAL) == (ssize_t)size && poll(&p, 1, 30000) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static int said(int fd, const void *message, size_t size)
{
    struct collector_reply reply;
    struct pollfd          p = {.fd = fd, .events = POLLIN};
    assert_int_equal(send(fd, message, size, MSG_NOSIGNAL), size);
    assert_int_equal(poll(&p, 1, 30000), 1);
    return recv(fd, &reply, sizeof reply, 0) == (ssize_t)sizeof reply ? reply.result : -ECONNRESET;
}

/* All words of the table are answered with a process; all others with EPERM. */
static void words(void **state)
{
    static const char *const not[] = {"", "--", "--writer ", "--collector", "--outcasts", "--keep", "/bin/sh", "--write", "--merge2"};
    static const char *const known[] = {WRITER_WORD, MERGE_WORD};
    const int                fd      = self_start(COLLECTOR_WORD);
    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof not / sizeof *not; i++) {
        struct collector_request q = {{0}};
        strcpy(q.word, not[i]);
        assert_int_equal(said(fd, &q, sizeof q), -EPERM);
    }
    struct collector_request full;
    memset(&full, 'a', sizeof full); /* no NUL */
    assert_int_equal(said(fd, &full, sizeof full), -EPERM);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct collector_request q = {{0}};
        strcpy(q.word, known[i]);
        assert_int_equal(said(fd, &q, sizeof q), 0);
    }
    close(fd);
}

/* A message of another size ends it, with or without descriptors. */
static void what_is_no_request_ends_it(void **state)
{
    static const char zeros[2 * sizeof(struct collector_request)];
    (void)state;
    for (size_t size = 1; size <= sizeof zeros; size += 7)
        if (size != sizeof(struct collector_request)) {
            const int fd = self_start(COLLECTOR_WORD);
            assert_true(fd >= 0 && ends_by(fd, zeros, size));
            close(fd);
        }
}

/* In a child: it gives up what it has. */
static void in_the_server(void)
{
    struct reason why;
    assert_int_equal(collector_begin(false, &why), W_SUCCESS);
    assert_int_equal(status_of("CapEff") & gone, 0);
    assert_int_equal(status_of("CapPrm") & gone, 0);
    assert_int_equal(status_of("CapInh"), 0);
    assert_int_equal(status_of("CapBnd") & gone, 0);
    assert_int_equal(status_of("NoNewPrivs"), 1);
    assert_true(setresuid(1, 1, 1) < 0 && errno == EPERM);
    const pid_t pid = fork();
    if (pid == 0) { /* root's program has no more than root has here */
        execl("/bin/sh", "sh", "-c", "eff=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status); [ $((0x$eff & 0xe0)) = 0 ]", NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    /* a writer has the rights of its owner, which this process can't have any more */
    const int                   fd    = collector_launch(WRITER_WORD);
    struct writer_request       q     = {.what = WRITER_OWNER, .owner = {.uid = 4242, .gid = 4242}};
    struct writer_reply         reply;
    assert_true(fd >= 0);
    assert_int_equal(send(fd, &q, offsetof(struct writer_request, path), 0), offsetof(struct writer_request, path));
    assert_int_equal(recv(fd, &reply, sizeof reply, 0), sizeof reply);
    assert_int_equal(reply.result, 0);
    errno = 0;
    assert_true(collector_launch("--collector") < 0 && errno == EPERM);
    assert_true(collector_launch("a word that is longer than a request has room for") < 0 && errno == ENAMETOOLONG);
    close(fd);
}

/* Runs it in a child, which can't get anything back. */
static int in_child(void (*run)(void))
{
    int         status;
    const pid_t pid = fork();
    if (pid == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void the_server_has_them_no_more(void **state)
{
    (void)state;
    assert_int_equal(in_child(in_the_server), 0);
}

/* By its name, among the processes of this program alone: others have collectors, too. */
static pid_t collector_pid(void)
{
    char          path[300], text[64], own[256], exe[256];
    const ssize_t n     = readlink("/proc/self/exe", own, sizeof own);
    DIR          *all   = opendir("/proc");
    pid_t         found = 0;
    assert_true(n > 0 && all);
    for (struct dirent *e; !found && (e = readdir(all));) {
        snprintf(path, sizeof path, "/proc/%s/exe", e->d_name);
        if (readlink(path, exe, sizeof exe) != n || memcmp(exe, own, (size_t)n) != 0)
            continue;
        snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
        FILE *f = fopen(path, "re");
        if (f && fgets(text, sizeof text, f) && strcmp(text, "collector\n") == 0)
            found = (pid_t)atoi(e->d_name);
        if (f)
            fclose(f);
    }
    closedir(all);
    return found;
}

static void begin_and_lose(bool kept)
{
    struct reason why;
    assert_int_equal(collector_begin(kept, &why), W_SUCCESS);
    pid_t pid = 0;
    for (int i = 0; i < 200 && !(pid = collector_pid()); i++)
        usleep(10000);
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (kill(pid, 0) == 0)
        usleep(10000);
    errno = 0;
    assert_true(collector_launch(WRITER_WORD) < 0 && errno == ECONNRESET);
}
static void lose_alone(void) { begin_and_lose(false); }
static void lose_kept(void) { begin_and_lose(true); }

/* Killed: an error where nobody restarts this process, else its end, for a successor. */
static void a_collector_that_was_killed(void **state)
{
    (void)state;
    assert_int_equal(in_child(lose_alone), 0);
    const int status = in_child(lose_kept);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], COLLECTOR_WORD) == 0)
        _exit(collector_run());
    if (argc == 2 && strcmp(argv[1], WRITER_WORD) == 0)
        _exit(writer_run());
    if (argc == 2 && strcmp(argv[1], MERGE_WORD) == 0)
        _exit(merge_job_run());
    if (getuid() != 0) {
        printf("skipped: to give rights up one has to have them\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(what_is_no_request_ends_it),
                                       cmocka_unit_test(the_server_has_them_no_more), cmocka_unit_test(a_collector_that_was_killed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
