#include "autologger/daemon/handover.h"

#include "autologger/wire/state.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROOM = 64 * 1024, SEND_SECONDS = 10, GREETING_MS = 300, SILENCE_MS = 700, VERSION = 1 << 16 | STATE_VERSION };
#define MAGIC UINT32_C(0x4f484c41) /* "ALHO" */
#define NOT_YET UINT32_MAX         /* head.total of a message that only says that the keeper lives */
static const char acknowledgement[] = "adopted", greeting[] = "keeper";

struct handover_head {
    uint32_t magic, version;
    uint32_t count; /* names and descriptors in this message; 0: the last message */
    uint32_t total; /* of all messages */
};
struct handover_entry {
    uint64_t ring_bytes;
    uint16_t name_size; /* with its NUL; the name follows */
    uint16_t pad[3];
};

static bool handover_address(struct sockaddr_un *a, const char *path)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a->sun_path)
        return false;
    strcpy(a->sun_path, path);
    return true;
}

static void handover_patience(int fd, int option, int ms)
{
    struct timeval t = {ms / 1000, (ms % 1000) * 1000};
    setsockopt(fd, SOL_SOCKET, option, &t, sizeof t);
}

int handover_listen(const char *path)
{
    struct sockaddr_un a;
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !handover_address(&a, path)) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    unlink(path);
    mode_t old = umask(0077);
    bool   ok  = bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 4) == 0;
    umask(old);
    if (ok)
        return fd;
    close(fd);
    return -1;
}

int handover_accept(int listen_fd)
{
    struct ucred who;
    socklen_t    size = sizeof who;
    int          fd   = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == 0 || who.uid == geteuid())) {
        handover_patience(fd, SO_SNDTIMEO, SEND_SECONDS * 1000);
        (void)!send(fd, greeting, sizeof greeting, MSG_NOSIGNAL);
        return fd;
    }
    close(fd);
    return -1;
}

union control_space {
    struct cmsghdr align;
    char           space[CMSG_SPACE(HANDOVER_BATCH * sizeof(int))];
};

