/* perfetto.c - a timeline as Perfetto's protobuf: scheduling as ftrace events, processes and threads as its tree,
 * slices, instants and counters as track events, samples with interned callstacks. See convert.h. */
#include "autologger/export/convert.h"
#include "registry-sim/base/unset.h"

#include <errno.h>
#include <inttypes.h>
#include <perfetto.pb-c.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCE = 1, STATE_CLEARED = 1, NEEDS_STATE = 2, CLOCK_BOOT = 6, CLOCK_REAL = 1, BATCH = 512, NAME_ROOM = 64 };
#define FILETIME_UNIX UINT64_C(116444736000000000)
enum track_kind { TRACK_LANE = 1, TRACK_THREAD, TRACK_CPU, TRACK_COUNTER };

struct sched_event { /* of a batch; the messages point into it */
    Perfetto__FtraceEvent            event;
    Perfetto__SchedSwitchFtraceEvent sched;
    Perfetto__SchedWakingFtraceEvent waking;
    char                             prev[NAME_ROOM], next[NAME_ROOM];
};
struct sched_batch {
    struct sched_event    *list;
    Perfetto__FtraceEvent *event[BATCH];
    unsigned               count;
};
struct perfetto {
    FILE               *out;
    uint8_t            *buffer;
    size_t              capacity;
    struct sched_batch *cpu;
    unsigned            cpus;
    struct idmap        tracks;   /* uuid -> announced */
    struct idmap        interned; /* hash of a function's name, of a stack -> iid */
    uint64_t            next_iid;
    bool                began, failed;
};

static void packet(struct perfetto *p, Perfetto__TracePacket *packet)
{
    uint8_t head[11] = {0x0A}; /* Trace.packet */
    size_t  n        = 1;

    packet->has_trusted_packet_sequence_id = 1;
    packet->trusted_packet_sequence_id     = SEQUENCE;
    packet->has_sequence_flags             = 1;
    packet->sequence_flags                 = p->began ? NEEDS_STATE : STATE_CLEARED;
    p->began                               = true;
    size_t size                            = perfetto__trace_packet__get_packed_size(packet);
    if (size > p->capacity) {
        uint8_t *more = realloc(p->buffer, size * 2);
        if (!more) {
            p->failed = true;
            return;
        }
        p->buffer   = more;
        p->capacity = size * 2;
    }
    perfetto__trace_packet__pack(packet, p->buffer);
    for (uint64_t left = size;; left >>= 7) {
        head[n++] = (uint8_t)(left & 0x7F) | (left > 0x7F ? 0x80 : 0);
        if (left <= 0x7F)
            break;
    }
    fwrite(head, 1, n, p->out);
    fwrite(p->buffer, 1, size, p->out);
}

/* --- scheduling --- */

static void flush_cpu(struct perfetto *p, unsigned cpu)
{
    struct sched_batch         *b      = &p->cpu[cpu];
    Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
    Perfetto__TracePacket       tp     = PERFETTO__TRACE_PACKET__INIT;

    if (!b->count)
        return;
    bundle.has_cpu   = 1;
    bundle.cpu       = cpu;
    bundle.n_event   = b->count;
    bundle.event     = b->event;
    tp.ftrace_events = &bundle;
    packet(p, &tp);
    b->count = 0;
}

static struct sched_event *sched_at(struct perfetto *p, unsigned cpu)
{
    if (cpu >= p->cpus) {
        struct sched_batch *more = realloc(p->cpu, (cpu + 1ul) * sizeof *more);
        if (!more) {
            p->failed = true;
            return NULL;
        }
        p->cpu = more;
        memset(p->cpu + p->cpus, 0, (cpu + 1ul - p->cpus) * sizeof *more);
        p->cpus = cpu + 1;
    }
    struct sched_batch *b = &p->cpu[cpu];
    if (!b->list && !(b->list = calloc(BATCH, sizeof *b->list))) {
        p->failed = true;
        return NULL;
    }
    if (b->count == BATCH)
        flush_cpu(p, cpu);
    struct sched_event *e = &b->list[b->count];
    perfetto__ftrace_event__init(&e->event);
    perfetto__sched_switch_ftrace_event__init(&e->sched);
    perfetto__sched_waking_ftrace_event__init(&e->waking);
    b->event[b->count++] = &e->event;
    return e;
}

