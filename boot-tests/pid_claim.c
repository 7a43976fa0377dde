/* pid_claim - connections to a daemon that outlive the process that made them, or whose process has become another
 * user's; by hand, without the library, which would connect anew.
 *   pid_claim RUNTIME_DIR SNAPSHOT exec PROGRAM [ARGUMENT...]  connects; a child keeps the connection, the process
 *                                                              itself becomes PROGRAM
 *   pid_claim RUNTIME_DIR SNAPSHOT hold COUNT                  COUNT children connect and end; prints their process
 *                                                              ids, and keeps the connections
 *   pid_claim - - become PROGRAM [ARGUMENT...]                 as a setuid or setgid file: takes on that id for good,
 *                                                              and becomes PROGRAM
 * Standard input says what to do with connection N (from 0), a line each: "start N": starts what the sealed snapshot
 * declares; "stop N NAME"; "state N". Prints the Status of the answer, or "gone" where the daemon has ended the
 * connection. */
#include "autologger/wire/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNECTIONS_MOST = 4096, WAIT_MS = 20000 };
static int connection[CONNECTIONS_MOST];
static _Alignas(8) uint8_t in[CTL_MAX], out[CTL_MAX];

static void die(const char *what)
{
    fprintf(stderr, "pid_claim: %s: %s\n", what, strerror(errno));
    exit(111);
}

/* The answer's Status, or -1: the connection is over. */
static long ask(int fd, uint16_t type, size_t size)
{
    struct ctl_header h = {(uint32_t)size, type, CTL_VERSION, 7, 0};
    memcpy(out, &h, sizeof h);
    if (send(fd, out, size, MSG_NOSIGNAL) != (ssize_t)size)
        return -1;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, WAIT_MS) <= 0)
            die("no answer");
        if (recv(fd, in, sizeof in, 0) <= 0)
            return -1;
        memcpy(&h, in, sizeof h);
        if (h.type == type)
            return h.status;
    }
}

static int dial(const char *folder)
{
    struct sockaddr_un a  = {.sun_family = AF_UNIX};
    struct ctl_hello   m  = {.highest_version = CTL_VERSION};
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s/control", folder);
    while (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        if (errno != EAGAIN && errno != EINTR)
            die("connect");
    memcpy(out, &m, sizeof m);
    if (fd < 0 || ask(fd, CTL_HELLO, sizeof m) != 0)
        die("hello");
    return fd;
}

/* A request's name follows the header; the rest is 0. */
static long ask_named(int fd, uint16_t type, const char *name)
{
    memset(out, 0, sizeof(struct ctl_session_request));
    snprintf((char *)out + sizeof(struct ctl_header), CTL_NAME, "%s", name);
    return ask(fd, type, sizeof(struct ctl_session_request));
}

static long start(int fd, const char *snapshot)
{
    struct ctl_start_request m = {.filter_bytes = 0};
    const int                f = open(snapshot, O_RDONLY | O_CLOEXEC);
    const ssize_t            n = f >= 0 ? read(f, out + sizeof m, sizeof out - sizeof m) : -1;
    if (n <= 0)
        die(snapshot);
    close(f);
    m.bytes = (uint32_t)n;
    memcpy(out, &m, sizeof m);
    return ask(fd, CTL_START, sizeof m + (size_t)n);
}

static void serve(const char *snapshot)
{
    char     line[512], name[256];
    unsigned n;
    while (fgets(line, sizeof line, stdin)) {
        long status = -1;
        if (sscanf(line, "start %u", &n) == 1 && n < CONNECTIONS_MOST)
            status = start(connection[n], snapshot);
        else if (sscanf(line, "stop %u %255s", &n, name) == 2 && n < CONNECTIONS_MOST)
            status = ask_named(connection[n], CTL_STOP, name);
        else if (sscanf(line, "state %u", &n) == 1 && n < CONNECTIONS_MOST)
            status = ask(connection[n], CTL_STATE, sizeof(struct ctl_header));
        if (status < 0)
            puts("gone");
        else
            printf("%ld\n", status);
        fflush(stdout);
    }
}

static void pass(int to, int fd)
{
    char         byte = 0;
    struct iovec io   = {&byte, 1};
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control       = {0};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(to, &m, 0) != 1)
        die("sendmsg");
}

static int passed(int from)
{
    char         byte;
    int          fd = -1;
    struct iovec io = {&byte, 1};
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control       = {0};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
        die("recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

/* Connections of processes that have ended. */
static void hold(const char *folder, unsigned count)
{
    int pair[2];
    if (count > CONNECTIONS_MOST || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        die("socketpair");
    for (unsigned i = 0; i < count; i++) {
        const pid_t child = fork();
        if (child < 0)
            die("fork");
        if (!child) {
            pass(pair[1], dial(folder));
            _exit(0);
        }
        connection[i] = passed(pair[0]);
        waitpid(child, NULL, 0);
        printf("%d%c", (int)child, i + 1 < count ? ' ' : '\n');
    }
    fflush(stdout);
}

static int become(char **argv)
{
    if (setresgid(getegid(), getegid(), getegid()) < 0 || setresuid(geteuid(), geteuid(), geteuid()) < 0)
        die("setresuid");
    execv(argv[0], argv);
    die(argv[0]);
    return 111;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 100;
    if (!strcmp(argv[3], "become"))
        return become(argv + 4);
    if (!strcmp(argv[3], "hold")) {
        hold(argv[1], (unsigned)atoi(argv[4]));
        serve(argv[2]);
        return 0;
    }
    connection[0]     = dial(argv[1]);
    const pid_t child = fork();
    if (child < 0)
        die("fork");
    if (!child) {
        serve(argv[2]);
        return 0;
    }
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    execv(argv[4], argv + 4);
    die(argv[4]);
}
