#include "autologger/units/unit.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_PLACE = 0, GIVEN_BACK = 1, NAME_MOST = 256 /* systemd's own limit, with the NUL */ };

void unit_finish(struct unit *u)
{
    free(u->name);
    free(u->active);
    free(u->sub);
    free(u->result);
    free(u->cgroup);
    free(u->after);
    *u = (struct unit){0};
}

bool unit_copy(const struct unit *u, struct unit *out)
{
    const char *const from[] = {u->name, u->active, u->sub, u->result, u->cgroup, u->after};
    bool              all    = true;

    *out              = *u;
    char **const to[] = {&out->name, &out->active, &out->sub, &out->result, &out->cgroup, &out->after};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        *to[i] = from[i] ? strdup(from[i]) : NULL;
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        all &= !from[i] || *to[i];
    if (!all)
        unit_finish(out);
    return all;
}

/* ---- properties ---- */

static const struct {
    const char *property;
    size_t      offset;
} texts[] = {
    {"Id", offsetof(struct unit, name)},
    {"ActiveState", offsetof(struct unit, active)},
    {"SubState", offsetof(struct unit, sub)},
    {"Result", offsetof(struct unit, result)},
    {"ControlGroup", offsetof(struct unit, cgroup)},
    {"After", offsetof(struct unit, after)},
};
static const struct {
    const char    *property;
    enum unit_step step;
} unit_times[] = {
    {"InactiveExitTimestampMonotonic", UNIT_ACTIVATING},     {"ActiveEnterTimestampMonotonic", UNIT_ACTIVE},
    {"ActiveExitTimestampMonotonic", UNIT_DEACTIVATING},     {"InactiveEnterTimestampMonotonic", UNIT_INACTIVE},
    {"ExecMainStartTimestampMonotonic", UNIT_PROCESS_START}, {"ExecMainExitTimestampMonotonic", UNIT_PROCESS_EXIT},
};

bool unit_set_text(struct unit *u, const char *property, const char *text)
{
    if (strcmp(property, "InvocationID") == 0) {
        snprintf(u->invocation, sizeof u->invocation, "%s", text);
        return true;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(property, texts[i].property) != 0)
            continue;
        char **at = (char **)(void *)((char *)u + texts[i].offset), *copy;
        if (*at && strcmp(*at, text) == 0)
            return true;
        if (!(copy = strdup(text)))
            return false;
        free(*at);
        *at = copy;
    }
    return true;
}

void unit_set_number(struct unit *u, const char *property, uint64_t number)
{
    for (size_t i = 0; i < sizeof unit_times / sizeof *unit_times; i++)
        if (strcmp(property, unit_times[i].property) == 0)
            u->time[unit_times[i].step] = number;
    if (strcmp(property, "MainPID") == 0)
        u->main_pid = (uint32_t)number;
    else if (strcmp(property, "ExecMainPID") == 0)
        u->exec_pid = (uint32_t)number;
    else if (strcmp(property, "ExecMainCode") == 0)
        u->exec_code = (int32_t)number;
    else if (strcmp(property, "ExecMainStatus") == 0)
        u->exec_status = (int32_t)number;
}

bool unit_set_line(struct unit *u, const char *line)
{
    char        property[64];
    const char *equals = strchr(line, '=');
    char       *end;

    if (!equals || (size_t)(equals - line) >= sizeof property)
        return true;
    snprintf(property, sizeof property, "%.*s", (int)(equals - line), line);
    unsigned long long number = strtoull(equals + 1, &end, 10);
    if (end != equals + 1 && !*end)
        unit_set_number(u, property, number);
    return unit_set_text(u, property, equals + 1);
}

/* ---- reported times ---- */

static uint64_t unit_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return h > GIVEN_BACK ? h : h + 2;
}

/* The place of a name, or a free one for it; -1: none. */
static int unit_place_of(const struct unit_known *known, uint64_t name, bool *found)
{
    int room = -1;

    *found = false;
    for (unsigned i = 0; i < UNIT_KNOWN_PLACES; i++) {
        unsigned at    = (unsigned)(name + i) % UNIT_KNOWN_PLACES;
        uint64_t there = known->place[at].name;
        if (there == name) {
            *found = true;
            return (int)at;
        }
        if (there <= GIVEN_BACK && room < 0)
            room = (int)at;
        if (there == FREE_PLACE)
            break;
    }
    return room;
}

void unit_forget(struct unit_known *known, const char *name)
{
    bool found;
    int  at = unit_place_of(known, unit_hash(name), &found);
    if (!found)
        return;
    memset(&known->place[at], 0, sizeof known->place[at]);
    known->place[at].name = GIVEN_BACK;
}

void unit_told(struct unit_known *known, const struct unit *u)
{
    bool found;
    int  at = unit_place_of(known, unit_hash(u->name), &found);
    if (at < 0)
        return;
    memcpy(known->place[at].time, u->time, sizeof u->time);
    known->place[at].name = unit_hash(u->name);
}

bool unit_cgroup_news(struct unit_known *known, const char *name, uint64_t cgroup)
{
    bool found;
    int  at = unit_place_of(known, unit_hash(name), &found);
    if (at < 0 || (found && known->place[at].cgroup == cgroup))
        return false;
    known->place[at].name   = unit_hash(name);
    known->place[at].cgroup = cgroup;
    return true;
}

int unit_event_order(const void *a, const void *b)
{
    const struct unit_event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    int names = strcmp(x->unit->name, y->unit->name);
    return names ? names : (int)x->step - (int)y->step;
}

unsigned unit_news(const struct unit_known *known, const struct unit *u, struct unit_event events[UNIT_STEPS],
                   bool *full)
{
    const uint64_t name  = unit_hash(u->name);
    unsigned       count = 0;
    bool           found;
    int            at = unit_place_of(known, name, &found);

    *full = at < 0;
    if (*full)
        return 0;
    for (unsigned s = 0; s < UNIT_STEPS; s++) {
        if (!u->time[s] || (found && known->place[at].time[s] == u->time[s]))
            continue;
        events[count++] =
            (struct unit_event){.step = (enum unit_step)s,
                                .time = u->time[s],
                                .unit = u,
                                /* known only from the current state: systemd does not keep earlier ones */
                                .failed = s == UNIT_INACTIVE && u->active && strcmp(u->active, "failed") == 0};
    }
    qsort(events, count, sizeof *events, unit_event_order);
    return count;
}

/* ---- names ---- */

static bool unit_ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length > n && memcmp(text + length - n, end, n) == 0;
}

bool unit_matches(const char *patterns, const char *name)
{
    const char *dot = strrchr(name, '.');
    char        pattern[NAME_MOST], bare[NAME_MOST];

    if (!patterns || !*patterns)
        return true;
    snprintf(bare, sizeof bare, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
    for (const char *p = patterns; *p;) {
        p += strspn(p, ";, \t");
        size_t n = strcspn(p, ";, \t");
        if (n && n < sizeof pattern) {
            snprintf(pattern, sizeof pattern, "%.*s", (int)n, p);
            if (fnmatch(pattern, name, 0) == 0 ||
                (!strchr(pattern, '.') && unit_ends_with(name, strlen(name), ".service") &&
                 fnmatch(pattern, bare, 0) == 0))
                return true;
        }
        p += n;
    }
    return false;
}
