/* The rights that the daemon gives up: each row of confine.def is refused with its error, needed calls work, in threads
 * and in what it starts. Proves: no right is kept that is not needed. */
// timeout: 60
#include "autologger/daemon/parts/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[40], file[64], other[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-confine-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 || close(fd) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    unlink(other);
    rmdir(other);
    return rmdir(folder);
}

/* Runs `body` in a confined process. Returns its number of the first check that fails; 0: none. -SIGNAL: a signal ended
 * it. */
static int confined(int (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        struct reason why = {0};
        if (confine(&why) != W_SUCCESS) {
            fprintf(stderr, "%s\n", why.text);
            _exit(255);
        }
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns the line number modulo 250; the failed test shows the call and its error. */
#define REFUSED(call, error) \
    do { \
        errno = 0; \
        if ((long)(call) != -1 || errno != (error)) { \
            fprintf(stderr, "%s: %s\n", #call, strerror(errno)); \
            return __LINE__ % 250 + 1; \
        } \
    } while (0)
#define ALLOWED(call) \
    do { \
        if ((long)(call) == -1) { \
            fprintf(stderr, "%s: %s\n", #call, strerror(errno)); \
            return __LINE__ % 250 + 1; \
        } \
    } while (0)

static int memory(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int    fd   = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    REFUSED(mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EPERM);
    ALLOWED(mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0)); /* a library */
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ALLOWED(p);
    REFUSED(mprotect(p, page, PROT_READ | PROT_EXEC), EPERM);
    REFUSED(syscall(SYS_pkey_mprotect, p, page, PROT_EXEC, -1), EPERM);
    ALLOWED(mprotect(p, page, PROT_READ));
    REFUSED(shmat(-1, NULL, SHM_EXEC), EPERM);
    REFUSED(shmat(-1, NULL, 0), EINVAL); /* the kernel's own answer */
    return 0;
}

static int files(void)
{
    REFUSED(chmod(file, 04755), EPERM);
    REFUSED(chmod(file, 02755), EPERM);
    ALLOWED(chmod(file, 0755));
    int fd = open(file, O_RDWR | O_CLOEXEC);
    ALLOWED(fd);
    REFUSED(fchmod(fd, 04644), EPERM);
    ALLOWED(fchmod(fd, 0600));
    REFUSED(syscall(SYS_fchmodat, AT_FDCWD, file, 02700), EPERM);
    REFUSED(syscall(452 /* fchmodat2 */, AT_FDCWD, file, 02700, 0), EPERM);
    REFUSED(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 04755), EPERM);
    ALLOWED(syscall(SYS_openat, AT_FDCWD, file, O_RDONLY, 07777)); /* creates no file: the mode does not matter */
    REFUSED(mkdir(other, 02755), EPERM);
    REFUSED(mkdirat(AT_FDCWD, other, 02755), EPERM);
    REFUSED(mknod(other, S_IFREG | 04644, 0), EPERM);
    REFUSED(mknodat(AT_FDCWD, other, S_IFREG | 02644, 0), EPERM);
    REFUSED(syscall(SYS_openat2, AT_FDCWD, file, NULL, 0), ENOSYS);
    ALLOWED(mkdir(other, 0755));
    return 0;
}

static int families(void)
{
    REFUSED(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), EAFNOSUPPORT);
    REFUSED(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), EAFNOSUPPORT);
    REFUSED(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0), EAFNOSUPPORT);
    REFUSED(socket(1000, SOCK_STREAM, 0), EAFNOSUPPORT);
    ALLOWED(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ALLOWED(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
    return 0;
}

static int places(void)
{
    struct sched_param none = {0}, least = {1};
    REFUSED(unshare(CLONE_NEWNS), EPERM);
    REFUSED(unshare(CLONE_NEWUSER), EPERM);
    ALLOWED(unshare(CLONE_FILES));
    REFUSED(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL), EPERM);
    REFUSED(syscall(SYS_clone3, NULL, 0), ENOSYS);
    REFUSED(setns(-1, 0), EPERM);
    REFUSED(personality(ADDR_NO_RANDOMIZE), EPERM);
    ALLOWED(personality(PER_LINUX));
    REFUSED(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &none), EPERM);
    REFUSED(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &least), EPERM);
    REFUSED(syscall(SYS_sched_setscheduler, 0, SCHED_RESET_ON_FORK | SCHED_FIFO, &least), EPERM);
    ALLOWED(syscall(SYS_sched_setscheduler, 0, SCHED_RESET_ON_FORK | SCHED_RR, &least)); /* drains the rings */
    ALLOWED(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none));
    return 0;
}

static void *in_thread(void *ctx)
{
    errno       = 0;
    *(int *)ctx = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) == -1 && errno == EAFNOSUPPORT;
    return NULL;
}

/* Threads and processes can be made, and are confined too; so are executed programs, without the rights of their
 * files. */
static int descendants(void)
{
    pthread_t thread;
    int       refused = 0, status = 0;
    if (pthread_create(&thread, NULL, in_thread, &refused) != 0 || pthread_join(thread, NULL) != 0 || !refused)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c",
              "chmod u+s \"$1\" 2>/dev/null && exit 1; grep -qx 'Seccomp:[[:space:]]*2' /proc/self/status && exit 42",
              "sh", file, (char *)NULL);
        _exit(2);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
        return 2;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 3;
}

static int numbers_of_another(void)
{
#if defined __x86_64__
    long number = 20;         /* getpid, by the numbers of 32 bits */
    signal(SIGSEGV, SIG_DFL); /* sent by a kernel without these calls; cmocka would go on with the next test */
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
#else
    kill(getpid(), SIGSYS); /* this machine has no other numbers */
#endif
    return 0;
}

static void rows_test(void **state)
{
    (void)state;
    assert_int_equal(confined(memory), 0);
    assert_int_equal(confined(files), 0);
    assert_int_equal(confined(families), 0);
    assert_int_equal(confined(places), 0);
}

static void descendants_test(void **state)
{
    (void)state;
    assert_int_equal(confined(descendants), 0);
}

/* A kernel without 32-bit calls ends the caller by itself: the confined process must end in the same way. */
static void architecture_test(void **state)
{
    int   free = 0;
    pid_t pid  = fork();
    (void)state;
    if (pid == 0)
        _exit(numbers_of_another());
    assert_int_equal(waitpid(pid, &free, 0), pid);
    assert_true(WIFEXITED(free) || WIFSIGNALED(free));
    assert_int_equal(confined(numbers_of_another), WIFEXITED(free) ? -SIGSYS : -WTERMSIG(free));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_test), cmocka_unit_test(descendants_test),
                                       cmocka_unit_test(architecture_test)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
