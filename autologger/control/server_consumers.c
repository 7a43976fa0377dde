/* server_consumers.c - programs that read a session in real time. See server.h, and live.h for the program's side. */
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"

#include <stdlib.h>
#include <unistd.h>

static struct session *consumed(struct control_server *v, unsigned c)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table->slot[i] && realtime_attached(v->table->slot[i], v->state->connection[c].id))
            return v->table->slot[i];
    return NULL;
}

void server_consumer_drop(struct control_server *v, unsigned c)
{
    struct session *s = consumed(v, c);
    if (s && v->table->env->realtime)
        v->table->env->realtime->gone(s, v->state->connection[c].id);
    for (unsigned i = 0; v->consumer[c] && i < v->consumer[c]->fd_count; i++)
        close(v->consumer[c]->fds[i]);
    free(v->consumer[c]);
    v->consumer[c] = NULL;
}

static struct consumer *consumer_of(struct control_server *v, unsigned c)
{
    return v->consumer[c] ? v->consumer[c] : (v->consumer[c] = calloc(1, sizeof *v->consumer[c]));
}

wstatus server_on_consume(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m = message;
    struct session                   *s = server_named(v, m);
    struct ctl_consume_answer         a = {.header = {sizeof a, CTL_CONSUME, CTL_VERSION, m->header.sequence, 0}};
    (void)size;

    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    if (!v->table->env->realtime)
        return W_NOT_SUPPORTED;                          /* an early program */
    if (!(s->state->log_file_mode & ETL_MODE_REAL_TIME)) /* also while an update begins it, or has just ended it */
        return W_WMI_INSTANCE_NOT_FOUND;
    if (consumed(v, c) && consumed(v, c) != s)
        return W_WMI_ALREADY_ENABLED;
    /* a repeated request: a predecessor's answer did not arrive. Or an ended session's farewell that was not fetched */
    server_consumer_drop(v, c);
    if (!consumer_of(v, c))
        return W_NOT_ENOUGH_MEMORY;
    wstatus st = v->table->env->realtime->attach(s, v->state->connection[c].id, &a);
    if (st)
        return st;
    server_keep(v, c, KEPT_HOLDS);
    server_tell(v, c, &a, sizeof a, NULL, 0);
    return W_SUCCESS;
}

/* Its session has ended: sends what is left, once. */
static void farewell_tell(struct control_server *v, unsigned c, uint32_t sequence)
{
    struct consumer *k = v->consumer[c];
    k->farewell.header = (struct ctl_header){sizeof k->farewell, CTL_CONSUME_NEXT, CTL_VERSION, sequence, 0};
    server_tell(v, c, &k->farewell, sizeof k->farewell, k->fds, k->fd_count);
    server_consumer_drop(v, c);
}

wstatus server_on_consume_next(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_consume_request *m = message;
    struct session                   *s = consumed(v, c);
    struct ctl_consume_answer        *a = (void *)v->out;
    bool                              wait;
    (void)size;

    if (v->consumer[c] && v->consumer[c]->farewell.flags) { /* whatever it asks for: nothing else is left */
        farewell_tell(v, c, m->header.sequence);
        return W_SUCCESS;
    }
    if (!s || !v->table->env->realtime)
        return W_WMI_INSTANCE_NOT_FOUND;
    *a         = (struct ctl_consume_answer){0};
    wstatus st = v->table->env->realtime->next(s, v->state->connection[c].id, m, a, CTL_MAX - sizeof *a, &wait);
    if (st)
        return st;
    if (wait) {
        struct consumer *k = consumer_of(v, c); /* a predecessor's consumer has no entry here yet */
        if (!k)
            return W_NOT_ENOUGH_MEMORY;
        k->waits   = true;
        k->request = *m;
        return W_SUCCESS;
    }
    return server_reply(v, c, m, a, sizeof *a + a->bytes, W_SUCCESS);
}

void server_consumers(struct control_server *v)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->consumer[c] && v->consumer[c]->waits) {
            struct ctl_consume_request again = v->consumer[c]->request;
            v->consumer[c]->waits            = false;
            wstatus st                       = server_on_consume_next(v, c, &again, sizeof again);
            if (st && v->fd[c] >= 0)
                server_answer(v, c, &again.header, st);
        }
}

void server_session_ended(struct control_server *v, struct session *s, bool keep)
{
    const struct realtime_part *part = v->table->env->realtime;

    if (!s->realtime)
        return;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        struct consumer *k =
            v->fd[c] >= 0 && realtime_attached(s, v->state->connection[c].id) ? consumer_of(v, c) : NULL;
        if (!k)
            continue;
        part->farewell(s, v->state->connection[c].id, server_may_control(v, c), &k->farewell, k->fds, &k->fd_count);
    }
    part->leave(s, keep);
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->consumer[c] && v->consumer[c]->waits && v->consumer[c]->farewell.flags)
            farewell_tell(v, c, v->consumer[c]->request.header.sequence);
}
