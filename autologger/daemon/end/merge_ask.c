#include "autologger/daemon/end/merge_ask.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union room { /* for one descriptor, aligned as the kernel wants it */
    struct cmsghdr head;
    char           bytes[CMSG_SPACE(sizeof(int))];
};

bool merge_ask_send(int socket, const void *message, size_t size, int fd)
{
    struct iovec  v    = {(void *)(uintptr_t)message, size};
    union room    room = {.bytes = {0}};
    struct msghdr m    = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t       n;

    if (fd >= 0) {
        m.msg_control     = &room;
        m.msg_controllen  = sizeof room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    while ((n = sendmsg(socket, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)size;
}

bool merge_ask_receive(int socket, void *message, size_t size, int *fd)
{
    struct iovec  v    = {message, size};
    union room    room = {.bytes = {0}};
    struct msghdr m    = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room};
    ssize_t       n;

    *fd = -1;
    while ((n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof *fd))
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return n == (ssize_t)size && !(m.msg_flags & MSG_TRUNC);
}
