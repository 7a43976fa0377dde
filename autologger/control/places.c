/* places.c - see places.h. */
#include "autologger/control/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
    RESERVE_MOST = 64,
    RESERVE_PART = 8,
    FILES_PART   = 3 /* a connection needs two: its socket and its process */,
    PIDS         = 1 << 22,
    WORD         = 64,
    SPEAK_MS     = 1000
};

void places_begin(struct control_server *v)
{
    struct rlimit r;
    v->places = STATE_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur / FILES_PART < v->places)
        v->places = (unsigned)(r.rlim_cur / FILES_PART); /* the rest of the descriptors is for sessions */
}

static unsigned places_reserve(const struct control_server *v)
{
    return v->places / RESERVE_PART < RESERVE_MOST ? v->places / RESERVE_PART : RESERVE_MOST;
}

static unsigned used(const struct control_server *v)
{
    unsigned n = 0;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        n += v->state->connection[c].in_use != 0;
    return n;
}

/* Drops the connection that has been silent for longest since it connected. One of root only if it had time to speak:
 * else programs that try again would push out commands that have just connected. */
static bool silent_drop(struct control_server *v, bool of_user, uint32_t uid)
{
    const uint64_t now    = quota_now_ms();
    unsigned       victim = STATE_CONNECTIONS;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        const struct state_connection *s = &v->state->connection[c];
        if (!s->in_use || v->greeted[c] || (of_user ? s->uid != uid : s->uid == 0 && now - v->since_ms[c] < SPEAK_MS))
            continue;
        if (victim == STATE_CONNECTIONS || s->id < v->state->connection[victim].id)
            victim = c;
    }
    if (victim < STATE_CONNECTIONS)
        server_drop(v, victim);
    return victim < STATE_CONNECTIONS;
}

int places_take(struct control_server *v, uint32_t uid)
{
    struct quota_use use;
    quota_uses(v, QUOTA_CONNECTIONS, uid, &use);
    if (uid != 0 && !quota_fits(quota_rule(QUOTA_CONNECTIONS), v->places, &use, false, 1, 0) &&
        !silent_drop(v, true, uid)) {
        quota_refuse(v, QUOTA_CONNECTIONS, uid);
        return -1; /* P1 */
    }
    if (used(v) + (uid ? places_reserve(v) : 0) >= v->places && !silent_drop(v, false, 0))
        return -1; /* P2 */
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (!v->state->connection[c].in_use) {
            v->since_ms[c] = quota_now_ms();
            return (int)c;
        }
    return -1;
}

bool places_for_program(const struct control_server *v) { return used(v) + places_reserve(v) <= v->places; }

/* Is this program refused for the first time? Later refusals do not count. */
static bool places_is_new(struct control_server *v, uint32_t pid)
{
    if (pid >= PIDS || (!v->refused_pids && !(v->refused_pids = calloc(PIDS / WORD, sizeof *v->refused_pids))))
        return true;
    const uint64_t bit = UINT64_C(1) << pid % WORD;
    const bool     had = v->refused_pids[pid / WORD] & bit;
    v->refused_pids[pid / WORD] |= bit;
    return !had;
}

void places_refuse(struct control_server *v, uint32_t uid, uint32_t pid)
{
    char     item[48], what[128];
    unsigned i = 0;

    snprintf(item, sizeof item, "programs of uid %u", uid);
    snprintf(what, sizeof what, "the daemon has %u places for programs and their providers, and was out of them",
             v->places);
    for (unsigned s = 0; s < SHM_SESSIONS; s++)
        if (v->table->slot[s])
            server_note_once(v->table->slot[s], W_NO_SYSTEM_RESOURCES, item, what,
                             "autologger sessions says how many were refused, and what to do");
    if (!places_is_new(v, pid))
        return;
    while (i < STATE_REFUSED - 1 && v->state->refused[i].programs && v->state->refused[i].uid != uid)
        i++;
    v->state->refused[i].uid = i == STATE_REFUSED - 1 ? STATE_REFUSED_OTHERS : uid;
    v->state->refused[i].programs++;
}
