#include "autologger/analysis/delta.h"

#include "autologger/analysis/traced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MOST = 256 };
/* Where a processor time comes from, the most exact first. */
enum delta_measure { DELTA_UNKNOWN, DELTA_BY_ITEM, DELTA_BY_SWITCHES, DELTA_BY_TICKS };
struct open_begin {
    struct open_begin *below; /* of the same hash, begun before */
    char              *key;
    uint64_t           time, cpu;
    enum delta_measure measure;
    unsigned           gaps; /* of the thread until then */
    uint32_t           pid, tid;
};
struct delta_run {
    struct delta *d;
    struct traced machine;
    struct fields fields;
    struct idmap  open; /* hash of the key, + 1 -> struct open_begin */
    bool          failed;
};

static uint64_t delta_hash(const char *key)
{
    uint64_t h = UINT64_C(1469598103934665603); /* FNV-1a */
    for (; *key; key++)
        h = (h ^ (uint8_t)*key) * UINT64_C(1099511628211);
    return h ? h : 1;
}

/* False: the event has no key. */
static bool delta_key_of(struct delta_run *r, const struct trace_event *x, const char *field, char key[KEY_MOST])
{
    const struct delta_options *o = &r->d->options;
    const struct etl_event     *e = &x->e;
    static const struct guid    none;
    char                        guid[GUID_TEXT_SIZE];

    switch (o->by) {
    case DELTA_THREAD: snprintf(key, KEY_MOST, "%u", traced_thread_of(&r->machine, e)); return true;
    case DELTA_PROCESS: snprintf(key, KEY_MOST, "%u", traced_process_of(&r->machine, e)); return true;
    case DELTA_ACTIVITY:
        snprintf(key, KEY_MOST, "%s", guid_format(&e->activity, guid));
        return !guid_equal(&e->activity, &none);
    case DELTA_FIELD: break;
    case DELTA_ANY: *key = 0; return true;
    }
    const char *const wanted[] = {field, NULL};
    bool              found    = fields_read(&r->fields, e, &x->names, wanted);
    snprintf(key, KEY_MOST, "%s", fields_text(&r->fields, 0));
    return found;
}

/* Processor time of the event's thread up to now, in 100 ns: by the times that the event has, by switches, or, where
 * none are traced, by the ticks of its header. */
static enum delta_measure delta_cpu_at(const struct delta_run *r, const struct trace_event *x,
                                       const struct etl_file_header *h, uint64_t *out)
{
    const uint8_t *data;
    uint32_t       size;
    uint64_t       times[2];

    if (etl_ext_find(&x->e, ETL_EXT_CPU_TIMES, &data, &size) && size >= sizeof times) {
        memcpy(times, data, sizeof times);
        *out = (times[0] + times[1]) / 100;
        return DELTA_BY_ITEM;
    }
    if (traced_cpu_time(&r->machine, traced_thread_of(&r->machine, &x->e), x->e.filetime, out))
        return DELTA_BY_SWITCHES;
    if (r->machine.switches || (!x->e.kernel_time && !x->e.user_time))
        return DELTA_UNKNOWN;
    *out = ((uint64_t)x->e.kernel_time + x->e.user_time) * h->raw.timer_resolution;
    return DELTA_BY_TICKS;
}

static unsigned delta_gaps(const struct delta_run *r, uint32_t tid)
{
    const struct traced_thread *t = tid == TRACED_NOBODY ? NULL : traced_thread(&r->machine, tid);
    return t ? t->gaps : 0;
}

/* The processor time between both events; false: not known, as where switches of the thread are missing. */
static bool delta_cpu(const struct delta_run *r, const struct open_begin *b, const struct trace_event *x,
                      const struct etl_file_header *h, uint64_t *out)
{
    uint64_t cpu = 0;
    if (b->measure == DELTA_UNKNOWN || b->tid != traced_thread_of(&r->machine, &x->e) ||
        delta_cpu_at(r, x, h, &cpu) != b->measure || cpu < b->cpu ||
        (b->measure == DELTA_BY_SWITCHES && delta_gaps(r, b->tid) != b->gaps))
        return false;
    *out = cpu - b->cpu;
    return true;
}

/* A program wrote it at its time; not so the events of units, which come later from the daemon. */
static bool delta_writer_runs(const struct trace_event *x)
{
    return x->e.kind == ETL_KIND_EVENT && !(x->names.provider && strcmp(x->names.provider, "systemd-Units") == 0);
}

