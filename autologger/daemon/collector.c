/* collector.c - see collector.h. */
#include "autologger/daemon/collector.h"

#include "autologger/daemon/merge_job.h"
#include "autologger/daemon/self_start.h"
#include "autologger/daemon/writer.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))
#define KEPT(capability) | BIT(capability)
static const uint64_t server_keeps = 0
#include "autologger/daemon/server_rights.def"
    ;
#undef KEPT

/* ---- in the server ---- */

static struct {
    pthread_mutex_t lock; /* one request at a time */
    int             fd;   /* -1: none */
    bool            kept;
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* The bounding set needs CAP_SETPCAP, so it goes first; where that is missing it stays, and what is executed has its rights again. */
static int rights_reduce(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct   data[2];

    if (syscall(SYS_capget, &head, data) < 0)
        return -errno;
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!(server_keeps & BIT(i)))
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t kept = (uint32_t)(server_keeps >> 32 * i);
        data[i].permitted &= kept;
        data[i].effective &= kept;
        data[i].inheritable = 0;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || syscall(SYS_capset, &head, data) < 0)
        return -errno;
    return 0;
}

wstatus collector_begin(bool kept, struct reason *why)
{
    collector.kept = kept;
    collector.fd   = self_start(COLLECTOR_WORD);
    if (collector.fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "the process that starts others cannot be started: %s", strerror(errno));
    const int r = rights_reduce();
    return r == 0 ? W_SUCCESS : reason_set(why, wstatus_from_errno(-r), "rights cannot be given up: %s", strerror(-r));
}

/* The answer's socket, or -errno. -ECONNRESET: the collector has ended. */
static int ask(const struct collector_request *q)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control;
    struct collector_reply reply;
    struct iovec           io = {.iov_base = &reply, .iov_len = sizeof reply};
    struct msghdr          m  = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t                n;
    int                    fd = -1;

    do
        n = send(collector.fd, q, sizeof *q, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    while (n >= 0 && (n = recvmsg(collector.fd, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        n = 0;
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (n == (ssize_t)sizeof reply && (reply.result < 0) == (fd < 0))
        return fd < 0 ? reply.result : fd;
    if (fd >= 0)
        close(fd);
    return -ECONNRESET;
}

int collector_launch(const char *word)
{
    struct collector_request q = {{0}};
    if (collector.fd < 0)
        return self_start(word);
    if (snprintf(q.word, sizeof q.word, "%s", word) >= (int)sizeof q.word) {
        errno = ENAMETOOLONG;
        return -1;
    }
    pthread_mutex_lock(&collector.lock);
    const int r = ask(&q);
    pthread_mutex_unlock(&collector.lock);
    if (r == -ECONNRESET && collector.kept)
        raise(SIGKILL); /* what was asked for needs a collector, and only a successor can have one */
    if (r < 0)
        errno = -r;
    return r < 0 ? -1 : r;
}

/* ---- the process ---- */

static const char *launched(const struct collector_request *q)
{
    static const char *const words[] = {
#define LAUNCHED(word) word,
#include "autologger/daemon/launched.def"
#undef LAUNCHED
    };
    for (size_t i = 0; i < sizeof words / sizeof *words && memchr(q->word, 0, sizeof q->word); i++)
        if (strcmp(q->word, words[i]) == 0)
            return words[i];
    return NULL;
}

static bool answer(int result, int fd)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct collector_reply reply = {result};
    struct iovec           io    = {.iov_base = &reply, .iov_len = sizeof reply};
    struct msghdr          m     = {.msg_iov = &io, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control     = control.space;
        m.msg_controllen  = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return sendmsg(0, &m, MSG_NOSIGNAL) == (ssize_t)sizeof reply;
}

int collector_run(void)
{
    struct collector_request q;
    self_alone();
    prctl(PR_SET_NAME, "collector", 0, 0, 0);
    for (;;) {
        const ssize_t n = recv(0, &q, sizeof q, MSG_TRUNC); /* without room for descriptors: none comes in */
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof q)
            return n != 0;
        const char *word = launched(&q);
        const int   fd   = word ? self_start(word) : -1;
        const bool  sent = answer(fd >= 0 ? 0 : word ? -errno : -EPERM, fd);
        if (fd >= 0)
            close(fd);
        if (!sent)
            return 1;
    }
}
