/* Files of users are made by a process of that user's (writer.c): owner, rights and descriptors are that user's, not
 * the daemon's; requests that exceed the user's rights fail with the system's error. A writer that is killed, or was
 * idle, has a successor; an invalid request ends it.
 * Proves: SEC-09. */
// timeout: 60
#include "autologger/daemon/parts/writer.h"
#include "autologger/daemon/self_start.h"
#include "autologger/sandbox/sandbox.h"
#include "autologger/session/tests/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { USER = 61071, GROUP = 61072, FURTHER = 61073 };
static const struct state_owner owner = {.set = 1, .uid = USER, .gid = GROUP, .group_count = 1, .group = {FURTHER}};
static char                     folder[64];

static char *in_folder(const char *name)
{
    static _Thread_local char path[2][200];
    static _Thread_local int  turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-writer-XXXXXX");
    umask(022);
    if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
        return -1;
    return mkdir(in_folder("own"), 0700) | chown(in_folder("own"), USER, GROUP) | mkdir(in_folder("root"), 0755) |
           mkdir(in_folder("shut"), 0700) | mkdir(in_folder("further"), 0770) |
           chown(in_folder("further"), 0, FURTHER) | chmod(in_folder("further"), 0770) |
           symlink("/etc/shadow", in_folder("secret"));
}

static int teardown(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static struct os *begun(void)
{
    struct reason why = {0};
    if (writer_owner.begin(&owner, &why))
        fail_msg("%s", why.text);
    return writer_owner.os(os_linux());
}

/* The writer that this process has started last for the user; 0: none. */
static pid_t writer_pid(void)
{
    DIR           *d     = opendir("/proc");
    pid_t          found = 0;
    struct dirent *e;
    while ((e = readdir(d))) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        ssize_t n = read(fd, comm, sizeof comm - 1);
        close(fd);
        if (n <= 0 || strcmp(comm, "file-writer\n") != 0)
            continue;
        char     line[100];
        unsigned effective;
        snprintf(path, sizeof path, "/proc/%s/status", e->d_name);
        FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "Uid: %*u %u", &effective) == 1 && effective == USER)
                found = atoi(e->d_name) > found ? atoi(e->d_name) : found;
        if (f)
            fclose(f);
    }
    closedir(d);
    return found;
}

static void the_file_is_the_users(void **state)
{
    struct os     *os = begun();
    struct os_stat at, by_path;
    struct stat    st;
    (void)state;
    int fd = os->open(os, in_folder("own/file"), O_RDWR | O_CREAT | O_EXCL, 0640);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(os->pwrite(os, fd, "text", 4, 0), 4);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_uid, USER);
    assert_int_equal(st.st_gid, GROUP);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(os->lstat(os, in_folder("own/file"), &at), 0);
    assert_int_equal(os->stat(os, in_folder("own/file"), &by_path), 0);
    assert_int_equal(at.inode, st.st_ino);
    assert_int_equal(by_path.size, 4);
    assert_int_equal(os->mkdir(os, in_folder("own/more"), 0755), 0);
    assert_int_equal(os->rename(os, in_folder("own/file"), in_folder("own/more/other")), 0);
    assert_int_equal(access(in_folder("own/more/other"), F_OK), 0);
    assert_int_equal(os->unlink(os, in_folder("own/more/other")), 0);
    assert_int_equal(access(in_folder("own/more/other"), F_OK), -1);
    close(fd);
    fd = os->open(os, in_folder("further/file"), O_RDWR | O_CREAT, 0640); /* by a supplementary group's right */
    assert_true(fd >= 0);
    close(fd);
    writer_owner.end(&owner);
}

