#include "autologger/analysis/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPCODE_START = 1, OPCODE_STOP = 2, FEW = 100 /* too few to judge by */, MANY = 1000 };

const char *const served_roles[SERVED_ROLES] = {"general", "web", "database", "file"};

/* ---- transactions ---- */

struct served_open { /* a transaction that has begun */
    size_t      kind;
    uint64_t    began;
    struct guid activity;
};
struct served_read {
    struct served *s;
    struct idmap   kinds; /* hash of the name -> index + 1 */
    struct idmap   open;  /* hash of activity and kind -> struct served_open */
    bool           failed;
};

static uint64_t served_hash(uint64_t h, const void *bytes, size_t n)
{
    for (const uint8_t *p = bytes; n; n--, p++)
        h = (h ^ *p) * UINT64_C(1099511628211); /* FNV-1a */
    return h ? h : 1;
}

/* The kind of a transaction by its name; SIZE_MAX: there are too many, or there is no memory. */
static size_t served_kind_at(struct served_read *r, const char *name)
{
    const uint64_t h  = served_hash(UINT64_C(1469598103934665603), name, strlen(name));
    uintptr_t      at = (uintptr_t)idmap_get(&r->kinds, h);
    if (at)
        return at - 1;
    if (r->s->kinds == SERVED_KINDS)
        return SIZE_MAX;
    struct served_kind **more = realloc(r->s->kind, (r->s->kinds + 1) * sizeof *more), *made = calloc(1, sizeof *made);
    if (more)
        r->s->kind = more;
    if (!more || !made || !idmap_put(&r->kinds, h, (void *)(uintptr_t)(r->s->kinds + 1))) {
        free(made);
        r->failed = true;
        return SIZE_MAX;
    }
    snprintf(made->name, sizeof made->name, "%s", name);
    r->s->kind[r->s->kinds] = made;
    return r->s->kinds++;
}

static void served_started(struct served_read *r, const struct etl_event *e, uint64_t key, size_t kind)
{
    struct served_open *o = idmap_get(&r->open, key);
    if (!o && (!(o = malloc(sizeof *o)) || !idmap_put(&r->open, key, o))) {
        free(o);
        r->failed = true;
        return;
    }
    *o = (struct served_open){kind, e->filetime, e->activity};
    r->s->kind[kind]->open++;
}

static void served_event(struct served_read *r, const struct trace_event *x)
{
    const struct etl_event *e = &x->e;
    char                    name[SERVED_NAME];
    if (e->kind != ETL_KIND_EVENT || (e->opcode != OPCODE_START && e->opcode != OPCODE_STOP) ||
        guid_is_zero(&e->activity))
        return;
    snprintf(name, sizeof name, "%s/%s", x->names.provider ? x->names.provider : "?", x->names.event);
    /* "Request/Start" and "Request/Stop" of a manifest are one transaction, as two events of one name are */
    char *tail = strrchr(name, '/');
    if (tail && (!strcmp(tail, "/Start") || !strcmp(tail, "/Stop") || !strcmp(tail, "/win:Start") ||
                 !strcmp(tail, "/win:Stop")))
        *tail = 0;
    const size_t kind = served_kind_at(r, name);
    if (kind == SIZE_MAX) {
        r->s->kinds_left_out += e->opcode == OPCODE_START;
        return;
    }
    const uint64_t key =
        served_hash(served_hash(UINT64_C(1469598103934665603), &e->activity, sizeof e->activity), &kind, sizeof kind);
    struct served_open *o  = idmap_get(&r->open, key);
    r->s->has_transactions = true;
    if (e->opcode == OPCODE_START) {
        served_started(r, e, key, kind);
    } else if (o) {
        histogram_add(&r->s->kind[kind]->time, e->filetime > o->began ? e->filetime - o->began : 0);
        r->s->kind[kind]->open--;
        free(idmap_remove(&r->open, key));
    }
}

static int served_by_time(const void *a, const void *b)
{
    const struct served_kind *x = *(struct served_kind *const *)a, *y = *(struct served_kind *const *)b;
    if (x->time.sum != y->time.sum)
        return x->time.sum > y->time.sum ? -1 : 1;
    return strcmp(x->name, y->name);
}

