#include "autologger/analysis/activities.h"

#include "autologger/analysis/traced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct activities_run {
    struct activities *a;
    /* hash of the id -> index + 1 of the latest activity with that hash; same[] leads to the earlier ones */
    struct idmap  ids;
    long         *same;  /* the next earlier activity of the same hash */
    struct idmap  edges; /* from, to -> transfer + 1 */
    struct traced machine;
    bool          failed;
};

static uint64_t activities_fold(const struct guid *id)
{
    uint64_t half[2];
    memcpy(half, id, sizeof half);
    uint64_t h = half[0] * UINT64_C(0x9E3779B97F4A7C15) ^ half[1];
    return h ? h : 1;
}

static long analysis_activities_find(const struct activities_run *r, const struct guid *id)
{
    for (long i = (long)(intptr_t)idmap_get(&r->ids, activities_fold(id)) - 1; i >= 0; i = r->same[i])
        if (guid_equal(&r->a->list[i].id, id))
            return i;
    return ACTIVITY_NONE;
}

static long activities_add(struct activities_run *r, const struct guid *id)
{
    struct activities *a = r->a;

    if (a->count == a->capacity) {
        size_t capacity = a->capacity ? a->capacity * 2 : 64;
        void  *list = realloc(a->list, capacity * sizeof *a->list), *same = NULL;
        if (list)
            a->list = list;
        if (list && (same = realloc(r->same, capacity * sizeof *r->same)))
            r->same = same;
        if (!list || !same) {
            r->failed = true;
            return ACTIVITY_NONE;
        }
        a->capacity = capacity;
    }
    long at     = (long)a->count;
    r->same[at] = (long)(intptr_t)idmap_get(&r->ids, activities_fold(id)) - 1;
    if (!idmap_put(&r->ids, activities_fold(id), (void *)(intptr_t)(at + 1))) {
        r->failed = true;
        return ACTIVITY_NONE;
    }
    a->list[a->count++] = (struct activity){
        .id = *id, .parent = ACTIVITY_NONE, .child = ACTIVITY_NONE, .next = ACTIVITY_NONE, .told_only = true};
    return at;
}

static bool activities_is_below(const struct activities *a, long node, long above)
{
    for (; node != ACTIVITY_NONE; node = a->list[node].parent)
        if (node == above)
            return true;
    return false;
}

static void link_to(struct activities_run *r, const struct trace_event *x, long parent, long child)
{
    struct activities *a   = r->a;
    const uint64_t     key = ((uint64_t)parent << 32 | (uint64_t)child) + 1;
    uintptr_t          at  = (uintptr_t)idmap_get(&r->edges, key);

    if (at) {
        a->transfer[at - 1].count++;
        return;
    }
    if (a->transfers == a->transfer_capacity) {
        size_t capacity = a->transfer_capacity ? a->transfer_capacity * 2 : 64;
        void  *more     = realloc(a->transfer, capacity * sizeof *a->transfer);
        if (!more) {
            r->failed = true;
            return;
        }
        a->transfer          = more;
        a->transfer_capacity = capacity;
    }
    a->transfer[a->transfers++] =
        (struct transfer){parent, child, x->e.filetime, 1, traced_process_of(&r->machine, &x->e), x->file};
    r->failed |= !idmap_put(&r->edges, key, (void *)(uintptr_t)a->transfers);
    if (a->list[child].parent != ACTIVITY_NONE || activities_is_below(a, parent, child))
        return;
    a->list[child].parent = parent;
    long *last            = &a->list[parent].child;
    while (*last != ACTIVITY_NONE)
        last = &a->list[*last].next;
    *last = child;
}

static void note_process(struct activity *a, const struct activities_run *r, uint32_t pid)
{
    unsigned i = 0;

    while (i < a->processes && i < ACTIVITY_PROCESSES && a->process[i].pid != pid)
        i++;
    if (i < a->processes && i < ACTIVITY_PROCESSES)
        return;
    if (i < ACTIVITY_PROCESSES) {
        a->process[i].pid = pid;
        snprintf(a->process[i].name, sizeof a->process[i].name, "%s", traced_process_name(&r->machine, pid));
        a->processes++;
    }
}

static void activities_see(struct activities_run *r, const struct trace_event *x)
{
    static const struct guid none;
    char                     guid[GUID_TEXT_SIZE];
    const uint8_t           *data;
    uint32_t                 size;

    traced_see(&r->machine, &x->e, &x->names);
    r->a->events++;
    if (guid_equal(&x->e.activity, &none))
        return;
    r->a->with_activity++;
    long at = analysis_activities_find(r, &x->e.activity);
    if (at == ACTIVITY_NONE && (at = activities_add(r, &x->e.activity)) == ACTIVITY_NONE)
        return;
    struct activity *a = &r->a->list[at];
    if (a->told_only) {
        const char *channel = decoded_channel(&x->names);
        snprintf(a->first_channel, sizeof a->first_channel, "%s", channel ? channel : "");
        snprintf(a->first_event, sizeof a->first_event, "%.100s/%.50s",
                 x->names.provider ? x->names.provider : guid_format(&x->e.provider, guid), x->names.event);
        a->first     = x->e.filetime;
        a->told_only = false;
    }
    a->last = x->e.filetime > a->last ? x->e.filetime : a->last;
    a->events++;
    a->files |= UINT64_C(1) << x->file;
    note_process(a, r, traced_process_of(&r->machine, &x->e));
    if (!etl_ext_find(&x->e, ETL_EXT_RELATED_ACTIVITY, &data, &size) || size < sizeof(struct guid))
        return;
    struct guid related;
    memcpy(&related, data, sizeof related);
    if (guid_equal(&related, &none) || guid_equal(&related, &x->e.activity))
        return;
    long parent = analysis_activities_find(r, &related);
    if (parent == ACTIVITY_NONE && (parent = activities_add(r, &related)) == ACTIVITY_NONE)
        return;
    link_to(r, x, parent, at);
}

long activities_find(const struct activities *a, const struct guid *id)
{
    for (size_t i = 0; i < a->count; i++)
        if (guid_equal(&a->list[i].id, id))
            return (long)i;
    return ACTIVITY_NONE;
}

wstatus activities_create(struct trace *t, struct activities **out, struct reason *why)
{
    const struct trace_event *x;
    struct activities_run     r = {.a = calloc(1, sizeof *r.a)};

    if (!r.a)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for activities");
    r.a->start = trace_start(t);
    while (!r.failed && trace_next(t, &x))
        activities_see(&r, x);
    r.failed |= r.machine.failed;
    traced_finish(&r.machine);
    idmap_finish(&r.ids);
    idmap_finish(&r.edges);
    free(r.same);
    *out = r.a;
    if (!r.failed)
        return W_SUCCESS;
    activities_destroy(r.a);
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for activities");
}

void activities_destroy(struct activities *a)
{
    if (!a)
        return;
    free(a->list);
    free(a->transfer);
    free(a);
}
