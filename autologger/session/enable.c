/* enable.c - enables, changes and disables providers while a session runs. See session.h. */
#include "autologger/ring/quiesce.h"
#include "autologger/session/internal.h"
#include "autologger/wire/private_providers.h"

#include <stdio.h>

/* The place of a provider in the session's list, in use or ended; ended places are used again. */
static struct state_enable *enable_place(const struct session *s, const struct guid *provider)
{
    for (unsigned i = 0; i < STATE_ENABLES && *s->state->enable[i].key; i++)
        if (guid_equal(&s->state->enable[i].guid, provider))
            return &s->state->enable[i];
    return NULL;
}

bool session_provider_find(const struct session *s, const struct guid *provider, unsigned *slot, unsigned *entry)
{
    const struct state_enable *e = enable_place(s, provider);
    if (!e || !e->in_use)
        return false;
    *slot  = e->slot;
    *entry = e->entry;
    return true;
}

/* Its counts continue from their last values. */
static wstatus enable_again(struct session *s, struct state_enable *e, const struct enable_terms *terms,
                            struct reason *why)
{
    unsigned entry;
    int      slot = directory_get(s->directory, &e->guid);
    if (slot < 0)
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "all %d provider places are taken", SHM_PROVIDERS);
    wstatus st = directory_enable(s->directory, (unsigned)slot, s->state->index, terms, &entry, why);
    if (st)
        return st;
    e->slot  = (uint32_t)slot;
    e->entry = entry;
    e->registrations += s->directory->registrations[slot];
    pthread_mutex_lock(&s->lock);
    for (unsigned u = 0; u < s->uid_count; u++)
        stream_refused_forget(s->uid[u].streams, (unsigned)slot);
    pthread_mutex_unlock(&s->lock);
    __atomic_store_n(&e->in_use, 1, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

wstatus session_provider_set(struct session *s, const struct guid *provider, const struct enable_terms *terms,
                             unsigned *slot, unsigned *entry, struct reason *why)
{
    struct state_enable *e = enable_place(s, provider);
    char                 key[GUID_TEXT_SIZE]; /* no declaration has such a key */
    wstatus              st = private_provider_refuse(provider, why);

    if (st)
        return st;
    if (s->sealed || atomic_load(&s->phase) >= SESSION_STOPPING)
        return reason_set(why, W_NOT_READY, "session \"%s\" is ending", s->state->name);
    session_expect(s, terms->filter);
    if (!e)
        return session_enable(s, provider, guid_format(provider, key), terms, slot, entry, why);
    if (e->in_use)
        st = directory_change(s->directory, e->slot, e->entry, terms, why);
    else
        st = enable_again(s, e, terms, why);
    *slot  = e->slot;
    *entry = e->entry;
    return st;
}

void session_provider_clear(struct session *s, const struct guid *provider)
{
    struct state_enable *e   = enable_place(s, provider);
    struct reason        why = {0};

    if (!e || !e->in_use)
        return;
    directory_disable(s->directory, e->slot, e->entry);
    __atomic_store_n(&e->in_use, 0, __ATOMIC_RELEASE);
    if (!s->uid_count || quiesce_all_cpus(&why) == W_SUCCESS)
        return;
    for (unsigned i = 0; i < s->conditions.count; i++) /* not again: it may be disabled each second */
        if (strcmp(s->conditions.items[i].item, "quiesce") == 0)
            return;
    condition_add(&s->conditions, why.status, false, "quiesce", "", 0, "run the daemon without a cpuset", "%s",
                  why.text);
}
