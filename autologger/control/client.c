/* client.c - see client.h. The daemon's bytes are checked before use: the size against what recvmsg returned, the
 * sequence and type against the request, row counts against the size, names for their NUL. */
#include "autologger/control/client_private.h"
#include "autologger/wire/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_AGAIN = 15, OPEN_PAUSE_MS = 50, HELD_PAUSE_MS = 50 };

static bool has_socket(const char *dir)
{
    char        path[CTL_PATH];
    struct stat st;
    int         n = snprintf(path, sizeof path, "%s/control", dir);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

const char *control_runtime_dir(void)
{
    static char own[CTL_PATH];
    const char *dir = getenv("AUTOLOGGER_RUNTIME_DIR");
    if (dir && *dir)
        return dir;
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    if (geteuid() != 0 && xdg && *xdg && !has_socket("/run/autologger")) {
        int n = snprintf(own, sizeof own, "%s/autologger", xdg);
        if (n > 0 && (size_t)n < sizeof own)
            return own;
    }
    return "/run/autologger";
}

static int64_t client_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A path longer than a socket address is reached through its folder's descriptor. 0 or -errno. */
static int connect_to(int fd, const char *dir, const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int                n = snprintf(to.sun_path, sizeof to.sun_path, "%s/%s", dir, name), folder = -1;
    if (n < 0 || (size_t)n >= sizeof to.sun_path) {
        folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
            return -errno;
        snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/%s", folder, name);
    }
    int rc = connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ? -errno : 0;
    if (folder >= 0)
        close(folder);
    return rc;
}

/* Root has a socket with a queue of its own. Other users, and root with an older daemon, use "control". */
static int connect_in(int fd, const char *dir)
{
    static const char *const names[] = CTL_SOCKET_NAMES;
    const int                rc      = connect_to(fd, dir, names[CTL_SOCKET_ROOT]);
    return rc == -ENOENT || rc == -EACCES || rc == -ECONNREFUSED ? connect_to(fd, dir, names[CTL_SOCKET_CONTROL]) : rc;
}

/* Takes the descriptors of a message; closes those that are not wanted. */
static void take_descriptors(struct control_client *c, struct msghdr *m)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            if (c->fds_wanted && c->fd_count < CONTROL_FDS)
                c->fds[c->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

/* Receives one message into c->buffer. Returns a Status. */
static wstatus client_receive(struct control_client *c, int64_t deadline, struct reason *why)
{
    for (;;) {
        struct pollfd p[2] = {{.fd = c->fd, .events = POLLIN}, {.fd = c->cancel_fd, .events = POLLIN}};
        int64_t       left = deadline - client_now_ms();
        int           rc   = poll(p, 2, deadline < 0 ? -1 : left > 0 ? (int)left : 0);
        if (rc > 0 && p[1].revents)
            return reason_set(why, W_CANCELLED, "the waiting was cancelled");
        if (rc == 0)
            return reason_set(why, W_TIMEOUT, "the daemon did not answer in time");
        if (rc < 0 && errno != EINTR)
            return reason_set(why, wstatus_from_errno(errno), "waiting for the daemon: %s", strerror(errno));
        if (rc < 0 && c->interrupted && !c->interrupted(c->interrupt_ctx))
            return reason_set(why, W_CANCELLED, "the waiting was interrupted");
        if (rc < 0)
            continue;
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
        struct iovec                  io = {.iov_base = c->buffer, .iov_len = sizeof c->buffer};
        struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t       n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0) /* reset: it ended with a message unread */
            return reason_set(why, errno == ECONNRESET ? W_WMI_INSTANCE_NOT_FOUND : wstatus_from_errno(errno),
                              "reading from the daemon: %s", strerror(errno));
        take_descriptors(c, &m);
        if (n == 0)
            return reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "the daemon closed the connection");
        struct ctl_header h;
        if ((size_t)n < sizeof h || (m.msg_flags & MSG_TRUNC))
            return reason_set(why, W_INVALID_DATA, "the daemon sent a message of a size that cannot be");
        memcpy(&h, c->buffer, sizeof h);
        if (h.size != (size_t)n)
            return reason_set(why, W_INVALID_DATA, "the daemon sent %zd bytes and calls them %u", n, h.size);
        c->size = (size_t)n;
        return W_SUCCESS;
    }
}

