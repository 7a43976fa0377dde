#include "autologger/session/table.h"

#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Windows has eight places for system loggers: the first two are reserved for the NT Kernel Logger and the Circular
 * Kernel Context Logger. */
enum { SYSTEM_LOGGERS = 8, SYSTEM_LOGGERS_OTHERS = SYSTEM_LOGGERS - 2 };

static bool has_own_place(const char *name)
{
    return name_compare(name, PLAN_KERNEL_LOGGER) == 0 || name_compare(name, PLAN_CIRCULAR_LOGGER) == 0;
}

static wstatus system_logger_place(const struct session_table *t, const struct plan *plan, struct reason *why)
{
    unsigned others = 0;
    for (int i = 0; i < SHM_SESSIONS; i++)
        others += t->slot[i] && t->slot[i]->state->kernel && !has_own_place(t->slot[i]->state->name);
    if (!plan->kernel || has_own_place(plan->name) || others < SYSTEM_LOGGERS_OTHERS)
        return W_SUCCESS;
    return reason_set(
        why, W_NO_SYSTEM_RESOURCES,
        "%d sessions of kernel events run already; of the %d places one is for the NT Kernel Logger alone, one for the "
        "Circular Kernel Context Logger. Do: stop one, or put its flags into another",
        others, SYSTEM_LOGGERS);
}

/* Names the sessions that hold the places, as many as the reason has room for. */
static wstatus places_taken(const struct session_table *t, unsigned most, struct reason *why)
{
    char     names[300] = "";
    size_t   used       = 0;
    unsigned told = 0, all = table_count(t);
    for (int i = 0; i < SHM_SESSIONS; i++) {
        const size_t n = t->slot[i] ? strlen(t->slot[i]->state->name) : 0;
        if (!n || used + n + 3 > sizeof names)
            continue;
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", told++ ? ", " : "", t->slot[i]->state->name);
    }
    return reason_set(why, W_NO_SYSTEM_RESOURCES,
                      "all %u places are taken (EtwMaxLoggers), by %s and %u more. Do: stop one (autologger stop)",
                      most, names, all - told);
}

wstatus table_name_taken(const struct session *s, struct reason *why)
{
    return reason_set(why, W_ALREADY_EXISTS, "a session named \"%s\" is already running (%s%s)", s->state->name,
                      *s->state->key ? "declared at " : "a controller started it", s->state->key);
}

wstatus table_add(struct session_table *t, const struct plan *plan, struct session **out, struct reason *why)
{
    int  free_slot = -1;
    char text[GUID_TEXT_SIZE];

    wstatus st = t->may_add ? t->may_add(t->may_ctx, plan, why) : W_SUCCESS;
    if (st)
        return st;
    for (int i = 0; i < SHM_SESSIONS; i++) {
        const struct session *s = t->slot[i];
        if (!s) {
            free_slot = free_slot < 0 ? i : free_slot;
            continue;
        }
        if (name_compare(s->state->name, plan->name) == 0)
            return table_name_taken(s, why);
        /* these have their provider's Guid, which is not unique */
        if (guid_equal(&s->state->guid, &plan->guid) && !s->state->processes.kind && !t->env->processes)
            return reason_set(why, W_ALREADY_EXISTS, "session \"%s\" already has the Guid %s", s->state->name,
                              guid_format(&plan->guid, text));
        if (plan->log_path && session_writes(s, plan->log_path))
            return reason_set(why, W_SHARING_VIOLATION, "session \"%s\" already writes %s", s->state->name,
                              plan->log_path);
    }
    if ((st = system_logger_place(t, plan, why)))
        return st;
    const unsigned most = t->most && t->most < SHM_SESSIONS ? t->most : SHM_SESSIONS;
    if (free_slot < 0 || table_count(t) >= most)
        return places_taken(t, most, why);
    st = session_create(t->env, t->directory, plan, (unsigned)free_slot, ++t->generation, out, why);
    if (st)
        return st;
    t->slot[free_slot] = *out;
    table_memory_set(t, *out, plan->memory_bytes);
    return W_SUCCESS;
}

wstatus table_add_adopted(struct session_table *t, struct session *s, struct reason *why)
{
    if (t->slot[s->state->index])
        return reason_set(why, W_ALREADY_EXISTS, "two sessions with index %u were handed over", s->state->index);
    t->slot[s->state->index] = s;
    table_memory_set(t, s, s->state->memory_bytes);
    if (s->state->generation > t->generation)
        t->generation = s->state->generation;
    return W_SUCCESS;
}

struct session *table_find(struct session_table *t, const char *name)
{
    for (int i = 0; i < SHM_SESSIONS; i++)
        if (t->slot[i] && name_compare(t->slot[i]->state->name, name) == 0)
            return t->slot[i];
    return NULL;
}

void table_remove(struct session_table *t, struct session *s)
{
    if (!s)
        return;
    t->slot[s->state->index] = NULL;
    table_memory_set(t, s, 0);
    session_destroy(s);
}

void table_memory_set(struct session_table *t, struct session *s, uint64_t bytes)
{
    t->memory_used += bytes - s->counted_bytes;
    s->counted_bytes = bytes;
}

unsigned table_count(const struct session_table *t)
{
    unsigned n = 0;
    for (int i = 0; i < SHM_SESSIONS; i++)
        n += t->slot[i] != NULL;
    return n;
}

void table_finish(struct session_table *t)
{
    for (int i = 0; i < SHM_SESSIONS; i++)
        table_remove(t, t->slot[i]);
}
