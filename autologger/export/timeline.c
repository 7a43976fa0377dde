#include "autologger/export/timeline.h"

#include "autologger/schema/classic.h"
#include "registry-sim/base/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_BEGIN   = HOOK_FILE_CREATE,
    FILE_END     = HOOK_FILE_SET_LINK_PATH,
    THREAD_WAITS = 5,
    THREAD_ENDED = 4,
    LINUX_SLEEPS = 1,
    LINUX_ENDED  = 16,
    OPCODE_START = 1,
    OPCODE_STOP  = 2,
    HASH_MOST    = 512
};

/* An event that begins a slice, until its end comes. */
struct timeline_pending {
    struct timeline_pending *below;
    uint64_t                 begin;
    uint32_t                 pid, tid;
    uint16_t                 cpu;
    char                    *name, *category, *key;
    char                    *text; /* names and texts of the arguments, each with its NUL */
    unsigned                 args;
};
/* Lanes of one kind: a slice goes to the first one that is free at its beginning. */
struct lane_group {
    unsigned  lanes, capacity;
    uint64_t *free_at, *id; /* by lane */
};
struct timeline {
    struct trace               *t;
    const struct timeline_sink *sink;
    struct timeline_counts     *counts;
    struct traced               machine;
    struct stacks               stacks;
    struct idmap                pending; /* hash of a key -> struct pending */
    struct idmap                groups;  /* hash of a name -> struct lane_group */
    struct idmap                told;    /* threads whose name was announced: tid + 1 -> hash of name and process */
    unsigned                    processes_told;
    uint64_t                    next_lane;
    struct field_sink           fields;
    struct text                 arg_text;
    size_t                      arg_at[2 * TIMELINE_ARGS]; /* offsets in arg_text: name, text */
    unsigned                    args;
    struct timeline_arg         arg[TIMELINE_ARGS];
    bool                        failed;
};

static uint64_t timeline_hash(const char *text)
{
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return h ? h : 1;
}

/* --- arguments --- */

static void take_arg(void *self, const struct field *f)
{
    struct timeline *l = self;

    if (l->args == TIMELINE_ARGS)
        return;
    l->arg_at[2 * l->args] = l->arg_text.length;
    text_add(&l->arg_text, f->path, strlen(f->path) + 1);
    l->arg_at[2 * l->args + 1] = l->arg_text.length;
    text_add(&l->arg_text, f->text, strnlen(f->text, f->length));
    text_add(&l->arg_text, "", 1);
    l->args++;
}

static void set_args(struct timeline *l, const char *text)
{
    for (unsigned i = 0; i < l->args; i++)
        l->arg[i] = (struct timeline_arg){text + l->arg_at[2 * i], text + l->arg_at[2 * i + 1]};
}

static void read_args(struct timeline *l, const struct trace_event *x)
{
    uint32_t used;

    text_cut(&l->arg_text, 0);
    l->args        = 0;
    l->fields.self = l;
    l->fields.emit = take_arg;
    decoded_fields(&x->e, &x->names, &l->fields, &used);
    set_args(l, text_get(&l->arg_text));
}

static const char *arg_of(const struct timeline *l, const char *name)
{
    for (unsigned i = 0; i < l->args; i++)
        if (strcmp(l->arg[i].name, name) == 0)
            return l->arg[i].text;
    return NULL;
}

/* --- processes, threads, lanes --- */

static void tell_processes(struct timeline *l)
{
    for (; l->processes_told < l->machine.process_count; l->processes_told++)
        l->sink->process(l->sink->ctx, l->machine.process[l->processes_told]);
}

static void timeline_tell_thread(struct timeline *l, uint32_t tid)
{
    const struct traced_thread *t = tid == TRACED_NOBODY ? NULL : traced_thread(&l->machine, tid);
    if (!t)
        return;
    uint64_t now = (timeline_hash(t->name) ^ t->pid * UINT64_C(0x9E3779B97F4A7C15)) | 1;
    if ((uint64_t)(uintptr_t)idmap_get(&l->told, tid + UINT64_C(1)) == now)
        return;
    l->failed |= !idmap_put(&l->told, tid + UINT64_C(1), (void *)(uintptr_t)now);
    tell_processes(l);
    l->sink->thread(l->sink->ctx, t);
}

