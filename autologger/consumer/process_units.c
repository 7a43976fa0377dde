#include "autologger/consumer/process_units.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "Autologger-Kernel-Cgroups"
enum { IDLE = 0, SYSTEM = 4, TOLD_BOTH = 3 };

static struct unit_place *process_units_place_of(struct process_units *u, uint32_t process)
{
    struct unit_place *p = idmap_get(&u->process, process + UINT64_C(1));
    if (p)
        return p;
    if (!(p = malloc(sizeof *p)) || !idmap_put(&u->process, process + UINT64_C(1), p)) {
        free(p);
        u->failed = true;
        return NULL;
    }
    *p = (struct unit_place){.unit = UNIT_NOT_TOLD, .ended = INT64_MIN}; /* its start was not seen */
    return p;
}

static int unit_of_name(struct process_units *u, const char *name)
{
    for (unsigned i = u->count; i-- > 0;)
        if (strcmp(u->list[i].name, name) == 0)
            return (int)i;
    if (u->count == u->capacity) {
        unsigned n     = u->capacity ? u->capacity * 2 : 32;
        void    *grown = realloc(u->list, n * sizeof *u->list);
        if (!grown) {
            u->failed = true;
            return UNIT_NOT_TOLD;
        }
        u->list     = grown;
        u->capacity = n;
    }
    if (!(u->list[u->count].name = strdup(name))) {
        u->failed = true;
        return UNIT_NOT_TOLD;
    }
    u->list[u->count].processes = 0;
    return (int)u->count++;
}

static uint64_t *tally(struct process_units *u, int unit)
{
    return unit == UNIT_NOT_TOLD ? &u->not_told : &u->list[unit].processes;
}

static void process_units_look(void *self, const struct field *f)
{
    struct process_units *u = self;
    char                 *end;

    if (strcmp(f->name, "ProcessId") == 0) {
        u->told_process = (uint32_t)strtoul(f->text, &end, 0);
        u->told |= 1;
    } else if (strcmp(f->name, "Unit") == 0) {
        snprintf(u->told_unit, sizeof u->told_unit, "%s", f->text);
        u->told |= 2;
    }
}

static void on_cgroup(struct process_units *u, const struct etl_event *e, const struct decoded *names)
{
    uint32_t used;

    u->told      = 0;
    u->sink.self = u;
    u->sink.emit = process_units_look;
    if (decoded_fields(e, names, &u->sink, &used) != DECODE_OK || u->told != TOLD_BOTH)
        return;
    struct unit_place *p    = process_units_place_of(u, u->told_process);
    int                unit = p ? unit_of_name(u, u->told_unit) : UNIT_NOT_TOLD;
    if (!p || unit == UNIT_NOT_TOLD)
        return;
    if (p->ended != INT64_MIN) {
        --*tally(u, p->unit);
        ++*tally(u, unit);
    }
    p->unit = unit;
}

/* An exec is an End and a Start by the process itself; any other new process is in its parent's unit. */
static void process_units_on_process(struct process_units *u, const struct etl_event *e, const struct decoded *names)
{
    uint32_t process, parent;

    if (!e->is_64bit || e->version < 3 || e->payload_size < 16)
        return;
    memcpy(&process, e->payload + 8, sizeof process);
    memcpy(&parent, e->payload + 12, sizeof parent);
    struct unit_place *p = process == IDLE || process == SYSTEM ? NULL : process_units_place_of(u, process);
    if (!p)
        return;
    if (names->hook == HOOK_PROCESS_END) {
        p->ended = p->ended == INT64_MIN ? INT64_MIN : e->raw_time;
        return;
    }
    bool again = p->ended != INT64_MIN && names->hook == HOOK_PROCESS_START && e->process_id == process;
    if (p->ended == 0 || again) {
        p->ended = 0;
        return;
    }
    p->ended = 0;
    if (names->hook == HOOK_PROCESS_START && process != parent)
        p->unit = process_units_of(u, parent);
    ++*tally(u, p->unit);
}

void process_units_see(struct process_units *u, const struct etl_event *e, const struct decoded *names)
{
    if (names->hook == HOOK_PROCESS_START || names->hook == HOOK_PROCESS_END || names->hook == HOOK_PROCESS_DC_START) {
        process_units_on_process(u, e, names);
    } else if (names->by == DESCRIBED_TRACELOGGING && strcmp(names->event, "ProcessCgroup") == 0) {
        if (!u->hashed)
            u->provider = guid_from_name(PROVIDER);
        u->hashed = true;
        if (guid_equal(&e->provider, &u->provider))
            on_cgroup(u, e, names);
    }
}

int process_units_of(const struct process_units *u, uint32_t process)
{
    const struct unit_place *p = idmap_get(&u->process, process + UINT64_C(1));
    return p ? p->unit : UNIT_NOT_TOLD;
}

const char *process_units_name(const struct process_units *u, uint32_t process)
{
    int unit = process_units_of(u, process);
    return unit == UNIT_NOT_TOLD ? NULL : u->list[unit].name;
}

bool process_units_match(const char *pattern, const char *name)
{
    char service[256];

    if (!*name)
        return strcmp(pattern, "none") == 0;
    if (fnmatch(pattern, name, 0) == 0)
        return true;
    snprintf(service, sizeof service, "%s.service", pattern);
    return !strchr(pattern, '.') && fnmatch(service, name, 0) == 0;
}

void process_units_finish(struct process_units *u)
{
    for (size_t i = 0; i < u->process.capacity; i++)
        free(u->process.slot[i].value);
    for (unsigned i = 0; i < u->count; i++)
        free(u->list[i].name);
    free(u->list);
    idmap_finish(&u->process);
    field_sink_finish(&u->sink);
    *u = (struct process_units){0};
}
