/* private.c - see private.h. */
#include "autologger/daemon/private.h"

#include "autologger/control/peer.h"

#include <poll.h>
#include <sys/epoll.h>

/* False: the program is gone. */
static bool private_watch(struct session *s, int epoll_fd)
{
    const struct state_session *st = s->state;
    struct epoll_event          e  = {.events = EPOLLIN};
    s->private_fd                  = peer_open(st->private_pid, st->private_process, st->private_start);
    e.data.fd                      = s->private_fd;
    return s->private_fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->private_fd, &e) == 0;
}

static struct session *private_whole_of(const struct session_table *table, const struct session *part)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (table->slot[i] && session_is_part(part, table->slot[i]))
            return table->slot[i];
    return NULL;
}

void private_ended(const struct session_table *table, struct session *s)
{
    struct session         *whole = s->state->processes.kind == STATE_PART ? private_whole_of(table, s) : NULL;
    struct state_processes *p     = whole ? &whole->state->processes : NULL;
    struct ctl_session_info had;
    if (!p)
        return;
    session_info(s, &had);
    p->status = had.status ? had.status : p->status; /* the part could not write its file */
#define X(sum) p->ended.sum += had.sum;
    STATE_SUMS(X)
#undef X
}

struct session *private_gone(const struct session_table *table, int epoll_fd)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *s = table->slot[i];
        if (!s || !s->state->private_pid || s->state->stop_asked)
            continue;
        struct pollfd p = {.events = POLLIN};
        /* a predecessor died while it stopped the whole session */
        if (s->state->processes.kind == STATE_PART && !private_whole_of(table, s))
            return s;
        if (s->private_fd < 0 && !private_watch(s, epoll_fd))
            return s;
        p.fd = s->private_fd;
        if (poll(&p, 1, 0) > 0)
            return s;
    }
    return NULL;
}