static uint64_t lane_for(struct timeline *l, const char *group_name, uint64_t begin, uint64_t end)
{
    struct lane_group *g = idmap_get(&l->groups, timeline_hash(group_name));
    char               name[HASH_MOST + 24];
    unsigned           i = 0;

    if (!g && (!(g = calloc(1, sizeof *g)) || !idmap_put(&l->groups, timeline_hash(group_name), g))) {
        free(g);
        l->failed = true;
        return 0;
    }
    while (i < g->lanes && g->free_at[i] > begin)
        i++;
    if (i == g->capacity) {
        unsigned  capacity = g->capacity ? g->capacity * 2 : 2;
        uint64_t *free_at  = realloc(g->free_at, capacity * sizeof *free_at);
        g->free_at         = free_at ? free_at : g->free_at;
        uint64_t *id       = realloc(g->id, capacity * sizeof *id);
        g->id              = id ? id : g->id;
        if (!free_at || !id) {
            l->failed = true;
            return 0;
        }
        g->capacity = capacity;
    }
    if (i == g->lanes) {
        g->id[i] = ++l->next_lane;
        g->lanes++;
        l->counts->lanes++;
        snprintf(name, sizeof name, i ? "%s (%u)" : "%s", group_name, i + 1);
        l->sink->lane(l->sink->ctx, g->id[i], name);
    }
    g->free_at[i] = end;
    return g->id[i];
}

static void slice(struct timeline *l, const char *group, const struct timeline_mark *m)
{
    uint64_t lane = lane_for(l, group, m->begin, m->end);
    if (lane)
        l->sink->slice(l->sink->ctx, lane, m);
}

/* --- pairs --- */

static void pending_free(struct timeline_pending *p)
{
    free(p->name);
    free(p->category);
    free(p->key);
    free(p->text);
    free(p);
}

static bool begin_pair(struct timeline *l, const struct trace_event *x, const char *key, const char *category,
                       const char *name)
{
    struct timeline_pending *p = calloc(1, sizeof *p);

    if (!p || !(p->name = strdup(name)) || !(p->category = strdup(category)) || !(p->key = strdup(key)) ||
        !(p->text = malloc(l->arg_text.length + 1))) {
        if (p)
            pending_free(p);
        l->failed = true;
        return false;
    }
    memcpy(p->text, text_get(&l->arg_text), l->arg_text.length + 1);
    p->args  = l->args;
    p->begin = trace_ns(l->t, x->file, x->e.raw_time);
    p->pid   = traced_process_of(&l->machine, &x->e);
    p->tid   = traced_thread_of(&l->machine, &x->e);
    p->cpu   = x->e.cpu;
    p->below = idmap_get(&l->pending, timeline_hash(key));
    l->failed |= !idmap_put(&l->pending, timeline_hash(key), p);
    l->counts->begins++;
    return true;
}

/* Removes and returns the latest begin of the key; NULL: none. */
static struct timeline_pending *end_pair(struct timeline *l, const char *key)
{
    struct timeline_pending *first = idmap_get(&l->pending, timeline_hash(key)), *p = first, *above = NULL;

    while (p && strcmp(p->key, key) != 0) {
        above = p;
        p     = p->below;
    }
    if (!p)
        return NULL;
    if (above)
        above->below = p->below;
    else if (p->below)
        l->failed |= !idmap_put(&l->pending, timeline_hash(key), p->below);
    else
        idmap_remove(&l->pending, timeline_hash(key));
    return p;
}

