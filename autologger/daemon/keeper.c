#include "autologger/daemon/keeper.h"

#include "autologger/daemon/dying.h"
#include "autologger/daemon/handover.h"
#include "autologger/daemon/notify.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RESTARTS_MAX     = 20,
    RESTARTS_SECONDS = 5,
    FIRST_FD         = 3,
    LEAVE_MS         = 500,
    LEAVING_MS       = 5000,
    ADOPT_SECONDS    = 60,
    NO_CODE          = -1,
    DYING_MS         = 2000 /* for a killed daemon to end */,
    LOOK_MS          = 200,
    CORPSES          = 20,
    WATCH_MS         = 1000 /* nothing reports a killed daemon that does not end, not even a pidfd: it is polled */
};

struct keeper {
    const struct keeper_options *options;
    struct kept                  kept;
    int                          socket_fd, signal_fd, handover_fd;
    int                          child_fd; /* function: the child's end of a socket pair */
    pid_t                        child;
    pid_t                        corpse[CORPSES]; /* former daemons that were killed and have not ended; 0: none */
    long                         dying_ms;        /* since when the child has been dying; 0: it is not */
    long                         looked_ms;       /* when that was last checked */
    int                          ending;          /* the signal that asked for the end: a new daemon gets it too */
    bool                         leaving;         /* the daemon has said that it is leaving */
    bool                         reload;          /* the daemon was asked to leave for a new one */
    char                        *manager;         /* NOTIFY_SOCKET of the service manager, or NULL */
};

/* One line of a message, or NULL. */
static const char *keeper_field(char *text, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            snprintf(out, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
            return out;
        }
    return NULL;
}

/* ---- the service manager above ---- */

/* Its fd store holds names only: the size of a ring goes into the name. */
enum { MIRROR_NAME = KEPT_NAME + 32 };
static void mirror_name(char out[MIRROR_NAME], const char *name, size_t ring_bytes)
{
    snprintf(out, MIRROR_NAME, ring_bytes ? "%s@%zu" : "%s", name, ring_bytes);
}

/* A connection that has only queried something is worth nothing to the next keeper, and programs come and go all the
 * time. */
static bool is_mirrored(const struct keeper *k, const char *name)
{
    static const char asks[] = "asks.";
    return k->manager && strncmp(name, asks, sizeof asks - 1) != 0;
}

static void mirror_add(const struct keeper *k, const char *name, int fd, size_t ring_bytes)
{
    char text[MIRROR_NAME + 64], full[MIRROR_NAME];
    if (!is_mirrored(k, name))
        return;
    mirror_name(full, name, ring_bytes);
    snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", full);
    notify_path(k->manager, text, fd);
}

static void mirror_drop(const struct keeper *k, const char *name)
{
    char text[MIRROR_NAME + 64], full[MIRROR_NAME];
    for (unsigned i = 0; is_mirrored(k, name) && i < k->kept.count; i++)
        if (strcmp(k->kept.item[i].name, name) == 0) {
            mirror_name(full, name, k->kept.item[i].ring_bytes);
            snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", full);
            notify_path(k->manager, text, -1);
        }
}

/* Takes what a dead keeper left with the service manager. */
static void mirror_take(struct keeper *k)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
    char       *list = names ? strdup(names) : NULL, *save = NULL;
    unsigned    count = list && pid && fds && strtol(pid, NULL, 10) == getpid() ? (unsigned)strtoul(fds, NULL, 10) : 0;

    for (unsigned i = 0; i < count; i++) {
        char  *name = strtok_r(i ? NULL : list, ":", &save), *at = name ? strrchr(name, '@') : NULL;
        size_t ring = at ? strtoul(at + 1, NULL, 10) : 0;
        fcntl(FIRST_FD + (int)i, F_SETFD, FD_CLOEXEC);
        if (at)
            *at = 0;
        if (name)
            kept_add(&k->kept, name, FIRST_FD + (int)i, ring);
    }
    free(list);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

/* ---- the daemon's messages ---- */