/* Sends `request` (its header's size and type are set by the caller) and waits for its answer of at least `least`
 * bytes. */
static wstatus ask_once(struct control_client *c, struct ctl_header *request, size_t least, int wait_ms,
                        struct reason *why)
{
    wait_ms           = c->wait_most ? c->wait_most : wait_ms;
    int64_t deadline  = wait_ms == WAIT_EVER ? -1 : client_now_ms() + wait_ms;
    request->version  = CTL_VERSION;
    request->sequence = ++c->sequence ? c->sequence : ++c->sequence; /* 0 is for the daemon's messages */
    while (send(c->fd, request, request->size, MSG_NOSIGNAL) < 0) {
        if (errno == EINTR)
            continue;
        wstatus st = errno == EPIPE || errno == ECONNRESET ? W_WMI_INSTANCE_NOT_FOUND : wstatus_from_errno(errno);
        return reason_set(why, st, "asking the daemon: %s", strerror(errno));
    }
    for (;;) {
        wstatus st = client_receive(c, deadline, why);
        if (st)
            return st;
        struct ctl_header h;
        memcpy(&h, c->buffer, sizeof h);
        if (h.sequence == 0 && h.type == CTL_HELLO) { /* a successor has taken over, without the request */
            if (send(c->fd, request, request->size, MSG_NOSIGNAL) < 0)
                return reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "the daemon was restarted: %s", strerror(errno));
            continue;
        }
        if (h.sequence == 0)
            continue;                                        /* for provider libraries */
        if ((int32_t)(h.sequence - request->sequence) < 0) { /* sent twice, as above, and answered twice */
            for (unsigned i = 0; i < c->fd_count; i++)
                close(c->fds[i]);
            c->fd_count = 0;
            continue;
        }
        if (h.sequence != request->sequence || h.type != request->type)
            return reason_set(why, W_INVALID_DATA, "the daemon answered request %u of type %u with %u of type %u",
                              request->sequence, request->type, h.sequence, h.type);
        if (h.status)
            return reason_set(why, h.status, "the daemon refused: %s", wstatus_text(h.status));
        if (c->size < least)
            return reason_set(why, W_INVALID_DATA, "the daemon's answer is too short (%zu of %zu bytes)", c->size,
                              least);
        return W_SUCCESS;
    }
}

/* The same. An early program that would lose what it holds has asked for its successor: repeats the request until that
 * has taken over. */
wstatus client_ask(struct control_client *c, struct ctl_header *request, size_t least, int wait_ms, struct reason *why)
{
    int64_t deadline = client_now_ms() + (c->wait_most ? c->wait_most : WAIT_MS);
    wstatus st;
    while ((st = ask_once(c, request, least, wait_ms, why)) == W_RETRY) {
        if (client_now_ms() >= deadline)
            return reason_set(
                why, st,
                "the early program still holds what was recorded, and no daemon has taken it over. Do: start "
                "autologgerd.service, or save it by 'autologger-early save FILE'");
        usleep(HELD_PAUSE_MS * 1000);
    }
    return st;
}

static wstatus hello(struct control_client *c, struct reason *why)
{
    struct ctl_hello h = {
        .header = {.size = sizeof h, .type = CTL_HELLO}, .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR};
    wstatus st = client_ask(c, &h.header, sizeof h, WAIT_MS, why);
    if (st == W_NOT_SUPPORTED)
        return reason_set(why, st, "the daemon does not speak version %u of the control protocol", CTL_VERSION);
    if (st)
        return st;
    memcpy(&h, c->buffer, sizeof h);
    if (h.highest_version == 0 || h.highest_version > CTL_VERSION)
        return reason_set(why, W_NOT_SUPPORTED, "the daemon speaks version %u of the control protocol, this program %u",
                          h.highest_version, CTL_VERSION);
    return W_SUCCESS;
}