/* The slice has the arguments of its begin. */
static unsigned pending_args(const struct timeline_pending *p, struct timeline_arg *arg)
{
    const char *at = p->text;
    for (unsigned i = 0; i < p->args; i++) {
        arg[i].name = at;
        at += strlen(at) + 1;
        arg[i].text = at;
        at += strlen(at) + 1;
    }
    return p->args;
}

static void end_slice(struct timeline *l, const struct trace_event *x, struct timeline_pending *p, const char *group)
{
    struct timeline_arg arg[TIMELINE_ARGS];
    uint64_t            end = trace_ns(l->t, x->file, x->e.raw_time);

    unsigned args = pending_args(p, arg);
    slice(l, group,
          &(struct timeline_mark){p->begin, end > p->begin ? end : p->begin, p->category, p->name, arg, args});
    l->counts->slices++;
    pending_free(p);
}

/* --- kinds of events --- */

static void instant(struct timeline *l, const struct trace_event *x, const char *category, const char *name)
{
    uint64_t at  = trace_ns(l->t, x->file, x->e.raw_time);
    uint32_t tid = traced_thread_of(&l->machine, &x->e);

    tell_processes(l);
    timeline_tell_thread(l, tid);
    l->sink->instant(l->sink->ctx, traced_process_of(&l->machine, &x->e), tid, x->e.cpu,
                     &(struct timeline_mark){at, at, category, name, l->arg, l->args});
    l->counts->instants++;
}

static const char *thread_name(const struct timeline *l, uint32_t tid)
{
    const struct traced_thread *t = traced_thread(&l->machine, tid);
    return tid == 0 ? "swapper" : !t ? "" : *t->name ? t->name : traced_process_name(&l->machine, t->pid);
}

static uint32_t timeline_owner(const struct timeline *l, uint32_t tid)
{
    const struct traced_thread *t = traced_thread(&l->machine, tid);
    return t ? t->pid : TRACED_NOBODY;
}

static void timeline_on_switch(struct timeline *l, const struct trace_event *x)
{
    struct cursor          c = cur_make(x->e.payload, x->e.payload_size);
    struct timeline_switch s = {.at = trace_ns(l->t, x->file, x->e.raw_time), .cpu = x->e.cpu};

    s.next_tid      = cur_u32(&c);
    s.prev_tid      = cur_u32(&c);
    s.next_priority = (int8_t)cur_u8(&c);
    s.prev_priority = (int8_t)cur_u8(&c);
    cur_u32(&c);
    uint8_t state = cur_u8(&c);
    s.prev_state  = state == THREAD_WAITS ? LINUX_SLEEPS : state == THREAD_ENDED ? LINUX_ENDED : 0;
    s.prev_name   = thread_name(l, s.prev_tid);
    s.next_name   = thread_name(l, s.next_tid);
    s.prev_pid    = timeline_owner(l, s.prev_tid);
    s.next_pid    = timeline_owner(l, s.next_tid);
    timeline_tell_thread(l, s.prev_tid);
    timeline_tell_thread(l, s.next_tid);
    l->sink->run(l->sink->ctx, &s);
    l->counts->switches++;
    const struct traced_thread *in = traced_thread(&l->machine, s.next_tid);
    if (in && in->waited)
        stacks_trigger(&l->stacks, &(struct stack_trigger){x->e.raw_time, x->e.filetime, in->waited, s.next_tid,
                                                           x->e.cpu, STACK_OF_WAIT});
}

static void timeline_on_sample(struct timeline *l, const struct trace_event *x)
{
    struct cursor c   = cur_make(x->e.payload, x->e.payload_size);
    uint64_t      ip  = x->e.is_64bit ? cur_u64(&c) : cur_u32(&c);
    uint32_t      tid = cur_u32(&c);
    (void)ip;
    l->counts->samples++;
    if (cur_ok(&c))
        stacks_trigger(&l->stacks, &(struct stack_trigger){x->e.raw_time, trace_ns(l->t, x->file, x->e.raw_time), 1,
                                                           tid, x->e.cpu, STACK_OF_SAMPLE});
}

