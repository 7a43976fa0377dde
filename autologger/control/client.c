/* client.c - see client.h. What the other end sends is checked before it is used: its size against what recvmsg gave, the
 * sequence and type against the request, row counts against the size, names for their NUL. */
#include "autologger/control/client.h"
#include "autologger/wire/filter.h"
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

enum {
    OPEN_AGAIN    = 15,
    OPEN_PAUSE_MS = 50,
    WAIT_EVER    = -1,
    HELD_PAUSE_MS = 50,
    WAIT_MS      = 30 * 1000,      /* an answer that only needs a look at tables */
    WAIT_LONG_MS = 10 * 60 * 1000, /* one that waits for files to be complete */
    MAX_ROWS     = 65536
};

struct control_client {
    int      fd, cancel_fd; /* cancel_fd: -1 = none */
    int      fds[CONTROL_FDS]; /* that came with the answer, if they are wanted */
    unsigned fd_count;
    bool     fds_wanted;
    int      wait_most; /* ms that one answer may take; 0: as long as each request allows */
    uint32_t sequence;
    size_t   size; /* of the answer in `buffer` */
    _Alignas(8) uint8_t buffer[CTL_MAX];
};

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

static int64_t now_ms(void)
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

/* Root has a socket with a queue of its own. Other users, and root below an older daemon, use "control". */
static int connect_in(int fd, const char *dir)
{
    static const char *const names[] = CTL_SOCKET_NAMES;
    const int                rc      = connect_to(fd, dir, names[CTL_SOCKET_ROOT]);
    return rc == -ENOENT || rc == -EACCES || rc == -ECONNREFUSED ? connect_to(fd, dir, names[CTL_SOCKET_CONTROL]) : rc;
}

/* Descriptors that came along; most are of no use here. */
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

