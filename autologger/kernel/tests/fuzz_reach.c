/* Answers of a collector, of any bytes, with and without descriptors: the result is an open descriptor or an error, and
 * no other descriptor stays open. */
#include "autologger/kernel/source/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void answer(int fd, const uint8_t *data, size_t size, unsigned descriptors)
{
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(REACH_FDS * sizeof(int))];
    } control        = {0};
    struct iovec  io = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1};
    int           out[REACH_FDS];
    for (unsigned i = 0; i < descriptors; i++)
        out[i] = 0;
    if (descriptors) {
        m.msg_control     = control.space;
        m.msg_controllen  = CMSG_SPACE(descriptors * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(descriptors * sizeof(int));
        memcpy(CMSG_DATA(c), out, descriptors * sizeof(int));
    }
    must(sendmsg(fd, &m, 0) == (ssize_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perf_event_attr attr = {.size = sizeof attr};
    char                   text[100];
    int                    pair[2], fd[REACH_FDS], socket = -1, pidfd = -1, r;
    bool                   attached;
    if (size < 2 || size > sizeof(struct reach_reply))
        return 0;
    must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    reach_through(pair[0], false);
    /* to a thread that asks for a socket of its own */
    answer(pair[1], data + 1, size - 1, data[0] / 8 % (REACH_FDS + 1));
    answer(pair[1], data + 1, size - 1, data[0] / 8 % (REACH_FDS + 1));
    switch (data[0] % 8) {
    case 0: r = reach_perf(&attr, 0); break;
    case 1: r = reach_tracefs(); break;
    case 2: r = reach_launch("word"); break;
    case 3: r = reach_again(); break;
    case 4:
        r = reach_load(REACH_ARGV, 1, fd, &attached);
        for (unsigned i = 0; i < REACH_FDS; i++)
            if (fd[i] >= 0)
                must(r >= 0 && close(fd[i]) == 0);
        r = -1;
        break;
    case 5:
        r = reach_helper(false, &socket, &pidfd);
        if (r >= 0)
            must(r > 0 && close(socket) == 0 && close(pidfd) == 0);
        r = -1;
        break;
    case 6:
        memset(text, 'x', sizeof text);
        r = (int)reach_link(AT_FDCWD, "/proc/self/mem", text, sizeof text); /* no link: asked here alone */
        must(r < 0 && !text[0]);
        break;
    default: r = reach_addresses(AT_FDCWD, "kallsyms"); break;
    }
    if (r >= 0)
        must(close(r) == 0);
    reach_through(-1, false);
    close(pair[0]);
    close(pair[1]);
    /* every received descriptor is closed again: the next number is the same as before */
    const int next = open("/dev/null", O_RDONLY);
    must(next == pair[0]);
    close(next);
    return 0;
}
