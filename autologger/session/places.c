/* places.c - reuses users' places in a session (S6). See users.c for how a place is taken, wire/state.h for what a
 * successor knows of it. A place is the entry of one user in a session. When places are scarce, the logger frees places
 * of users without programs: (1) it writes the user's events to the file and publishes that; (2) it closes the user's
 * streams and visits all CPUs, so no writer is left; (3) in one publication it adds the user's counts to the session's,
 * sets the read positions to zero and stores the place's epoch in gone_epoch. From then on the place is free: the
 * controlling thread closes the streams, and takes the place for another user under the next epoch.
 * Threads: the logger's.
 * Not for: places of users whose programs are attached: these stay. */
#include "autologger/ring/quiesce.h"
#include "autologger/session/internal.h"
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"

#include <string.h>

enum { FIRST = 1 /* the daemon's own user stays */, LOOK_MS = 20, FEW = STATE_UIDS / 8 };

/* True if the last pass left something of this user in the pending lists: a reservation that is not published yet, or a
 * record that waits for its time. */
static bool waits_in_lists(const struct logger *l, unsigned u)
{
    for (unsigned c = 0; c <= l->cpus; c++)
        for (const struct pending *p = l->fill[c].pending; p; p = p->next)
            if (p->uid == u)
                return true;
    return false;
}

static bool all_read(const struct logger *l, unsigned u)
{
    for (unsigned c = 0; c <= l->cpus; c++)
        if (stream_waits(l->streams[u], c))
            return false;
    return !waits_in_lists(l, u);
}

/* While there are enough places, a user with losses keeps its place, so that lists still show these losses by user.
 * Under lock. */
static bool may_go(const struct logger *l, unsigned u, bool few)
{
    const struct session_uid *user = &l->s->uid[u];
    struct stream_counters    n;
    if (user->gone || user->live || !user->admitted || user->streams != l->streams[u] || !all_read(l, u))
        return false;
    stream_counters(user->streams, session_now_ns(l->s), &n);
    return few || (!n.lost && !n.adjusted && !n.falsified && !user->trimmed);
}

/* Closes the streams of the users that may go, and marks them in closed[]. A writer that had begun may still write
 * until all CPUs have been visited. Returns the number of such users. */
static unsigned close_idle(struct logger *l, bool *closed)
{
    struct session *s     = l->s;
    unsigned        count = 0;
    pthread_mutex_lock(&s->lock);
    const bool few = STATE_UIDS - session_places_used(s) < FEW;
    for (unsigned u = FIRST; u < l->uids; u++)
        if ((closed[u] = may_go(l, u, few))) {
            stream_set_open(l->streams[u], false);
            count++;
        }
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* Adds its counts to the session's, for the next publication. */
static void counts_move(struct logger *l, unsigned u)
{
    struct stream_counters n;
    const uint64_t         now_ns = session_now_ns(l->s);
    stream_counters(l->streams[u], now_ns, &n);
    l->corrupt_before += n.corrupt;
    l->abandoned_before += n.abandoned;
    l->master->gone_lost += n.lost - n.abandoned;
    l->master->gone_filtered += n.filtered;
    l->master->gone_overwritten += stream_set_overwritten(l->streams[u], now_ns);
    l->master->gone_epoch[u] = l->s->state->uid_epoch[u];
}

static void positions_zero(struct logger *l, unsigned u)
{
    for (unsigned c = 0; c <= l->cpus; c++) {
        struct fill *f         = &l->fill[c];
        f->pos[u]              = 0;
        f->fallback[u]         = 0;
        f->fallback_first[u]   = UINT64_MAX;
        slot_fallback(l, u)[c] = 0;
        if (c < l->cpus)
            slot_pos(l, u)[c] = 0;
    }
    l->fallback_seen[u] = l->master->fallback_released[u] = 0;
}

static void reopen(const struct logger *l, unsigned u)
{
    if (!l->s->sealed)
        stream_set_open(l->streams[u], true);
}

/* Call it when the streams are closed and all CPUs have been visited. A user that wrote after the check, or has a
 * program again, keeps its place. */
static unsigned places_give_up(struct logger *l, const bool *closed)
{
    struct session *s     = l->s;
    unsigned        count = 0;
    for (unsigned u = FIRST; u < l->uids; u++) {
        struct session_uid *user = &s->uid[u];
        if (!closed[u])
            continue;
        stream_snapshot(l->streams[u]);
        if (user->live || !stream_set_idle(l->streams[u])) {
            reopen(l, u);
            continue;
        }
        counts_move(l, u);
        positions_zero(l, u);
        user->old     = user->streams;
        user->gone    = true;
        user->streams = l->streams[u] = s->empty;
        count++;
    }
    return count;
}

void logger_places(struct logger *l)
{
    struct session *s                  = l->s;
    struct os      *os                 = s->env->os;
    bool            closed[STATE_UIDS] = {false};
    struct reason   why;

    pthread_mutex_lock(&s->lock);
    const bool scarce = session_places_scarce(s);
    pthread_mutex_unlock(&s->lock);
    if (!scarce || os->raw_ns(os) - l->places_ns < LOOK_MS * UINT64_C(1000000) || session_empty(s, &why))
        return;
    l->places_ns = os->raw_ns(os);
    logger_flush(l);
    logger_skip_retired(l);
    if (!close_idle(l, closed))
        return;
    const bool visited = quiesce_all_cpus(&why) == W_SUCCESS;
    pthread_mutex_lock(&s->lock);
    const unsigned count = visited ? places_give_up(l, closed) : 0;
    for (unsigned u = FIRST; !visited && u < l->uids; u++)
        if (closed[u])
            reopen(l, u);
    logger_totals(l);
    if (count)
        logger_publish_place(l);
    for (unsigned u = FIRST; count && u < l->uids; u++)
        if (s->uid[u].old && closed[u])
            stream_set_drop(s->uid[u].old);
    pthread_mutex_unlock(&s->lock);
}
