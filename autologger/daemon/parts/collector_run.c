/* collector_run.c - the collector's process. See collector.h. */
#include "autologger/daemon/parts/collector.h"
#include "autologger/daemon/parts/collector_allows.h"

#include "autologger/daemon/self_start.h"
#include "autologger/kernel/source/argv.h"
#include "autologger/kernel/source/elf_helper.h"
#include "autologger/kernel/source/filetap.h"
#include "autologger/kernel/source/nettap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ASKERS = 512, STACK = 256 << 10, ANSWER_S = 2, COLLECTOR_NICE = -5 };

static struct {
    pthread_mutex_t lock;
    unsigned        askers; /* under lock: connections, each with a thread */
    int             proc;
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};
static void *asker_run(void *socket);

/* ---- doing it ---- */

static int kernel_events(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    struct perf_event_attr a;
    (void)reply;
    memcpy(&a, q->attr, sizeof a);
    fd[0] = reach_perf(&a, q->number);
    return fd[0] < 0 ? fd[0] : 0;
}

static int collector_run_file(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
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

static int collector_run_shown(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)fd;
    const int     file  = openat(collector.proc, q->text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const ssize_t n     = file < 0 ? -1 : read(file, reply->text, sizeof reply->text);
    const int     error = errno;
    if (file >= 0)
        close(file);
    reply->size = n < 0 ? 0 : (uint32_t)n;
    return n < 0 ? -error : 0;
}

static int collector_run_processes(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
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

static int collector_run_programs(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
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

static int collector_run_helper(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)reply;
    const int pid = elf_helper_begin(collector.proc, q->number != 0, &fd[0]);
    if (pid < 0)
        return pid;
    fd[1] = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd[1] < 0 ? -errno : pid; /* without its socket the helper ends */
}

static int launch(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    (void)reply;
    fd[0] = self_start(q->text);
    return fd[0] < 0 ? -errno : 0;
}

static bool asker_begin(int socket)
{
    pthread_attr_t attr;
    pthread_t      thread;
    pthread_mutex_lock(&collector.lock);
    bool begun = collector.askers < ASKERS && pthread_attr_init(&attr) == 0;
    if (begun) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attr, STACK);
        begun = pthread_create(&thread, &attr, asker_run, (void *)(intptr_t)socket) ==
                0; // NOLINT(performance-no-int-to-ptr)
        pthread_attr_destroy(&attr);
    }
    collector.askers += begun;
    pthread_mutex_unlock(&collector.lock);
    return begun;
}

static int again(const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    int pair[2];
    (void)q, (void)reply;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    if (!asker_begin(pair[1])) {
        close(pair[0]);
        close(pair[1]);
        return -EAGAIN;
    }
    fd[0] = pair[0];
    return 0;
}

static int (*const doing[REACH_WHATS])(const struct reach_request *q, struct reach_reply *reply,
                                       int fd[REACH_FDS]) = {[REACH_LAUNCH]  = launch,
                                                             [REACH_AGAIN]   = again,
                                                             [REACH_PERF]    = kernel_events,
                                                             [REACH_OPEN]    = collector_run_file,
                                                             [REACH_LINK]    = target,
                                                             [REACH_PROC]    = collector_run_processes,
                                                             [REACH_TRACEFS] = tracefs,
                                                             [REACH_LOAD]    = collector_run_programs,
                                                             [REACH_HELPER]  = collector_run_helper,
                                                             [REACH_SHOW]    = collector_run_shown};

/* ---- messages ---- */

static bool collector_run_answer(int to, struct reach_reply *reply, const int fd[REACH_FDS])
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(REACH_FDS * sizeof(int))];
    } control        = {0};
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
static bool collector_run_serve(int from)
{
    struct reach_reply   reply;
    struct reach_request q;
    int                  fd[REACH_FDS];
    const ssize_t        n = recv(from, &q, sizeof q, MSG_TRUNC); /* no room for descriptors: none comes in */

    while (waitpid(-1, NULL, WNOHANG | __WCLONE) > 0) /* helpers only: self_start waits for its own */
        ;
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
    const bool sent = collector_run_answer(from, &reply, fd);
    for (unsigned i = 0; i < REACH_FDS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return sent;
}

/* /proc with all users' processes: a mount of its own where the machine's hides them. */
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

/* The thread that drains the rings waits for answers, so each thread here comes first, too; processes that it starts do
 * not. */
static void collector_run_come_first(void)
{
    const struct sched_param least = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) < 0)
        setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
}

static void *asker_run(void *value)
{
    const int            socket = (int)(intptr_t)value;
    const struct timeval least  = {.tv_sec = ANSWER_S};
    collector_run_come_first();
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &least, sizeof least); /* a client that does not read is left */
    while (collector_run_serve(socket))
        ;
    close(socket);
    pthread_mutex_lock(&collector.lock);
    collector.askers--;
    pthread_mutex_unlock(&collector.lock);
    return NULL;
}

int collector_run(void)
{
    self_alone();
    self_patient();
    prctl(PR_SET_NAME, "collector", 0, 0, 0);
    collector_run_come_first();
    collector.proc = proc_all();
    while (collector_run_serve(0))
        ;
    return 0; /* whatever other clients still ask */
}
