/* chrome.c - a timeline as Chrome's JSON ("Trace Event Format"): processes and threads by their ids, the processors as
 * threads of process 0, lanes as threads of a process of their own, samples with their stacks. See convert.h. */
#include "autologger/export/convert.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

enum { LANES = 0x7FFFFFFF, CPUS = 0 };
struct chrome_cpu {
    bool     runs;
    uint64_t since;
    uint32_t tid, pid;
    char     name[64];
};
struct chrome {
    FILE              *out;
    yajl_gen           json;
    uint64_t           written;
    struct chrome_cpu *cpu;
    unsigned           cpus;
    struct idmap       stacks; /* hash of a frame and its caller -> number */
    uint64_t           next_stack;
    yajl_gen           frames; /* of stackFrames, written at the end */
    bool               failed;
};

static void chrome_text(struct chrome *c, const char *key, const char *value)
{
    yajl_gen_string(c->json, (const unsigned char *)key, strlen(key));
    if (yajl_gen_string(c->json, (const unsigned char *)value, strlen(value)) != yajl_gen_status_ok)
        yajl_gen_string(c->json, (const unsigned char *)"?", 1);
}

static void chrome_number(struct chrome *c, const char *key, uint64_t value)
{
    yajl_gen_string(c->json, (const unsigned char *)key, strlen(key));
    yajl_gen_integer(c->json, (long long)value);
}

