#include "autologger/control/message.h"

#include "autologger/control/outcast.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif
enum { FD_SEND = 8, UNREAD_MOST = 4096 };

bool message_send(int fd, const void *message, size_t size, const int *fds, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int) * FD_SEND)];
    } control        = {0};
    struct iovec  io = {.iov_base = (void *)message, .iov_len = size};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1};

    if (fd_count) {
        m.msg_control     = control.space;
        m.msg_controllen  = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
    }
    ssize_t n;
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

void message_refuse_descriptors(int fd)
{
    static const int no = 0;
    setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof no); /* an older kernel: see message_receive */
}

/* Peeks at the next message, which stays in the socket. The call has no room for descriptors, so the kernel installs
 * none here and only reports them. An installed one needs a close, and the close of a FUSE file calls its server. */
static ssize_t message_look(int fd, struct msghdr *m)
{
    char         byte;
    struct iovec io = {.iov_base = &byte, .iov_len = sizeof byte};
    ssize_t      n;
    m->msg_iov    = &io;
    m->msg_iovlen = 1;
    do
        n = recvmsg(fd, m, MSG_PEEK | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t message_receive(int fd, void *message, size_t capacity)
{
    struct msghdr peek = {.msg_flags = 0};
    struct iovec  io   = {.iov_base = message, .iov_len = capacity};
    struct msghdr m    = {.msg_iov = &io, .msg_iovlen = 1};
    ssize_t       n    = message_look(fd, &peek);
    if (n < 0)
        return n;
    if (peek.msg_flags & MSG_CTRUNC)
        return -EBADMSG; /* honest clients send no descriptors */
    n = recvmsg(fd, &m, MSG_DONTWAIT);
    if (n < 0)
        return -errno;
    return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

/* With SO_PASSCRED each message has credentials, and the end has none: so an empty message is not taken for the end. */
enum message_waits message_waits(int fd)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(struct ucred))];
    } room;
    struct msghdr m;
    ssize_t       n;
    do { /* a peer that left answers unread is reported once, before the messages that it sent */
        m = (struct msghdr){.msg_control = room.space, .msg_controllen = sizeof room.space};
        n = message_look(fd, &m);
    } while (n == -ECONNRESET);
    if (n < 0)
        return MESSAGE_NONE;
    return m.msg_flags & MSG_CTRUNC ? MESSAGE_DESCRIPTORS : CMSG_FIRSTHDR(&m) ? MESSAGE_PLAIN : MESSAGE_NONE;
}

void message_hang_up(int fd)
{
    static const int   yes   = 1;
    enum message_waits waits = MESSAGE_DESCRIPTORS;
    /* no more messages can come */
    const bool shut = shutdown(fd, SHUT_RDWR) == 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0;
    for (unsigned i = 0; shut && i < UNREAD_MOST && (waits = message_waits(fd)) == MESSAGE_PLAIN; i++)
        (void)!recv(fd, NULL, 0, MSG_DONTWAIT);
    if (waits == MESSAGE_NONE)
        close(fd);
    else
        outcast_add(fd);
}