static void perfetto_on_run(void *ctx, const struct timeline_switch *s)
{
    struct sched_event *e = sched_at(ctx, s->cpu);
    if (!e)
        return;
    snprintf(e->prev, sizeof e->prev, "%s", s->prev_name);
    snprintf(e->next, sizeof e->next, "%s", s->next_name);
    e->event.has_timestamp = e->event.has_pid = 1;
    e->event.timestamp                        = s->at;
    e->event.pid                              = s->prev_tid;
    e->event.sched_switch                     = &e->sched;
    e->sched.prev_comm                        = e->prev;
    e->sched.next_comm                        = e->next;
    e->sched.has_prev_pid = e->sched.has_next_pid = e->sched.has_prev_prio = e->sched.has_next_prio =
        e->sched.has_prev_state                                            = 1;
    e->sched.prev_pid                                                      = (int32_t)s->prev_tid;
    e->sched.next_pid                                                      = (int32_t)s->next_tid;
    e->sched.prev_prio                                                     = s->prev_priority;
    e->sched.next_prio                                                     = s->next_priority;
    e->sched.prev_state                                                    = s->prev_state;
}

static void perfetto_on_wake(void *ctx, uint64_t at, unsigned cpu, uint32_t by, uint32_t tid, const char *name)
{
    struct sched_event *e = sched_at(ctx, cpu);
    if (!e)
        return;
    snprintf(e->next, sizeof e->next, "%s", name);
    e->event.has_timestamp = e->event.has_pid = 1;
    e->event.timestamp                        = at;
    e->event.pid                              = by == TRACED_NOBODY ? 0 : by;
    e->event.sched_waking                     = &e->waking;
    e->waking.comm                            = e->next;
    e->waking.has_pid                         = 1;
    e->waking.pid                             = (int32_t)tid;
}

/* --- processes, threads, tracks --- */

static void perfetto_on_process(void *ctx, const struct traced_process *q)
{
    Perfetto__TracePacket          tp      = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__ProcessTree          tree    = PERFETTO__PROCESS_TREE__INIT;
    Perfetto__ProcessTree__Process process = PERFETTO__PROCESS_TREE__PROCESS__INIT, *one = &process;
    char                          *command = *q->command ? q->command : q->image;

    if (!q->pid) /* idle is no process in Perfetto */
        return;
    process.has_pid   = 1;
    process.pid       = (int32_t)q->pid;
    process.has_ppid  = q->parent != TRACED_NOBODY;
    process.ppid      = (int32_t)q->parent;
    process.n_cmdline = *command ? 1 : 0;
    process.cmdline   = &command;
    tree.n_processes  = 1;
    tree.processes    = &one;
    tp.process_tree   = &tree;
    tp.has_timestamp  = 1;
    packet(ctx, &tp);
}

static uint64_t track_id(enum track_kind kind, uint64_t number) { return (uint64_t)kind << 48 | number; }

static void perfetto_on_thread(void *ctx, const struct traced_thread *t)
{
    Perfetto__TracePacket         tp     = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__ProcessTree         tree   = PERFETTO__PROCESS_TREE__INIT;
    Perfetto__ProcessTree__Thread thread = PERFETTO__PROCESS_TREE__THREAD__INIT, *one = &thread;

    if (!t->tid || t->pid == TRACED_NOBODY)
        return;
    thread.has_tid = thread.has_tgid = 1;
    thread.tid                       = (int32_t)t->tid;
    thread.tgid                      = (int32_t)t->pid;
    thread.name                      = (char *)(*t->name ? t->name : NULL);
    tree.n_threads                   = 1;
    tree.threads                     = &one;
    tp.process_tree                  = &tree;
    tp.has_timestamp                 = 1;
    packet(ctx, &tp);
}

