/* group_join.c - joins a newly registered provider to the group named in its traits, and enables it where the group is
 * enabled. This is all that the early program does about groups; group.c changes groups of running sessions. See
 * server_parts.h. */
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"

#include <stdio.h>
#include <string.h>

void group_key(const struct guid *group, char out[64])
{
    char text[GUID_TEXT_SIZE];
    snprintf(out, 64, "group %s", guid_format(group, text));
}

struct state_enable *group_place(const struct session *s, const struct guid *provider)
{
    for (unsigned k = 0; k < STATE_ENABLES && *s->state->enable[k].key; k++)
        if (guid_equal(&s->state->enable[k].guid, provider))
            return &s->state->enable[k];
    return NULL;
}

bool group_member_set(struct control_server *v, struct session *s, uint32_t group, unsigned entry, uint32_t member,
                      unsigned *at)
{
    const struct shm_provider *p     = v->table->directory->shm->provider;
    const struct guid          id    = p[member].guid;
    const struct shm_enable   *e     = &p[group].enable[entry];
    const struct enable_terms  terms = {.level  = e->level,
                                        .flags  = e->flags,
                                        .any    = e->any,
                                        .all    = e->all,
                                        .filter = directory_filter(v->table->directory, group, entry)};
    struct state_enable       *place = group_place(s, &id);
    struct reason              why;
    unsigned                   slot;
    char                       key[64];

    group_key(&p[group].guid, key);
    if (place && (place->in_use || strcmp(place->key, SESSION_DISALLOWED) == 0) && strcmp(place->key, key) != 0)
        return false;
    if (!place)
        return session_enable(s, &id, key, &terms, &slot, at, &why) == W_SUCCESS;
    snprintf(place->key, sizeof place->key, "%s", key);
    return session_provider_set(s, &id, &terms, &slot, at, &why) == W_SUCCESS;
}

/* Tells all programs that have the provider; a program that is not answered yet does not hear it twice. */
static void group_join_tell(struct control_server *v, uint32_t slot, unsigned entry)
{
    struct session *s = v->table->slot[v->table->directory->shm->provider[slot].enable[entry].session % SHM_SESSIONS];
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (r->in_use && r->slot == slot && server_attach_registered(v, r, s))
            server_tell_enable(v, r, s, entry, CTL_CODE_ENABLE);
    }
}

void group_join(struct control_server *v, unsigned registration, const struct guid *group)
{
    struct state_registration *r = &v->state->registration[registration];
    unsigned                   at;

    if (state_group(r) >= 0 || !group || !server_granted(v, r->connection, group, ACCESS_JOIN_GROUP))
        return;
    if (!quota_provider(v, v->state->connection[r->connection].uid, group))
        return;
    const int slot = directory_get(v->table->directory, group);
    if (slot < 0 || slot == (int)r->slot)
        return;
    r->in_use |= (uint32_t)(slot + 1) << STATE_GROUP_SHIFT;
    directory_register(v->table->directory, (unsigned)slot, 1);
    const struct shm_provider *p = v->table->directory->shm->provider;
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s = p[slot].mask & 1u << e ? v->table->slot[p[slot].enable[e].session % SHM_SESSIONS] : NULL;
        const uint8_t   before = p[r->slot].mask;
        if (s && group_member_set(v, s, (uint32_t)slot, e, r->slot, &at) && !(before & 1u << at))
            group_join_tell(v, r->slot, at);
    }
}
