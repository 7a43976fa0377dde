/* collector_run.c - the collector's process. See collector.h. */
#include "autologger/daemon/collector.h"
#include "autologger/daemon/collector_allows.h"

#include "autologger/daemon/self_start.h"
#include "autologger/kernel/argv.h"
#include "autologger/kernel/elf_helper.h"
#include "autologger/kernel/filetap.h"
#include "autologger/kernel/nettap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ASKERS = 16, REAP_MS = 1000 };

static struct {
    struct pollfd asker[ASKERS]; /* the first is the server's */
    unsigned      count;
    int           proc;
} collector;

/* ---- doing it ---- */

static int kernel_events(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    struct perf_event_attr a;
    (void)reply;
    memcpy(&a, q->attr, sizeof a);
    fd[0] = reach_perf(&a, q->number);
    return fd[0] < 0 ? fd[0] : 0;
}

static int file(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)reply;
    fd[0] = openat(collector.proc, q->text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd[0] < 0 ? -errno : 0;
}

static int target(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)fd;
    const ssize_t n = readlinkat(collector.proc, q->text, reply->text, sizeof reply->text);
    reply->size     = n < 0 ? 0 : (uint32_t)n;
    return n < 0 ? -errno : 0;
}

static int processes(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)q, (void)reply;
    fd[0] = fcntl(collector.proc, F_DUPFD_CLOEXEC, 3);
    return fd[0] < 0 ? -errno : 0;
}

static int tracefs(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)q, (void)reply;
    fd[0] = reach_tracefs();
    return fd[0] < 0 ? fd[0] : 0;
}

static int programs(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    bool attached = false;
    int  r        = -EPERM;
    switch (q->program) {
    case REACH_ARGV: r = argv_programs(fd, &attached); break;
    case REACH_FILES: r = filetap_programs(q->number, fd, &attached); break;
    case REACH_NET_CALLS:
    case REACH_NET_BOTH:
    case REACH_NET_SENT: r = nettap_programs(q->program, q->number, fd, &attached); break;
    default: break;
    }
    reply->attached = attached;
    return r;
}

static int helper(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)reply;
    const int pid = elf_helper_begin(collector.proc, q->number != 0, &fd[0]);
    if (pid < 0)
        return pid;
    fd[1] = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd[1] < 0 ? -errno : pid; /* without its socket it ends */
}

static int launch(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)reply;
    fd[0] = self_start(q->text);
    return fd[0] < 0 ? -errno : 0;
}

static int again(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    int pair[2];
    (void)q, (void)reply;
    if (collector.count == ASKERS)
        return -EMFILE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    collector.asker[collector.count++] = (struct pollfd){.fd = pair[1], .events = POLLIN};
    fd[0]                              = pair[0];
    return 0;
}

static int (*const doing[REACH_WHATS])(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS]) = {
    [REACH_LAUNCH] = launch, [REACH_AGAIN] = again, [REACH_PERF] = kernel_events, [REACH_OPEN] = file, [REACH_LINK] = target,
    [REACH_PROC] = processes, [REACH_TRACEFS] = tracefs, [REACH_LOAD] = programs, [REACH_HELPER] = helper};

/* ---- messages ---- */

static bool answer(int to, struct reach_reply *reply, const int fd[REACH_FDS])
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(REACH_FDS * sizeof(int))];
    } control = {0};
    struct iovec  io = {.iov_base = reply, .iov_len = offsetof(struct reach_reply, text) + reply->size};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1};
    int           out[REACH_FDS];
    unsigned      count = 0;

    for (unsigned i = 0; i < REACH_FDS; i++)
        if (fd[i] >= 0) {
            reply->fds |= 1u << i;
            out[count++] = fd[i];
        }
    if (count) {
        m.msg_control     = control.space;
        m.msg_controllen  = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), out, count * sizeof(int));
    }
    return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)io.iov_len;
}

/* False: the connection is over. */
static bool serve(int from)
{
    static struct reach_reply reply;
    struct reach_request      q;
    int                       fd[REACH_FDS];
    const ssize_t             n = recv(from, &q, sizeof q, MSG_TRUNC); /* without room for descriptors: none comes in */

    if (n < 0 && errno == EINTR)
        return true;
    if (n != (ssize_t)sizeof q)
        return false;
    for (unsigned i = 0; i < REACH_FDS; i++)
        fd[i] = -1;
    memset(&reply, 0, offsetof(struct reach_reply, text));
    reply.result = collector_allows(&q) ? doing[q.what](&q, &reply, fd) : -EPERM;
    for (unsigned i = 0; i < REACH_FDS && reply.result < 0; i++)
        if (fd[i] >= 0) {
            close(fd[i]);
            fd[i] = -1;
        }
    const bool sent = answer(from, &reply, fd);
    for (unsigned i = 0; i < REACH_FDS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return sent;
}

/* /proc with everybody's processes: one of its own where the machine's hides them. */
static int proc_all(void)
{
    const int fd      = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int context = fsopen("proc", FSOPEN_CLOEXEC);
    int       own     = -1;
    if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        own = fsmount(context, FSMOUNT_CLOEXEC, 0);
    if (context >= 0)
        close(context);
    if (own >= 0 && fd >= 0)
        close(fd);
    return own >= 0 ? own : fd;
}

int collector_run(void)
{
    self_alone();
    prctl(PR_SET_NAME, "collector", 0, 0, 0);
    collector.proc     = proc_all();
    collector.asker[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    collector.count    = 1;
    while (collector.count) {
        const int ready = poll(collector.asker, collector.count, REAP_MS);
        while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) /* helpers */
            ;
        const unsigned before = ready > 0 ? collector.count : 0; /* who comes meanwhile is asked in the next round */
        for (unsigned i = 0; i < before; i++)
            if (collector.asker[i].revents && !serve(collector.asker[i].fd)) {
                close(collector.asker[i].fd);
                collector.asker[i].fd = -1;
            }
        unsigned kept = 0;
        for (unsigned i = 0; i < collector.count; i++)
            if (collector.asker[i].fd >= 0)
                collector.asker[kept++] = collector.asker[i];
        collector.count = kept;
    }
    return 0;
}