/* A joined stack; those of waits are for the folded form. */
static void timeline_on_stack(void *ctx, const struct joined_stack *s)
{
    struct timeline *l = ctx;
    if (s->kind != STACK_OF_SAMPLE)
        return;
    timeline_tell_thread(l, s->tid);
    l->sink->sample(l->sink->ctx, s->time, s);
    l->counts->sampled++;
}

static void timeline_on_disk(struct timeline *l, const struct trace_event *x)
{
    const struct etl_event *e = &x->e;
    struct cursor           c = cur_make(e->payload, e->payload_size);
    char                    group[64];
    uint32_t                disk = cur_u32(&c);

    if (x->names.hook == HOOK_DISK_FLUSH)
        cur_u32(&c);
    else
        cur_take(&c, 20u + (e->is_64bit ? 16 : 8));
    uint64_t took = cur_u64(&c), end = trace_ns(l->t, x->file, e->raw_time);
    uint64_t begin = trace_ns(l->t, x->file, e->raw_time - (int64_t)(took < INT64_MAX / 2 ? took : 0));
    snprintf(group, sizeof group, "disk %" PRIu32, disk);
    slice(l, group, &(struct timeline_mark){begin < end ? begin : end, end, "disk", x->names.event, l->arg, l->args});
    l->counts->slices++;
}

/* A file system call is a slice of its thread, from its beginning to OperationEnd. */
static void timeline_on_file(struct timeline *l, const struct trace_event *x)
{
    char key[64], group[HASH_MOST];

    if (x->names.hook != HOOK_FILE_OPERATION_END) {
        const char *irp = arg_of(l, "IrpPtr");
        snprintf(key, sizeof key, "irp %s", irp ? irp : "");
        begin_pair(l, x, key, "file", x->names.event);
        return;
    }
    const char *irp = arg_of(l, "IrpPtr");
    snprintf(key, sizeof key, "irp %s", irp ? irp : "");
    struct timeline_pending *p = end_pair(l, key);
    if (!p) {
        instant(l, x, "file", x->names.event);
        return;
    }
    snprintf(group, sizeof group, "files, %s %" PRIu32, thread_name(l, p->tid), p->tid);
    end_slice(l, x, p, group);
}

static const struct {
    const char *provider, *begin, *end, *field, *group;
} spans[] = {
    {"Autologger-Kernel-Boot", "InitcallStart", "InitcallFinish", "Name", "initcalls"},
    {"systemd-Units", "UnitActivating", "UnitActive", "Unit", "units, activating"},
    {"systemd-Units", "UnitDeactivating", "UnitInactive", "Unit", "units, deactivating"},
};

/* True: the event is one end of a span in `spans`. */
static bool on_span(struct timeline *l, const struct trace_event *x)
{
    char key[HASH_MOST];

    for (size_t i = 0; x->names.provider && i < sizeof spans / sizeof *spans; i++) {
        bool begin = strcmp(x->names.event, spans[i].begin) == 0;
        if ((!begin && strcmp(x->names.event, spans[i].end) != 0) || strcmp(x->names.provider, spans[i].provider) != 0)
            continue;
        const char *name = arg_of(l, spans[i].field);
        if (!name)
            return false;
        snprintf(key, sizeof key, "span %zu %.400s", i, name);
        if (begin)
            return begin_pair(l, x, key, spans[i].group, name);
        struct timeline_pending *p = end_pair(l, key);
        if (p)
            end_slice(l, x, p, spans[i].group);
        return p != NULL;
    }
    return false;
}