/* False: no message waits. */
static bool message_take(struct keeper *k)
{
    char text[1024], name[KEPT_NAME], number[32];
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec  io = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr m  = {
         .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    int     fd = -1;
    ssize_t n  = recvmsg(k->socket_fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return false;
    text[n] = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (!keeper_field(text, "FDNAME", name, sizeof name)) {
        if (fd >= 0)
            close(fd);
        else if (keeper_field(text, "LEAVING", number, sizeof number))
            k->leaving = true;
        else
            notify_path(k->manager, text, -1); /* READY=1 and the like */
    } else if (fd >= 0 && keeper_field(text, "FDSTORE", number, sizeof number)) {
        size_t ring = keeper_field(text, "X_RING_BYTES", number, sizeof number) ? strtoul(number, NULL, 10) : 0;
        mirror_add(k, name, fd, ring);
        kept_add(&k->kept, name, fd, ring);
    } else if (keeper_field(text, "FDSTOREREMOVE", number, sizeof number)) {
        mirror_drop(k, name);
        kept_drop(&k->kept, name);
    }
    return true;
}

/* ---- the daemon ---- */

static void signals_of(sigset_t *set)
{
    static const int which[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    sigemptyset(set);
    for (unsigned i = 0; i < sizeof which / sizeof *which; i++)
        sigaddset(set, which[i]);
}

/* In the child: moves descriptors to 3, 4, ...; names go to the environment. */
static void child_exec(struct keeper *k)
{
    size_t   size  = 1;
    unsigned count = k->kept.count;
    char     number[32], *names, *end;
    int     *high = calloc(count + 1, sizeof *high);

    for (unsigned i = 0; i < count; i++)
        size += strlen(k->kept.item[i].name) + 1;
    if (!(names = calloc(1, size)) || !high)
        _exit(111);
    end = names;
    /* first clear 3 .. count + 2, then move into place; dup2 clears close-on-exec */
    for (unsigned i = 0; i < count; i++)
        if ((high[i] = fcntl(k->kept.item[i].fd, F_DUPFD_CLOEXEC, FIRST_FD + (int)count)) < 0)
            _exit(111);
    for (unsigned i = 0; i < count; i++) {
        if (dup2(high[i], FIRST_FD + (int)i) < 0)
            _exit(111);
        end = stpcpy(stpcpy(end, i ? ":" : ""), k->kept.item[i].name);
    }
    /* the other signals stay blocked: the daemon reads them by a signalfd, also those that come before it has one */
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &children, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setenv("NOTIFY_SOCKET", k->options->socket_path, 1);
    if (count) {
        snprintf(number, sizeof number, "%u", count);
        setenv("LISTEN_FDS", number, 1);
        setenv("LISTEN_FDNAMES", names, 1);
        snprintf(number, sizeof number, "%d", (int)getpid());
        setenv("LISTEN_PID", number, 1);
    }
    execv(k->options->argv[0], k->options->argv);
    _exit(111);
}

/* In the child that calls a function: no file is needed, it may be gone. */
static void child_call(struct keeper *k)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* without its keeper nobody could hand anything over */
    close(k->signal_fd);
    close(k->socket_fd);
    if (k->handover_fd >= 0)
        close(k->handover_fd);
    struct handed *handed = handed_create_from(&k->kept, k->child_fd);
    _exit(handed ? k->options->run(k->options->ctx, handed) : 111);
}

static bool child_start(struct keeper *k)
{
    while (message_take(k)) /* the dead daemon's last messages */
        ;
    k->child = fork();
    if (k->child == 0 && k->options->run)
        child_call(k);
    if (k->child == 0)
        child_exec(k);
    if (k->child > 0 && k->ending)
        kill(k->child, k->ending);
    return k->child > 0;
}

/* A restart needs each kept descriptor twice. */
static void keeper_limit_raise(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

static bool socket_open(struct keeper *k)
{
    struct sockaddr_un a    = {.sun_family = AF_UNIX};
    int                room = 1 << 20, pair[2];

    if (k->options->run) {
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
            return false;
        k->socket_fd = pair[0];
        k->child_fd  = pair[1];
        setsockopt(k->child_fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        return true;
    }
    k->socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (k->socket_fd < 0 || strlen(k->options->socket_path) >= sizeof a.sun_path)
        return false;
    strcpy(a.sun_path, k->options->socket_path);
    unlink(k->options->socket_path);
    setsockopt(k->socket_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    mode_t old = umask(0077);
    bool   ok  = bind(k->socket_fd, (struct sockaddr *)&a, sizeof a) == 0;
    umask(old);
    return ok;
}

/* Takes everything from another program's keeper, if there is one. It is safe as soon as it is kept here. */
static void take_over(struct keeper *k)
{
    struct reason why;
    int           connection = handover_connect(k->options->takeover_path);

    if (connection < 0)
        return;
    if (handover_receive(connection, &k->kept, &why) == W_SUCCESS) {
        for (unsigned i = 0; i < k->kept.count; i++)
            mirror_add(k, k->kept.item[i].name, k->kept.item[i].fd, k->kept.item[i].ring_bytes);
        handover_acknowledge(connection);
    } else {
        visible_line(stderr,
                     "autologgerd: the early program's sessions were not taken over: %s. Do: rebuild the initramfs",
                     why.text);
    }
    close(connection);
}

static bool keeper_open(struct keeper *k)
{
    sigset_t    signals;
    const char *manager = getenv("NOTIFY_SOCKET");

    keeper_limit_raise();
    signals_of(&signals);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    k->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (k->signal_fd < 0 || !kept_init(&k->kept) || !socket_open(k))
        return false;
    k->manager = !k->options->run && manager && *manager ? strdup(manager) : NULL;
    mirror_take(k);
    if (!k->kept.count && k->options->takeover_path)
        take_over(k);
    if (k->options->handover_path)
        k->handover_fd = handover_listen(k->options->handover_path); /* on failure: the fallbacks */
    return true;
}

static void keeper_signals_take(struct keeper *k)
{
    struct signalfd_siginfo info;
    while (read(k->signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGHUP)
            kill(k->child, SIGHUP), k->reload = true;
        else if (info.ssi_signo != SIGCHLD)
            kill(k->child, k->ending = (int)info.ssi_signo);
}

static long keeper_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The daemon has ended, except for a thread that waits in the kernel, perhaps for ever. Its descriptors are here, so it
 * is not waited for; only the locks of its files remain, which its successor is told (created.h). */
static void child_abandon(struct keeper *k)
{
    unsigned i = 0;
    while (i < CORPSES - 1 && k->corpse[i])
        i++;
    k->corpse[i] = k->child;
    setenv(KEEPER_LEFT_BEHIND, "1", 1);
    visible_line(
        stderr,
        "autologgerd: the daemon (process %d) was killed and does not end: it waits in the kernel. Its successor goes on",
        (int)k->child);
}

static void corpses_reap(struct keeper *k)
{
    unsigned left = 0;
    for (unsigned i = 0; i < CORPSES; i++) {
        if (k->corpse[i] && waitpid(k->corpse[i], NULL, WNOHANG) != 0)
            k->corpse[i] = 0;
        left += k->corpse[i] != 0;
    }
    if (!left)
        unsetenv(KEEPER_LEFT_BEHIND);
}

/* True: the child has been dying for DYING_MS. */
static bool child_is_corpse(struct keeper *k, int *status)
{
    const long now = keeper_now_ms();
    if (now - k->looked_ms < LOOK_MS)
        return false;
    k->looked_ms = now;
    if (!process_is_dying(k->child, status))
        k->dying_ms = 0;
    else if (!k->dying_ms)
        k->dying_ms = now;
    return k->dying_ms && now - k->dying_ms >= DYING_MS;
}

/* True when the daemon is gone; *code gets its exit code, or NO_CODE when a signal ended it. */
static bool child_gone(struct keeper *k, int *code)
{
    int status;
    keeper_signals_take(k);
    corpses_reap(k);
    const bool ended = waitpid(k->child, &status, WNOHANG) == k->child;
    if (!ended && !child_is_corpse(k, &status))
        return false;
    if (!ended)
        child_abandon(k);
    k->dying_ms = 0;
    *code       = WIFEXITED(status) ? WEXITSTATUS(status) : NO_CODE;
    return true;
}

/* Kills the daemon for good: nothing of it is needed any more. */
static void child_kill(struct keeper *k)
{
    int code;
    kill(k->child, SIGKILL);
    for (long until = keeper_now_ms() + DYING_MS; !child_gone(k, &code);) {
        struct pollfd p = {.fd = k->signal_fd, .events = POLLIN};
        if (keeper_now_ms() >= until) { /* also without /proc */
            child_abandon(k);
            break;
        }
        poll(&p, 1, 10);
    }
    k->dying_ms = 0;
}

/* Makes the daemon publish and leave. One that does not is killed, which costs its last counters, and what it was just
 * about to open. The wait is short, for a boot may depend on it; longer when the daemon has answered. `successor`: the
 * connection that waits, or -1. */
static void child_leave(struct keeper *k, int how, int successor)
{
    int code;

    k->leaving = false;
    kill(k->child, how);
    for (int waited = 0; waited < (k->leaving ? LEAVING_MS : LEAVE_MS); waited += 10) {
        struct pollfd p[2] = {{.fd = k->socket_fd, .events = POLLIN}, {.fd = k->signal_fd, .events = POLLIN}};
        poll(p, 2, 10);
        while (message_take(k))
            ;
        if (child_gone(k, &code))
            return;
        if (successor >= 0 && waited % 100 == 0)
            handover_wait(successor);
    }
    child_kill(k);
}

/* Notes a death. True: RESTARTS_MAX deaths came within RESTARTS_SECONDS before it; then the handed-over state must be
 * what kills the daemon. */
static bool dies_too_often(time_t deaths[static RESTARTS_MAX], unsigned count)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    bool often = count >= RESTARTS_MAX && now.tv_sec - deaths[count % RESTARTS_MAX] < RESTARTS_SECONDS;
    deaths[count % RESTARTS_MAX] = now.tv_sec;
    return often;
}

/* True: a successor has taken everything. */
static bool hand_over(struct keeper *k)
{
    int connection = handover_accept(k->handover_fd), word = 0;

    if (connection < 0)
        return false;
    child_leave(k, SIGHUP, connection);
    while (message_take(k)) /* its last messages */
        ;
    if (handover_send(connection, &k->kept))
        for (int waited = 0; waited < ADOPT_SECONDS && !word; waited++)
            word = handover_acknowledged(connection, 1000);
    close(connection);
    if (word == 1)
        return true;
    child_start(k); /* nothing was taken: go on */
    return false;
}

/* Asks the keeper's owner what to do. True: the end. */
static bool keeper_look(struct keeper *k, int *every_ms)
{
    switch (k->options->look ? k->options->look(k->options->ctx, every_ms) : KEEPER_GO_ON) {
    case KEEPER_DISCARD: child_kill(k); return true;
    case KEEPER_SAVE:
        child_leave(k, SIGUSR1, -1);
        k->options->save(k->options->ctx, &k->kept);
        return true;
    case KEEPER_GO_ON: break;
    }
    return false;
}

static int keeper_loop(struct keeper *k)
{
    time_t deaths[RESTARTS_MAX];
    int    code = 111, every_ms = k->options->look ? 0 : -1; /* interval of keeper_look() */

    for (unsigned restarts = 0;;) {
        struct pollfd p[4]     = {{.fd = k->socket_fd, .events = POLLIN},
                                  {.fd = k->signal_fd, .events = POLLIN},
                                  {.fd = k->handover_fd, .events = POLLIN},
                                  {.fd = k->options->look ? k->options->watch_fd : -1, .events = POLLPRI}};
        const int     patience = k->dying_ms || k->reload || k->ending ? LOOK_MS : WATCH_MS;
        poll(p, 4, every_ms >= 0 && every_ms < patience ? every_ms : patience);
        if (p[0].revents)
            message_take(k);
        if (keeper_look(k, &every_ms) || (p[2].revents && hand_over(k)))
            return 0;
        if (!child_gone(k, &code))
            continue;
        if (code >= 0 && !k->reload)
            return code;
        if ((!k->reload && dies_too_often(deaths, restarts++)) || !child_start(k)) {
            visible_line(stderr, "autologgerd: the daemon died %u times; giving up", restarts);
            return 111;
        }
        k->reload = false;
    }
}

int keeper_run(const struct keeper_options *options)
{
    struct keeper k    = {.options = options, .socket_fd = -1, .signal_fd = -1, .handover_fd = -1, .child_fd = -1};
    int           code = 111;

    if (keeper_open(&k) && child_start(&k))
        code = keeper_loop(&k);
    else
        visible_line(stderr, "autologgerd: cannot start the keeper: %s", strerror(errno));
    if (!options->run)
        unlink(options->socket_path);
    if (k.handover_fd >= 0)
        unlink(options->handover_path);
    kept_finish(&k.kept);
    free(k.manager);
    return code;
}
