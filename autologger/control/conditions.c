/* conditions.c - CTL_CONDITIONS: what a session found while it ran. A boot's are in its results too (boot/sequence.h); of a session that a
 * controller started this is the only place. Threads: one. See server.h. */
#include "autologger/control/conditions.h"
#include "autologger/control/server_parts.h"
#include "autologger/session/internal.h"

#include <string.h>

static void row_fill(const struct condition *c, struct ctl_condition_row *row)
{
    *row = (struct ctl_condition_row){.number = c->number, .note = c->note};
    session_copy_text(row->item, sizeof row->item, c->item);
    session_copy_text(row->reason, sizeof row->reason, c->reason);
    session_copy_text(row->advice, sizeof row->advice, c->advice);
}

wstatus conditions_page(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_conditions_answer     *answer = (void *)v->out;
    struct session                   *s      = server_named(v, m);
    const uint32_t                    room   = (uint32_t)((CTL_MAX - sizeof *answer) / sizeof answer->row[0]);
    (void)size;
    memset(answer, 0, sizeof *answer);
    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    session_users_look(s);
    answer->total = s->conditions.count;
    for (uint32_t i = m->start; i < answer->total && answer->count < room; i++)
        row_fill(&s->conditions.items[i], &answer->row[answer->count++]);
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}
