/* writer.c - see writer.h. */
#include "autologger/daemon/parts/writer.h"

#include "autologger/daemon/parts/collector.h"
#include "autologger/daemon/self_start.h"
#include "autologger/sandbox/sandbox.h"
#include "autologger/session/careful.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { WRITER_MEMORY = 256 << 20, WRITER_FILES = 64 };
_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are handed on as they are");

static size_t request_size(const struct writer_request *q)
{
    return offsetof(struct writer_request, path) + q->size[0] + q->size[1];
}

/* ---- in the daemon ---- */

struct writer_writer {
    int                fd; /* -1: none */
    struct state_owner owner;
};
static struct {
    pthread_mutex_t      lock;
    struct writer_writer idle[WRITERS_IDLE]; /* under lock, the oldest first */
    unsigned             count;
    struct os            os, *inner;
} writer_writers                          = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread struct writer_writer mine = {.fd = -1}; /* between begin and end */

static void writer_forget(struct writer_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static int send_request(int fd, const struct writer_request *q)
{
    ssize_t n;
    do
        n = send(fd, q, request_size(q), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* The writer's result and, where there is one, the descriptor. -ECONNRESET: the writer has ended. */
static int receive_reply(int fd, struct writer_reply *reply, int *file)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec  io = {.iov_base = reply, .iov_len = sizeof *reply};
    struct msghdr m  = {
         .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t n;
    *file = -1;
    do
        n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(file, CMSG_DATA(c), sizeof *file);
    if (n == (ssize_t)sizeof *reply)
        return reply->result;
    if (*file >= 0)
        close(*file);
    *file = -1;
    return -ECONNRESET;
}

static bool same_owner(const struct state_owner *a, const struct state_owner *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count &&
           memcmp(a->group, b->group, a->group_count * sizeof *a->group) == 0;
}

static bool take_idle(const struct state_owner *o, struct writer_writer *out)
{
    bool found = false;
    pthread_mutex_lock(&writer_writers.lock);
    for (unsigned i = 0; i < writer_writers.count && !found; i++)
        if (same_owner(&writer_writers.idle[i].owner, o)) {
            *out = writer_writers.idle[i];
            memmove(&writer_writers.idle[i], &writer_writers.idle[i + 1],
                    (--writer_writers.count - i) * sizeof *writer_writers.idle);
            found = true;
        }
    pthread_mutex_unlock(&writer_writers.lock);
    return found;
}

static void put_idle(struct writer_writer *w)
{
    struct writer_writer oldest = {.fd = -1};
    pthread_mutex_lock(&writer_writers.lock);
    if (writer_writers.count == WRITERS_IDLE) {
        oldest = writer_writers.idle[0];
        memmove(&writer_writers.idle[0], &writer_writers.idle[1], --writer_writers.count * sizeof *writer_writers.idle);
    }
    writer_writers.idle[writer_writers.count++] = *w;
    pthread_mutex_unlock(&writer_writers.lock);
    w->fd = -1;
    writer_forget(&oldest);
}

/* Starts a writer. One that has rested too long takes no more requests: -EPIPE, and the request was not carried out
 * (W1). */
static int writer_fresh(const struct state_owner *o, struct writer_writer *out)
{
    struct writer_request q = {.what = WRITER_OWNER, .owner = *o};
    struct writer_reply   reply;
    int                   file;
    *out  = (struct writer_writer){.fd = collector_launch(WRITER_WORD), .owner = *o};
    int r = out->fd < 0 ? -errno : send_request(out->fd, &q);
    r     = r < 0 ? r : receive_reply(out->fd, &reply, &file);
    if (r < 0)
        writer_forget(out);
    return r;
}

static wstatus parts_writer_begin(const struct state_owner *o, struct reason *why)
{
    if (take_idle(o, &mine))
        return W_SUCCESS;
    const int r = writer_fresh(o, &mine);
    return r == 0 ? W_SUCCESS
                  : reason_set(why, W_ACCESS_DENIED,
                               "the process that makes files for uid %u, whose session it is, cannot be started: %s",
                               o->uid, strerror(-r));
}

static void parts_writer_end(const struct state_owner *o)
{
    (void)o;
    if (mine.fd >= 0)
        put_idle(&mine);
}

static int writer_ask(enum writer_what what, const char *first, const char *second, int flags, unsigned mode,
                      struct writer_reply *reply, int *file)
{
    struct writer_request q;
    const size_t          a = strlen(first) + 1, b = second ? strlen(second) + 1 : 0;
    if (a > WRITER_PATH || b > WRITER_PATH)
        return -ENAMETOOLONG;
    memset(reply, 0, sizeof *reply);
    memset(&q, 0, offsetof(struct writer_request, path));
    q.what    = what;
    q.flags   = flags;
    q.mode    = mode;
    q.size[0] = (uint32_t)a;
    q.size[1] = (uint32_t)b;
    memcpy(q.path, first, a);
    if (b)
        memcpy(q.path + a, second, b);
    int r = send_request(mine.fd, &q);
    if (r == -EPIPE) {
        const struct state_owner owner = mine.owner;
        writer_forget(&mine);
        r = writer_fresh(&owner, &mine);
        r = r < 0 ? r : send_request(mine.fd, &q);
    }
    r = r < 0 ? r : receive_reply(mine.fd, reply, file);
    if (r == -ECONNRESET || r == -EPIPE)
        writer_forget(&mine);
    return r;
}

static int ask_alone(enum writer_what what, const char *first, const char *second, unsigned mode)
{
    struct writer_reply reply;
    int                 file;
    return writer_ask(what, first, second, 0, mode, &reply, &file);
}

/* Outside of begin and end, paths are walked here: with the daemon's rights, and as carefully. */
#define OUTSIDE(call) \
    if (mine.fd < 0) \
    return careful_os(writer_writers.inner)->call

static int writer_far_open(struct os *os, const char *path, int flags, unsigned mode)
{
    struct writer_reply reply;
    int                 file;
    OUTSIDE(open(os, path, flags, mode));
    const int r = writer_ask(WRITER_OPEN, path, NULL, flags, mode, &reply, &file);
    return r < 0 ? r : file < 0 ? -EMFILE : file;
}

static int far_mkdir(struct os *os, const char *path, unsigned mode)
{
    OUTSIDE(mkdir(os, path, mode));
    return ask_alone(WRITER_MKDIR, path, NULL, mode);
}

static int far_unlink(struct os *os, const char *path)
{
    OUTSIDE(unlink(os, path));
    return ask_alone(WRITER_UNLINK, path, NULL, 0);
}

static int far_rename(struct os *os, const char *from, const char *to)
{
    OUTSIDE(rename(os, from, to));
    return ask_alone(WRITER_RENAME, from, to, 0);
}

static int far_stat(struct os *os, const char *path, struct os_stat *out)
{
    struct writer_reply reply;
    int                 file;
    OUTSIDE(stat(os, path, out));
    const int r = writer_ask(WRITER_STAT, path, NULL, 0, 0, &reply, &file);
    *out        = reply.stat;
    return r;
}

static int far_lstat(struct os *os, const char *path, struct os_stat *out)
{
    struct writer_reply reply;
    int                 file;
    OUTSIDE(lstat(os, path, out));
    const int r = writer_ask(WRITER_LSTAT, path, NULL, 0, 0, &reply, &file);
    *out        = reply.stat;
    return r;
}

static int far_space(struct os *os, const char *path, struct os_space *out)
{
    struct writer_reply reply;
    int                 file;
    OUTSIDE(space(os, path, out));
    const int r = writer_ask(WRITER_SPACE, path, NULL, 0, 0, &reply, &file);
    *out        = reply.space;
    return r;
}

static void writer_make(void)
{
    writer_writers.os        = *writer_writers.inner; /* for calls without a path */
    writer_writers.os.open   = writer_far_open;
    writer_writers.os.mkdir  = far_mkdir;
    writer_writers.os.unlink = far_unlink;
    writer_writers.os.rename = far_rename;
    writer_writers.os.stat   = far_stat;
    writer_writers.os.lstat  = far_lstat;
    writer_writers.os.space  = far_space;
}

static struct os *far_os(struct os *inner)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_mutex_lock(&writer_writers.lock);
    if (!writer_writers.inner)
        writer_writers.inner = inner;
    pthread_mutex_unlock(&writer_writers.lock);
    pthread_once(&once, writer_make);
    return &writer_writers.os;
}

const struct session_owner_part writer_owner = {parts_writer_begin, parts_writer_end, far_os};

/* ---- the process ---- */

/* Takes on the owner's identity, for good. The other layers are as many as the kernel has. */
static int writer_become(const struct state_owner *o)
{
    const struct sandbox_owner owner = {o->uid, o->gid, o->group, o->group_count};
    const struct sandbox       box   = {
                .kind = SANDBOX_WRITER, .memory = WRITER_MEMORY, .descriptors = WRITER_FILES, .owner = &owner};
    const unsigned must = SANDBOX_USER | SANDBOX_CAPABILITIES | SANDBOX_NO_NEW_PRIVILEGES;
    careful_os(os_linux()); /* opens its own descriptors before */
    if (o->group_count > STATE_GROUPS || (sandbox_enter(&box) & must) != must)
        return -EPERM;
    return 0;
}

bool writer_request_whole(const struct writer_request *q, size_t size)
{
    if (size < offsetof(struct writer_request, path) || q->size[0] > WRITER_PATH || q->size[1] > WRITER_PATH ||
        request_size(q) != size)
        return false;
    for (unsigned i = 0, at = 0; i < 2; at += q->size[i], i++)
        if (q->size[i] && memchr(q->path + at, 0, q->size[i]) != q->path + at + q->size[i] - 1)
            return false;
    return q->size[0] || q->what == WRITER_OWNER;
}

static int writer_carry_out(const struct writer_request *q, struct writer_reply *reply)
{
    struct os  *os    = careful_os(os_linux());
    const char *first = q->path, *second = q->path + q->size[0];
    switch (q->what) {
    case WRITER_OPEN: return os->open(os, first, q->flags, q->mode);
    case WRITER_MKDIR: return os->mkdir(os, first, q->mode);
    case WRITER_UNLINK: return os->unlink(os, first);
    case WRITER_RENAME: return q->size[1] ? os->rename(os, first, second) : -EINVAL;
    case WRITER_STAT: return os->stat(os, first, &reply->stat);
    case WRITER_LSTAT: return os->lstat(os, first, &reply->stat);
    case WRITER_SPACE: return os->space(os, first, &reply->space);
    default: return -EINVAL;
    }
}

static bool writer_answer(const struct writer_reply *reply, int file)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control        = {0};
    struct iovec  io = {.iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof *reply};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1};
    if (file >= 0) {
        m.msg_control     = control.space;
        m.msg_controllen  = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(c), &file, sizeof file);
    }
    return sendmsg(0, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *reply;
}

