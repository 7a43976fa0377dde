#include "autologger/processes/exits.h"

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

/* The kernel's structures end in flexible arrays: the message is laid out by hand. */
static bool listen_to(int fd)
{
    const enum proc_cn_mcast_op op = PROC_CN_MCAST_LISTEN;
    struct nlmsghdr head    = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct cn_msg) + sizeof op), .nlmsg_type = NLMSG_DONE};
    struct cn_msg   message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof op};
    uint8_t         bytes[NLMSG_SPACE(sizeof(struct cn_msg) + sizeof op)] = {0};

    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(bytes + NLMSG_HDRLEN + sizeof message, &op, sizeof op);
    return send(fd, bytes, head.nlmsg_len, 0) == (ssize_t)head.nlmsg_len;
}

void exits_open(struct exits *e)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    const int          bytes   = BUFFER_BYTES;

    memset(e, 0, sizeof *e);
    e->fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
    if (e->fd < 0)
        return;
    /* a smaller buffer loses exit codes, not events */
    (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    if (bind(e->fd, (struct sockaddr *)&address, sizeof address) < 0 || !listen_to(e->fd))
        exits_close(e);
}

static void exits_keep(struct exits *e, const uint8_t *bytes, size_t size)
{
    struct proc_event event;
    const size_t      at = NLMSG_HDRLEN + sizeof(struct cn_msg);

    if (size < at + offsetof(struct proc_event, event_data) + sizeof event.event_data.exit)
        return;
    memset(&event, 0, sizeof event);
    memcpy(&event, bytes + at, size - at < sizeof event ? size - at : sizeof event);
    const struct exit_proc_event *x = &event.event_data.exit;
    if (event.what != PROC_EVENT_EXIT || x->process_pid != x->process_tgid)
        return; /* of a thread */
    const int status      = (int)x->exit_code;
    e->kept[e->next].pid  = (uint32_t)x->process_tgid;
    e->kept[e->next].code = WIFSIGNALED(status) ? 128u + (uint32_t)WTERMSIG(status) : (uint32_t)WEXITSTATUS(status);
    e->next               = (e->next + 1) % EXITS_KEPT;
}

/* Reads all received messages. */
static void exits_read_all(struct exits *e)
{
    struct sockaddr_nl from;
    socklen_t          length = sizeof from;
    uint8_t            bytes[512];
    ssize_t            n;

    while ((n = recvfrom(e->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &length)) >= 0) {
        if (from.nl_pid == 0) /* the kernel */
            exits_keep(e, bytes, (size_t)n);
        length = sizeof from;
    }
}

static bool processes_exits_take(struct exits *e, uint32_t pid, uint32_t *code)
{
    for (unsigned i = 0; i < EXITS_KEPT; i++) {
        unsigned at = (e->next + EXITS_KEPT - 1 - i) % EXITS_KEPT; /* the newest first: ids are reused */
        if (e->kept[at].pid == pid) {
            *code           = e->kept[at].code;
            e->kept[at].pid = 0;
            return true;
        }
    }
    return false;
}

bool exits_take(struct exits *e, uint32_t pid, uint32_t *code)
{
    struct timespec now, end;

    if (e->fd < 0)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += EXITS_WAIT_MS * 1000000; /* may exceed a second: the difference below allows that */
    for (;;) {
        struct pollfd p = {e->fd, POLLIN, 0};
        exits_read_all(e);
        if (processes_exits_take(e, pid, code)) {
            e->vain = 0;
            return true;
        }
        if (e->vain >= EXITS_TRIES)
            return false;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const int left = (int)((end.tv_sec - now.tv_sec) * 1000 + (end.tv_nsec - now.tv_nsec) / 1000000);
        if (left <= 0 || poll(&p, 1, left) <= 0) {
            e->vain++;
            return false;
        }
    }
}

void exits_close(struct exits *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}
