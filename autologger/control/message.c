#include "autologger/control/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FD_MAX = 253 /* the kernel's SCM_MAX_FD: what is not taken the kernel closes in our name */, FD_SEND = 8 };

bool message_send(int fd, const void *message, size_t size, const int *fds, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int) * FD_SEND)];
    } control = {0};
    struct iovec  io = {.iov_base = (void *)message, .iov_len = size};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1};

    if (fd_count) {
        m.msg_control      = control.space;
        m.msg_controllen   = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *c  = CMSG_FIRSTHDR(&m);
        c->cmsg_level      = SOL_SOCKET;
        c->cmsg_type       = SCM_RIGHTS;
        c->cmsg_len        = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
    }
    ssize_t n;
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

struct unwanted {
    unsigned count;
    int      fd[];
};

static void *close_all(void *ctx)
{
    struct unwanted *u = ctx;
    for (unsigned i = 0; i < u->count; i++)
        close(u->fd[i]);
    free(u);
    return NULL;
}

static void close_beside(const int *fd, unsigned count)
{
    struct unwanted *u = malloc(sizeof *u + count * sizeof u->fd[0]);
    pthread_t        thread;
    for (unsigned i = 0; !u && i < count; i++)
        close(fd[i]);
    if (!u)
        return;
    u->count = count;
    memcpy(u->fd, fd, count * sizeof u->fd[0]);
    if (pthread_create(&thread, NULL, close_all, u) == 0)
        pthread_detach(thread);
    else
        close_all(u);
}

struct incoming {
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int) * FD_MAX) + CMSG_SPACE(sizeof(struct ucred))];
    struct msghdr m;
    bool          descriptors, credentials;
};

/* As recvmsg. Descriptors are on their way out when it returns. */
static ssize_t take(int fd, void *message, size_t capacity, struct incoming *in)
{
    struct iovec io = {.iov_base = message, .iov_len = capacity};
    in->m           = (struct msghdr){.msg_iov = &io, .msg_iovlen = 1, .msg_control = in->space, .msg_controllen = sizeof in->space};
    in->descriptors = in->credentials = false;
    ssize_t n = recvmsg(fd, &in->m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&in->m); c; c = CMSG_NXTHDR(&in->m, c)) {
        in->credentials |= c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len <= CMSG_LEN(0))
            continue;
        close_beside((const int *)(const void *)CMSG_DATA(c), (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)));
        in->descriptors = true;
    }
    return n;
}

void message_hang_up(int fd)
{
    enum { UNREAD_MOST = 4096 };
    static const int yes = 1;
    struct incoming  in;
    char             byte;
    bool             more = true;
    /* nothing comes any more; and what is there has credentials, which the end has not: a message may be empty */
    if (shutdown(fd, SHUT_RDWR) < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0) {
        close_beside(&fd, 1);
        return;
    }
    for (unsigned i = 0; i < UNREAD_MOST && more; i++)
        more = take(fd, &byte, sizeof byte, &in) >= 0 && in.credentials;
    if (more)
        close_beside(&fd, 1);
    else
        close(fd);
}

ssize_t message_receive(int fd, void *message, size_t capacity)
{
    struct incoming in;
    ssize_t         n = take(fd, message, capacity, &in);
    if (n >= 0 && in.descriptors)
        return -EBADMSG; /* nobody has a descriptor for us */
    return n >= 0 && in.m.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}
