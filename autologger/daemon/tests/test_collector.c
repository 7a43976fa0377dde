/* The process that keeps the capabilities (the collector) does only what its tables name; its client has none of
 * these any more, and neither has what that one executes. Proves: SEC-09. */
#include "autologger/daemon/parts/collector.h"

#include "autologger/daemon/end/merge_job.h"
#include "autologger/daemon/parts/writer.h"
#include "autologger/daemon/self_start.h"
#include "autologger/kernel/source/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define BIT(capability) (UINT64_C(1) << (capability))
/* A number of /proc/self/status. */
static uint64_t status_of(const char *name)
{
    char     line[256];
    FILE    *f     = fopen("/proc/self/status", "re");
    uint64_t value = ~UINT64_C(0);
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoull(line + strlen(name) + 1, NULL, 16);
    fclose(f);
    return value;
}

/* Does the process end after an invalid message? Each process of the daemon must. */
static bool ends_by(int fd, const void *message, size_t size)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char          byte;
    return send(fd, message, size, MSG_NOSIGNAL) == (ssize_t)size && poll(&p, 1, 30000) == 1 &&
           recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

/* Returns the result of a request; descriptors that come with it are closed. */
static int said(int fd, const struct reach_request *q)
{
    static struct reach_reply reply;
    struct pollfd             p = {.fd = fd, .events = POLLIN};
    assert_int_equal(send(fd, q, sizeof *q, MSG_NOSIGNAL), sizeof *q);
    assert_int_equal(poll(&p, 1, 30000), 1);
    const ssize_t n = recv(fd, &reply, sizeof reply, 0); /* without room for descriptors */
    assert_true(n >= (ssize_t)offsetof(struct reach_reply, text) &&
                n == (ssize_t)(offsetof(struct reach_reply, text) + reply.size));
    return reply.result;
}

static struct reach_request request(enum reach_what what, const char *text)
{
    struct reach_request q = {.what = what};
    snprintf(q.text, sizeof q.text, "%s", text);
    return q;
}

/* A process answers each word of the table; all other words give EPERM. */
static void words(void **state)
{
    static const char *const none[]  = {"",       "--",      "--writer ", "--collector", "--outcasts",
                                        "--keep", "/bin/sh", "--write",   "--merge2"};
    static const char *const known[] = {WRITER_WORD, MERGE_WORD};
    const int                fd      = self_start(COLLECTOR_WORD);
    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(said(fd, &(struct reach_request[]){request(REACH_LAUNCH, none[i])}[0]), -EPERM);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(said(fd, &(struct reach_request[]){request(REACH_LAUNCH, known[i])}[0]), 0);
    close(fd);
}

/* Files of /proc: those of the table, by numbers as the kernel writes them; nothing else, however it is spelled. */
static void files(void **state)
{
    static const char *const none[]  = {"",
                                        ".",
                                        "..",
                                        "1",
                                        "1/mem",
                                        "1/environ",
                                        "1/root",
                                        "1/root/etc/shadow",
                                        "1/cwd",
                                        "1/fd/3",
                                        "1/fd/",
                                        "1/fd/x",
                                        "1/fdinfo/3",
                                        "1/syscall",
                                        "1/wchan",
                                        "self/maps",
                                        "thread-self/maps",
                                        "0/maps",
                                        "01/maps",
                                        "1/maps/",
                                        "1//maps",
                                        "/1/maps",
                                        "1/../1/maps",
                                        "1/./maps",
                                        "1/mapsx",
                                        "1/map",
                                        "-1/maps",
                                        "+1/maps",
                                        " 1/maps",
                                        "1 /maps",
                                        "99999999999/maps",
                                        "1/ns/mnt",
                                        "1/task/1/maps",
                                        "1/exe",
                                        "kmsg",
                                        "sysrq-trigger",
                                        "sys/kernel/core_pattern",
                                        "../etc/shadow",
                                        "kallsyms/",
                                        "kcore\n"};
    static const char *const known[] = {"maps", "auxv", "ns/user", "ns/pid", "status", "stat", "cmdline"};
    static const char *const shown[] = {"syscall", "wchan"};
    const int                fd      = self_start(COLLECTOR_WORD);
    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct reach_request q = request(REACH_OPEN, none[i]);
        if (said(fd, &q) != -EPERM)
            fail_msg("\"%s\" was opened", none[i]);
        q.what = REACH_LINK;
        if (strcmp(none[i], "1/exe") != 0 && strcmp(none[i], "1/fd/3") != 0) /* may be read as links */
            assert_int_equal(said(fd, &q), -EPERM);
        q.what = REACH_SHOW;
        if (strcmp(none[i], "1/syscall") != 0 && strcmp(none[i], "1/wchan") != 0)
            assert_int_equal(said(fd, &q), -EPERM);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char path[40];
        snprintf(path, sizeof path, "%d/%s", (int)getpid(), known[i]);
        struct reach_request q = request(REACH_OPEN, path);
        assert_int_equal(said(fd, &q), 0);
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        char path[40];
        snprintf(path, sizeof path, "%d/%s", (int)getpid(), shown[i]);
        struct reach_request q = request(REACH_SHOW, path);
        assert_int_equal(said(fd, &q), 0);
        q.what = REACH_OPEN;
        assert_int_equal(said(fd, &q), -EPERM);
    }
    for (int n = 0; n < 2; n++) { /* descriptors of this process: one that exists, and a number without one */
        char path[40];
        snprintf(path, sizeof path, "%d/fd/%d", (int)getpid(), n ? 987654 : 0);
        assert_int_equal(said(fd, &(struct reach_request[]){request(REACH_LINK, path)}[0]), n ? -ENOENT : 0);
    }
    struct reach_request all = request(REACH_OPEN, "kallsyms"), gone = request(REACH_OPEN, "4194305/maps"),
                         full = {.what = REACH_OPEN};
    assert_int_equal(said(fd, &all), 0);
    assert_int_equal(said(fd, &gone), -ENOENT);
    memset(full.text, '1', sizeof full.text);
    assert_int_equal(said(fd, &full), -EPERM); /* no NUL */
    close(fd);
}

