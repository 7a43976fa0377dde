#include "autologger/control/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FD_MAX = 8 };

bool message_send(int fd, const void *message, size_t size, const int *fds, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int) * FD_MAX)];
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

ssize_t message_receive(int fd, void *message, size_t capacity)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int) * FD_MAX)];
    } control;
    struct iovec  io = {.iov_base = message, .iov_len = capacity};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t       n  = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return -errno;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                int got;
                memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
                close(got);
            }
    return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}