int writer_run(void)
{
    static struct writer_request q;
    const struct timeval         rest  = {.tv_sec = WRITER_REST_S};
    bool                         owned = false;

    self_alone();
    self_patient();
    prctl(PR_SET_NAME, "file-writer", 0, 0, 0);
    setsockopt(0, SOL_SOCKET, SO_RCVTIMEO, &rest, sizeof rest);
    for (;;) {
        struct writer_reply reply = {0};
        int                 file  = -1;
        const ssize_t       n     = recv(0, &q, sizeof q, 0);
        if (n < 0 && errno == EINTR)
            continue;
        /* takes what is on its way; for more the daemon starts another one */
        if (n < 0 && errno == EAGAIN) {
            shutdown(0, SHUT_RD);
            continue;
        }
        if (n <= 0 || !writer_request_whole(&q, (size_t)n) || (q.what == WRITER_OWNER) == owned)
            return n != 0;
        reply.result = owned ? writer_carry_out(&q, &reply) : writer_become(&q.owner);
        if (q.what == WRITER_OPEN && reply.result >= 0) {
            file         = reply.result;
            reply.result = 0;
        }
        if (!writer_answer(&reply, file) || (!owned && reply.result < 0))
            return 1;
        owned = true;
        if (file >= 0)
            close(file);
    }
}
