/* boot_unit.c - units of systemd in a boot: when each was started, and what it was ordered after. See boot_build.h. */
#include "autologger/analysis/boot_build.h"

#include <stdlib.h>
#include <string.h>

int boot_unit_get(struct boot_builder *w, const char *name)
{
    const uint64_t  key = boot_hash(name, strlen(name), 4);
    const uintptr_t at  = (uintptr_t)idmap_get(&w->units, key);
    if (at)
        return (int)(at - 1);
    struct boot_unit *u = BOOT_GROW(w, unit, units, room_unit);
    if (!u)
        return BOOT_NONE;
    *u = (struct boot_unit){.name = boot_keep(w, name)};
    if (!u->name || !idmap_put(&w->units, key, (void *)(uintptr_t)w->b->units))
        w->failed = true;
    return (int)w->b->units - 1;
}

int boot_unit_find(const struct boot *b, const char *name)
{
    for (unsigned i = 0; i < b->units; i++)
        if (strcmp(b->unit[i].name, name) == 0)
            return (int)i;
    return BOOT_NONE;
}

static void boot_unit_once(int64_t *at, int64_t value)
{
    if (!*at)
        *at = value;
}

static void boot_unit_keep(struct boot_builder *w, char **at, const char *text)
{
    free(*at);
    *at = boot_keep(w, text);
}

/* A pair of systemd's clock and the file's, from an event that has both. */
static void pair_add(struct boot_builder *w, int64_t at)
{
    const uint64_t us = (uint64_t)boot_ns(boot_field_number(w, "MonotonicUs"), 1000) / 1000;
    if (!us)
        return;
    void             *list = w->pair;
    struct boot_pair *p    = boot_grow(w, &list, &w->pairs, &w->room_pair, sizeof *p);
    w->pair                = list;
    if (p)
        *p = (struct boot_pair){us, at};
}

static void job(struct boot_builder *w, struct boot_unit *u, const char *event, int64_t at)
{
    const char *type = boot_field(w, "JobType");
    if (*type && strcmp(type, "start") != 0 && strcmp(type, "restart") != 0 && strcmp(type, "verify-active") != 0)
        return;
    if (strcmp(event, "UnitJobQueued") == 0) {
        boot_unit_once(&u->queued, at);
    } else if (strcmp(event, "UnitJobEnd") == 0 && !u->job_result) {
        u->job_end    = at;
        u->job_wait   = boot_ns(boot_field_number(w, "JobWaitUs"), 1000);
        u->job_result = boot_keep(w, boot_field(w, "Result"));
    }
}

static void manager(struct boot_builder *w)
{
    const char *const names[] = {"InitRDMonotonicUs", "UserspaceMonotonicUs", "FinishMonotonicUs"};
    for (unsigned i = 0; i < 3; i++)
        if (boot_field_number(w, names[i]))
            w->mark[i] = (uint64_t)boot_ns(boot_field_number(w, names[i]), 1000) / 1000;
}

const char *const boot_look_words[LOOK_KINDS] = {
#define K(name, word) word,
#include "autologger/wire/wait_kinds.def"
#undef K
};

enum { LOOKS_MOST = 2048 };
static void look_add(struct boot_builder *w, int unit, int64_t at)
{
    unsigned kind = 0;
    while (kind < LOOK_KINDS && strcmp(boot_look_words[kind], boot_field(w, "Kind")) != 0)
        kind++;
    const bool        room = w->b->looks < LOOKS_MOST;
    struct boot_look *l    = room && kind < LOOK_KINDS ? BOOT_GROW(w, look, looks, room_look) : NULL;
    w->b->left_out += !room;
    if (l)
        *l = (struct boot_look){.unit    = unit,
                                .pid     = (uint32_t)boot_field_number(w, "ProcessId"),
                                .holder  = (uint32_t)boot_field_number(w, "HolderProcessId"),
                                .at      = at,
                                .kind    = (enum boot_look_kind)kind,
                                .guessed = boot_field_number(w, "Guessed") != 0,
                                .object  = boot_keep(w, boot_field(w, "Object"))};
}

