/* conditions.c - CTL_CONDITIONS: conditions found while a session ran, and at its end for the connection that stopped
 * it. Those of a boot are also in its results (boot/sequence.h); those of a controller's session are only here.
 * Threads: one. See server.h. */
#include "autologger/control/conditions.h"
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"
#include "autologger/session/internal.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void conditions_row_fill(const struct condition *c, struct ctl_condition_row *row)
{
    *row = (struct ctl_condition_row){.number = c->number, .note = c->note};
    session_copy_text(row->item, sizeof row->item, c->item);
    session_copy_text(row->reason, sizeof row->reason, c->reason);
    session_copy_text(row->advice, sizeof row->advice, c->advice);
}

/* Of the session that this connection has stopped, as it ended; rows as in a page. */
struct conditions_ended {
    char                     session[CTL_NAME];
    uint32_t                 count;
    struct ctl_condition_row row[];
};

void conditions_keep(struct control_server *v, unsigned c, struct session *s)
{
    struct conditions_ended *e = NULL;

    session_users_look(s);
    if (server_may_control(v, c) || server_session_granted(v, c, s, ACCESS_QUERY))
        e = malloc(sizeof *e + s->conditions.count * sizeof e->row[0]);
    if (e) { /* else the answer lists none: the session has ended all the same */
        session_copy_text(e->session, sizeof e->session, s->state->name);
        e->count = (uint32_t)s->conditions.count;
        for (uint32_t i = 0; i < e->count; i++)
            conditions_row_fill(&s->conditions.items[i], &e->row[i]);
    }
    free(v->ended[c]);
    v->ended[c] = e;
}

wstatus conditions_page(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_conditions_answer     *answer = (void *)v->out;
    struct session                   *s      = server_named(v, m);
    const struct conditions_ended    *e      = v->ended[c];
    const uint32_t                    room   = (uint32_t)((CTL_MAX - sizeof *answer) / sizeof answer->row[0]);
    char                              name[CTL_NAME];
    (void)size;
    memset(answer, 0, sizeof *answer);
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, m->name);
    if (!s && (!e || name_compare(e->session, name) != 0))
        return W_WMI_INSTANCE_NOT_FOUND;
    if (s)
        session_users_look(s);
    answer->total = s ? (uint32_t)s->conditions.count : e->count;
    for (uint32_t i = m->start; i < answer->total && answer->count < room; i++, answer->count++)
        if (s)
            conditions_row_fill(&s->conditions.items[i], &answer->row[answer->count]);
        else
            answer->row[answer->count] = e->row[i];
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}