static void delta_begin(struct delta_run *r, const struct trace_event *x, const struct etl_file_header *h)
{
    char key[KEY_MOST];

    r->d->begins++;
    if (!delta_key_of(r, x, r->d->options.begin_field, key)) {
        r->d->keyless++;
        r->d->open++;
        return;
    }
    struct open_begin *b = calloc(1, sizeof *b);
    if (!b || !(b->key = strdup(key))) {
        free(b);
        r->failed = true;
        return;
    }
    b->time     = x->e.filetime;
    b->pid      = traced_process_of(&r->machine, &x->e);
    b->tid      = traced_thread_of(&r->machine, &x->e);
    b->measure  = delta_cpu_at(r, x, h, &b->cpu);
    b->gaps     = delta_gaps(r, b->tid);
    uint64_t at = delta_hash(key);
    b->below    = idmap_get(&r->open, at);
    if (!idmap_put(&r->open, at, b)) {
        free(b->key);
        free(b);
        r->failed = true;
        return;
    }
    r->d->open++;
}

/* The latest open begin of the key, taken out. */
static struct open_begin *delta_take(struct delta_run *r, const char *key)
{
    uint64_t           at    = delta_hash(key);
    struct open_begin *first = idmap_get(&r->open, at), *b = first, *above = NULL;

    while (b && strcmp(b->key, key) != 0) {
        above = b;
        b     = b->below;
    }
    if (!b)
        return NULL;
    if (above)
        above->below = b->below;
    else if (b->below)
        r->failed |= !idmap_put(&r->open, at, b->below);
    else
        idmap_remove(&r->open, at);
    return b;
}

static void keep_worst(struct delta *d, const struct delta_pair *p)
{
    unsigned at = d->worst_count;

    if (at == d->options.worst && (at == 0 || d->worst[at - 1].time >= p->time))
        return;
    if (at < d->options.worst)
        d->worst_count++;
    else
        at--;
    for (; at > 0 && d->worst[at - 1].time < p->time; at--)
        d->worst[at] = d->worst[at - 1];
    d->worst[at] = *p;
}

static void delta_end(struct delta_run *r, const struct trace_event *x, const struct etl_file_header *h)
{
    struct delta *d = r->d;
    char          key[KEY_MOST];
    const bool    has_key = delta_key_of(r, x, d->options.end_field, key);

    d->ends++;
    d->keyless += !has_key;
    struct open_begin *b = has_key ? delta_take(r, key) : NULL;
    if (!b) {
        d->unmatched_ends++;
        return;
    }
    struct delta_pair p = {.begin = b->time, .pid = b->pid, .tid = b->tid};
    snprintf(p.key, sizeof p.key, "%s", key);
    snprintf(p.process, sizeof p.process, "%s",
             traced_process_name(&r->machine, b->pid == TRACED_NOBODY ? TRACED_NOBODY : b->pid));
    d->backwards += x->e.filetime < b->time;
    p.time      = x->e.filetime > b->time ? x->e.filetime - b->time : 0;
    p.cpu_known = delta_cpu(r, b, x, h, &p.cpu);
    if (p.cpu_known)
        histogram_add(&d->cpu, p.cpu);
    histogram_add(&d->time, p.time);
    d->pairs++;
    d->open--;
    keep_worst(d, &p);
    free(b->key);
    free(b);
}

static void run_finish(struct delta_run *r)
{
    for (size_t i = 0; i < r->open.capacity; i++)
        for (struct open_begin *b = r->open.slot[i].value, *below; b; b = below) {
            below = b->below;
            free(b->key);
            free(b);
        }
    idmap_finish(&r->open);
    traced_finish(&r->machine);
    fields_finish(&r->fields);
}

wstatus delta_create(struct trace *t, const struct delta_options *options, struct delta **out, struct reason *why)
{
    const struct trace_event *x;
    struct delta_run          r = {.d = calloc(1, sizeof *r.d)};

    if (!r.d)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for pairs of events");
    r.d->options = *options;
    if (r.d->options.worst > DELTA_WORST)
        r.d->options.worst = DELTA_WORST;
    while (trace_next(t, &x)) {
        traced_see(&r.machine, &x->e, &x->names);
        r.d->events++;
        const bool ends   = event_spec_matches(&options->end, &x->e, &x->names);
        const bool begins = event_spec_matches(&options->begin, &x->e, &x->names);
        if ((ends || begins) && delta_writer_runs(x))
            traced_runs(&r.machine, &x->e);
        if (ends) /* an event that is both ends one pair and begins the next */
            delta_end(&r, x, trace_header(t, x->file));
        if (begins)
            delta_begin(&r, x, trace_header(t, x->file));
    }
    r.d->cpu_by_switches = r.machine.switches > 0;
    r.failed |= r.machine.failed || fields_failed(&r.fields);
    *out = r.d;
    run_finish(&r);
    if (!r.failed)
        return W_SUCCESS;
    delta_destroy(r.d);
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for events that are open");
}

void delta_destroy(struct delta *d) { free(d); }
