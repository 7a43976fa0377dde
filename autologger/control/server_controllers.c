/* server_controllers.c - requests about sessions, providers and the daemon. See server.h. */
#include "autologger/control/server_parts.h"

#include "autologger/control/access.h"
#include "autologger/wire/etl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

wstatus server_on_query(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_query_answer          *answer = (void *)v->out;
    struct session                   *one    = *m->name ? server_named(v, m) : NULL;
    unsigned                          skip = m->start, room = (CTL_MAX - sizeof *answer) / sizeof answer->row[0];
    (void)size;

    if (*m->name && !one)
        return W_WMI_INSTANCE_NOT_FOUND;
    if (one && !server_session_granted(v, c, one, ACCESS_QUERY))
        return W_ACCESS_DENIED;
    memset(answer, 0, sizeof *answer);
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *s = v->table->slot[i];
        if (!s || (one && s != one) || (!one && !server_session_granted(v, c, s, ACCESS_QUERY)))
            continue;
        answer->total++;
        if (skip) {
            skip--;
            continue;
        }
        if (answer->count == room)
            continue;
        session_info(s, &answer->row[answer->count]);
        if (v->hooks.enabling)
            v->hooks.enabling->living(v, s, &answer->row[answer->count]);
        answer->count++;
    }
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}

wstatus server_on_stop(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m = message;
    struct session                   *s = server_named(v, m);
    (void)size;
    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    if (s->state->log_file_mode & ETL_MODE_NONSTOPPABLE)
        return W_INVALID_PARAMETER;
    return held_stop(v, c, &m->header, s);
}

wstatus server_on_flush(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m = message;
    struct session                   *s = server_named(v, m);
    (void)size;
    return s ? held_flush(v, c, &m->header, s) : W_WMI_INSTANCE_NOT_FOUND;
}

wstatus server_on_fs_ready(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct reason why;
    (void)size;
    server_answer(v, c, message, v->hooks.fs_ready(v->hooks.ctx, &why));
    return W_SUCCESS;
}

wstatus server_on_shutdown(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct reason why;
    (void)size;
    server_answer(v, c, message, v->hooks.shutdown(v->hooks.ctx, &why));
    v->quit = true;
    return W_SUCCESS;
}

wstatus server_on_end_boot(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct reason why;
    (void)size;
    server_answer(v, c, message, v->hooks.end_boot ? v->hooks.end_boot(v->hooks.ctx, &why) : W_NOT_SUPPORTED);
    return W_SUCCESS;
}

wstatus server_on_enable_provider(struct control_server *v, unsigned c, const void *message, size_t size)
{
    return v->hooks.enabling ? v->hooks.enabling->request(v, c, message, size) : W_NOT_SUPPORTED;
}

wstatus server_on_users(struct control_server *v, unsigned c, const void *message, size_t size)
{
    return v->hooks.enabling ? v->hooks.enabling->users(v, c, message, size) : W_NOT_SUPPORTED;
}

wstatus server_on_conditions(struct control_server *v, unsigned c, const void *message, size_t size)
{
    return v->hooks.enabling ? v->hooks.enabling->conditions(v, c, message, size) : W_NOT_SUPPORTED;
}

wstatus server_on_registrations(struct control_server *v, unsigned c, const void *message, size_t size)
{
    return v->hooks.enabling ? v->hooks.enabling->registrations(v, c, message, size) : W_NOT_SUPPORTED;
}

wstatus server_on_provider(struct control_server *v, unsigned c, const void *message, size_t size)
{
    return v->hooks.enabling ? v->hooks.enabling->provider(v, c, message, size) : W_NOT_SUPPORTED;
}

static void quota_tell(const struct control_server *v, unsigned i, struct ctl_state_answer *a, unsigned n)
{
    const unsigned   what = v->state->quota[i].what;
    struct quota_use use  = {0};
    if (what < QUOTA_RATE_FIRST && v->state->quota[i].uid != STATE_REFUSED_OTHERS)
        quota_uses(v, what, v->state->quota[i].uid, &use);
    a->quota[n].uid     = v->state->quota[i].uid;
    a->quota[n].what    = what;
    a->quota[n].refused = v->state->quota[i].refused;
    a->quota[n].held    = use.own;
    a->quota[n].total   = what < QUOTA_RATE_FIRST ? quota_total(v, what) : 0;
}

wstatus server_on_state(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_header *m = message;
    struct ctl_state_answer  a = {.header    = {sizeof a, CTL_STATE, CTL_VERSION, m->sequence, 0},
                                  .pid       = (uint32_t)getpid(),
                                  .sessions  = table_count(v->table),
                                  .clients   = server_clients(v),
                                  .fs_ready  = v->state->fs_ready,
                                  .adopted   = v->state->adopted,
                                  .uptime_ns = v->table->env->os->raw_ns(v->table->env->os) - v->state->start_raw_ns,
                                  .files_created_early = v->state->files_created_early,
                                  .files_created       = v->state->files_created,
                                  .sessions_most       = v->table->most ? v->table->most : SHM_SESSIONS};
    (void)size;
    _Static_assert(sizeof a.refused / sizeof *a.refused == STATE_REFUSED, "one for one");
    for (int i = 0; i < v->table->directory->used; i++)
        a.providers += v->table->directory->shm->provider[i].generation & 1;
    a.places      = v->places;
    a.places_most = STATE_CONNECTIONS;
    for (unsigned i = 0, n = 0; i < STATE_REFUSED; i++)
        if (v->state->refused[i].programs) {
            a.refused[n].uid        = v->state->refused[i].uid;
            a.refused[n++].programs = v->state->refused[i].programs;
        }
    _Static_assert(sizeof a.quota / sizeof *a.quota == STATE_QUOTAS, "one for one");
    for (unsigned i = 0, n = 0; i < STATE_QUOTAS; i++)
        if (v->state->quota[i].refused)
            quota_tell(v, i, &a, n++);
    snprintf(a.store, sizeof a.store, "%s", v->state->store);
    snprintf(a.log_dir, sizeof a.log_dir, "%s", v->state->log_dir);
    server_tell(v, c, &a, sizeof a, NULL, 0);
    return W_SUCCESS;
}
