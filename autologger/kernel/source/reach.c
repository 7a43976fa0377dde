/* reach.c - see reach.h. */
#include "autologger/kernel/source/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Timeout of REACH_SHOW: during an exec, closing the old program's files may block the process, and a reader of its
 * files waits for that. */
enum { SHOW_WAIT_MS = 2000 };
_Static_assert(sizeof(struct perf_event_attr) <= REACH_ATTR, "an attribute fits into a request");

static struct {
    pthread_mutex_t lock; /* of the first socket */
    int             fd;   /* -1: this process does everything itself */
    bool            kept, keyed;
    pthread_key_t   own; /* the thread's socket + 1 */
} far = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void own_close(void *value) { close((int)(intptr_t)value - 1); }

void reach_through(int socket, bool kept)
{
    if (!far.keyed && pthread_key_create(&far.own, own_close) != 0)
        return; /* no key left: this process does everything itself */
    far.keyed = true;
    if (pthread_getspecific(far.own)) /* a socket to another process */
        own_close(pthread_getspecific(far.own));
    pthread_setspecific(far.own, NULL);
    far.fd   = socket;
    far.kept = kept;
}

bool reach_is_far(void) { return far.fd >= 0; }

/* ---- asking ---- */

static void fds_close(int fd[REACH_FDS])
{
    for (unsigned i = 0; i < REACH_FDS; i++) {
        if (fd[i] >= 0)
            close(fd[i]);
        fd[i] = -1;
    }
}

/* Moves each received descriptor to the place of its bit. False: the descriptors differ from those the reply names. */
static bool fds_sort(const struct reach_reply *reply, const int *came, unsigned count, int fd[REACH_FDS])
{
    unsigned next = 0;
    for (unsigned i = 0; i < REACH_FDS; i++)
        if (reply->fds >> i & 1 && next < count)
            fd[i] = came[next++];
    for (unsigned i = next; i < count; i++)
        close(came[i]);
    return next == count && !(reply->fds >> REACH_FDS) && (unsigned)__builtin_popcount(reply->fds) == count;
}

/* 0; -ECONNRESET: the other process has ended, or uses another protocol; else this process lacks a resource for the
 * answer. */
static int exchange(int socket, const struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(REACH_FDS * sizeof(int))];
    } control;
    struct iovec  io = {.iov_base = reply, .iov_len = sizeof *reply};
    struct msghdr m  = {
         .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    int      came[REACH_FDS];
    unsigned count = 0;
    ssize_t  n;

    do
        n = send(socket, q, sizeof *q, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ENOBUFS || errno == ENOMEM ? -errno : -ECONNRESET;
    if (q->what == REACH_SHOW && poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, SHOW_WAIT_MS) == 0)
        return -ETIMEDOUT;
    do
        n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(came, CMSG_DATA(c), count * sizeof(int));
    }
    const bool sorted = fds_sort(reply, came, count, fd);
    if (n < (ssize_t)offsetof(struct reach_reply, text) || reply->size > REACH_TEXT ||
        n != (ssize_t)(offsetof(struct reach_reply, text) + reply->size))
        return -ECONNRESET;
    return sorted ? 0 : m.msg_flags & MSG_CTRUNC ? -EMFILE : -ECONNRESET;
}

/* Each thread has its own socket, served by its own thread on the other side: no thread waits for another one's
 * request. The first socket, with its lock, hands them out, and serves where no further one is to be had. */
static int own_socket(void)
{
    const int known = (int)(intptr_t)pthread_getspecific(far.own) - 1;
    if (known >= 0)
        return known;
    struct reach_request q = {.what = REACH_AGAIN};
    struct reach_reply   reply;
    int                  fd[REACH_FDS];
    for (unsigned i = 0; i < REACH_FDS; i++)
        fd[i] = -1;
    memset(&reply, 0, offsetof(struct reach_reply, text));
    pthread_mutex_lock(&far.lock);
    const int r = exchange(far.fd, &q, &reply, fd);
    pthread_mutex_unlock(&far.lock);
    const int own = r == 0 && reply.result >= 0 ? fd[0] : -1;
    if (own >= 0)
        fd[0] = -1;
    fds_close(fd);
    if (own >= 0 &&
        pthread_setspecific(far.own, (void *)((intptr_t)own + 1)) != 0) { // NOLINT(performance-no-int-to-ptr)
        close(own);
        return -1;
    }
    return own;
}

/* Returns the reply's result. -ECONNRESET: the other process has ended. */
static int reach_ask(struct reach_request *q, struct reach_reply *reply, int fd[REACH_FDS])
{
    for (unsigned i = 0; i < REACH_FDS; i++)
        fd[i] = -1;
    memset(reply, 0, offsetof(struct reach_reply, text));
    const int own = own_socket();
    if (own < 0 && q->what == REACH_SHOW)
        return -EAGAIN; /* all threads share the first socket: a wait on it would hold up the others */
    if (own < 0)
        pthread_mutex_lock(&far.lock);
    const int r = exchange(own < 0 ? far.fd : own, q, reply, fd);
    if (own < 0)
        pthread_mutex_unlock(&far.lock);
    if (r == -ECONNRESET && far.kept)
        raise(SIGKILL);
    if (r == -ETIMEDOUT) { /* a late answer must not be taken for that of the next request */
        close(own);
        pthread_setspecific(far.own, NULL);
    }
    if (r == 0 && reply->result >= 0)
        return reply->result;
    fds_close(fd);
    return r < 0 ? r : reply->result;
}