static wstatus served_transactions(struct served *s, const char *const *files, unsigned count, struct schema_set *set,
                                   struct reason *why)
{
    struct served_read        r = {.s = s};
    struct trace             *t;
    const struct trace_event *x;
    wstatus                   st = trace_open(files, count, &t, why);
    if (st)
        return st;
    if (set)
        trace_describe(t, set);
    while (!r.failed && trace_next(t, &x))
        served_event(&r, x);
    trace_close(t);
    for (size_t i = 0; i < r.open.capacity; i++)
        free(r.open.slot[i].value);
    idmap_finish(&r.open);
    idmap_finish(&r.kinds);
    if (s->kinds)
        qsort(s->kind, s->kinds, sizeof *s->kind, served_by_time);
    return r.failed ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for transactions") : W_SUCCESS;
}

/* ---- what is measured ---- */

enum served_metric {
    CPU_BUSY,
    CPU_TOP,
    SWITCHES,
    DISK_TIME,
    DISK_BUSY,
    DISK_WRITE_SIZE,
    FILE_FAILED,
    FILE_READ_SIZE,
    SEND_SIZE,
    SLOW_FEW,
    OPEN,
    METRICS
};
static const char *const served_units[METRICS] = {"%",     "%",     "a second and processor", "ms", "%", "bytes", "%",
                                                  "bytes", "bytes", "times the mean",         "%"};
struct served_value {
    bool        known;
    double      value;
    const char *subject;
};

static void served_set(struct served_value *v, double value, const char *subject, bool worse)
{
    if (!v->known || worse)
        *v = (struct served_value){true, value, subject};
}

static void served_cpu(const struct served *s, struct served_value v[METRICS])
{
    const struct resources *r    = s->resources;
    const double            all  = (double)r->cpu_time - (double)r->unknown_cpu;
    uint64_t                many = 0;
    if (!r->has_cpu || all <= 0)
        return;
    served_set(&v[CPU_BUSY], 100 * (all - (double)r->idle) / all, "", true);
    for (size_t i = 0; i < r->table[RESOURCE_PROCESSES].rows; i++) {
        const struct resource_row *p     = &r->table[RESOURCE_PROCESSES].row[i];
        const double               share = 100 * (double)p->cpu / all;
        many += p->switches;
        if (p->pid) /* 0: idle */
            served_set(&v[CPU_TOP], share, p->name, share > v[CPU_TOP].value);
    }
    if (s->seconds > 0 && r->cpus)
        served_set(&v[SWITCHES], (double)many / s->seconds / r->cpus, "", true);
}

static void served_disks(const struct served *s, struct served_value v[METRICS])
{
    for (size_t i = 0; i < s->resources->table[RESOURCE_DISKS].rows; i++) {
        const struct resource_row *d     = &s->resources->table[RESOURCE_DISKS].row[i];
        const uint64_t             count = d->read.count + d->written.count, time = d->read.time + d->written.time;
        if (count < FEW)
            continue;
        const double ms = (double)time / (double)count / 1e4;
        served_set(&v[DISK_TIME], ms, d->name, ms > v[DISK_TIME].value);
        if (s->seconds > 0) {
            const double busy = 100 * (double)time / 1e7 / s->seconds;
            served_set(&v[DISK_BUSY], busy, d->name, busy > v[DISK_BUSY].value);
        }
        if (d->written.count >= FEW) {
            const double size = (double)d->written.bytes / (double)d->written.count;
            served_set(&v[DISK_WRITE_SIZE], size, d->name, size < v[DISK_WRITE_SIZE].value);
        }
    }
}

static void served_files(const struct served *s, struct served_value v[METRICS])
{
    uint64_t failed = 0, opens = 0;
    for (size_t i = 0; i < s->resources->table[RESOURCE_FILES].rows; i++) {
        const struct resource_row *f = &s->resources->table[RESOURCE_FILES].row[i];
        failed += f->failed;
        opens += f->opens;
        if (f->read.count >= MANY) {
            const double size = (double)f->read.bytes / (double)f->read.count;
            served_set(&v[FILE_READ_SIZE], size, f->name, size < v[FILE_READ_SIZE].value);
        }
    }
    if (opens >= FEW)
        served_set(&v[FILE_FAILED], 100 * (double)failed / (double)opens, "", true);
}