static void what_the_user_may_not_is_refused(void **state)
{
    struct os      *os = begun();
    struct os_stat  at;
    struct os_space space;
    char            far[WRITER_PATH + 10];
    (void)state;
    assert_int_equal(os->open(os, in_folder("root/file"), O_RDWR | O_CREAT, 0640), -EACCES);
    assert_int_equal(os->open(os, in_folder("shut/file"), O_RDWR | O_CREAT, 0640), -EACCES);
    assert_int_equal(os->open(os, "/etc/shadow", O_RDONLY, 0), -EACCES);
    assert_int_equal(os->open(os, in_folder("secret"), O_RDONLY, 0), -ELOOP);
    assert_int_equal(os->mkdir(os, in_folder("root/folder"), 0755), -EACCES);
    assert_int_equal(os->unlink(os, in_folder("secret")), -EACCES);
    assert_int_equal(os->rename(os, in_folder("secret"), in_folder("own/secret")), -EACCES);
    assert_int_equal(os->stat(os, in_folder("shut/file"), &at), -EACCES);
    assert_int_equal(os->lstat(os, in_folder("none"), &at), -ENOENT);
    assert_int_equal(os->space(os, in_folder("own"), &space), 0);
    assert_true(space.total_bytes > 0);
    memset(far, 'a', sizeof far);
    far[0]              = '/';
    far[sizeof far - 1] = 0;
    assert_int_equal(os->open(os, far, O_RDONLY, 0), -ENAMETOOLONG);
    far[WRITER_PATH - 1] = 0;
    assert_int_equal(os->open(os, far, O_RDONLY, 0), -ENAMETOOLONG); /* one component is too long */
    writer_owner.end(&owner);
}

/* By /proc: no user, group or capability of root is left, and no descriptor but the socket and the test's own
 * output. */
static void it_has_no_other_rights(void **state)
{
    struct os     *os = begun();
    char           path[64], line[200];
    unsigned       seen = 0;
    struct os_stat at;
    (void)state;
    assert_int_equal(os->lstat(os, in_folder("own"), &at), 0);
    const pid_t pid = writer_pid();
    assert_true(pid > 0);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned a, b, c, d;
        if (sscanf(line, "Uid: %u %u %u %u", &a, &b, &c, &d) == 4) {
            assert_true(a == SANDBOX_NO_USER && b == USER && c == SANDBOX_NO_USER && d == USER);
            seen++;
        } else if (sscanf(line, "Gid: %u %u %u %u", &a, &b, &c, &d) == 4) {
            assert_true(a == GROUP && b == GROUP && c == GROUP && d == GROUP);
            seen++;
        } else if (strncmp(line, "Groups:", 7) == 0) {
            assert_int_equal(atoi(line + 7), FURTHER);
            seen++;
        } else if (strncmp(line, "CapEff:", 7) == 0 || strncmp(line, "CapPrm:", 7) == 0 ||
                   strncmp(line, "CapInh:", 7) == 0) {
            assert_int_equal(strtoull(line + 7, NULL, 16), 0);
            seen++;
        } else if (strncmp(line, "NoNewPrivs:", 11) == 0) {
            assert_int_equal(atoi(line + 11), 1);
            seen++;
        } else if (strncmp(line, "Seccomp:", 8) == 0) {
            assert_int_equal(atoi(line + 8), 2);
            seen++;
        }
    }
    fclose(f);
    assert_int_equal(seen, 8);
    writer_owner.end(&owner);
}