/* True: the track must be announced now. */
static bool perfetto_is_new(struct perfetto *p, uint64_t uuid)
{
    if (idmap_get(&p->tracks, uuid))
        return false;
    p->failed |= !idmap_put(&p->tracks, uuid, p);
    return true;
}

static void track(struct perfetto *p, Perfetto__TrackDescriptor *d, uint64_t uuid)
{
    Perfetto__TracePacket tp = PERFETTO__TRACE_PACKET__INIT;
    d->has_uuid              = 1;
    d->uuid                  = uuid;
    tp.track_descriptor      = d;
    packet(p, &tp);
}

static void perfetto_on_lane(void *ctx, uint64_t lane, const char *name)
{
    Perfetto__TrackDescriptor d = PERFETTO__TRACK_DESCRIPTOR__INIT;
    d.name                      = (char *)name;
    track(ctx, &d, track_id(TRACK_LANE, lane));
}

static uint64_t thread_track(struct perfetto *p, uint32_t pid, uint32_t tid, unsigned cpu)
{
    Perfetto__TrackDescriptor  d      = PERFETTO__TRACK_DESCRIPTOR__INIT;
    Perfetto__ThreadDescriptor thread = PERFETTO__THREAD_DESCRIPTOR__INIT;
    char                       name[32];
    bool                       known = tid != TRACED_NOBODY && tid != 0 && pid != TRACED_NOBODY && pid != 0;
    uint64_t                   uuid  = known ? track_id(TRACK_THREAD, tid) : track_id(TRACK_CPU, cpu + 1ul);

    if (!perfetto_is_new(p, uuid))
        return uuid;
    if (known) {
        thread.has_pid = thread.has_tid = 1;
        thread.pid                      = (int32_t)pid;
        thread.tid                      = (int32_t)tid;
        d.thread                        = &thread;
    } else {
        snprintf(name, sizeof name, "events of cpu %u", cpu);
        d.name = name;
    }
    track(p, &d, uuid);
    return uuid;
}

/* --- track events --- */

struct annotations {
    Perfetto__DebugAnnotation list[TIMELINE_ARGS], *at[TIMELINE_ARGS];
};

static unsigned annotate(struct annotations *a, const struct timeline_mark *m)
{
    for (unsigned i = 0; i < m->args; i++) {
        perfetto__debug_annotation__init(&a->list[i]);
        a->list[i].name         = (char *)m->arg[i].name;
        a->list[i].string_value = (char *)m->arg[i].text;
        a->at[i]                = &a->list[i];
    }
    return m->args;
}

static void track_event(struct perfetto *p, Perfetto__TrackEvent__Type type, uint64_t uuid, uint64_t at,
                        const struct timeline_mark *m)
{
    Perfetto__TracePacket    tp = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__TrackEvent     e  = PERFETTO__TRACK_EVENT__INIT;
    UNSET struct annotations annotations;
    char                    *category = (char *)(m ? m->category : NULL);

    e.has_type = e.has_track_uuid = 1;
    e.type                        = type;
    e.track_uuid                  = uuid;
    if (m) {
        e.name                = (char *)m->name;
        e.n_categories        = 1;
        e.categories          = &category;
        e.n_debug_annotations = annotate(&annotations, m);
        e.debug_annotations   = annotations.at;
    }
    tp.has_timestamp = 1;
    tp.timestamp     = at;
    tp.track_event   = &e;
    packet(p, &tp);
}

static void perfetto_on_slice(void *ctx, uint64_t lane, const struct timeline_mark *m)
{
    track_event(ctx, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track_id(TRACK_LANE, lane), m->begin, m);
    track_event(ctx, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, track_id(TRACK_LANE, lane), m->end, NULL);
}

static void perfetto_on_instant(void *ctx, uint32_t pid, uint32_t tid, unsigned cpu, const struct timeline_mark *m)
{
    track_event(ctx, PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, thread_track(ctx, pid, tid, cpu), m->begin, m);
}

