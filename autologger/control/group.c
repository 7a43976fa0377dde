/* group.c - provider groups: a provider that names a group in its traits is enabled in every session that the group is enabled in, by the
 * group's terms. Who enables the provider itself in a session has the last word there; the group's end leaves that be.
 * A group is a provider that nobody needs to have registered; its slot lives as long as its members (server_registration_drop). Which group
 * a registration has joined stands in its state, which outlives the daemon. The early program knows no groups.
 * Invariant: what a session enables for a group has the key group_key() of it. Threads: one. See server_parts.h. */
#include "autologger/control/access.h"
#include "autologger/control/server_parts.h"

#include "registry-sim/base/cursor.h"

#include <stdio.h>
#include <string.h>

enum { TRAIT_GROUP = 1, TRAIT_HEAD = 3 };

static void group_key(const struct guid *group, char out[64])
{
    char text[GUID_TEXT_SIZE];
    snprintf(out, 64, "group %s", guid_format(group, text));
}

/* The first group that the traits name: u16 size, name, then {u16 size, u8 type, data} each. */
static bool group_of(const void *traits, size_t size, struct guid *out)
{
    struct cursor c = cur_make(traits, size);
    cur_u16(&c);
    cur_zstring(&c);
    while (cur_ok(&c) && cur_left(&c) >= TRAIT_HEAD) {
        const uint16_t whole = cur_u16(&c);
        const uint8_t  type  = cur_u8(&c);
        const void    *data  = cur_take(&c, whole < TRAIT_HEAD ? SIZE_MAX : (size_t)whole - TRAIT_HEAD);
        if (!data)
            return false;
        if (type == TRAIT_GROUP && whole == TRAIT_HEAD + sizeof *out) {
            memcpy(out, data, sizeof *out);
            return true;
        }
    }
    return false;
}

/* The session's place for a provider: in use, or kept from before. NULL: it never had one. */
static struct state_enable *place_of(const struct session *s, const struct guid *provider)
{
    for (unsigned k = 0; k < STATE_ENABLES && *s->state->enable[k].key; k++)
        if (guid_equal(&s->state->enable[k].guid, provider))
            return &s->state->enable[k];
    return NULL;
}

/* Enables a member in `s` as the group is in its place `entry`. False: it is the session's own matter, or there is no room. */
static bool member_set(struct control_server *v, struct session *s, uint32_t group, unsigned entry, uint32_t member, unsigned *at)
{
    const struct shm_provider *p     = v->table->directory->shm->provider;
    const struct guid          id    = p[member].guid;
    const struct shm_enable   *e     = &p[group].enable[entry];
    const struct enable_terms  terms = {.level = e->level, .flags = e->flags, .any = e->any, .all = e->all,
                                              .filter = directory_filter(v->table->directory, group, entry)};
    struct state_enable       *place = place_of(s, &id);
    struct reason              why;
    unsigned                   slot;
    char                       key[64];

    group_key(&p[group].guid, key);
    if (place && place->in_use && strcmp(place->key, key) != 0)
        return false;
    if (!place)
        return session_enable(s, &id, key, &terms, &slot, at, &why) == W_SUCCESS;
    snprintf(place->key, sizeof place->key, "%s", key);
    return session_provider_set(s, &id, &terms, &slot, at, &why) == W_SUCCESS;
}

void group_join(struct control_server *v, unsigned registration, const void *traits, size_t size)
{
    struct state_registration *r = &v->state->registration[registration];
    struct guid                group;
    unsigned                   at;

    if (state_group(r) >= 0 || !group_of(traits, size, &group) || !server_granted(v, r->connection, &group, ACCESS_JOIN_GROUP))
        return;
    const int slot = directory_get(v->table->directory, &group);
    if (slot < 0 || slot == (int)r->slot)
        return;
    r->in_use |= (uint32_t)(slot + 1) << STATE_GROUP_SHIFT;
    directory_register(v->table->directory, (unsigned)slot, 1);
    const struct shm_provider *p = &v->table->directory->shm->provider[slot];
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s = p->mask & 1u << e ? v->table->slot[p->enable[e].session % SHM_SESSIONS] : NULL;
        if (s)
            member_set(v, s, (uint32_t)slot, e, r->slot, &at);
    }
}

/* The providers that the session enables for the group, also those that no program has registered now. */
static void enabled_change(struct control_server *v, struct session *s, uint32_t group, unsigned entry, uint32_t code, struct enable_wait *wait)
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
        if (code == CTL_CODE_ENABLE && !member_set(v, s, group, entry, e->slot, &at))
            continue;
        enable_tell_all(v, s, e->slot, at, code, wait);
        if (code == CTL_CODE_DISABLE)
            session_provider_clear(s, &id);
    }
}

void group_change(struct control_server *v, struct session *s, uint32_t slot, unsigned entry, uint32_t code, struct enable_wait *wait)
{
    unsigned at;

    enabled_change(v, s, slot, entry, code, wait);
    for (unsigned i = 0; code == CTL_CODE_ENABLE && i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (!r->in_use || state_group(r) != (int)slot)
            continue;
        const struct guid          id    = v->table->directory->shm->provider[r->slot].guid;
        const struct state_enable *place = place_of(s, &id);
        if ((!place || !place->in_use) && member_set(v, s, slot, entry, r->slot, &at))
            enable_tell_all(v, s, r->slot, at, CTL_CODE_ENABLE, wait);
    }
}