void boot_unit_see(struct boot_builder *w, const char *event, int64_t at)
{
    if (strcmp(event, "ManagerTimes") == 0) {
        manager(w);
        return;
    }
    const int i = boot_unit_get(w, boot_field(w, "Unit"));
    if (i == BOOT_NONE || !*boot_field(w, "Unit"))
        return;
    struct boot_unit *u = &w->b->unit[i];
    if (strcmp(event, "UnitWaiting") == 0) {
        look_add(w, i, at);
        return;
    }
    pair_add(w, at);
    if (strncmp(event, "UnitJob", 7) == 0) {
        job(w, u, event, at);
    } else if (strcmp(event, "UnitActivating") == 0) {
        boot_unit_once(&u->activating, at);
        if (!u->job_wait)
            u->job_wait = boot_ns(boot_field_number(w, "JobWaitUs"), 1000);
    } else if (strcmp(event, "UnitActive") == 0) {
        boot_unit_once(&u->active, at);
    } else if (strcmp(event, "UnitDeactivating") == 0) {
        boot_unit_once(&u->deactivating, at);
    } else if (strcmp(event, "UnitInactive") == 0 || strcmp(event, "UnitFailed") == 0) {
        boot_unit_once(&u->inactive, at);
        u->failed |= strcmp(event, "UnitFailed") == 0;
    } else if (strcmp(event, "UnitMainProcessStart") == 0 && !u->main_pid) {
        u->main_pid = (uint32_t)boot_field_number(w, "ProcessId");
    } else if (strcmp(event, "UnitRundown") == 0 && *boot_field(w, "After")) {
        boot_unit_keep(w, &u->after, boot_field(w, "After"));
    }
    /* the unit's result (a timeout) says more than that of its job (a failure) */
    if (*boot_field(w, "Result") && strncmp(event, "UnitJob", 7) != 0)
        boot_unit_keep(w, &u->result, boot_field(w, "Result"));
    if (*boot_field(w, "ActiveState"))
        boot_unit_keep(w, &u->state, boot_field(w, "ActiveState"));
}

int64_t boot_unit_done(const struct boot_unit *u)
{
    /* a unit that was never active is done when it went back to inactive (oneshot), or when its job gave up */
    if (u->active && u->active >= u->activating)
        return u->active;
    if (u->inactive > u->activating)
        return u->inactive;
    return u->deactivating > u->activating ? u->deactivating : u->job_end;
}

int64_t boot_unit_length(const struct boot_unit *u)
{
    const int64_t begin = u->activating ? u->activating : u->queued, done = boot_unit_done(u);
    return begin && done > begin ? done - begin : 0;
}

static int by_us(const void *a, const void *b)
{
    const struct boot_pair *x = a, *y = b;
    return (x->us > y->us) - (x->us < y->us);
}

/* Maps a time of systemd's clock to the file's, linearly between the pairs before and after it. Both clocks begin
 * at 0. */
static int64_t on_clock(const struct boot_builder *w, uint64_t us)
{
    struct boot_pair before = {0, 0}, after = {0, 0};
    if (!us)
        return 0;
    for (unsigned i = 0; i < w->pairs && !after.us; i++)
        *(w->pair[i].us > us ? &after : &before) = w->pair[i];
    if (after.us <= before.us)
        return before.ns + (int64_t)(us - before.us) * 1000;
    return before.ns +
           (int64_t)((double)(us - before.us) * (double)(after.ns - before.ns) / (double)(after.us - before.us));
}

void boot_unit_end(struct boot_builder *w)
{
    struct boot *b = w->b;

    if (w->pairs)
        qsort(w->pair, w->pairs, sizeof *w->pair, by_us);
    if (!b->live) { /* else systemd's marks are older than the session */
        b->initrd     = on_clock(w, w->mark[0]);
        b->user       = on_clock(w, w->mark[1]);
        b->finish     = on_clock(w, w->mark[2]);
        b->by_systemd = b->user > 0 && b->finish > b->user;
        for (unsigned i = 0; i < 3; i++)
            b->systemd[i] = (int64_t)w->mark[i] * 1000;
    }
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if (p->unit == BOOT_NONE)
            continue;
        struct boot_unit *u = &b->unit[p->unit];
        u->processes += p->exec_of == BOOT_NONE;
        u->read += p->read;
        u->written += p->written;
        for (unsigned k = 0; k < BOOT_STATES; k++)
            u->time[k] += u->time[k] < INT64_MAX / 2 ? p->time[k] : 0;
    }
}
