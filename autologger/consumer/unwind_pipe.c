/* unwind_pipe.c - see unwind_pipe.h. */
#include "autologger/consumer/unwind_pipe.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool unwind_receive(int fd, void *into, size_t size)
{
    for (uint8_t *at = into; size > 0;) {
        ssize_t n = recv(fd, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

bool unwind_send(int fd, const void *from, size_t size)
{
    for (const uint8_t *at = from; size > 0;) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

union passed { /* room for one descriptor, where the kernel wants it */
    struct cmsghdr head;
    char           bytes[CMSG_SPACE(sizeof(int))];
};

bool unwind_file_send(int fd, int file)
{
    struct unwind_message head = {UNWIND_FILE, 0};
    struct iovec          v    = {&head, sizeof head};
    union passed          room = {.bytes = {0}};
    struct msghdr         m    = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t               n;

    if (file >= 0) {
        m.msg_control     = &room;
        m.msg_controllen  = sizeof room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(c), &file, sizeof file);
    }
    while ((n = sendmsg(fd, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)sizeof head;
}

bool unwind_file_receive(int fd, int *file)
{
    struct unwind_message head;
    struct iovec          v    = {&head, sizeof head};
    union passed          room = {.bytes = {0}};
    struct msghdr         m    = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room};
    ssize_t               n;

    *file = -1;
    while ((n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof *file))
        memcpy(file, CMSG_DATA(c), sizeof *file);
    if (n == (ssize_t)sizeof head && head.type == UNWIND_FILE && !head.size)
        return true;
    if (*file >= 0)
        close(*file);
    *file = -1;
    return false;
}