/* Start and stop of one task of a provider, on one thread. */
static bool on_pair(struct timeline *l, const struct trace_event *x, const char *provider)
{
    char     key[HASH_MOST], group[HASH_MOST], name[HASH_MOST];
    uint32_t tid = traced_thread_of(&l->machine, &x->e);

    if (x->e.kind != ETL_KIND_EVENT || (x->e.opcode != OPCODE_START && x->e.opcode != OPCODE_STOP))
        return false;
    if (x->names.by == DESCRIBED_TRACELOGGING) { /* "LoadStart" and "LoadStop" may be its names */
        size_t n   = strlen(x->names.event);
        size_t cut = n > 5 && strcmp(x->names.event + n - 5, "Start") == 0  ? 5
                     : n > 4 && strcmp(x->names.event + n - 4, "Stop") == 0 ? 4
                                                                            : 0;
        snprintf(name, sizeof name, "%.*s", (int)(n - cut < 200 ? n - cut : 200), x->names.event);
    } else {
        snprintf(name, sizeof name, "task %u", x->e.task);
    }
    snprintf(key, sizeof key, "pair %" PRIu32 " %.200s %.200s", tid, provider, name);
    if (x->e.opcode == OPCODE_START) {
        if (x->names.by != DESCRIBED_TRACELOGGING)
            snprintf(name, sizeof name, "%.200s", x->names.event);
        return begin_pair(l, x, key, provider, name);
    }
    struct timeline_pending *p = end_pair(l, key);
    if (!p)
        return false;
    snprintf(group, sizeof group, "%.200s, %.100s %" PRIu32, provider, thread_name(l, tid), tid);
    end_slice(l, x, p, group);
    return true;
}

static const struct {
    const char *provider, *event, *field, *unit, *index; /* index: a field whose value is part of the name */
    double      factor;
} counters[] = {
    {"Autologger-Kernel-Memory", "MemInfo", "MemAvailable", "bytes", NULL, 1},
    {"Autologger-Kernel-Memory", "MemInfo", "MemFree", "bytes", NULL, 1},
    {"Autologger-Kernel-Memory", "MemInfo", "Cached", "bytes", NULL, 1},
    {"Autologger-Kernel-Memory", "MemInfo", "SwapFree", "bytes", NULL, 1},
    {"Autologger-Kernel-Memory", "WorkingSet", "VmRSS", "bytes", "ProcessId", 1},
    {"Autologger-Kernel-Power", "CpuFrequency", "KHz", "Hz", "Cpu", 1000},
};

static bool timeline_on_counter(struct timeline *l, const struct trace_event *x)
{
    bool any = false;
    char name[128];

    for (size_t i = 0; x->names.provider && i < sizeof counters / sizeof *counters; i++) {
        const char *value =
            strcmp(counters[i].provider, x->names.provider) == 0 && strcmp(counters[i].event, x->names.event) == 0
                ? arg_of(l, counters[i].field)
                : NULL;
        const char *index = value && counters[i].index ? arg_of(l, counters[i].index) : NULL;
        if (!value)
            continue;
        snprintf(name, sizeof name, "%s%s%s%s%s", counters[i].field, index ? " " : "", index ? counters[i].index : "",
                 index ? " " : "", index ? index : "");
        l->sink->counter(l->sink->ctx, name, counters[i].unit, trace_ns(l->t, x->file, x->e.raw_time),
                         strtod(value, NULL) * counters[i].factor);
        l->counts->counter_values++;
        any = true;
    }
    l->counts->counters += any;
    return any;
}

static void timeline_on_ready(struct timeline *l, const struct trace_event *x)
{
    struct cursor c   = cur_make(x->e.payload, x->e.payload_size);
    uint32_t      tid = cur_u32(&c);
    timeline_tell_thread(l, tid);
    l->sink->wake(l->sink->ctx, trace_ns(l->t, x->file, x->e.raw_time), x->e.cpu, traced_thread_of(&l->machine, &x->e),
                  tid, thread_name(l, tid));
    l->counts->wakes++;
}

/* True: the event only gives names to others: rundown, images, file names, the file's header, the identity that a merge
 * added. */
