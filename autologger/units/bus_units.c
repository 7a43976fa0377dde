#include "autologger/units/bus_private.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bus_by_name(const void *a, const void *b)
{
    return strcmp(((const struct known_unit *)a)->unit.name, ((const struct known_unit *)b)->unit.name);
}

struct known_unit *bus_unit_find(const struct bus *b, const char *name)
{
    struct known_unit   key = {.unit = {.name = (char *)(uintptr_t)name}};
    struct known_unit **at  = tfind(&key, &b->units, bus_by_name);
    return at ? *at : NULL;
}

void bus_unit_want(struct bus *b, const char *name)
{
    struct known_unit *k = bus_unit_find(b, name);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k || !(k->unit.name = strdup(name)) || !tsearch(k, &b->units, bus_by_name)) {
            if (k)
                free(k->unit.name);
            free(k);
            b->no_memory = true;
            return;
        }
    }
    if (k->wanted)
        return;
    k->wanted       = true;
    k->next_wanted  = NULL;
    *b->last_wanted = k;
    b->last_wanted  = &k->next_wanted;
}

void bus_unit_want_loaded(struct bus *b, const char *name)
{
    bus_unit_want(b, name);
    struct known_unit *k = bus_unit_find(b, name);
    if (k)
        k->loaded = true;
}

void bus_unit_drop(struct bus *b, const char *name)
{
    struct known_unit *k = bus_unit_find(b, name);
    if (k && k->wanted) /* the answer will show that it is gone */
        k->loaded = false;
    if (!k || k->wanted)
        return;
    tdelete(k, &b->units, bus_by_name);
    b->sink.gone(b->sink.ctx, name);
    unit_finish(&k->unit);
    free(k);
}

/* UnitNew. A unit that a reload brings back is as it was: its changes come as signals. */
void bus_unit_comes(struct bus *b, const char *name)
{
    struct known_unit *k    = bus_unit_find(b, name);
    const bool         back = k && k->away;
    if (k)
        k->away = false;
    if (!back)
        bus_unit_want(b, name);
}

/* UnitRemoved. During a reload (daemon-reload) systemd removes all units, and sends UnitNew for each that is left. */
void bus_unit_goes(struct bus *b, const char *name)
{
    struct known_unit *k = bus_unit_find(b, name);
    if (!b->reloading)
        bus_unit_drop(b, name);
    else if (k) {
        k->away   = true;
        k->loaded = false; /* until systemd says so again */
    }
}

static __thread struct known_unit *unit_away; /* twalk has no argument of ours */

static void unit_away_find(const void *node, VISIT visit, int depth)
{
    struct known_unit *k = *(struct known_unit *const *)node;
    (void)depth;
    if ((visit == postorder || visit == leaf) && k->away && !k->wanted)
        unit_away = k;
}

/* Reloading. UnitNew may come after the end of a reload; what is still away when the next one begins is gone. */
void bus_reload_marks(struct bus *b, bool begins)
{
    b->reloading = begins;
    for (bool more = begins; more;) {
        unit_away = NULL;
        twalk(b->units, unit_away_find);
        more = unit_away != NULL;
        if (more)
            bus_unit_drop(b, unit_away->unit.name);
    }
}

void bus_unit_tell(struct bus *b, struct known_unit *k)
{
    k->unit.queued = 0;
    for (unsigned i = 0; i < b->jobs; i++)
        if (strcmp(b->job[i].unit, k->unit.name) == 0)
            k->unit.queued = b->job[i].queued;
    if (k->complete)
        b->sink.unit(b->sink.ctx, &k->unit);
}

bool bus_path_name(const char *path, char out[NAME_ROOM])
{
    size_t n = 0;
    if (strncmp(path, UNIT_PATH, sizeof UNIT_PATH - 1) != 0)
        return false;
    for (const char *p = path + sizeof UNIT_PATH - 1; *p && n < NAME_ROOM - 1; p++) {
        unsigned byte = (unsigned char)*p;
        if (*p == '_' && sscanf(p + 1, "%2x", &byte) == 1)
            p += 2;
        out[n++] = (char)byte;
    }
    out[n] = 0;
    return n > 0;
}

void bus_name_path(const char *name, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s", UNIT_PATH);
    for (; *name && n + 4 < size; name++)
        if ((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9'))
            out[n++] = *name;
        else
            n += (size_t)snprintf(out + n, size - n, "_%02x", (unsigned char)*name);
    out[n < size ? n : size - 1] = 0;
}

const char *bus_kind_interface(const char *name)
{
    static const char *const kinds[][2] = {
        {".service", SYSTEMD ".Service"}, {".scope", SYSTEMD ".Scope"}, {".socket", SYSTEMD ".Socket"},
        {".mount", SYSTEMD ".Mount"},     {".swap", SYSTEMD ".Swap"},   {".slice", SYSTEMD ".Slice"},
        {".timer", SYSTEMD ".Timer"},     {".path", SYSTEMD ".Path"},   {".automount", SYSTEMD ".Automount"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i][0]) == 0)
            return kinds[i][1];
    return NULL;
}
