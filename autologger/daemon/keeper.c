#include "autologger/daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_MAX = 4096, KEPT_NAME = 256, RESTARTS_MAX = 20, RESTARTS_SECONDS = 5, FIRST_FD = 3 };

struct kept {
    char   name[KEPT_NAME];
    int    fd;
    void  *ring;
    size_t ring_bytes;
};

struct keeper {
    struct kept *kept; /* [KEPT_MAX] */
    unsigned     count;
    int          socket_fd, signal_fd;
    pid_t        child;
    int          ending; /* the signal that asked for the end: a new daemon gets it too */
    const char  *socket_path;
};

static void kept_drop(struct keeper *k, const char *name)
{
    for (unsigned i = 0; i < k->count; i++)
        if (strcmp(k->kept[i].name, name) == 0) {
            if (k->kept[i].ring)
                munmap(k->kept[i].ring, k->kept[i].ring_bytes);
            close(k->kept[i].fd);
            k->kept[i] = k->kept[--k->count];
            return;
        }
}

static void kept_add(struct keeper *k, const char *name, int fd, size_t ring_bytes)
{
    kept_drop(k, name);
    if (k->count == KEPT_MAX || strlen(name) >= KEPT_NAME) {
        close(fd);
        return;
    }
    struct kept *e = &k->kept[k->count++];
    *e             = (struct kept){.fd = fd, .ring_bytes = ring_bytes};
    strcpy(e->name, name);
    if (ring_bytes) {
        e->ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (e->ring == MAP_FAILED)
            e->ring = NULL;
    }
}

/* One line of a message, or NULL. */
static const char *field(char *text, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            snprintf(out, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
            return out;
        }
    return NULL;
}

/* False: nothing waits. */
static bool message_take(struct keeper *k)
{
    char text[1024], name[KEPT_NAME], number[32];
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec  io = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    int           fd = -1;
    ssize_t       n  = recvmsg(k->socket_fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return false;
    text[n] = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (!field(text, "FDNAME", name, sizeof name)) {
        if (fd >= 0)
            close(fd);
    } else if (fd >= 0 && field(text, "FDSTORE", number, sizeof number))
        kept_add(k, name, fd, field(text, "X_RING_BYTES", number, sizeof number) ? strtoul(number, NULL, 10) : 0);
    else if (field(text, "FDSTOREREMOVE", number, sizeof number))
        kept_drop(k, name);
    return true;
}

/* In the child: descriptors to 3, 4, ...; names to the environment. */
static void child_exec(struct keeper *k, char **argv)
{
    size_t   size  = 1;
    unsigned count = k->count;
    char     number[32], *names;
    int     *high = calloc(count + 1, sizeof *high);

    for (unsigned i = 0; i < count; i++)
        size += strlen(k->kept[i].name) + 1;
    if (!(names = calloc(1, size)) || !high)
        _exit(111);
    /* first out of the way of 3 .. count + 2, then into place; dup2 clears close-on-exec */
    for (unsigned i = 0; i < count; i++)
        if ((high[i] = fcntl(k->kept[i].fd, F_DUPFD_CLOEXEC, FIRST_FD + (int)count)) < 0)
            _exit(111);
    for (unsigned i = 0; i < count; i++) {
        if (dup2(high[i], FIRST_FD + (int)i) < 0)
            _exit(111);
        strcat(strcat(names, i ? ":" : ""), k->kept[i].name);
    }
    /* SIGTERM and SIGINT stay blocked: the daemon reads them by a signalfd, also those that come before it has one */
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &children, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv("NOTIFY_SOCKET", k->socket_path, 1);
    if (count) {
        snprintf(number, sizeof number, "%u", count);
        setenv("LISTEN_FDS", number, 1);
        setenv("LISTEN_FDNAMES", names, 1);
        snprintf(number, sizeof number, "%d", (int)getpid());
        setenv("LISTEN_PID", number, 1);
    }
    execv(argv[0], argv);
    _exit(111);
}

static bool child_start(struct keeper *k, char **argv)
{
    while (message_take(k)) /* what the dead one sent last */
        ;
    k->child = fork();
    if (k->child == 0)
        child_exec(k, argv);
    if (k->child > 0 && k->ending)
        kill(k->child, k->ending);
    return k->child > 0;
}

/* A restart needs each kept descriptor twice. */
static void limit_raise(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

static bool keeper_open(struct keeper *k)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    sigset_t           signals;

    limit_raise();
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    k->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    k->socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    k->kept      = calloc(KEPT_MAX, sizeof *k->kept);
    if (k->signal_fd < 0 || k->socket_fd < 0 || !k->kept || strlen(k->socket_path) >= sizeof a.sun_path)
        return false;
    strcpy(a.sun_path, k->socket_path);
    unlink(k->socket_path);
    int room = 1 << 20;
    setsockopt(k->socket_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    mode_t old = umask(0077);
    bool   ok  = bind(k->socket_fd, (struct sockaddr *)&a, sizeof a) == 0;
    umask(old);
    return ok;
}

/* True when the daemon is gone; *code gets its exit code, or -1 when a signal ended it. */
static bool child_gone(struct keeper *k, int *code)
{
    struct signalfd_siginfo info;
    int                     status;

    while (read(k->signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            kill(k->child, k->ending = (int)info.ssi_signo);
    if (waitpid(k->child, &status, WNOHANG) != k->child)
        return false;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

/* Notes a death. True: RESTARTS_MAX came within RESTARTS_SECONDS before it; what is handed over must be what kills it. */
static bool dies_too_often(time_t deaths[static RESTARTS_MAX], unsigned count)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    bool often = count >= RESTARTS_MAX && now.tv_sec - deaths[count % RESTARTS_MAX] < RESTARTS_SECONDS;
    deaths[count % RESTARTS_MAX] = now.tv_sec;
    return often;
}

int keeper_run(const char *socket_path, char **argv)
{
    struct keeper k    = {.socket_path = socket_path, .socket_fd = -1, .signal_fd = -1};
    int           code = 111;

    if (!keeper_open(&k) || !child_start(&k, argv)) {
        fprintf(stderr, "autologgerd: cannot start the keeper: %s\n", strerror(errno));
        free(k.kept);
        return 111;
    }
    time_t deaths[RESTARTS_MAX];
    for (unsigned restarts = 0;;) {
        struct pollfd p[2] = {{.fd = k.socket_fd, .events = POLLIN}, {.fd = k.signal_fd, .events = POLLIN}};
        poll(p, 2, -1);
        if (p[0].revents)
            message_take(&k);
        if (!p[1].revents || !child_gone(&k, &code))
            continue;
        if (code >= 0)
            break;
        if (dies_too_often(deaths, restarts++) || !child_start(&k, argv)) {
            fprintf(stderr, "autologgerd: the daemon died %u times; giving up\n", restarts);
            code = 111;
            break;
        }
    }
    unlink(socket_path);
    free(k.kept);
    return code;
}