static bool gives_names(uint16_t hook)
{
    uint16_t group = hook >> 8;
    return hook != CLASSIC_NONE &&
           (group == ETL_GROUP_PROCESS || group == ETL_GROUP_THREAD || group == ETL_GROUP_IMAGE ||
            group == ETL_GROUP_HEADER || group == ETL_GROUP_CONFIG || group >= CLASSIC_IMAGE_ID >> 8 ||
            (hook >= HOOK_FILE_NAME && hook < FILE_BEGIN));
}

static void timeline_see(struct timeline *l, const struct trace_event *x)
{
    const uint16_t hook = x->names.hook;
    char           guid[GUID_TEXT_SIZE];
    const char    *provider = x->names.provider ? x->names.provider : guid_format(&x->e.provider, guid);

    l->counts->read++;
    traced_see(&l->machine, &x->e, &x->names);
    if (stacks_see(&l->stacks, &x->e)) {
        l->counts->stacks++;
    } else if (hook == HOOK_THREAD_CSWITCH) {
        timeline_on_switch(l, x);
    } else if (hook == HOOK_PERF_SAMPLE || hook == HOOK_PERF_PMC_SAMPLE) {
        timeline_on_sample(l, x);
    } else if (hook == HOOK_THREAD_READY) {
        timeline_on_ready(l, x);
    } else if (gives_names(hook) || (x->names.provider && strcmp(x->names.provider, "Autologger-Kernel-Names") == 0)) {
        l->counts->names++;
        tell_processes(l);
    } else {
        read_args(l, x);
        if (hook == HOOK_DISK_READ || hook == HOOK_DISK_WRITE || hook == HOOK_DISK_FLUSH)
            timeline_on_disk(l, x);
        else if (hook >= FILE_BEGIN && hook <= FILE_END)
            timeline_on_file(l, x);
        else if (!timeline_on_counter(l, x) && !on_span(l, x) && !on_pair(l, x, provider))
            instant(l, x, provider, x->names.event);
    }
}

/* A slice without an end is shown as a mark. */
static void end_open(struct timeline *l)
{
    struct timeline_arg arg[TIMELINE_ARGS];

    for (size_t i = 0; i < l->pending.capacity; i++)
        for (struct timeline_pending *p = l->pending.slot[i].value, *below; p; p = below) {
            below         = p->below;
            unsigned args = pending_args(p, arg);
            l->sink->instant(l->sink->ctx, p->pid, p->tid, p->cpu,
                             &(struct timeline_mark){p->begin, p->begin, p->category, p->name, arg, args});
            l->counts->begins--;
            l->counts->instants++;
            pending_free(p);
        }
}

static void timeline_finish(struct timeline *l)
{
    idmap_finish(&l->pending);
    for (size_t i = 0; i < l->groups.capacity; i++) {
        struct lane_group *g = l->groups.slot[i].value;
        if (g) {
            free(g->free_at);
            free(g->id);
            free(g);
        }
    }
    idmap_finish(&l->groups);
    idmap_finish(&l->told);
    stacks_finish(&l->stacks);
    field_sink_finish(&l->fields);
    text_finish(&l->arg_text);
    traced_finish(&l->machine);
}

wstatus timeline_write(struct trace *t, const struct frame_namer *namer, const struct timeline_sink *sink,
                       struct timeline_counts *counts, struct reason *why)
{
    const struct trace_event *x;
    struct timeline          *l = calloc(1, sizeof *l);

    *counts = (struct timeline_counts){0};
    if (!l)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a timeline");
    *l = (struct timeline){
        .t = t, .sink = sink, .counts = counts, .stacks = {.take = timeline_on_stack, .ctx = l, .namer = namer}};
    while (!l->failed && trace_next(t, &x))
        timeline_see(l, x);
    stacks_end(&l->stacks);
    end_open(l);
    tell_processes(l);
    bool failed = l->failed || l->machine.failed || l->stacks.failed || l->arg_text.failed || l->fields.path.failed ||
                  l->fields.value.failed;
    timeline_finish(l);
    free(l);
    return failed ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a timeline") : W_SUCCESS;
}