static bool batch_send(int connection, const struct kept *k, unsigned from, unsigned count, uint8_t *room)
{
    struct handover_head h    = {MAGIC, VERSION, count, k->count};
    size_t               used = sizeof h;
    union control_space  control;
    struct iovec         io = {.iov_base = room};
    struct msghdr        m  = {.msg_iov = &io, .msg_iovlen = 1};
    int                  fds[HANDOVER_BATCH];

    memcpy(room, &h, sizeof h);
    for (unsigned i = 0; i < count; i++) {
        const struct kept_item *item = &k->item[from + i];
        struct handover_entry   e = {.ring_bytes = item->ring_bytes, .name_size = (uint16_t)(strlen(item->name) + 1)};
        memcpy(room + used, &e, sizeof e);
        memcpy(room + used + sizeof e, item->name, e.name_size);
        used += sizeof e + e.name_size;
        fds[i] = item->fd;
    }
    io.iov_len = used;
    if (count) {
        m.msg_control     = control.space;
        m.msg_controllen  = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level     = SOL_SOCKET;
        c->cmsg_type      = SCM_RIGHTS;
        c->cmsg_len       = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    return sendmsg(connection, &m, MSG_NOSIGNAL) == (ssize_t)used;
}

void handover_wait(int connection)
{
    const struct handover_head h = {MAGIC, VERSION, 0, NOT_YET};
    (void)!send(connection, &h, sizeof h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool handover_send(int connection, const struct kept *k)
{
    _Static_assert(sizeof(struct handover_head) + HANDOVER_BATCH * (sizeof(struct handover_entry) + KEPT_NAME) <= ROOM,
                   "a batch fits");
    uint8_t *room = malloc(ROOM);
    bool     ok   = room != NULL;
    for (unsigned at = 0; ok && at < k->count; at += HANDOVER_BATCH)
        ok = batch_send(connection, k, at, k->count - at < HANDOVER_BATCH ? k->count - at : HANDOVER_BATCH, room);
    ok = ok && batch_send(connection, k, k->count, 0, room);
    free(room);
    return ok;
}

int handover_acknowledged(int connection, int timeout_ms)
{
    char          text[sizeof acknowledgement];
    struct pollfd p = {.fd = connection, .events = POLLIN};
    if (poll(&p, 1, timeout_ms) <= 0)
        return 0;
    ssize_t n = recv(connection, text, sizeof text, MSG_DONTWAIT);
    return n == sizeof text && memcmp(text, acknowledgement, sizeof text) == 0 ? 1 : -1;
}

/* The kernel connects even when the keeper hangs: only its greeting shows that it lives. */
static bool greeted(int connection)
{
    char          text[sizeof greeting];
    struct pollfd p = {.fd = connection, .events = POLLIN};
    return poll(&p, 1, GREETING_MS) > 0 && recv(connection, text, sizeof text, MSG_DONTWAIT) == sizeof text &&
           memcmp(text, greeting, sizeof text) == 0;
}

int handover_connect(const char *path)
{
    struct sockaddr_un a;
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && handover_address(&a, path) && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 && greeted(fd)) {
        handover_patience(fd, SO_RCVTIMEO, SILENCE_MS);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Takes the descriptors of a message, in order; closes those without a name. */
static bool batch_take(const uint8_t *data, size_t size, const int *fds, unsigned fd_count, struct kept *k)
{
    size_t   at   = sizeof(struct handover_head);
    unsigned done = 0;
    for (; done < fd_count; done++) {
        struct handover_entry e;
        if (size - at < sizeof e)
            break;
        memcpy(&e, data + at, sizeof e);
        at += sizeof e;
        if (!e.name_size || e.name_size > KEPT_NAME || e.name_size > size - at || data[at + e.name_size - 1])
            break;
        kept_add(k, (const char *)data + at, fds[done], (size_t)e.ring_bytes);
        at += e.name_size;
    }
    bool all = done == fd_count;
    for (; done < fd_count; done++)
        close(fds[done]);
    return all;
}

/* 1: more to come, 0: that was the last, -1: invalid or no message. */
static int batch_receive(int connection, uint8_t *room, struct kept *k, uint32_t *version)
{
    union control_space control;
    struct iovec        io = {.iov_base = room, .iov_len = ROOM};
    struct msghdr       m  = {
               .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    int                  fds[HANDOVER_BATCH];
    unsigned             count = 0;
    struct handover_head h;
    ssize_t              n = recvmsg(connection, &m, MSG_CMSG_CLOEXEC);

    for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && !count) {
            count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fds, CMSG_DATA(c), count * sizeof(int));
        }
    if (n < (ssize_t)sizeof h || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (unsigned i = 0; i < count; i++)
            close(fds[i]);
        return -1;
    }
    memcpy(&h, room, sizeof h);
    *version = h.magic == MAGIC ? h.version : VERSION;
    if (h.magic == MAGIC && h.version == VERSION && !h.count && h.total == NOT_YET && !count)
        return 1;
    bool sound = h.magic == MAGIC && h.version == VERSION && h.count == count;
    if (!batch_take(room, (size_t)n, fds, count, k) || !sound || (!h.count && h.total != k->count))
        return -1;
    return h.count ? 1 : 0;
}

wstatus handover_receive(int connection, struct kept *k, struct reason *why)
{
    uint8_t *room    = malloc(ROOM);
    int      more    = 1;
    uint32_t version = VERSION;
    if (!room)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a hand-over");
    errno = 0;
    while (more > 0)
        more = batch_receive(connection, room, k, &version);
    int error = errno;
    free(room);
    if (!more)
        return W_SUCCESS;
    kept_clear(k);
    if (version != VERSION)
        return reason_set(why, W_INVALID_DATA, "the early program has version %u.%u, this daemon %u.%u", version >> 16,
                          version & 0xFFFF, (unsigned)VERSION >> 16, VERSION & 0xFFFF);
    return error == EAGAIN ? reason_set(why, W_TIMEOUT, "the early program has fallen silent for %d ms", SILENCE_MS)
                           : reason_set(why, W_INVALID_DATA, "what the early program handed over could not be read");
}

void handover_acknowledge(int connection)
{
    (void)!send(connection, acknowledgement, sizeof acknowledgement, MSG_NOSIGNAL);
}