/* One message into c->buffer, or a Status. */
static wstatus receive(struct control_client *c, int64_t deadline, struct reason *why)
{
    for (;;) {
        struct pollfd p[2] = {{.fd = c->fd, .events = POLLIN}, {.fd = c->cancel_fd, .events = POLLIN}};
        int64_t       left = deadline - now_ms();
        int           rc   = poll(p, 2, deadline < 0 ? -1 : left > 0 ? (int)left : 0);
        if (rc > 0 && p[1].revents)
            return reason_set(why, W_CANCELLED, "the waiting was cancelled");
        if (rc == 0)
            return reason_set(why, W_TIMEOUT, "the daemon did not answer in time");
        if (rc < 0 && errno != EINTR)
            return reason_set(why, wstatus_from_errno(errno), "waiting for the daemon: %s", strerror(errno));
        if (rc < 0)
            continue;
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
        struct iovec  io = {.iov_base = c->buffer, .iov_len = sizeof c->buffer};
        struct msghdr m  = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t       n  = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0) /* reset: it ended with a message of ours unread */
            return reason_set(why, errno == ECONNRESET ? W_WMI_INSTANCE_NOT_FOUND : wstatus_from_errno(errno), "reading from the daemon: %s", strerror(errno));
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

/* Sends `request` (its header's size and type are set by the caller) and waits for its answer of at least `least` bytes. */
static wstatus ask_once(struct control_client *c, struct ctl_header *request, size_t least, int wait_ms, struct reason *why)
{
    wait_ms           = c->wait_most ? c->wait_most : wait_ms;
    int64_t deadline  = wait_ms == WAIT_EVER ? -1 : now_ms() + wait_ms;
    request->version  = CTL_VERSION;
    request->sequence = ++c->sequence ? c->sequence : ++c->sequence; /* 0 is the daemon's own */
    while (send(c->fd, request, request->size, MSG_NOSIGNAL) < 0) {
        if (errno == EINTR)
            continue;
        wstatus st = errno == EPIPE || errno == ECONNRESET ? W_WMI_INSTANCE_NOT_FOUND : wstatus_from_errno(errno);
        return reason_set(why, st, "asking the daemon: %s", strerror(errno));
    }
    for (;;) {
        wstatus st = receive(c, deadline, why);
        if (st)
            return st;
        struct ctl_header h;
        memcpy(&h, c->buffer, sizeof h);
        if (h.sequence == 0 && h.type == CTL_HELLO) { /* a successor has taken over: it never saw the request */
            if (send(c->fd, request, request->size, MSG_NOSIGNAL) < 0)
                return reason_set(why, W_WMI_INSTANCE_NOT_FOUND, "the daemon was restarted: %s", strerror(errno));
            continue;
        }
        if (h.sequence == 0)
            continue; /* for provider libraries */
        if ((int32_t)(h.sequence - request->sequence) < 0) { /* asked twice, as above, and answered twice */
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
            return reason_set(why, W_INVALID_DATA, "the daemon's answer is too short (%zu of %zu bytes)", c->size, least);
        return W_SUCCESS;
    }
}

/* The same. An early program that would lose what it holds has asked the daemon to take over: asks again until that has happened. */
static wstatus ask(struct control_client *c, struct ctl_header *request, size_t least, int wait_ms, struct reason *why)
{
    int64_t deadline = now_ms() + (c->wait_most ? c->wait_most : WAIT_MS);
    wstatus st;
    while ((st = ask_once(c, request, least, wait_ms, why)) == W_RETRY) {
        if (now_ms() >= deadline)
            return reason_set(why, st, "the early program still holds what was recorded, and no daemon has taken it over. Do: start "
                              "autologgerd.service, or save it by 'autologger-early save FILE'");
        usleep(HELD_PAUSE_MS * 1000);
    }
    return st;
}

static wstatus hello(struct control_client *c, struct reason *why)
{
    struct ctl_hello h  = {.header = {.size = sizeof h, .type = CTL_HELLO}, .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR};
    wstatus          st = ask(c, &h.header, sizeof h, WAIT_MS, why);
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

static wstatus open_once(const char *runtime_dir, int wait_most, struct control_client **out, bool *hung_up, struct reason *why)
{
    const char            *dir = runtime_dir ? runtime_dir : control_runtime_dir();
    struct control_client *c   = calloc(1, sizeof *c);
    if (!c)
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    wstatus st;
    c->cancel_fd = -1;
    c->wait_most = wait_most;
    c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
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
        st = reason_set(why, W_ACCESS_DENIED, "%s/control: permission denied. Do: run this as root, or as a user of that file's group", dir);
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

/* A daemon that hangs up before it greets died between taking the connection and giving it to its keeper, or has no place just now: programs
 * that it refuses take the last ones for a moment. Nothing was asked yet. */
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

static wstatus name_set(struct ctl_session_request *r, const char *name, struct reason *why)
{
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof r->name)
        return reason_set(why, W_INVALID_PARAMETER, "a session name has 1 to %zu bytes", sizeof r->name - 1);
    memcpy(r->name, name, length + 1);
    return W_SUCCESS;
}

/* The rows of a paged answer in c->buffer, checked: `head` bytes, then `count` rows of `row` bytes. */
static wstatus rows_check(const struct control_client *c, uint32_t total, uint32_t count, size_t head, size_t row,
                          struct reason *why)
{
    if (count > (c->size - head) / row || total > MAX_ROWS || count > total)
        return reason_set(why, W_INVALID_DATA, "the daemon announces %u of %u rows in %zu bytes", count, total, c->size);
    return W_SUCCESS;
}

static void session_terminate(struct ctl_session_info *s)
{
    s->name[sizeof s->name - 1]         = 0;
    s->log_path[sizeof s->log_path - 1] = 0;
}

/* A request about one session, answered by exactly one row (`out` may be NULL, then the answer need hold none). */
static wstatus session_ask(struct control_client *c, enum ctl_type type, const char *name, int wait_ms,
                           struct ctl_session_info *out, struct reason *why)
{
    struct ctl_session_request r  = {.header = {.size = sizeof r, .type = (uint16_t)type}};
    wstatus                    st = name_set(&r, name, why);
    if (st)
        return st;
    size_t least = out ? sizeof(struct ctl_query_answer) : sizeof(struct ctl_header);
    if ((st = ask(c, &r.header, least, wait_ms, why))) {
        if (st == W_WMI_INSTANCE_NOT_FOUND)
            reason_set(why, st, "no session named \"%s\" is running", name);
        return st;
    }
    if (!out)
        return W_SUCCESS;
    const struct ctl_query_answer *a = (const struct ctl_query_answer *)c->buffer;
    if ((st = rows_check(c, a->total, a->count, sizeof *a, sizeof a->row[0], why)))
        return st;
    if (a->count != 1)
        return reason_set(why, W_INVALID_DATA, "the daemon answered with %u sessions where one was asked for", a->count);
    *out = a->row[0];
    session_terminate(out);
    return W_SUCCESS;
}

wstatus control_query(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why)
{
    return session_ask(c, CTL_QUERY, name, WAIT_MS, out, why);
}

wstatus control_stop(struct control_client *c, const char *name, struct ctl_session_info *final, struct reason *why)
{
    wstatus st = session_ask(c, CTL_STOP, name, WAIT_LONG_MS, final, why);
    return st == W_INVALID_PARAMETER && *name ? reason_set(why, st, "session \"%s\" was declared NONSTOPPABLE. Do: end the boot, or the daemon", name) : st;
}
wstatus control_flush(struct control_client *c, const char *name, struct reason *why)
{
    return session_ask(c, CTL_FLUSH, name, WAIT_LONG_MS, NULL, why);
}

/* The answer to `request`, also one with a Status: its text is the reason then. */
static wstatus told_ask(struct control_client *c, struct ctl_header *request, struct ctl_update_answer *out, struct reason *why)
{
    wstatus st = ask(c, request, sizeof(struct ctl_header), WAIT_LONG_MS, why);
    if (c->size >= sizeof *out && (!st || ((const struct ctl_header *)(const void *)c->buffer)->status == st)) {
        memcpy(out, c->buffer, sizeof *out);
        out->text[sizeof out->text - 1] = 0;
        session_terminate(&out->session);
        if (st)
            reason_set(why, st, "%s", out->text);
    } else if (!st) {
        st = reason_set(why, W_INVALID_DATA, "the daemon answered with %zu bytes", c->size);
    }
    return st;
}

wstatus control_update(struct control_client *c, struct ctl_update_request *r, const char *name, struct ctl_update_answer *out,
                       struct reason *why)
{
    struct ctl_session_request named = {0};
    wstatus                    st    = name_set(&named, name, why);
    if (st)
        return st;
    memcpy(r->name, named.name, sizeof r->name);
    r->header = (struct ctl_header){.size = sizeof *r, .type = CTL_UPDATE};
    return told_ask(c, &r->header, out, why);
}

wstatus control_start(struct control_client *c, const void *snapshot, size_t size, struct ctl_update_answer *out, struct reason *why)
{
    return control_start_for(c, snapshot, size, NULL, out, why);
}

wstatus control_start_for(struct control_client *c, const void *snapshot, size_t size, const struct filter_block *processes, struct ctl_update_answer *out,
                          struct reason *why)
{
    struct ctl_start_request *r      = NULL;
    const size_t              filter = processes ? processes->size : 0, at = filter ? (size + 7) & ~(size_t)7 : size, whole = sizeof *r + at + filter;
    if (size > CTL_MAX || whole > CTL_MAX)
        return reason_set(why, W_INVALID_PARAMETER, "the declaration has %zu bytes, more than a message of %d holds. Do: declare it in the store, "
                          "for the next boot", size, CTL_MAX);
    if (!(r = calloc(1, whole)))
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    *r = (struct ctl_start_request){.header = {.size = (uint32_t)whole, .type = CTL_START}, .bytes = (uint32_t)size, .filter_bytes = (uint32_t)filter};
    memcpy(r + 1, snapshot, size);
    if (filter)
        memcpy((uint8_t *)(r + 1) + at, processes, filter);
    wstatus st = told_ask(c, &r->header, out, why);
    free(r);
    return st;
}

wstatus control_file(struct control_client *c, const char *name, const char *file, struct ctl_update_answer *out, struct reason *why)
{
    struct ctl_session_request  named = {.header = {.size = sizeof named, .type = CTL_NEXT_FILE}};
    struct ctl_snapshot_request r     = {.header = {.size = sizeof r, .type = CTL_SNAPSHOT}};
    wstatus                     st    = name_set(&named, name, why);
    if (!st && file && strlen(file) >= sizeof r.file)
        st = reason_set(why, W_FILENAME_EXCED_RANGE, "the file's name has %zu bytes, more than %zu", strlen(file), sizeof r.file - 1);
    if (st)
        return st;
    memcpy(r.name, named.name, sizeof r.name);
    if (file)
        memcpy(r.file, file, strlen(file) + 1);
    st = told_ask(c, file ? &r.header : &named.header, out, why);
    if (st == W_WMI_INSTANCE_NOT_FOUND)
        reason_set(why, st, "no session named \"%s\" is running", name);
    return st;
}

wstatus control_enable(struct control_client *c, struct ctl_enable_request *r, const char *name, unsigned wait_ms, struct reason *why)
{
    return control_enable_filtered(c, r, NULL, name, wait_ms, why);
}

wstatus control_enable_filtered(struct control_client *c, struct ctl_enable_request *r, const struct filter_block *filter, const char *name,
                                unsigned wait_ms, struct reason *why)
{
    struct ctl_session_request named = {0};
    wstatus                    st    = name_set(&named, name, why);
    if (st)
        return st;
    memcpy(r->name, named.name, sizeof r->name);
    r->filter_bytes = filter && filter->parts ? filter->size : 0;
    r->header       = (struct ctl_header){.size = (uint32_t)sizeof *r + r->filter_bytes, .type = CTL_ENABLE_PROVIDER};
    r->wait         = wait_ms != 0;
    struct ctl_enable_request *whole = malloc(r->header.size);
    if (!whole)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the request");
    memcpy(whole, r, sizeof *r);
    if (r->filter_bytes)
        memcpy(whole + 1, filter, r->filter_bytes);
    st = ask(c, &whole->header, sizeof(struct ctl_header), wait_ms && wait_ms < WAIT_LONG_MS ? (int)wait_ms : WAIT_LONG_MS, why);
    free(whole);
    if (st == W_TIMEOUT && r->wait)
        return reason_set(why, st, "it was asked for, and not every program's callback has come back within %u ms", wait_ms);
    if (st == W_WMI_INSTANCE_NOT_FOUND)
        return reason_set(why, st, "no session named \"%s\" is running", name);
    if (st == W_WMI_GUID_NOT_FOUND)
        return reason_set(why, st, "the provider is not enabled in session \"%s\"", name);
    if (st == W_NOT_SUPPORTED && r->property)
        return reason_set(why, st, "EnableProperty 0x%x: its bits 0x%x do not work in this version; nothing was changed", r->property,
                          r->property & ~(uint32_t)PROPERTY_KNOWN);
    return st;
}

/* ---- CTL_ACCESS ---- */

static wstatus access_ask(struct control_client *c, struct ctl_access_request *r, size_t least, struct reason *why)
{
    r->header  = (struct ctl_header){.size = sizeof *r, .type = CTL_ACCESS};
    wstatus st = ask(c, &r->header, least, WAIT_MS, why);
    if (!st && least > sizeof r->header && ((const struct ctl_access_answer *)(const void *)c->buffer)->bytes != c->size - least)
        st = reason_set(why, W_INVALID_DATA, "the daemon answered with %zu bytes", c->size);
    if (st == W_INVALID_FUNCTION)
        return reason_set(why, W_NOT_SUPPORTED, "the daemon that runs is of an older version: it knows no security descriptors");
    return st;
}

wstatus control_access_query(struct control_client *c, const struct guid *object, bool *own, uint8_t **out, size_t *size, struct reason *why)
{
    struct ctl_access_request       r  = {.object = *object, .what = CTL_ACCESS_QUERY};
    const struct ctl_access_answer *a  = (const void *)c->buffer;
    wstatus                         st = access_ask(c, &r, sizeof *a, why);
    if (st)
        return st;
    if (!(*out = malloc(a->bytes + 1)))
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    memcpy(*out, a + 1, a->bytes);
    *size = a->bytes;
    *own  = a->own != 0;
    return W_SUCCESS;
}

wstatus control_access_change(struct control_client *c, struct ctl_access_request *r, struct reason *why)
{
    return access_ask(c, r, sizeof(struct ctl_header), why);
}

wstatus control_access_list(struct control_client *c, struct guid **out, unsigned *count, struct reason *why)
{
    const struct ctl_access_answer *a   = (const void *)c->buffer;
    struct guid                    *all = NULL, *more;
    unsigned                        n   = 0, page;
    do {
        struct ctl_access_request r  = {.what = CTL_ACCESS_LIST, .start = n};
        wstatus                   st = access_ask(c, &r, sizeof *a, why);
        page                         = st ? 0 : (unsigned)(a->bytes / sizeof *all);
        if (!st && !(more = realloc(all, (n + page + 1) * sizeof *all)))
            st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
        if (st) {
            free(all);
            return st;
        }
        all = more;
        memcpy(all + n, a + 1, page * sizeof *all);
        n += page;
    } while (page && n < a->total && n < MAX_ROWS);
    *out   = all;
    *count = n;
    return W_SUCCESS;
}

/* All pages of a list: `head` and `row` are the sizes of the answer's head and of one row; `name` is a session's, or NULL for lists
 * of all. *rows is malloc; c->buffer keeps the last page. */
static wstatus pages(struct control_client *c, enum ctl_type type, const char *name, size_t head, size_t row, void **rows,
                     unsigned *count, struct reason *why)
{
    uint8_t *all  = NULL;
    uint32_t have = 0, total = 0;
    do {
        struct ctl_session_request r  = {.header = {.size = sizeof r, .type = (uint16_t)type}, .start = have};
        wstatus                    st   = name ? name_set(&r, name, why) : W_SUCCESS;
        uint32_t                   page = 0;
        st                              = st ? st : ask(c, &r.header, head, WAIT_MS, why);
        if (!st) {
            memcpy(&total, c->buffer + sizeof(struct ctl_header), sizeof total);
            memcpy(&page, c->buffer + sizeof(struct ctl_header) + sizeof total, sizeof page);
            st = rows_check(c, total, page, head, row, why);
        }
        uint8_t *more = NULL;
        if (!st && page && !(more = realloc(all, (have + page) * row)))
            st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
        if (st) {
            free(all);
            return st;
        }
        if (!page)
            break; /* sessions went away between two pages */
        all = more;
        memcpy(all + have * row, c->buffer + head, page * row);
        have += page;
    } while (have < total && have < MAX_ROWS);
    *rows  = all;
    *count = have;
    return W_SUCCESS;
}

wstatus control_query_all(struct control_client *c, struct ctl_session_info **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = pages(c, CTL_QUERY, NULL, sizeof(struct ctl_query_answer), sizeof **rows, &all, count, why);
    if (st)
        return st;
    *rows = all;
    for (unsigned i = 0; i < *count; i++)
        session_terminate(&(*rows)[i]);
    return W_SUCCESS;
}

wstatus control_providers(struct control_client *c, struct ctl_provider_row **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = pages(c, CTL_PROVIDERS, NULL, sizeof(struct ctl_providers_answer), sizeof **rows, &all, count, why);
    if (st)
        return st;
    *rows = all;
    for (unsigned i = 0; i < *count; i++)
        (*rows)[i].name[sizeof(*rows)[i].name - 1] = 0;
    return W_SUCCESS;
}

wstatus control_declaration(struct control_client *c, const char *name, struct ctl_declaration *out, struct ctl_enabled_row **rows,
                            unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = pages(c, CTL_DECLARATION, name, sizeof(struct ctl_declaration_answer), sizeof **rows, &all, count, why);
    if (st)
        return st;
    *rows = all;
    *out  = ((const struct ctl_declaration_answer *)c->buffer)->session;
    out->name[sizeof out->name - 1]           = 0;
    out->key[sizeof out->key - 1]             = 0;
    out->file_name[sizeof out->file_name - 1] = 0;
    if (out->hook_count > sizeof out->hooks / sizeof *out->hooks)
        out->hook_count = sizeof out->hooks / sizeof *out->hooks;
    for (unsigned i = 0; i < *count; i++) {
        (*rows)[i].name[sizeof(*rows)[i].name - 1] = 0;
        (*rows)[i].key[sizeof(*rows)[i].key - 1]   = 0;
    }
    return W_SUCCESS;
}

static void terms_terminate(struct ctl_terms_answer *a)
{
    char *const  texts[] = {a->session.name, a->session.key, a->session.file_name, a->row.name, a->row.key, a->units, a->tracepoint, a->tracepoint_filter};
    const size_t sizes[] = {sizeof a->session.name, sizeof a->session.key, sizeof a->session.file_name, sizeof a->row.name,
                            sizeof a->row.key,      sizeof a->units,       sizeof a->tracepoint,        sizeof a->tracepoint_filter};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        texts[i][sizes[i] - 1] = 0;
    if (a->session.hook_count > sizeof a->session.hooks / sizeof *a->session.hooks)
        a->session.hook_count = sizeof a->session.hooks / sizeof *a->session.hooks;
}

wstatus control_terms(struct control_client *c, const char *name, uint32_t which, const struct ctl_terms_answer **out, struct reason *why)
{
    struct ctl_session_request r  = {.header = {.size = sizeof r, .type = CTL_TERMS}, .start = which};
    struct ctl_terms_answer   *a  = (void *)c->buffer;
    wstatus                    st = name_set(&r, name, why);
    st                            = st ? st : ask(c, &r.header, sizeof *a, WAIT_MS, why);
    if (st == W_NOT_SUPPORTED)
        return reason_set(why, st, "the daemon is of an older version, which does not give all terms of a session. Do: restart autologgerd; its "
                          "sessions go on");
    if (st)
        return st;
    terms_terminate(a);
    if (a->filter_bytes && a->filter_bytes > c->size - sizeof *a)
        return reason_set(why, W_INVALID_DATA, "the daemon sent a filter of %u bytes in an answer of %zu", a->filter_bytes, c->size);
    *out = a;
    return W_SUCCESS;
}

static wstatus plain_ask(struct control_client *c, enum ctl_type type, size_t least, int wait_ms, struct reason *why)
{
    struct ctl_header h = {.size = sizeof h, .type = (uint16_t)type};
    return ask(c, &h, least, wait_ms, why);
}

wstatus control_fs_ready(struct control_client *c, struct reason *why)
{
    return plain_ask(c, CTL_FS_READY, sizeof(struct ctl_header), WAIT_LONG_MS, why);
}
wstatus control_end_boot(struct control_client *c, struct reason *why)
{
    return plain_ask(c, CTL_END_BOOT, sizeof(struct ctl_header), WAIT_LONG_MS, why);
}
wstatus control_shutdown(struct control_client *c, struct reason *why)
{
    return plain_ask(c, CTL_SHUTDOWN, sizeof(struct ctl_header), WAIT_LONG_MS, why);
}
void control_cancel_by(struct control_client *c, int fd) { c->cancel_fd = fd; }

wstatus control_consume(struct control_client *c, const char *name, struct ctl_consume_answer *out, struct reason *why)
{
    struct ctl_session_request r  = {.header = {.size = sizeof r, .type = CTL_CONSUME}};
    wstatus                    st = name_set(&r, name, why);
    if (st)
        return st;
    if ((st = ask(c, &r.header, sizeof *out, WAIT_MS, why)) == W_WMI_INSTANCE_NOT_FOUND)
        reason_set(why, st, "no real-time session named \"%s\" is running", name);
    if (!st)
        memcpy(out, c->buffer, sizeof *out);
    return st;
}

wstatus control_consume_next(struct control_client *c, struct ctl_consume_request *r, const struct ctl_consume_answer **out,
                             int fds[CONTROL_FDS], unsigned *count, struct reason *why)
{
    r->header     = (struct ctl_header){.size = sizeof *r, .type = CTL_CONSUME_NEXT};
    c->fds_wanted = true;
    c->fd_count   = 0;
    wstatus st    = ask(c, &r->header, sizeof **out, r->what == CTL_CONSUME_BUFFER ? WAIT_EVER : WAIT_MS, why);
    c->fds_wanted = false;
    const struct ctl_consume_answer *a = (const void *)c->buffer;
    if (!st && (a->bytes > c->size - sizeof *a || a->bytes > a->size || a->offset > a->size - a->bytes))
        st = reason_set(why, W_INVALID_DATA, "the daemon announces %u bytes of a buffer in a message of %zu", a->bytes, c->size);
    for (unsigned i = 0; st && i < c->fd_count; i++)
        close(c->fds[i]);
    if (st)
        return st;
    memcpy(fds, c->fds, sizeof c->fds);
    *count = c->fd_count;
    *out   = a;
    return W_SUCCESS;
}

wstatus control_state(struct control_client *c, struct ctl_state_answer *out, struct reason *why)
{
    enum { SESSIONS_MOST = 64 }; /* an older daemon does not say */
    wstatus st = plain_ask(c, CTL_STATE, offsetof(struct ctl_state_answer, sessions_most), WAIT_MS, why);
    if (st)
        return st;
    *out = (struct ctl_state_answer){.sessions_most = SESSIONS_MOST};
    static const size_t whole[] = {offsetof(struct ctl_state_answer, sessions_most), offsetof(struct ctl_state_answer, places),
                                   offsetof(struct ctl_state_answer, quota), sizeof *out};
    size_t known = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        known = c->size >= whole[i] ? whole[i] : known;
    memcpy(out, c->buffer, known);
    out->store[sizeof out->store - 1]     = 0;
    out->log_dir[sizeof out->log_dir - 1] = 0;
    return W_SUCCESS;
}

wstatus control_registrations(struct control_client *c, struct ctl_registration_row **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = pages(c, CTL_REGISTRATIONS, NULL, sizeof(struct ctl_registrations_answer), sizeof **rows, &all, count, why);
    *rows       = all;
    return st;
}

wstatus control_users(struct control_client *c, const char *name, struct ctl_user_row **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = pages(c, CTL_USERS, name, sizeof(struct ctl_users_answer), sizeof **rows, &all, count, why);
    *rows       = all;
    return st;
}

wstatus control_provider(struct control_client *c, const struct guid *provider, const struct ctl_provider_answer **out, struct reason *why)
{
    struct ctl_provider_request r  = {.header = {.size = sizeof r, .type = CTL_PROVIDER}, .provider = *provider};
    struct ctl_provider_answer *a  = (void *)c->buffer;
    wstatus                     st = ask(c, &r.header, sizeof *a, WAIT_MS, why);
    if (st)
        return st;
    if (a->program_count > (c->size - sizeof *a) / sizeof a->program[0] || a->enable_count > CTL_PROVIDER_ENABLES)
        return reason_set(why, W_INVALID_DATA, "the daemon announces %u programs in %zu bytes", a->program_count, c->size);
    a->name[sizeof a->name - 1] = 0;
    for (uint32_t i = 0; i < a->enable_count; i++)
        a->enable[i].session[sizeof a->enable[i].session - 1] = 0;
    *out = a;
    return W_SUCCESS;
}
