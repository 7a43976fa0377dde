#include "autologger/daemon/handed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

struct handed {
    unsigned count;
    struct {
        char *name;
        int   fd;
    } item[];
};

static char *name_clean(const char *name)
{
    char *copy = strdup(name);
    for (char *p = copy; p && *p; p++)
        if (*p == ':' || *p == '\n')
            *p = '.';
    return copy;
}

struct handed *handed_create(void)
{
    const char    *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
    unsigned       count = pid && fds && names && strtol(pid, NULL, 10) == getpid() ? (unsigned)strtoul(fds, NULL, 10) : 0;
    struct handed *h     = count < 65536 ? calloc(1, sizeof *h + count * sizeof h->item[0]) : NULL;
    char          *list  = names ? strdup(names) : NULL, *save = NULL;

    for (unsigned i = 0; h && i < count; i++) {
        char *name = strtok_r(i ? NULL : list, ":", &save);
        int   fd   = FIRST_FD + (int)i;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        h->item[h->count].name   = strdup(name ? name : "");
        h->item[h->count++].fd = fd;
    }
    free(list);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return h;
}

void handed_destroy(struct handed *h)
{
    for (unsigned i = 0; h && i < h->count; i++) {
        if (h->item[i].fd >= 0)
            close(h->item[i].fd);
        free(h->item[i].name);
    }
    free(h);
}

void handed_drop(struct handed *h)
{
    for (unsigned i = 0; i < h->count; i++)
        if (h->item[i].fd >= 0) {
            handed_keep(h, h->item[i].name, -1, 0);
            close(h->item[i].fd);
            h->item[i].fd = -1;
        }
}

int handed_take(void *handed, const char *name)
{
    struct handed *h     = handed;
    char          *clean = name_clean(name);
    int            fd    = -1;

    for (unsigned i = 0; clean && i < h->count && fd < 0; i++)
        if (h->item[i].fd >= 0 && h->item[i].name && strcmp(h->item[i].name, clean) == 0) {
            fd              = h->item[i].fd;
            h->item[i].fd = -1;
        }
    free(clean);
    return fd;
}

static void notify(const char *text, int fd)
{
    const char        *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a    = {.sun_family = AF_UNIX};
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec  io = {.iov_base = (void *)text, .iov_len = strlen(text)};
    struct msghdr m  = {.msg_name = &a, .msg_iov = &io, .msg_iovlen = 1};

    if (!path || !*path || strlen(path) >= sizeof a.sun_path)
        return;
    strcpy(a.sun_path, path);
    m.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (*path == '@')
        a.sun_path[0] = 0;
    if (fd >= 0) {
        m.msg_control     = control.space;
        m.msg_controllen  = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s >= 0) {
        (void)!sendmsg(s, &m, MSG_NOSIGNAL);
        close(s);
    }
}

void handed_keep(void *handed, const char *name, int fd, size_t ring_bytes)
{
    char  text[512];
    char *clean = name_clean(name);
    (void)handed;
    if (clean && fd >= 0)
        snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s\nX_RING_BYTES=%zu", clean, ring_bytes);
    else if (clean)
        snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", clean);
    if (clean)
        notify(text, fd);
    free(clean);
}

void handed_notify(const char *state) { notify(state, -1); }