static wstatus open_once(const char *runtime_dir, int wait_most, struct control_client **out, bool *hung_up,
                         struct reason *why)
{
    const char            *dir = runtime_dir ? runtime_dir : control_runtime_dir();
    struct control_client *c   = calloc(1, sizeof *c);
    if (!c)
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    wstatus st;
    c->cancel_fd = -1;
    c->wait_most = wait_most;
    c->fd        = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        st = reason_set(why, wstatus_from_errno(errno), "socket: %s", strerror(errno));
        goto out;
    }
    int rc = connect_in(c->fd, dir);
    if (rc == -ENOENT || rc == -ECONNREFUSED || rc == -ENOTDIR) {
        st = reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "no daemon listens in %s", dir);
        goto out;
    }
    if (rc == -EACCES) { /* autologgerd --control-group */
        st = reason_set(why, W_ACCESS_DENIED,
                        "%s/control: permission denied. Do: run this as root, or as a user of that file's group", dir);
        goto out;
    }
    if (rc < 0) {
        st = reason_set(why, wstatus_from_errno(-rc), "%s/control: %s", dir, strerror(-rc));
        goto out;
    }
    if ((st = hello(c, why))) {
        *hung_up = st == W_WMI_INSTANCE_NOT_FOUND;
        goto out;
    }
    *out = c;
    c    = NULL;
out:
    control_close(c);
    return st;
}

/* A daemon that hangs up before it greets died between accepting the connection and giving it to its keeper, or has no
 * place just now: programs that it refuses take the last ones for a moment. Nothing was requested yet. */
wstatus control_open(const char *runtime_dir, struct control_client **out, struct reason *why)
{
    bool    hung_up = false;
    wstatus st      = open_once(runtime_dir, 0, out, &hung_up, why);
    for (unsigned i = 0; hung_up && i < OPEN_AGAIN; i++) {
        hung_up = false;
        usleep(OPEN_PAUSE_MS * 1000);
        st = open_once(runtime_dir, 0, out, &hung_up, why);
    }
    return hung_up ? reason_set(why, st, "the daemon hangs up: it has no place for this connection") : st;
}

wstatus control_open_briefly(const char *runtime_dir, int wait_most_ms, struct control_client **out, struct reason *why)
{
    bool hung_up;
    return open_once(runtime_dir, wait_most_ms, out, &hung_up, why);
}

void control_close(struct control_client *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

wstatus client_name_set(struct ctl_session_request *r, const char *name, struct reason *why)
{
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof r->name)
        return reason_set(why, W_INVALID_PARAMETER, "a session name has 1 to %zu bytes", sizeof r->name - 1);
    memcpy(r->name, name, length + 1);
    return W_SUCCESS;
}

/* Checks the rows of a paged answer in c->buffer: `head` bytes, then `count` rows of `row` bytes. */
wstatus client_rows_check(const struct control_client *c, uint32_t total, uint32_t count, size_t head, size_t row,
                          struct reason *why)
{
    if (count > (c->size - head) / row || total > MAX_ROWS || count > total)
        return reason_set(why, W_INVALID_DATA, "the daemon announces %u of %u rows in %zu bytes", count, total,
                          c->size);
    return W_SUCCESS;
}

void client_session_end(struct ctl_session_info *s)
{
    s->name[sizeof s->name - 1]         = 0;
    s->log_path[sizeof s->log_path - 1] = 0;
}

wstatus client_plain_ask(struct control_client *c, enum ctl_type type, size_t least, int wait_ms, struct reason *why)
{
    struct ctl_header h = {.size = sizeof h, .type = (uint16_t)type};
    return client_ask(c, &h, least, wait_ms, why);
}

wstatus control_fs_ready(struct control_client *c, struct reason *why)
{
    return client_plain_ask(c, CTL_FS_READY, sizeof(struct ctl_header), WAIT_LONG_MS, why);
}
wstatus control_end_boot(struct control_client *c, struct reason *why)
{
    return client_plain_ask(c, CTL_END_BOOT, sizeof(struct ctl_header), WAIT_LONG_MS, why);
}
wstatus control_shutdown(struct control_client *c, struct reason *why)
{
    return client_plain_ask(c, CTL_SHUTDOWN, sizeof(struct ctl_header), WAIT_LONG_MS, why);
}
void control_cancel_by(struct control_client *c, int fd) { c->cancel_fd = fd; }

void control_interrupt_by(struct control_client *c, bool (*call)(void *ctx), void *ctx)
{
    c->interrupted   = call;
    c->interrupt_ctx = ctx;
}
