/* group.c - provider groups: a provider that names a group in its traits is enabled in every session in which the group
 * is enabled, on the group's terms. In a session that enables the provider itself, its own terms win, and the group's
 * end does not change them. A group is a provider that no program has to register; its slot lives as long as its
 * members (server_registration_drop). A registration's group is in its state, which outlives the daemon. The early
 * program has only group_join.c.
 * Invariant: an enablement that a session makes for a group has the group's group_key() as its key.
 * Threads: one. See server_parts.h. */
#include "autologger/control/server_parts.h"

#include <string.h>

/* Changes the providers that the session enables for the group, also those that no program has registered now. */
static void enabled_change(struct control_server *v, struct session *s, uint32_t group, unsigned entry, uint32_t code,
                           struct enable_wait *wait)
{
    char     key[64];
    unsigned at;

    group_key(&v->table->directory->shm->provider[group].guid, key);
    for (unsigned k = 0; k < STATE_ENABLES && *s->state->enable[k].key; k++) {
        const struct state_enable *e  = &s->state->enable[k];
        const struct guid          id = e->guid;
        if (!e->in_use || strcmp(e->key, key) != 0)
            continue;
        at = e->entry;
        if (code == CTL_CODE_ENABLE && !group_member_set(v, s, group, entry, e->slot, &at))
            continue;
        enable_tell_all(v, s, e->slot, at, code, wait);
        if (code == CTL_CODE_DISABLE)
            session_provider_clear(s, &id);
    }
}

void group_change(struct control_server *v, struct session *s, uint32_t slot, unsigned entry, uint32_t code,
                  struct enable_wait *wait)
{
    unsigned at;

    enabled_change(v, s, slot, entry, code, wait);
    for (unsigned i = 0; code == CTL_CODE_ENABLE && i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (!r->in_use || state_group(r) != (int)slot)
            continue;
        const struct guid          id    = v->table->directory->shm->provider[r->slot].guid;
        const struct state_enable *place = group_place(s, &id);
        if ((!place || !place->in_use) && group_member_set(v, s, slot, entry, r->slot, &at))
            enable_tell_all(v, s, r->slot, at, CTL_CODE_ENABLE, wait);
    }
}