static uint64_t perfetto_hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return (h ^ 0xFF) * UINT64_C(1099511628211);
}

static void perfetto_on_counter(void *ctx, const char *name, const char *unit, uint64_t at, double value)
{
    struct perfetto      *p  = ctx;
    Perfetto__TracePacket tp = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__TrackEvent  e  = PERFETTO__TRACK_EVENT__INIT;
    uint64_t              uuid =
        track_id(TRACK_COUNTER, perfetto_hash(UINT64_C(1469598103934665603), name) & UINT64_C(0xFFFFFFFFFFFF));

    if (perfetto_is_new(p, uuid)) {
        Perfetto__TrackDescriptor   d = PERFETTO__TRACK_DESCRIPTOR__INIT;
        Perfetto__CounterDescriptor c = PERFETTO__COUNTER_DESCRIPTOR__INIT;
        c.unit_name                   = (char *)unit;
        d.name                        = (char *)name;
        d.counter                     = &c;
        track(p, &d, uuid);
    }
    e.has_type = e.has_track_uuid = e.has_double_counter_value = 1;
    e.type                                                     = PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
    e.track_uuid                                               = uuid;
    e.double_counter_value                                     = value;
    tp.has_timestamp                                           = 1;
    tp.timestamp                                               = at;
    tp.track_event                                             = &e;
    packet(p, &tp);
}

/* --- samples --- */

static uint64_t intern(struct perfetto *p, uint64_t key, bool *fresh)
{
    uintptr_t had = (uintptr_t)idmap_get(&p->interned, key);
    *fresh        = !had;
    if (had)
        return had;
    p->failed |= !idmap_put(&p->interned, key, (void *)(uintptr_t)++p->next_iid);
    return p->next_iid;
}

/* Writes a frame's name, its frame and (at first) its mapping. Returns the number of the frame. */
static uint64_t frame_id(struct perfetto *p, const char *text)
{
    Perfetto__TracePacket    tp   = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__InternedData   data = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__InternedString name = PERFETTO__INTERNED_STRING__INIT, path = PERFETTO__INTERNED_STRING__INIT,
                             *names = &name, *paths = &path;
    Perfetto__Frame   frame = PERFETTO__FRAME__INIT, *frames = &frame;
    Perfetto__Mapping mapping = PERFETTO__MAPPING__INIT, *mappings = &mapping;
    const char       *bang = strchr(text, '!');
    char              module[256];
    bool              fresh, fresh_mapping;
    uint64_t          iid = intern(p, perfetto_hash(UINT64_C(1469598103934665603), text), &fresh);

    if (!fresh)
        return iid;
    snprintf(module, sizeof module, "%.*s", bang ? (int)(bang - text) : 9, bang ? text : "[unknown]");
    uint64_t map = intern(p, perfetto_hash(77, module), &fresh_mapping);
    name.has_iid = name.has_str = frame.has_iid = frame.has_function_name_id = frame.has_mapping_id = 1;
    name.iid = frame.iid = frame.function_name_id = iid;
    name.str              = (ProtobufCBinaryData){strlen(bang ? bang + 1 : text), (uint8_t *)(bang ? bang + 1 : text)};
    frame.mapping_id      = map;
    data.n_function_names = data.n_frames = 1;
    data.function_names                   = &names;
    data.frames                           = &frames;
    if (fresh_mapping) {
        path.has_iid = path.has_str = mapping.has_iid = 1;
        path.iid = mapping.iid    = map;
        path.str                  = (ProtobufCBinaryData){strlen(module), (uint8_t *)module};
        mapping.n_path_string_ids = 1;
        mapping.path_string_ids   = &map;
        data.n_mapping_paths = data.n_mappings = 1;
        data.mapping_paths                     = &paths;
        data.mappings                          = &mappings;
    }
    tp.interned_data = &data;
    packet(p, &tp);
    return iid;
}

