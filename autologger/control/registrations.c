/* registrations.c - CTL_REGISTRATIONS: each registration of each program, one row. Two of one process are two rows.
 * Threads: one. See server.h. */
#include "autologger/control/registrations.h"
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"

#include <string.h>

/* The sessions that get this registration's events: a bit each, by the session's index. */
static uint64_t sessions_of(const struct control_server *v, const struct state_registration *r)
{
    const struct shm_provider *p    = &v->table->directory->shm->provider[r->slot];
    uint64_t                   mask = 0;
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++)
        if (p->mask & 1u << e)
            mask |= UINT64_C(1) << (p->enable[e].session % SHM_SESSIONS);
    return mask & v->state->connection[r->connection].attached;
}

static uint32_t flags_of(const struct state_registration *r)
{
    return (r->in_use & STATE_REGISTERED_CLASSIC ? CTL_REGISTRATION_CLASSIC : 0u) |
           (r->in_use & STATE_REGISTERED_CALLBACK ? CTL_REGISTRATION_CALLBACK : 0u) |
           (r->in_use & STATE_REGISTERED_TRAITS ? CTL_REGISTRATION_TRAITS : 0u);
}

static void registrations_row_fill(const struct control_server *v, const struct state_registration *r,
                                   struct ctl_registration_row *out)
{
    const struct shm_directory *shm   = v->table->directory->shm;
    const int                   group = state_group(r);
    memset(out, 0, sizeof *out);
    out->provider = shm->provider[r->slot].guid;
    if (group >= 0)
        out->group = shm->provider[group].guid;
    out->sessions = sessions_of(v, r);
    out->pid      = v->state->connection[r->connection].pid;
    out->index    = r->index;
    out->flags    = flags_of(r);
}

wstatus registrations_page(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_registrations_answer  *answer = (void *)v->out;
    const uint32_t                    room   = (uint32_t)((CTL_MAX - sizeof *answer) / sizeof answer->row[0]);
    (void)size;
    uint32_t asked = UINT32_MAX; /* the provider of the last check */
    bool     may   = false;
    memset(answer, 0, sizeof *answer);
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (!r->in_use)
            continue;
        if (r->slot != asked)
            may = server_granted(v, c, &v->table->directory->shm->provider[r->slot].guid, ACCESS_QUERY);
        asked = r->slot;
        if (!may && v->state->connection[r->connection].uid != v->state->connection[c].uid)
            continue; /* as CTL_PROVIDER */
        if (answer->total++ >= m->start && answer->count < room)
            registrations_row_fill(v, r, &answer->row[answer->count++]);
    }
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}