/* Otherwise a user could hold the daemon's thread for any time. */
static void its_owner_does_not_stop_it(void **state)
{
    static const int signals[] = {SIGSTOP, SIGKILL, SIGCONT, SIGTERM};
    struct os       *os        = begun();
    struct os_stat   at;
    int              status = 0;
    (void)state;
    const pid_t writer = writer_pid(), pid = fork();
    assert_true(writer > 0);
    if (pid == 0) {
        struct rlimit none = {0, 0};
        if (setgroups(0, NULL) < 0 || setresgid(GROUP, GROUP, GROUP) < 0 || setresuid(USER, USER, USER) < 0)
            _exit(1);
        for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
            if (kill(writer, signals[i]) == 0 || errno != EPERM)
                _exit(2);
        if (ptrace(PTRACE_ATTACH, writer, NULL, NULL) == 0 || errno != EPERM ||
            prlimit(writer, RLIMIT_NOFILE, &none, NULL) == 0 || errno != EPERM)
            _exit(3);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(os->lstat(os, in_folder("own"), &at), 0);
    assert_int_equal(writer_pid(), writer);
    writer_owner.end(&owner);
}

static void one_that_is_killed_has_a_successor(void **state)
{
    struct os     *os = begun();
    struct os_stat at;
    (void)state;
    assert_int_equal(os->lstat(os, in_folder("own"), &at), 0);
    pid_t pid = writer_pid();
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (unsigned i = 0; i < 1000 && writer_pid() == pid; i++)
        usleep(1000);
    assert_int_equal(os->lstat(os, in_folder("own"), &at), 0); /* a request that no writer took is sent again */
    assert_int_not_equal(writer_pid(), pid);
    writer_owner.end(&owner);
    os = begun();
    assert_int_equal(os->lstat(os, in_folder("own"), &at), 0);
    writer_owner.end(&owner);
}

static void *makes_files(void *number)
{
    struct os *os = begun();
    for (unsigned i = 0; i < 50; i++) {
        char name[40];
        snprintf(name, sizeof name, "own/thread-%u-%u", (unsigned)(uintptr_t)number, i);
        int fd = os->open(os, in_folder(name), O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0)
            return (void *)1;
        close(fd);
    }
    writer_owner.end(&owner);
    return NULL;
}

static void threads_do_not_wait_for_each_other(void **state)
{
    pthread_t thread[6];
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, makes_files, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < 6; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(access(in_folder("own/thread-5-49"), F_OK), 0);
}

/* An invalid message ends the writer, without any effect. */
static void what_is_no_request_ends_it(void **state)
{
    static struct writer_request good;
    struct writer_reply          reply;
    (void)state;
    for (unsigned kind = 0; kind < 7; kind++) {
        int fd = self_start(WRITER_WORD);
        assert_true(fd >= 0);
        memset(&good, 0, sizeof good);
        size_t size = offsetof(struct writer_request, path);
        good.owner  = owner;
        assert_int_equal(send(fd, &good, size, 0), (ssize_t)size);
        assert_int_equal(recv(fd, &reply, sizeof reply, 0), (ssize_t)sizeof reply);
        good.what    = WRITER_MKDIR;
        good.mode    = 0755;
        good.size[0] = (uint32_t)snprintf(good.path, WRITER_PATH, "%s/own/odd", folder) + 1;
        size += good.size[0];
        switch (kind) {
        case 0: size -= 1; break;         /* shorter than it says */
        case 1: good.size[0] -= 1; break; /* longer */
        case 2: good.size[0] = UINT32_MAX; break;
        case 3: good.size[1] = UINT32_MAX - 8; break;
        case 4: good.path[good.size[0] - 1] = 'x'; break; /* no end */
        case 5: good.path[3] = 0; break;                  /* two ends */
        default: good.what = WRITER_OWNER;                /* another owner */
        }
        assert_int_equal(send(fd, &good, size, 0), (ssize_t)size);
        assert_int_equal(recv(fd, &reply, sizeof reply, 0), 0);
        close(fd);
    }
    assert_int_equal(access(in_folder("own/odd"), F_OK), -1);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], WRITER_WORD) == 0)
        _exit(writer_run()); /* its sandbox prevents a search for leaks */
    if (getuid() != 0) {
        printf("skipped: to become another user needs root\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_the_users),
        cmocka_unit_test(what_the_user_may_not_is_refused),
        cmocka_unit_test(it_has_no_other_rights),
        cmocka_unit_test(its_owner_does_not_stop_it),
        cmocka_unit_test(one_that_is_killed_has_a_successor),
        cmocka_unit_test(threads_do_not_wait_for_each_other),
        cmocka_unit_test(what_is_no_request_ends_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
