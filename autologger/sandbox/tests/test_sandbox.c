/* What a process without rights can't do, with all layers and on each kernel that lacks one of them; and what it still
 * can.
 * Proves: bytes of other users are read by a process that can do nothing with them. */
// timeout: 120
#include "autologger/sandbox/sandbox.h"
#include "registry-sim/base/opening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* AddressSanitizer needs more address space than any limit. */
#if defined(__SANITIZE_ADDRESS__)
#define LIMITLESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMITLESS 1
#endif
#endif
#ifndef LIMITLESS
#define LIMITLESS 0
#endif

enum { FILE_MOST = 1 << 20, OWNER = 61081, GROUP = 61082, FURTHER = 61083 };
static const gid_t                further = FURTHER;
static const struct sandbox_owner owner   = {OWNER, GROUP, &further, 1};
#define GB (UINT64_C(1) << 30)
static char     folder[] = "/tmp/al-sandbox-XXXXXX", target[64], other[64], secret[64];
static int      target_fd, listen_fd, talk_fd[2]; /* the two ends of a socket */
static uint16_t port;
static pid_t    victim; /* a process with the same ids as the sandbox */
static unsigned in;     /* the layers in force, in the child */

static void file_make(const char *path, mode_t mode)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0 && write(fd, "secret", 6) == 6 && close(fd) == 0);
}

static int set_up(void **state)
{
    struct sockaddr_in       at  = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t                n   = sizeof at;
    const struct sandbox_ids ids = sandbox_ids(SANDBOX_ACCOUNTS);
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0); /* the folder's mode refuses nothing */
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(secret, sizeof secret, "%s/secret", folder);
    file_make(target, 0666);
    file_make(secret, 0600);
    target_fd = open(target, O_RDWR | O_CLOEXEC);
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(target_fd >= 0 && bind(listen_fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(listen_fd, 8) == 0);
    assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&at, &n), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk_fd), 0);
    port   = at.sin_port;
    victim = fork();
    if (victim == 0) {
        if (getuid() == 0 &&
            (setresgid(ids.group, ids.group, ids.group) < 0 || setresuid(ids.user, ids.user, ids.user) < 0))
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return victim > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    int status;
    assert_int_equal(waitpid(victim, &status, WNOHANG), 0); /* it still lives */
    kill(victim, SIGKILL);
    waitpid(victim, &status, 0);
    close(target_fd);
    close(listen_fd);
    close(talk_fd[0]);
    close(talk_fd[1]);
    unlink(target);
    unlink(secret);
    assert_int_equal(rmdir(folder), 0); /* no file was created in it */
    return 0;
}

/* Plays a kernel without these calls; 0: none. */
static void kernel_without(int call, int another)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)another, 0, 1), /* its first argument */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (call &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0))
        _exit(254);
}

/* A kernel that lacks a layer: sandbox_enter() must not report that layer. */
struct lack {
    int      call, argument;
    unsigned layers;
};
static const struct lack nothing  = {0, 0, 0};
static const struct lack landlock = {__NR_landlock_restrict_self, 0, SANDBOX_FILES | SANDBOX_NETWORK | SANDBOX_SCOPE};
static const struct lack seccomp  = {__NR_prctl, PR_SET_SECCOMP, SANDBOX_CALLS};
static const struct lack setuid_  = {__NR_setresuid, (int)UINT32_C(65534), SANDBOX_USER};

