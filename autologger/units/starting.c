#include "autologger/units/starting.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct starting_unit *units_starting_find(struct starting *s, const char *name)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strcmp(s->unit[i].name, name) == 0)
            return &s->unit[i];
    return NULL;
}

/* The first time of a look that is not before `from`; after the last one: never. */
static uint64_t next_look(uint64_t since_us, uint64_t from_us)
{
    static const uint64_t after_us[] = {1000000, 3000000, 10000000, 30000000, 100000000};
    for (unsigned i = 0; i < sizeof after_us / sizeof *after_us; i++)
        if (since_us + after_us[i] >= from_us)
            return since_us + after_us[i];
    return UINT64_MAX;
}

/* The first look: 1 s after the begin, or now if that is over. */
static uint64_t first_look(uint64_t since_us, uint64_t now_us)
{
    return since_us + 1000000 > now_us ? since_us + 1000000 : now_us;
}

static bool starting_text_set(char **at, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return false;
    free(*at);
    *at = copy;
    return true;
}

void starting_see(struct starting *s, const char *name, const char *cgroup, uint64_t since_us, uint64_t now_us)
{
    struct starting_unit *u = units_starting_find(s, name);
    if (u) {
        if (*cgroup)
            starting_text_set(&u->cgroup, cgroup);
        if (u->paused || (since_us > u->since_us && !u->restarted)) { /* another start */
            const uint64_t begin = u->paused ? now_us : since_us;
            u->paused            = false;
            u->since_us          = begin;
            u->seen_us           = now_us;
            u->next_us           = first_look(begin, now_us);
        } else if (since_us < u->since_us && !u->restarted) { /* the start began before it became known */
            const bool looked = u->next_us != first_look(u->since_us, u->seen_us);
            u->since_us       = since_us;
            u->next_us        = looked ? next_look(since_us, now_us) : first_look(since_us, now_us);
        }
        return;
    }
    if (s->count == STARTING_MOST)
        return;
    u  = &s->unit[s->count];
    *u = (struct starting_unit){.since_us = since_us, .seen_us = now_us, .next_us = first_look(since_us, now_us)};
    if (starting_text_set(&u->name, name) && starting_text_set(&u->cgroup, cgroup))
        s->count++;
    else
        free(u->name);
}

bool starting_has(const struct starting *s, const char *name)
{
    return units_starting_find((struct starting *)(uintptr_t)s, name) != NULL;
}

void starting_pause(struct starting *s, const char *name)
{
    if (!units_starting_find(s, name))
        starting_see(s, name, "", 0, 0);
    struct starting_unit *u = units_starting_find(s, name);
    if (!u)
        return;
    u->paused = u->restarted = true;
    u->next_us               = UINT64_MAX;
}

void starting_over(struct starting *s, const char *name)
{
    struct starting_unit *u = units_starting_find(s, name);
    if (!u)
        return;
    free(u->name);
    free(u->cgroup);
    *u = s->unit[--s->count];
}

const struct starting_unit *starting_due(struct starting *s, uint64_t now_us)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->unit[i].next_us <= now_us) {
            s->unit[i].next_us = next_look(s->unit[i].since_us, now_us + 1);
            return &s->unit[i];
        }
    return NULL;
}

int starting_wait_ms(const struct starting *s, uint64_t now_us)
{
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < s->count; i++)
        next = s->unit[i].next_us < next ? s->unit[i].next_us : next;
    if (next == UINT64_MAX)
        return -1;
    const uint64_t ms = next > now_us ? (next - now_us + 999) / 1000 : 0;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

void starting_finish(struct starting *s)
{
    while (s->count)
        starting_over(s, s->unit[0].name);
}
