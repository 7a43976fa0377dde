/* server_peers.c - the processes of connections, and the rights that depend on the process. See server_parts.h,
 * peer.h. */
#include "autologger/control/access.h"
#include "autologger/control/peer.h"
#include "autologger/control/server_parts.h"

#include <sys/epoll.h>
#include <unistd.h>

/* ---- rights ---- */

bool server_may_control(const struct control_server *v, unsigned c)
{
    const struct state_connection *who = &v->state->connection[c];
    return access_may_control(who->uid) && peer_native(who, &v->self);
}

bool server_foreign_root(const struct control_server *v, unsigned c)
{
    return access_may_control(v->state->connection[c].uid) && !server_may_control(v, c);
}

bool server_granted(const struct control_server *v, unsigned c, const struct guid *object, uint32_t wanted)
{
    if (server_may_control(v, c))
        return true;
    if (server_foreign_root(v, c)) /* it could take any group: none counts */
        return access_granted(v->hooks.rights, -1, ACCESS_NOBODY, object, wanted);
    return access_granted(v->hooks.rights, v->fd[c], v->state->connection[c].uid, object, wanted);
}

bool server_is_private_to(const struct control_server *v, unsigned c, const struct session *s)
{
    const struct state_session    *st  = s->state;
    const struct state_connection *who = &v->state->connection[c];
    return who->uid == st->private_uid && who->gid == st->private_gid &&
           peer_is(who, st->private_pid, st->private_process, st->private_start) &&
           !(who->permitted & ~st->private_permitted) && peer_unchanged(v->table->env->proc_fd, v->pidfd[c], who);
}

/* ---- when a process ends ---- */

void server_peer_set(struct control_server *v, unsigned c, int pidfd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = c};
    v->pidfd[c]          = pidfd;
    if (pidfd >= 0)
        epoll_ctl(v->ends_fd, EPOLL_CTL_ADD, pidfd, &e);
}

void server_peer_take(struct control_server *v, unsigned c)
{
    struct state_connection *s = &v->state->connection[c], who;
    int                      pidfd;
    const enum peer_found    found = peer_take(v->fd[c], v->table->env->proc_fd, &who, &pidfd);
    if (found == PEER_UNKNOWN) {
        server_drop(v, c);
        return;
    }
    who.in_use   = s->in_use;
    who.socket   = s->socket;
    who.id       = s->id;
    who.attached = 0;
    *s           = who;
    server_peer_set(v, c, pidfd);
    if (found == PEER_GONE && pidfd < 0) /* else its pidfd becomes readable in this round */
        server_peer_ended(v, c);
}

void server_peer_drop(struct control_server *v, unsigned c)
{
    if (v->pidfd[c] >= 0)
        close(v->pidfd[c]);
    v->pidfd[c] = -1;
}

void server_peer_ended(struct control_server *v, unsigned c)
{
    enum { REST_MOST = 256 }; /* another process may share the connection, and go on */
    const uint64_t begin = quota_work_ns();
    while (v->fd[c] >= 0 && v->rest[c] < REST_MOST && server_read(v, c)) {
        v->rest[c]++;
        if (quota_work_ns() - begin <= ROUND_NS)
            continue;
        if (v->pidfd[c] >= 0)
            return; /* its pidfd is still readable in the next round */
        break;
    }
    if (v->fd[c] >= 0)
        server_drop(v, c);
}

void server_peers_ended(struct control_server *v)
{
    enum { AT_ONCE = 64 };
    const uint64_t     begin = quota_work_ns();
    struct epoll_event e;
    for (int i = 0; i < AT_ONCE && epoll_wait(v->ends_fd, &e, 1, 0) == 1; i++) {
        const unsigned c = e.data.u32;
        if (c < STATE_CONNECTIONS && peer_ended(v->pidfd[c]))
            server_peer_ended(v, c);
        if (quota_work_ns() - begin > ROUND_NS)
            break;
    }
}