/* Runs `body` in a sandbox. Returns the line of the first check that fails; 0: none. -SIGNAL: a signal ended it. */
static int boxed(enum sandbox_kind kind, const struct lack *l, int (*body)(void))
{
    fflush(NULL);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        const struct sandbox s = {kind, 2 * GB, FILE_MOST, 60, 32, parent, &owner};
        /* landlock_restrict_self's first argument is a descriptor of unknown number */
        if (l->call == __NR_landlock_restrict_self)
            for (int fd = 3; fd < 16; fd++)
                kernel_without(l->call, fd);
        else
            kernel_without(l->call, l->argument);
        in                    = sandbox_enter(&s);
        const unsigned wanted = sandbox_all(kind) & ~l->layers;
        if (getuid() == 0 && kind == SANDBOX_PARSER && !(l->layers & SANDBOX_USER))
            _exit(252);
        _exit((in & ~(unsigned)(SANDBOX_BOUNDING | SANDBOX_NETWORK | SANDBOX_SCOPE)) ==
                      (wanted & ~(unsigned)(SANDBOX_BOUNDING | SANDBOX_NETWORK | SANDBOX_SCOPE))
                  ? body()
                  : 253);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns the line, modulo 250, after it printed what happened. */
#define REFUSED(call) \
    do { \
        errno = 0; \
        if ((long)(call) != -1) { \
            dprintf(2, "%d: %s: was done\n", __LINE__, #call); \
            return __LINE__ % 250 + 1; \
        } \
    } while (0)
#define ALLOWED(call) \
    do { \
        if ((long)(call) == -1) { \
            dprintf(2, "%d: %s: %s\n", __LINE__, #call, strerror(errno)); \
            return __LINE__ % 250 + 1; \
        } \
    } while (0)

static int no_path(void)
{
    struct stat st;
    REFUSED(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
    REFUSED(open("/etc/passwd", O_RDONLY | O_CLOEXEC)); /* readable by every user */
    REFUSED(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_PATH));
    REFUSED(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REFUSED(open("/dev/null", O_WRONLY | O_CLOEXEC));
    REFUSED(open(target, O_RDONLY | O_CLOEXEC));
    REFUSED(stat("/etc/passwd", &st));
    REFUSED(chdir("/"));
    REFUSED(readlink("/proc/self/exe", (char[64]){0}, 64));
    return 0;
}

static int no_path_by_landlock(void) /* Landlock does not cover stat and chdir */
{
    REFUSED(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
    REFUSED(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    REFUSED(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REFUSED(open(target, O_RDONLY | O_CLOEXEC));
    return 0;
}

static int nothing_is_written(void)
{
    REFUSED(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REFUSED(open(target, O_RDWR | O_CLOEXEC));
    REFUSED(open(target, O_WRONLY | O_CLOEXEC | O_TRUNC));
    REFUSED(open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
    REFUSED(mkdir(other, 0700));
    REFUSED(rename(target, other));
    REFUSED(unlink(target));
    REFUSED(symlink("/", other));
    REFUSED(link(target, other));
    REFUSED(truncate(target, 0));
    return 0;
}

static int no_other_file(void)
{
    REFUSED(chmod(target, 04755));
    REFUSED(chown(target, 0, 0));
    return 0;
}

/* Without a call filter the socket can be made; but it reaches nobody. */
static int no_network(void)
{
    struct sockaddr_in to   = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/dbus/system_bus_socket"};
    int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REFUSED(fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to));
    REFUSED(fd < 0 ? -1 : (to.sin_port = 0, bind(fd, (struct sockaddr *)&to, sizeof to)));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REFUSED(fd < 0 ? -1 : connect(fd, (struct sockaddr *)&name, sizeof name));
    return 0;
}

static int no_socket(void)
{
    int pair[2];
    REFUSED(socket(AF_INET, SOCK_STREAM, 0));
    REFUSED(socket(AF_INET6, SOCK_DGRAM, 0));
    REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
    REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
    REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    REFUSED(accept(listen_fd, NULL, NULL)); /* an inherited socket */
    return 0;
}

static int no_process(void)
{
    for (int i = 0; i < 1000; i++) {
        const pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        REFUSED(pid);
    }
    REFUSED(syscall(SYS_vfork) == 0 ? (_exit(251), 0) : -1);
    return 0;
}

static int no_other_process(void)
{
    REFUSED(kill(victim, SIGKILL)); /* has the same ids */
    REFUSED(kill(getppid(), SIGTERM));
    REFUSED(kill(-1, SIGTERM));
    REFUSED(syscall(SYS_tgkill, victim, victim, SIGKILL));
    REFUSED(syscall(SYS_pidfd_open, victim, 0) < 0 ? -1 : syscall(SYS_pidfd_send_signal, 0, SIGKILL, NULL, 0));
    return 0;
}

static int no_signal_by_landlock(void)
{
    if (in & SANDBOX_SCOPE) {
        REFUSED(kill(victim, SIGKILL));
        REFUSED(kill(getppid(), SIGTERM));
    }
    return 0;
}

static int no_memory(void)
{
#if !LIMITLESS
    REFUSED(mmap(NULL, 10 * GB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REFUSED(malloc(10 * GB) ? 0 : -1);
#endif
    void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ALLOWED(p);
    return 0;
}

static int no_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ALLOWED(p);
    REFUSED(mprotect(p, 4096, PROT_READ | PROT_EXEC));
    REFUSED(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REFUSED(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, target_fd, 0));
    return 0;
}

static int no_rights(void)
{
    REFUSED(setuid(0));
    REFUSED(setresuid(0, 0, 0));
    REFUSED(syscall(SYS_setgroups, 1, (gid_t[]){0}));
    return 0;
}

static int what_it_has(void)
{
    char        text[8];
    struct stat st;
    ALLOWED(pwrite(target_fd, "text", 4, 100));
    ALLOWED(ftruncate(target_fd, 200));
    ALLOWED(pread(target_fd, text, 4, 100));
    ALLOWED(fstat(target_fd, &st));
    ALLOWED(fsync(target_fd));
    ALLOWED(fcntl(target_fd, F_DUPFD_CLOEXEC, 3));
    REFUSED(fcntl(target_fd, F_SETOWN, victim));
    REFUSED(pwrite(target_fd, "text", 4, FILE_MOST)); /* EFBIG, and no signal */
    REFUSED(fcntl(target_fd, F_DUPFD, 32));
    struct rlimit r;
    ALLOWED(getrlimit(RLIMIT_NPROC, &r));
    REFUSED(setrlimit(RLIMIT_NPROC, &r));
    void *p = malloc(100 << 20);
    REFUSED(p ? -1 : 0);
    free(p);
    return memcmp(text, "text", 4) ? 250 : 0;
}

static int executes(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return 250;
}

static int traces(void)
{
    ptrace(PTRACE_ATTACH, victim, NULL, NULL);
    return 250;
}

static int reads_another(void)
{
    struct iovec v = {&in, sizeof in};
    syscall(SYS_process_vm_readv, victim, &v, 1, &v, 1, 0);
    return 250;
}

static int aborts(void)
{
    abort();
    return 250;
}

#if defined __x86_64__
/* getpid by the numbers of 32 bits */
static int other_architecture(void)
{
    long result;
    signal(SIGSEGV, SIG_DFL); /* what a kernel without these calls sends; cmocka would go on with the next test */
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    return result > 0 ? 250 : 249;
}
#endif

static int makes_files(void)
{
    struct stat st;
    char        text[4];
    const int   fd = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    ALLOWED(fd);
    ALLOWED(fstat(fd, &st));
    ALLOWED(write(fd, "text", 4));
    ALLOWED(pread(fd, text, 4, 0));
    ALLOWED(unlinkat(AT_FDCWD, other, 0));
    ALLOWED(mkdirat(AT_FDCWD, other, 0755));
    ALLOWED(stat(other, &st));
    ALLOWED(unlinkat(AT_FDCWD, other, AT_REMOVEDIR));
    return st.st_uid == OWNER && st.st_gid == GROUP ? 0 : 250;
}

static int no_file_of_others(void)
{
    REFUSED(open(secret, O_RDONLY | O_CLOEXEC));
    REFUSED(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
    REFUSED(open("/etc/al-sandbox-test", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return 0;
}

static int nothing_else_is_made(void)
{
    REFUSED(symlink("/", other));
    REFUSED(link(target, other));
    REFUSED(mknod(other, S_IFIFO | 0600, 0));
    return 0;
}

static int nobodys(void) { return getuid() == SANDBOX_NO_USER && geteuid() == OWNER && getegid() == GROUP ? 0 : 250; }

#define BOXED(kind, lack, body) assert_int_equal(boxed(kind, lack, body), 0)

static void a_parser_with_all_layers(void **state)
{
    (void)state;
    BOXED(SANDBOX_PARSER, &nothing, no_path);
    BOXED(SANDBOX_PARSER, &nothing, nothing_is_written);
    BOXED(SANDBOX_PARSER, &nothing, no_other_file);
    BOXED(SANDBOX_PARSER, &nothing, no_network);
    BOXED(SANDBOX_PARSER, &nothing, no_socket);
    BOXED(SANDBOX_PARSER, &nothing, no_process);
    BOXED(SANDBOX_PARSER, &nothing, no_other_process);
    BOXED(SANDBOX_PARSER, &nothing, no_memory);
    BOXED(SANDBOX_PARSER, &nothing, no_code);
    BOXED(SANDBOX_PARSER, &nothing, no_rights);
    BOXED(SANDBOX_PARSER, &nothing, what_it_has);
}

static void a_writer(void **state)
{
    (void)state;
    if (getuid() != 0)
        return;
    BOXED(SANDBOX_WRITER, &nothing, nobodys);
    BOXED(SANDBOX_WRITER, &nothing, makes_files);
    BOXED(SANDBOX_WRITER, &nothing, no_file_of_others);
    BOXED(SANDBOX_WRITER, &nothing, no_other_file);
    BOXED(SANDBOX_WRITER, &nothing, nothing_else_is_made);
    BOXED(SANDBOX_WRITER, &nothing, no_network);
    BOXED(SANDBOX_WRITER, &nothing, no_socket);
    BOXED(SANDBOX_WRITER, &nothing, no_process);
    BOXED(SANDBOX_WRITER, &nothing, no_other_process);
    BOXED(SANDBOX_WRITER, &nothing, no_memory);
    BOXED(SANDBOX_WRITER, &nothing, no_code);
    BOXED(SANDBOX_WRITER, &nothing, no_rights);
    BOXED(SANDBOX_WRITER, &seccomp, makes_files);
    BOXED(SANDBOX_WRITER, &seccomp, no_file_of_others);
    BOXED(SANDBOX_WRITER, &landlock, makes_files);
    assert_int_equal(boxed(SANDBOX_WRITER, &nothing, executes), -SIGSYS);
    assert_int_equal(boxed(SANDBOX_WRITER, &nothing, traces), -SIGSYS);
}

static void what_ends_it(void **state)
{
    (void)state;
    assert_int_equal(boxed(SANDBOX_PARSER, &nothing, executes), -SIGSYS);
    assert_int_equal(boxed(SANDBOX_PARSER, &nothing, traces), -SIGSYS);
    assert_int_equal(boxed(SANDBOX_PARSER, &nothing, reads_another), -SIGSYS);
    assert_int_equal(boxed(SANDBOX_READER, &nothing, executes), -SIGSYS);
    assert_int_equal(boxed(SANDBOX_PARSER, &nothing, aborts), -SIGABRT);
#if defined __x86_64__
    const int ended = boxed(SANDBOX_PARSER, &nothing, other_architecture);
    assert_true(ended == -SIGSYS || ended == -SIGSEGV); /* SIGSEGV: a kernel without 32-bit calls */
#endif
}

/* Each layer works by itself. */
static void a_kernel_without_seccomp(void **state)
{
    (void)state;
    BOXED(SANDBOX_PARSER, &seccomp, no_path_by_landlock);
    BOXED(SANDBOX_PARSER, &seccomp, nothing_is_written);
    BOXED(SANDBOX_PARSER, &seccomp, no_network);
    BOXED(SANDBOX_PARSER, &seccomp, no_memory);
    BOXED(SANDBOX_PARSER, &seccomp, no_signal_by_landlock);
    if (getuid() == 0) { /* RLIMIT_NPROC counts all processes of a user, who may have others */
        BOXED(SANDBOX_PARSER, &seccomp, no_process);
        BOXED(SANDBOX_PARSER, &seccomp, no_rights);
    }
}

static void a_kernel_without_landlock(void **state)
{
    (void)state;
    BOXED(SANDBOX_PARSER, &landlock, no_path);
    BOXED(SANDBOX_PARSER, &landlock, nothing_is_written);
    BOXED(SANDBOX_PARSER, &landlock, no_network);
    BOXED(SANDBOX_PARSER, &landlock, no_other_process);
    BOXED(SANDBOX_READER, &landlock, nothing_is_written);
}

/* The shipped unit's daemon may lack the right to change its user. */
static void who_may_not_change_its_user(void **state)
{
    (void)state;
    if (getuid() != 0)
        return;
    struct lack l = setuid_;
    l.argument    = (int)sandbox_ids(SANDBOX_ACCOUNTS).user;
    BOXED(SANDBOX_PARSER, &l, no_path);
    BOXED(SANDBOX_PARSER, &l, no_rights);
    BOXED(SANDBOX_PARSER, &l, no_other_process);
}

static int reads(void)
{
    char buffer[16];
    int  fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    ALLOWED(fd);
    ALLOWED(read(fd, buffer, sizeof buffer));
    ALLOWED(pwrite(target_fd, "x", 1, 0));
    if (getuid() == 0)
        ALLOWED(open(secret, O_RDONLY | O_CLOEXEC));
    REFUSED(kill(victim, SIGKILL));
    return 0;
}

static void a_reader_reads(void **state)
{
    (void)state;
    BOXED(SANDBOX_READER, &nothing, reads);
    BOXED(SANDBOX_READER, &nothing, nothing_is_written);
    BOXED(SANDBOX_READER, &nothing, no_network);
    BOXED(SANDBOX_READER, &nothing, no_socket);
    BOXED(SANDBOX_READER, &nothing, no_process);
    BOXED(SANDBOX_READER, &nothing, no_other_process);
    BOXED(SANDBOX_READER, &nothing, no_memory);
}

static int talks(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/dbus/system_bus_socket"};
    char               text[8];
    struct iovec       v = {text, sizeof text};
    struct msghdr      m = {.msg_iov = &v, .msg_iovlen = 1};
    ALLOWED(sendmsg(talk_fd[0], &m, MSG_NOSIGNAL));
    ALLOWED(recvmsg(talk_fd[1], &m, 0));
    ALLOWED(send(talk_fd[0], "text", 4, MSG_NOSIGNAL));
    ALLOWED(recv(talk_fd[1], text, sizeof text, 0));
    REFUSED(sendto(talk_fd[0], "text", 4, MSG_NOSIGNAL, (struct sockaddr *)&name, sizeof name));
    return 0;
}

static int is_silent(void)
{
    struct msghdr m = {0};
    REFUSED(sendmsg(talk_fd[0], &m, MSG_NOSIGNAL));
    REFUSED(recvmsg(talk_fd[1], &m, MSG_DONTWAIT));
    REFUSED(send(talk_fd[0], "text", 4, MSG_NOSIGNAL));
    return 0;
}

static int opens_elf_files(void)
{
    static char own[512];
    ALLOWED(readlink("/proc/self/exe", own, sizeof own - 1));
    ALLOWED(opening_elf_for(own));
    REFUSED(opening_elf_for("/etc/passwd"));
    REFUSED(opening_elf_for("/proc/self/exe"));
    return 0;
}

/* It asks another process to do what it may not. */
static void a_reader_with_a_helper(void **state)
{
    (void)state;
    BOXED(SANDBOX_READER, &nothing, is_silent);
    BOXED(SANDBOX_HELPED, &nothing, talks);
    BOXED(SANDBOX_HELPED, &nothing, reads);
    BOXED(SANDBOX_HELPED, &nothing, opens_elf_files);
    BOXED(SANDBOX_HELPED, &seccomp, opens_elf_files);
    BOXED(SANDBOX_HELPED, &nothing, nothing_is_written);
    BOXED(SANDBOX_HELPED, &nothing, no_other_file);
    BOXED(SANDBOX_HELPED, &nothing, no_network);
    BOXED(SANDBOX_HELPED, &nothing, no_socket);
    BOXED(SANDBOX_HELPED, &nothing, no_process);
    BOXED(SANDBOX_HELPED, &nothing, no_other_process);
    BOXED(SANDBOX_HELPED, &nothing, no_memory);
    BOXED(SANDBOX_HELPED, &seccomp, nothing_is_written);
    BOXED(SANDBOX_HELPED, &landlock, nothing_is_written);
    assert_int_equal(boxed(SANDBOX_HELPED, &nothing, executes), -SIGSYS);
}

/* The number of a row of /proc/PID/status. */
static unsigned long long status_of(const char *what)
{
    char               line[256];
    FILE              *f     = fopen("/proc/self/status", "re");
    unsigned long long value = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, what, strlen(what)) == 0)
            value = strtoull(line + strlen(what), NULL, strcmp(what, "Uid:") ? 16 : 10);
    if (f)
        fclose(f);
    return value;
}

static int as_the_kernel_says(void)
{
    if (status_of("CapEff:") || status_of("CapPrm:") || status_of("CapInh:") || status_of("CapAmb:"))
        return 1;
    if (in & SANDBOX_BOUNDING && status_of("CapBnd:"))
        return 2;
    return status_of("NoNewPrivs:") == 1 ? 0 : 3;
}

/* Landlock and seccomp would refuse this process the questions. */
static void the_kernels_own_account(void **state)
{
    (void)state;
    int         status = 0;
    const pid_t pid    = fork();
    if (pid == 0) {
        for (int fd = 3; fd < 16; fd++)
            kernel_without(__NR_landlock_restrict_self, fd);
        kernel_without(__NR_prctl, PR_SET_SECCOMP);
        in = sandbox_enter(&(struct sandbox){.kind = SANDBOX_PARSER});
        if (in & (SANDBOX_CALLS | SANDBOX_FILES) || getuid() == 0 || getgroups(0, NULL) != 0)
            _exit(10);
        _exit(as_the_kernel_says());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_account(void **state)
{
    (void)state;
    char path[80];
    snprintf(path, sizeof path, "%s/passwd", folder);
    assert_int_equal(sandbox_ids(path).user, 65534); /* there is no such file */
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(
        "root:x:0:0::/:/bin/sh\nautologger-parser:x:7:7::/:\nautologger-parse:x:0:0::/:\nautologger-parse:!:990:991:a:/:/usr/sbin/nologin\n",
        f);
    fclose(f);
    const struct sandbox_ids ids = sandbox_ids(path);
    unlink(path);
    assert_true(ids.own);
    assert_int_equal(ids.user, 990);
    assert_int_equal(ids.group, 991);
}

static void the_words(void **state)
{
    (void)state;
    char text[400], few[12];
    assert_string_equal(sandbox_text(SANDBOX_USER | SANDBOX_CALLS, text, sizeof text),
                        "a user of its own, a filter of system calls");
    assert_string_equal(sandbox_text(0, text, sizeof text), "");
    assert_int_equal(strlen(sandbox_text(sandbox_all(SANDBOX_PARSER), few, sizeof few)), sizeof few - 1);
    assert_true((sandbox_possible(SANDBOX_READER) & SANDBOX_USER) == 0);
    assert_int_equal(sandbox_possible(SANDBOX_PARSER) & ~sandbox_all(SANDBOX_PARSER), 0);
}

/* Memory that a forked child shares with its parent goes; its own memory stays. */
static void shared_memory_goes(void **state)
{
    (void)state;
    volatile char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
                  *own    = malloc(10);
    assert_true(shared != MAP_FAILED && own);
    *own            = 7;
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's */
        if (!sandbox_memory_unshare() || *own != 7)
            _exit(1);
        *shared = 1;
        _exit(2);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(*shared, 0);
    munmap((void *)(uintptr_t)shared, 4096);
    free((void *)(uintptr_t)own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parser_with_all_layers),
        cmocka_unit_test(a_writer),
        cmocka_unit_test(what_ends_it),
        cmocka_unit_test(a_kernel_without_seccomp),
        cmocka_unit_test(a_kernel_without_landlock),
        cmocka_unit_test(who_may_not_change_its_user),
        cmocka_unit_test(a_reader_reads),
        cmocka_unit_test(a_reader_with_a_helper),
        cmocka_unit_test(the_kernels_own_account),
        cmocka_unit_test(the_account),
        cmocka_unit_test(the_words),
        cmocka_unit_test(shared_memory_goes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