static void served_network(const struct served *s, struct served_value v[METRICS])
{
    uint64_t count = 0, bytes = 0;
    for (size_t i = 0; i < s->resources->table[RESOURCE_ENDS].rows; i++) {
        count += s->resources->table[RESOURCE_ENDS].row[i].written.count;
        bytes += s->resources->table[RESOURCE_ENDS].row[i].written.bytes;
    }
    if (count >= MANY)
        served_set(&v[SEND_SIZE], (double)bytes / (double)count, "", true);
}

static void served_kinds_measure(const struct served *s, struct served_value v[METRICS])
{
    for (size_t i = 0; i < s->kinds; i++) {
        const struct served_kind *k   = s->kind[i];
        const uint64_t            all = k->time.count + k->open;
        const double mean = (double)histogram_mean(&k->time), open = all ? 100 * (double)k->open / (double)all : 0;
        if (all < FEW)
            continue;
        if (mean > 0) {
            const double few = (double)histogram_percentile(&k->time, 990) / mean;
            served_set(&v[SLOW_FEW], few, k->name, few > v[SLOW_FEW].value);
        }
        served_set(&v[OPEN], open, k->name, open > v[OPEN].value);
    }
}

/* ---- the rules ---- */

enum { G = 1 << SERVED_GENERAL, W = 1 << SERVED_WEB, D = 1 << SERVED_DATABASE, F = 1 << SERVED_FILE };
enum served_side { ABOVE, BELOW };
static const struct served_rule {
    enum served_metric metric;
    unsigned           roles;
    enum served_side   side;
    double             limit;
    const char        *finding, *advice;
} served_rules[] = {
#define R(metric, roles, side, limit, finding, advice) {metric, roles, side, limit, finding, advice},
#include "autologger/analysis/served_rules.def"
#undef R
};

static wstatus served_judge(struct served *s, struct reason *why)
{
    struct served_value v[METRICS] = {0};
    served_cpu(s, v);
    served_disks(s, v);
    served_files(s, v);
    served_network(s, v);
    served_kinds_measure(s, v);
    s->finding = calloc(sizeof served_rules / sizeof *served_rules, sizeof *s->finding);
    if (!s->finding)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for findings");
    for (size_t i = 0; i < sizeof served_rules / sizeof *served_rules; i++) {
        const struct served_rule  *r = &served_rules[i];
        const struct served_value *m = &v[r->metric];
        if (!m->known || !(r->roles & 1u << s->role) ||
            (r->side == ABOVE ? m->value <= r->limit : m->value >= r->limit))
            continue;
        struct served_finding *f     = &s->finding[s->findings++];
        const char            *place = strstr(r->finding, "%s");
        *f                           = (struct served_finding){
                                      .value = m->value, .limit = r->limit, .unit = served_units[r->metric], .advice = r->advice};
        if (place)
            snprintf(f->text, sizeof f->text, "%.*s%s%s", (int)(place - r->finding), r->finding, m->subject, place + 2);
        else
            snprintf(f->text, sizeof f->text, "%s", r->finding);
    }
    return W_SUCCESS;
}

wstatus served_create(const char *const *files, unsigned count, enum served_role role, struct schema_set *set,
                      struct served **out, struct reason *why)
{
    struct trace  *t;
    struct served *s = calloc(1, sizeof *s);
    *out             = NULL;
    if (!s)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    s->role    = role;
    wstatus st = trace_open(files, count, &t, why);
    if (!st) {
        st = resources_create(t, &s->resources, why);
        trace_close(t);
    }
    if (!st) {
        s->seconds = (double)(s->resources->end - s->resources->start) / 1e7;
        st         = served_transactions(s, files, count, set, why);
    }
    st = st ? st : served_judge(s, why);
    if (st) {
        served_destroy(s);
        return st;
    }
    *out = s;
    return W_SUCCESS;
}

void served_destroy(struct served *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->kinds; i++)
        free(s->kind[i]);
    free(s->kind);
    free(s->finding);
    resources_destroy(s->resources);
    free(s);
}