/* Microseconds, with three digits behind the point. */
static void time_us(struct chrome *c, const char *key, uint64_t ns)
{
    char digits[40];
    int  n = snprintf(digits, sizeof digits, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
    yajl_gen_string(c->json, (const unsigned char *)key, strlen(key));
    yajl_gen_number(c->json, digits, (size_t)n);
}

static void begin_event(struct chrome *c, const char *phase, const char *name, uint64_t pid, uint64_t tid, uint64_t at)
{
    yajl_gen_map_open(c->json);
    chrome_text(c, "ph", phase);
    chrome_text(c, "name", name);
    chrome_number(c, "pid", pid);
    chrome_number(c, "tid", tid);
    time_us(c, "ts", at);
}

static void chrome_end_event(struct chrome *c)
{
    const unsigned char *bytes;
    size_t               size;

    yajl_gen_map_close(c->json);
    yajl_gen_get_buf(c->json, &bytes, &size);
    if (c->written++)
        fputs(",\n", c->out);
    visible_json(c->out, (const char *)bytes, size);
    yajl_gen_clear(c->json);
    yajl_gen_reset(c->json, NULL);
}

static void args(struct chrome *c, const struct timeline_mark *m)
{
    yajl_gen_string(c->json, (const unsigned char *)"args", 4);
    yajl_gen_map_open(c->json);
    for (unsigned i = 0; i < m->args; i++)
        chrome_text(c, m->arg[i].name, m->arg[i].text);
    yajl_gen_map_close(c->json);
}

static void named(struct chrome *c, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
    begin_event(c, "M", what, pid, tid, 0);
    args(c, &(struct timeline_mark){.arg = &(struct timeline_arg){"name", name}, .args = 1});
    chrome_end_event(c);
}

static void chrome_on_process(void *ctx, const struct traced_process *p)
{
    if (p->pid)
        named(ctx, "process_name", p->pid, p->pid, p->image);
}

static void chrome_on_thread(void *ctx, const struct traced_thread *t)
{
    if (t->tid && t->pid != TRACED_NOBODY)
        named(ctx, "thread_name", t->pid, t->tid, t->name);
}

static void end_run(struct chrome *c, unsigned cpu, uint64_t at)
{
    const struct chrome_cpu *r = &c->cpu[cpu];
    struct timeline_arg      arg[2];
    char                     tid[16], pid[16];

    if (!r->runs || !r->tid)
        return;
    snprintf(tid, sizeof tid, "%" PRIu32, r->tid);
    snprintf(pid, sizeof pid, "%" PRIu32, r->pid);
    arg[0] = (struct timeline_arg){"tid", tid};
    arg[1] = (struct timeline_arg){"pid", r->pid == TRACED_NOBODY ? "?" : pid};
    begin_event(c, "X", r->name, CPUS, cpu, r->since);
    /* less 1 ns: viewers add in floating point, and the next slice must not begin within this one */
    time_us(c, "dur", at > r->since ? at - r->since - 1 : 0);
    chrome_text(c, "cat", "sched");
    args(c, &(struct timeline_mark){.arg = arg, .args = 2});
    chrome_end_event(c);
}

static void chrome_on_run(void *ctx, const struct timeline_switch *s)
{
    struct chrome *c = ctx;
    char           name[32];

    if (s->cpu >= c->cpus) {
        struct chrome_cpu *more = realloc(c->cpu, (s->cpu + 1ul) * sizeof *more);
        if (!more) {
            c->failed = true;
            return;
        }
        c->cpu = more;
        for (; c->cpus <= s->cpu; c->cpus++) {
            c->cpu[c->cpus] = (struct chrome_cpu){0};
            snprintf(name, sizeof name, "cpu %u", c->cpus);
            named(c, "thread_name", CPUS, c->cpus, name);
        }
    }
    end_run(c, s->cpu, s->at);
    c->cpu[s->cpu] = (struct chrome_cpu){.runs = true, .since = s->at, .tid = s->next_tid, .pid = s->next_pid};
    snprintf(c->cpu[s->cpu].name, sizeof c->cpu[s->cpu].name, "%s", *s->next_name ? s->next_name : "?");
}

static void chrome_on_wake(void *ctx, uint64_t at, unsigned cpu, uint32_t by, uint32_t tid, const char *name)
{
    (void)by;
    begin_event(ctx, "i", "wake", CPUS, cpu, at);
    chrome_text(ctx, "s", "t");
    chrome_text(ctx, "cat", "sched");
    char id[16];
    snprintf(id, sizeof id, "%" PRIu32, tid);
    const struct timeline_arg arg[2] = {{"tid", id}, {"thread", name}};
    args(ctx, &(struct timeline_mark){.arg = arg, .args = 2});
    chrome_end_event(ctx);
}

static void chrome_on_lane(void *ctx, uint64_t lane, const char *name) { named(ctx, "thread_name", LANES, lane, name); }

static void chrome_on_slice(void *ctx, uint64_t lane, const struct timeline_mark *m)
{
    begin_event(ctx, "X", m->name, LANES, lane, m->begin);
    time_us(ctx, "dur", m->end - m->begin);
    chrome_text(ctx, "cat", m->category);
    args(ctx, m);
    chrome_end_event(ctx);
}

static void chrome_on_instant(void *ctx, uint32_t pid, uint32_t tid, unsigned cpu, const struct timeline_mark *m)
{
    bool known = tid != TRACED_NOBODY && pid != TRACED_NOBODY;
    begin_event(ctx, "i", m->name, known ? pid : CPUS, known ? tid : cpu, m->begin);
    chrome_text(ctx, "s", "t");
    chrome_text(ctx, "cat", m->category);
    args(ctx, m);
    chrome_end_event(ctx);
}

static void chrome_on_counter(void *ctx, const char *name, const char *unit, uint64_t at, double value)
{
    struct chrome *c = ctx;
    begin_event(c, "C", name, CPUS, 0, at);
    yajl_gen_string(c->json, (const unsigned char *)"args", 4);
    yajl_gen_map_open(c->json);
    yajl_gen_string(c->json, (const unsigned char *)unit, strlen(unit));
    yajl_gen_double(c->json, value);
    yajl_gen_map_close(c->json);
    chrome_end_event(c);
}

/* The number of a frame below its caller; written once. */
static uint64_t stack_id(struct chrome *c, const char *frame, uint64_t caller)
{
    uint64_t h = UINT64_C(1469598103934665603) ^ caller * UINT64_C(0x9E3779B97F4A7C15); /* FNV-1a */
    char     digits[24];

    for (const char *p = frame; *p; p++)
        h = (h ^ (uint8_t)*p) * UINT64_C(1099511628211);
    uintptr_t had = (uintptr_t)idmap_get(&c->stacks, h ? h : 1);
    if (had)
        return had;
    c->failed |= !idmap_put(&c->stacks, h ? h : 1, (void *)(uintptr_t)++c->next_stack);
    int n = snprintf(digits, sizeof digits, "%" PRIu64, c->next_stack);
    yajl_gen_string(c->frames, (const unsigned char *)digits, (size_t)n);
    yajl_gen_map_open(c->frames);
    yajl_gen_string(c->frames, (const unsigned char *)"name", 4);
    if (yajl_gen_string(c->frames, (const unsigned char *)frame, strlen(frame)) != yajl_gen_status_ok)
        yajl_gen_string(c->frames, (const unsigned char *)"?", 1);
    if (caller) {
        yajl_gen_string(c->frames, (const unsigned char *)"parent", 6);
        n = snprintf(digits, sizeof digits, "%" PRIu64, caller);
        yajl_gen_string(c->frames, (const unsigned char *)digits, (size_t)n);
    }
    yajl_gen_map_close(c->frames);
    return c->next_stack;
}

static void chrome_on_sample(void *ctx, uint64_t at, const struct joined_stack *s)
{
    struct chrome *c  = ctx;
    uint64_t       id = 0;

    for (unsigned i = s->frames; i-- > 0;)
        id = stack_id(c, s->frame[i], id);
    begin_event(c, "P", "sample", s->pid, s->tid, at);
    chrome_number(c, "sf", id);
    chrome_end_event(c);
}

static void end_file(struct chrome *c, uint64_t last)
{
    const unsigned char *bytes;
    size_t               size;

    for (unsigned i = 0; i < c->cpus; i++)
        end_run(c, i, last);
    fputs("\n],\n\"displayTimeUnit\": \"ns\",\n\"stackFrames\": ", c->out);
    yajl_gen_map_close(c->frames);
    yajl_gen_get_buf(c->frames, &bytes, &size);
    visible_json(c->out, (const char *)bytes, size);
    fputs("}\n", c->out);
}

wstatus convert_chrome(struct trace *t, const struct frame_namer *namer, FILE *out, struct convert_counts *counts,
                       struct reason *why)
{
    struct chrome              c    = {.out = out, .json = yajl_gen_alloc(NULL), .frames = yajl_gen_alloc(NULL)};
    const struct timeline_sink sink = {
        chrome_on_process, chrome_on_thread,  chrome_on_run,     chrome_on_wake,   chrome_on_lane,
        chrome_on_slice,   chrome_on_instant, chrome_on_counter, chrome_on_sample, &c};
    wstatus st = W_NOT_ENOUGH_MEMORY;

    *counts = (struct convert_counts){0};
    errno   = 0;
    if (c.json && c.frames) {
        yajl_gen_config(c.json, yajl_gen_validate_utf8, 1);
        yajl_gen_config(c.frames, yajl_gen_validate_utf8, 1);
        yajl_gen_map_open(c.frames);
        fputs("{\"traceEvents\": [\n", out);
        named(&c, "process_name", CPUS, 0, "processors");
        named(&c, "process_name", LANES, 0, "lanes");
        st = timeline_write(t, namer, &sink, &counts->timeline, why);
        end_file(&c, (trace_end(t) - trace_start(t)) * 100);
    }
    counts->read = counts->timeline.read;
    if (c.json)
        yajl_gen_free(c.json);
    if (c.frames)
        yajl_gen_free(c.frames);
    idmap_finish(&c.stacks);
    free(c.cpu);
    if (st || c.failed)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a timeline");
    return convert_written(out, why);
}