static int reach_text_set(struct reach_request *q, const char *text)
{
    return snprintf(q->text, sizeof q->text, "%s", text) < (int)sizeof q->text ? 0 : -ENAMETOOLONG;
}

/* For requests whose reply has one descriptor. */
static int ask_one(struct reach_request *q)
{
    struct reach_reply reply;
    int                fd[REACH_FDS];
    const int          r = reach_ask(q, &reply, fd);
    if (r < 0)
        return r;
    for (unsigned i = 1; i < REACH_FDS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return fd[0] >= 0 ? fd[0] : -EPROTO;
}

static bool reach_is_refused(int error) { return far.fd >= 0 && (error == EACCES || error == EPERM); }

/* ---- the requests ---- */

int reach_perf(const struct perf_event_attr *attr, unsigned cpu)
{
    const int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0 || !reach_is_refused(errno))
        return fd < 0 ? -errno : fd;
    struct reach_request q = {.what = REACH_PERF, .number = cpu};
    memcpy(q.attr, attr, sizeof *attr);
    return ask_one(&q);
}

static int reach_far_open(const char *path)
{
    struct reach_request q = {.what = REACH_OPEN};
    const int            r = reach_text_set(&q, path);
    return r < 0 ? r : ask_one(&q);
}

int reach_open(int proc, const char *path)
{
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && reach_is_refused(errno))
        return reach_far_open(path);
    return fd < 0 ? -errno : fd;
}

int reach_addresses(int proc, const char *path)
{
    const int fd = far.fd >= 0 ? reach_far_open(path) : -EPERM;
    return fd == -EPERM ? reach_open(proc, path) : fd;
}

static ssize_t far_text(enum reach_what what, const char *path, char *out, size_t size)
{
    struct reach_request q = {.what = what};
    struct reach_reply   reply;
    int                  fd[REACH_FDS], r = reach_text_set(&q, path);

    *out = 0;
    r    = r < 0 ? r : reach_ask(&q, &reply, fd);
    if (r < 0)
        return r;
    fds_close(fd);
    const size_t n = reply.size < size ? reply.size : size - 1;
    memcpy(out, reply.text, n);
    out[n] = 0;
    return (ssize_t)n;
}

ssize_t reach_link(int proc, const char *path, char *out, size_t size)
{
    const ssize_t n = readlinkat(proc, path, out, size - 1);
    if (n < 0 && reach_is_refused(errno))
        return far_text(REACH_LINK, path, out, size);
    const int error    = errno;
    out[n > 0 ? n : 0] = 0;
    return n < 0 ? -error : n;
}

/* Some files give an empty text, and no error, to a reader without rights, so a try of this process would prove
 * nothing. */
ssize_t reach_text(int proc, const char *path, char *out, size_t size)
{
    if (far.fd >= 0)
        return far_text(REACH_SHOW, path, out, size);
    const int     fd    = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const ssize_t n     = fd < 0 ? -1 : read(fd, out, size - 1);
    const int     error = errno;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n < 0 ? -error : n;
}

/* A mount that hides processes shows process 1, at most, to who has no right to look at it. */
int reach_proc(void)
{
    const int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (far.fd < 0 || fd < 0)
        return fd < 0 ? -errno : fd;
    const int first = openat(fd, "1/status", O_RDONLY | O_CLOEXEC);
    if (first >= 0) {
        close(first);
        return fd;
    }
    struct reach_request q   = {.what = REACH_PROC};
    const int            own = ask_one(&q);
    if (own < 0)
        return fd;
    close(fd);
    return own;
}

static int mount_made(const char *type)
{
    const int context = fsopen(type, FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int mount = -1;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
    const int error = errno;
    close(context);
    return mount < 0 ? -error : mount;
}

int reach_tracefs(void)
{
    struct reach_request q = {.what = REACH_TRACEFS};
    return far.fd >= 0 ? ask_one(&q) : mount_made("tracefs");
}

int reach_load(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached)
{
    struct reach_request q = {.what = REACH_LOAD, .program = what, .number = cpus};
    struct reach_reply   reply;
    const int            r = reach_ask(&q, &reply, fd);
    *attached              = reply.attached != 0;
    return r;
}

int reach_helper(bool dares, int *socket, int *pidfd)
{
    struct reach_request q = {.what = REACH_HELPER, .number = dares};
    struct reach_reply   reply;
    int                  fd[REACH_FDS];
    const int            pid = reach_ask(&q, &reply, fd);
    if (pid < 0)
        return pid;
    *socket = fd[0];
    *pidfd  = fd[1];
    if (pid > 0 && fd[0] >= 0 && fd[1] >= 0)
        return pid;
    fds_close(fd);
    return -EPROTO;
}

int reach_launch(const char *word)
{
    struct reach_request q = {.what = REACH_LAUNCH};
    const int            r = reach_text_set(&q, word);
    return r < 0 ? r : ask_one(&q);
}

int reach_again(void)
{
    struct reach_request q = {.what = REACH_AGAIN};
    return ask_one(&q);
}
