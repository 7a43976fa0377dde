/* server_step.c - waits for work, and does it: new connections, messages, ends of processes. Connections of users who
 * may control the daemon are in an epoll of their own, and are read first: they wait for one round at most, however
 * many others are ready.
 * Invariants: S1 a connection is in one epoll, or it is held (held_until_ms), or it has no descriptor. S2 the cost of a
 * round depends on what is ready, not on what is connected. S3 epoll gives ready connections in turn, a message at a
 * time; held ones come back in the order in which they were held, for all of a user's are held until the same time. S4
 * after ROUND_NS of processor time a round accepts and reads nothing more for others. See server_parts.h. */
#include "autologger/control/access.h"
#include "autologger/control/outcast.h"
#include "autologger/control/server_parts.h"

#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- the connections ---- */

bool ready_begin(struct control_server *v)
{
    bool all = true;
    for (unsigned kind = 0; kind < READY_KINDS; kind++)
        all &= (v->ready_fd[kind] = epoll_create1(EPOLL_CLOEXEC)) >= 0;
    v->held_next_ms = UINT64_MAX;
    return all;
}

void ready_end(struct control_server *v)
{
    for (unsigned kind = 0; kind < READY_KINDS; kind++)
        if (v->ready_fd[kind] >= 0)
            close(v->ready_fd[kind]);
}

bool ready_add(struct control_server *v, unsigned c, int fd, const struct state_connection *who)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = c};
    /* on the provider socket root can be a container's */
    const bool            own  = access_may_control(who->uid) && who->socket != CTL_SOCKET_PROVIDER;
    const enum ready_kind kind = own ? READY_OWNER : READY_OTHERS;
    v->held_until_ms[c]        = 0;
    v->ready_in[c]             = epoll_ctl(v->ready_fd[kind], EPOLL_CTL_ADD, fd, &e) == 0 ? (uint8_t)(kind + 1) : 0;
    return v->ready_in[c];
}

/* The list has the connections' numbers + 1. */
static void server_step_held_unlink(struct control_server *v, unsigned c)
{
    unsigned before = 0, at = v->held_first;
    while (at && at != c + 1) {
        before = at;
        at     = v->held_behind[at - 1];
    }
    if (!at)
        return;
    if (before)
        v->held_behind[before - 1] = v->held_behind[c];
    else
        v->held_first = v->held_behind[c];
    if (v->held_last == at)
        v->held_last = before;
}

void ready_remove(struct control_server *v, unsigned c)
{
    if (v->ready_in[c])
        epoll_ctl(v->ready_fd[v->ready_in[c] - 1], EPOLL_CTL_DEL, v->fd[c], NULL);
    else
        server_step_held_unlink(v, c);
    v->ready_in[c]      = 0;
    v->held_until_ms[c] = 0;
}

/* ---- connections that may not be read for a time ---- */

static void server_step_held_append(struct control_server *v, unsigned c)
{
    v->held_next_ms   = v->held_until_ms[c] < v->held_next_ms ? v->held_until_ms[c] : v->held_next_ms;
    v->held_behind[c] = 0;
    if (v->held_last)
        v->held_behind[v->held_last - 1] = (uint16_t)(c + 1);
    else
        v->held_first = c + 1;
    v->held_last = c + 1;
}

/* Removes it from the epoll, since EPOLLHUP can't be switched off. */
static void hold(struct control_server *v, unsigned c)
{
    const uint64_t until = v->held_until_ms[c];
    ready_remove(v, c);
    v->held_until_ms[c] = until;
    server_step_held_append(v, c);
}

static void release(struct control_server *v, uint64_t now)
{
    unsigned at = v->held_first;
    if (now < v->held_next_ms)
        return;
    v->held_next_ms = UINT64_MAX;
    v->held_first = v->held_last = 0;
    while (at) {
        const unsigned c = at - 1;
        at               = v->held_behind[c];
        if (v->held_until_ms[c] > now)
            server_step_held_append(v, c);
        else if (v->fd[c] >= 0 &&
                 !ready_add(v, c, v->fd[c], &v->state->connection[c])) /* dropping one may drop another */
            server_drop(v, c);
    }
}

/* ---- a round ---- */

/* At most `ms` (-1: for ever), and until `at`. */
static int server_step_sooner(int ms, uint64_t now, uint64_t at)
{
    const uint64_t left = at > now ? at - now : 0;
    return ms >= 0 && (uint64_t)ms <= left ? ms : left < INT_MAX ? (int)left : INT_MAX;
}

static int server_step_patience(struct control_server *v, uint64_t now, int timeout_ms)
{
    uint64_t next;
    if (v->hooks.enabling && v->hooks.enabling->expired(v, now, &next))
        timeout_ms = server_step_sooner(timeout_ms, now, next);
    return v->held_next_ms == UINT64_MAX ? timeout_ms : server_step_sooner(timeout_ms, now, v->held_next_ms);
}

static void accept_all(struct control_server *v, enum ctl_socket at)
{
    enum { ACCEPTS = 64 /* in a row: existing connections wait meanwhile */ };
    const uint64_t begin = quota_work_ns();
    for (unsigned i = 0; i < ACCEPTS && outcast_room() && server_accept(v, at); i++)
        if (at != CTL_SOCKET_ROOT && quota_work_ns() - begin > ROUND_NS)
            break;
}

/* epoll gives one event at a time: each moves to the end of its list, read or not. */
static void read_ready(struct control_server *v, enum ready_kind kind)
{
    enum { AT_ONCE = 64 };
    const uint64_t     begin = quota_work_ns();
    struct epoll_event e;
    for (int i = 0; i < AT_ONCE && epoll_wait(v->ready_fd[kind], &e, 1, 0) == 1; i++) {
        const unsigned c = e.data.u32;
        server_read(v, c);
        if (v->fd[c] >= 0 && v->held_until_ms[c])
            hold(v, c);
        if (quota_work_ns() - begin > ROUND_NS)
            break;
    }
}

bool server_step(struct control_server *v, int extra_fd, int timeout_ms)
{
    enum { EXTRA = CTL_SOCKETS, ENDS, OUTCASTS, READY, ALL = READY + READY_KINDS };
    struct pollfd  p[ALL];
    const uint64_t now = quota_now_ms();

    release(v, now);
    timeout_ms = server_step_patience(v, now, timeout_ms);
    for (unsigned i = 0; i < CTL_SOCKETS; i++)
        p[i] = (struct pollfd){.fd = outcast_room() ? v->listen_fd[i] : -1, .events = POLLIN};
    p[EXTRA]    = (struct pollfd){.fd = extra_fd, .events = POLLIN};
    p[ENDS]     = (struct pollfd){.fd = v->ends_fd, .events = POLLIN};
    p[OUTCASTS] = (struct pollfd){.fd = outcast_fd(), .events = POLLOUT};
    for (unsigned kind = 0; kind < READY_KINDS; kind++)
        p[READY + kind] = (struct pollfd){.fd = v->ready_fd[kind], .events = POLLIN};
    if (poll(p, ALL, timeout_ms) <= 0)
        return false;
    for (enum ctl_socket at = CTL_SOCKETS; at-- > 0;) /* root first */
        if (p[at].revents)
            accept_all(v, at);
    if (p[OUTCASTS].revents)
        outcast_step();
    for (enum ready_kind kind = 0; kind < READY_KINDS; kind++)
        if (p[READY + kind].revents)
            read_ready(v, kind);
    if (p[ENDS].revents)
        server_peers_ended(v);
    return p[EXTRA].revents != 0;
}