static void perfetto_on_sample(void *ctx, uint64_t at, const struct joined_stack *s)
{
    struct perfetto       *p      = ctx;
    Perfetto__TracePacket  tp     = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__PerfSample   sample = PERFETTO__PERF_SAMPLE__INIT;
    Perfetto__InternedData data   = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__Callstack    stack = PERFETTO__CALLSTACK__INIT, *stacks = &stack;
    UNSET uint64_t         ids[STACKS_FRAMES];
    uint64_t               key = 99;
    bool                   fresh;

    for (unsigned i = 0; i < s->frames; i++) /* the outermost first */
        ids[i] = frame_id(p, s->frame[s->frames - 1 - i]);
    for (unsigned i = 0; i < s->frames; i++)
        key = (key ^ ids[i]) * UINT64_C(1099511628211) + 1;
    stack.iid = intern(p, key, &fresh);
    if (fresh) {
        stack.has_iid     = 1;
        stack.n_frame_ids = s->frames;
        stack.frame_ids   = ids;
        data.n_callstacks = 1;
        data.callstacks   = &stacks;
        tp.interned_data  = &data;
    }
    sample.has_cpu = sample.has_pid = sample.has_tid = sample.has_callstack_iid = 1;
    sample.cpu                                                                  = s->cpu;
    sample.pid                                                                  = s->pid;
    sample.tid                                                                  = s->tid;
    sample.callstack_iid                                                        = stack.iid;
    tp.has_timestamp                                                            = 1;
    tp.timestamp                                                                = at;
    tp.perf_sample                                                              = &sample;
    packet(p, &tp);
}

/* --- */

/* Writes the clocks, and the common values of this sequence's samples. */
static void perfetto_begin(struct perfetto *p, uint64_t start)
{
    Perfetto__TracePacket          tp       = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__ClockSnapshot        snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
    Perfetto__ClockSnapshot__Clock boot     = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
                                   real = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT, *clocks[2] = {&boot, &real};
    Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
    Perfetto__PerfSampleDefaults  samples  = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
    Perfetto__Timebase            timebase = PERFETTO__TIMEBASE__INIT;
    char                          name[]   = "samples";

    boot.has_clock_id = boot.has_timestamp = real.has_clock_id = real.has_timestamp = 1;
    boot.clock_id                                                                   = CLOCK_BOOT;
    boot.timestamp                                                                  = 0;
    real.clock_id                                                                   = CLOCK_REAL;
    real.timestamp                = start > FILETIME_UNIX ? (start - FILETIME_UNIX) * 100 : 0;
    snapshot.n_clocks             = 2;
    snapshot.clocks               = clocks;
    timebase.has_frequency        = 1;
    timebase.frequency            = 1000;
    timebase.name                 = name;
    samples.timebase              = &timebase;
    defaults.perf_sample_defaults = &samples;
    tp.clock_snapshot             = &snapshot;
    tp.trace_packet_defaults      = &defaults;
    tp.has_timestamp              = 1;
    packet(p, &tp);
}

wstatus convert_perfetto(struct trace *t, const struct frame_namer *namer, FILE *out, struct convert_counts *counts,
                         struct reason *why)
{
    struct perfetto            p    = {.out = out};
    const struct timeline_sink sink = {
        perfetto_on_process, perfetto_on_thread,  perfetto_on_run,     perfetto_on_wake,   perfetto_on_lane,
        perfetto_on_slice,   perfetto_on_instant, perfetto_on_counter, perfetto_on_sample, &p};

    *counts = (struct convert_counts){0};
    errno   = 0;
    perfetto_begin(&p, trace_start(t));
    wstatus st = timeline_write(t, namer, &sink, &counts->timeline, why);
    for (unsigned i = 0; i < p.cpus; i++) {
        flush_cpu(&p, i);
        free(p.cpu[i].list);
    }
    counts->read = counts->timeline.read;
    free(p.cpu);
    free(p.buffer);
    idmap_finish(&p.tracks);
    idmap_finish(&p.interned);
    if (!st && p.failed)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a timeline");
    return st ? st : convert_written(out, why);
}
