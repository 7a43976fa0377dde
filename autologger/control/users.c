/* users.c - CTL_USERS: each user's part of a session's memory, and losses.
 * Threads: one. See server.h. */
#include "autologger/control/users.h"
#include "autologger/control/server_parts.h"

#include <string.h>

static uint32_t users_programs_of(const struct control_server *v, const struct session *s, uint32_t uid)
{
    uint32_t n = 0;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        n += v->state->connection[c].in_use && v->state->connection[c].uid == uid &&
             v->state->connection[c].attached >> s->state->index & 1;
    return n;
}

/* The next row of the page; NULL: not on this page. */
static struct ctl_user_row *next_row(struct ctl_users_answer *answer, uint32_t start)
{
    const uint32_t room = (uint32_t)((CTL_MAX - sizeof *answer) / sizeof answer->row[0]);
    return answer->total++ < start || answer->count >= room ? NULL : &answer->row[answer->count++];
}

wstatus users_page(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_users_answer          *answer = (void *)v->out;
    struct session                   *s      = server_named(v, m);
    (void)size;
    memset(answer, 0, sizeof *answer);
    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    session_users_look(s);
    pthread_mutex_lock(&s->lock);
    for (unsigned u = 0; u < s->uid_count; u++) {
        const struct session_uid *user = &s->uid[u];
        struct ctl_user_row      *row  = user->gone ? NULL : next_row(answer, m->start);
        struct stream_counters    n;
        if (!row)
            continue;
        stream_counters(user->streams, session_now_ns(s), &n);
        const uint32_t busy = stream_set_busy(user->streams), granted = stream_set_granted(user->streams);
        *row = (struct ctl_user_row){.uid          = user->uid,
                                     .programs     = users_programs_of(v, s, user->uid),
                                     .busy_bytes   = (uint64_t)busy << s->chunk_shift,
                                     .free_bytes   = (uint64_t)(granted - busy) << s->chunk_shift,
                                     .lost         = n.lost - n.abandoned,
                                     .untrue_times = n.adjusted,
                                     .took_memory  = user->trimmed,
                                     .false_counts = n.falsified != 0};
    }
    struct ctl_user_row *gone = s->totals.gone_lost ? next_row(answer, m->start) : NULL;
    if (gone)
        *gone = (struct ctl_user_row){.uid = CTL_USERS_GONE, .lost = s->totals.gone_lost};
    pthread_mutex_unlock(&s->lock);
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}
