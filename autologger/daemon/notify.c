#include "autologger/daemon/notify.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void message_send(int socket_fd, struct sockaddr_un *to, socklen_t to_size, const char *text, int fd)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control        = {0};
    struct iovec  io = {.iov_base = (void *)text, .iov_len = strlen(text)};
    struct msghdr m  = {.msg_name = to, .msg_namelen = to_size, .msg_iov = &io, .msg_iovlen = 1};

    if (fd >= 0) {
        m.msg_control     = control.space;
        m.msg_controllen  = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    (void)!sendmsg(socket_fd, &m, MSG_NOSIGNAL);
}

void notify_socket(int socket_fd, const char *text, int fd) { message_send(socket_fd, NULL, 0, text, fd); }

void notify_path(const char *path, const char *text, int fd)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (!path || !*path || strlen(path) >= sizeof a.sun_path)
        return;
    strcpy(a.sun_path, path);
    socklen_t size = (socklen_t)(__builtin_offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (*path == '@')
        a.sun_path[0] = 0;
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s >= 0) {
        message_send(s, &a, size, text, fd);
        close(s);
    }
}