/* Only events of processors, and none that reveal addresses or paths; unknown kinds of request are refused. */
static void kinds(void **state)
{
    const int fd = self_start(COLLECTOR_WORD);
    (void)state;
    assert_true(fd >= 0);
    for (uint32_t type = 0; type < 40; type++) {
        struct perf_event_attr attr = {
            .size = sizeof attr, .type = type, .config = type == PERF_TYPE_SOFTWARE ? PERF_COUNT_SW_DUMMY : UINT64_MAX};
        struct reach_request q = {.what = REACH_PERF};
        memcpy(q.attr, &attr, sizeof attr);
        const int r = said(fd, &q);
        assert_true(type == PERF_TYPE_BREAKPOINT || type > PERF_TYPE_BREAKPOINT
                        ? r == -EPERM
                        : r != -EPERM || type != PERF_TYPE_SOFTWARE);
        q.number = UINT32_MAX; /* all processors: such an event would be of one process */
        assert_int_equal(said(fd, &q), -EPERM);
    }
    for (uint32_t what = REACH_WHATS; what < 300; what++) {
        struct reach_request q = {.what = what};
        assert_int_equal(said(fd, &q), -EPERM);
    }
    for (uint32_t program = 0; program < 300; program++) {
        struct reach_request q = {
            .what = REACH_LOAD, .program = program, .number = program < REACH_PROGRAM_KINDS ? UINT32_MAX : 1};
        assert_int_equal(said(fd, &q), -EPERM);
    }
    close(fd);
}

/* The collector and its children inherit no descriptor that the server has without O_CLOEXEC: a tracepoint would stay
 * in use. */
static void nothing_is_inherited(void **state)
{
    char byte;
    int  p[2];
    (void)state;
    assert_int_equal(pipe(p), 0);
    const int fd = self_start(COLLECTOR_WORD);
    assert_true(fd >= 0);
    assert_int_equal(said(fd, &(struct reach_request[]){request(REACH_OPEN, "kallsyms")}[0]), 0); /* it runs */
    close(p[1]);
    assert_int_equal(read(p[0], &byte, 1), 0);
    close(p[0]);
    close(fd);
}

/* A message of another size ends its connection; the last connection's end ends the process. */
static void what_is_no_request_ends_it(void **state)
{
    static const char zeros[2 * sizeof(struct reach_request)];
    (void)state;
    for (size_t size = 1; size <= sizeof zeros; size += 37)
        if (size != sizeof(struct reach_request)) {
            const int fd = self_start(COLLECTOR_WORD);
            assert_true(fd >= 0 && ends_by(fd, zeros, size));
            close(fd);
        }
}

static void writes_for(uint32_t uid)
{
    const int             fd = collector_launch(WRITER_WORD);
    struct writer_request q  = {.what = WRITER_OWNER, .owner = {.uid = uid, .gid = uid}};
    struct writer_reply   reply;
    assert_true(fd >= 0);
    assert_int_equal(send(fd, &q, offsetof(struct writer_request, path), 0), offsetof(struct writer_request, path));
    assert_int_equal(recv(fd, &reply, sizeof reply, 0), sizeof reply);
    assert_int_equal(reply.result, 0);
    close(fd);
}

