/* Any bytes on the control socket: never a crash, a leak or an answer that is not one. An input is a list of messages,
 * each after its 16-bit length; the first byte chooses the principal and the socket. */
#include "autologger/control/quota.h"
#include "autologger/control/tests/server_fixture.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drain(int fd)
{
    static uint8_t answer[CTL_MAX];
    union {
        struct cmsghdr align;
        char           space[256];
    } control;
    for (;;) {
        struct iovec  io = {answer, sizeof answer};
        struct msghdr m  = {
             .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
        ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n <= 0)
            return;
        struct ctl_header h;
        memcpy(&h, answer, sizeof h);
        if ((size_t)n < sizeof h || h.size != (size_t)n)
            abort(); /* every answer states its true size */
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
            for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                int fd_received;
                memcpy(&fd_received, CMSG_DATA(c) + i * sizeof fd_received, sizeof fd_received);
                close(fd_received);
            }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct server_fixture f;
    static bool                  ready;
    static uint64_t              aligned[CTL_MAX / 8];
    int                          peer = -1;

    if (!ready && !(ready = server_fixture_init(&f)))
        abort();
    if (!size)
        return 0;
    /* Tokens are refilled by time, and thousands of inputs a second use them up: then a connection would be read and
     * closed later. */
    quotas_destroy(f.server->quotas);
    if (!(f.server->quotas = quotas_create()))
        abort();
    int c = server_fixture_client(&f, *data & 1 ? 0 : 65534, &peer);
    if (c < 0)
        abort();
    f.state->connection[c].socket = (*data >> 1) % CTL_SOCKETS;
    for (size_t at = 1; at + 2 <= size && f.state->connection[c].in_use;) {
        size_t length = (size_t)(data[at] | data[at + 1] << 8);
        at += 2;
        if (length > size - at)
            length = size - at;
        memcpy(aligned, data + at, length);
        if (length >= 16 && data[at] == 0xFF) /* make the size right, so that code behind the size check is reached */
            memcpy(aligned, &(uint32_t){(uint32_t)length}, 4);
        fixture_receive(&f, c, aligned, length);
        drain(peer);
        at += length;
    }
    close(peer);
    server_step(f.server, -1, 0); /* sees the end of the connection */
    if (f.state->connection[c].in_use)
        abort();
    return 0;
}