/* The collector does for the server what the server has no right to: look at another user's process. */
static void looks_at(pid_t other)
{
    char      path[64], text[4096];
    const int proc = open("/proc", O_PATH | O_CLOEXEC);
    snprintf(path, sizeof path, "%d/maps", (int)other);
    int fd = reach_open(proc, path); /* a newer kernel also allows it with CAP_PERFMON */
    assert_true(fd >= 0 && read(fd, text, sizeof text) > 100 && memchr(text, '/', sizeof text));
    close(fd);
    snprintf(path, sizeof path, "%d/exe", (int)other);
    assert_true(readlinkat(proc, path, text, sizeof text) < 0);
    char          own[256];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    assert_true(n > 0 && reach_link(proc, path, text, sizeof text) == n && memcmp(own, text, (size_t)n) == 0);
    assert_int_equal(reach_link(proc, path, text, 5), 4);
    assert_int_equal(strlen(text), 4);
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .task = 1};
    fd = reach_perf(&attr, 0);
    assert_true(fd >= 0);
    close(fd);
    fd = reach_tracefs();
    assert_true(fd < 0 || faccessat(fd, "events", F_OK, 0) == 0);
    const int more = reach_again();
    assert_true(more >= 0);
    close(more);
    close(proc);
}

static bool can_record(void)
{
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .task = 1};
    const int fd = reach_perf(&attr, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* In a child: it gives up its rights. */
static void in_the_server(void)
{
    struct reason why;
    const bool    records = can_record();
    int           status, ready[2], end[2];
    assert_int_equal(pipe(ready) + pipe(end), 0);
    const pid_t other = fork();
    if (other == 0) { /* lives until this process has ended, which may not signal it any more */
        close(end[1]);
        if (setresuid(4343, 4343, 4343) || write(ready[1], "r", 1) != 1)
            _exit(1);
        _exit(read(end[0], &status, 1) == 0);
    }
    assert_int_equal(read(ready[0], &status, 1), 1);
    assert_int_equal(collector_begin(false, false, &why), W_SUCCESS);
    const uint64_t kept = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_IPC_LOCK) | BIT(CAP_PERFMON) |
                          BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_NICE);
    assert_int_equal(status_of("CapEff") & ~kept, 0);
    assert_int_equal(status_of("CapPrm") & ~kept, 0);
    assert_int_equal(status_of("CapInh"), 0);
    assert_int_equal(status_of("CapBnd") & ~kept, 0);
    assert_int_equal(status_of("NoNewPrivs"), 1);
    assert_true(setresuid(1, 1, 1) < 0 && errno == EPERM);
    const pid_t pid = fork();
    if (pid == 0) { /* a program of root's has no more than the rights left here */
        execl("/bin/sh", "sh", "-c",
              "eff=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status); [ $((0x$eff & ~0x4000805006)) = 0 ]", NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    writes_for(4242);
    if (records)
        looks_at(other);
    errno = 0;
    assert_true(collector_launch("--collector") < 0 && errno == EPERM);
    assert_true(collector_launch("a word that is longer than a request has room for, and then some more of it") < 0 &&
                errno == ENAMETOOLONG);
    assert_true(kill(other, SIGKILL) < 0 && errno == EPERM);
}

/* Runs `run` in a child, because lost rights can't be regained. */
static int in_child(void (*run)(void))
{
    int         status;
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60); /* a failed check in a child goes on with the next test, and never ends */
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

/* Finds the collector by its name, among the processes of this program: other programs have collectors, too. */
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

/* With all rights: only they can find it. */
static _Noreturn void collector_kill(int told)
{
    char  byte;
    pid_t pid = 0;
    if (read(told, &byte, 1) != 1)
        _exit(1);
    for (int i = 0; i < 2000 && !(pid = collector_pid()); i++)
        usleep(10000);
    if (!pid || kill(pid, SIGKILL) < 0)
        _exit(1);
    while (kill(pid, 0) == 0)
        usleep(10000);
    _exit(0);
}

static void begin_and_lose(bool kept)
{
    struct reason why;
    int           tell[2], status;
    assert_int_equal(pipe(tell), 0);
    const pid_t killer = fork();
    if (killer == 0)
        collector_kill(tell[0]);
    assert_int_equal(collector_begin(kept, false, &why), W_SUCCESS);
    assert_int_equal(write(tell[1], "k", 1), 1);
    assert_int_equal(waitpid(killer, &status, 0), killer);
    assert_int_equal(status, 0);
    errno = 0;
    assert_true(collector_launch(WRITER_WORD) < 0 && errno == ECONNRESET);
}
static void lose_alone(void) { begin_and_lose(false); }
static void lose_kept(void) { begin_and_lose(true); }

/* A killed collector: an error where nobody restarts this process; else the process ends, for a successor. */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(words),
                                       cmocka_unit_test(files),
                                       cmocka_unit_test(kinds),
                                       cmocka_unit_test(nothing_is_inherited),
                                       cmocka_unit_test(what_is_no_request_ends_it),
                                       cmocka_unit_test(the_server_has_them_no_more),
                                       cmocka_unit_test(a_collector_that_was_killed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
