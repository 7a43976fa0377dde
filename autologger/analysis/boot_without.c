#include "autologger/analysis/boot_without.h"

#include "autologger/analysis/boot_run.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK_NS = 50000000 /* a job begins a moment before the end of its predecessor is reported */ };

struct node { /* a unit that was started */
    int     unit;
    int64_t begin, done; /* as recorded */
    int64_t moved;       /* how much earlier it would have been done */
};
struct name {
    const char *text;
    int         unit;
};
struct boot_without_order { /* nodes sorted by begin */
    const struct boot *b;
    const struct node *without;
    double             share; /* of the processors' time during the start of `without`: the part that it had */
    struct node       *node;
    int               *of_unit; /* unit -> node, or BOOT_NONE */
    struct name       *name;    /* of all units, sorted */
    int64_t           *ready;   /* of each unit, ns */
    unsigned           nodes;
};

static int64_t boot_without_later(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t boot_without_sooner(int64_t a, int64_t b) { return a < b ? a : b; }

static int by_begin(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->done > y->done) - (x->done < y->done);
}

static int boot_without_by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static bool order_make(const struct boot *b, struct boot_without_order *o)
{
    *o = (struct boot_without_order){.b       = b,
                                     .node    = calloc(b->units + 1ul, sizeof *o->node),
                                     .of_unit = calloc(b->units + 1ul, sizeof *o->of_unit),
                                     .name    = calloc(b->units + 1ul, sizeof *o->name),
                                     .ready   = calloc(b->units + 1ul, sizeof *o->ready)};
    if (!o->node || !o->of_unit || !o->name || !o->ready)
        return false;
    for (unsigned i = 0; i < b->units; i++)
        o->name[i] = (struct name){b->unit[i].name, (int)i};
    qsort(o->name, b->units, sizeof *o->name, boot_without_by_text);
    for (unsigned i = 0; i < b->units; i++) {
        const struct boot_unit *u    = &b->unit[i];
        const int64_t           done = boot_unit_done(u);
        o->of_unit[i]                = BOOT_NONE;
        if (done <= 0 || done > b->finish + SLACK_NS)
            continue;
        const int64_t begin = u->activating > 0 && u->activating <= done ? u->activating : done;
        o->node[o->nodes++] = (struct node){.unit = (int)i, .begin = begin, .done = done};
    }
    qsort(o->node, o->nodes, sizeof *o->node, by_begin);
    for (unsigned i = 0; i < o->nodes; i++)
        o->of_unit[o->node[i].unit] = (int)i;
    return true;
}

static void order_finish(struct boot_without_order *o)
{
    free(o->node);
    free(o->of_unit);
    free(o->name);
    free(o->ready);
}

/* The end of the last start that the node waited for: as recorded, and (*would) as it would be. 0: it waited for
 * none. */
static int64_t awaited(const struct boot_without_order *o, const struct node *n, int64_t *would)
{
    const char *p     = o->b->unit[n->unit].after;
    int64_t     found = 0;
    *would            = 0;
    for (size_t length; p && *p; p += length + (p[length] == ' ')) {
        char name[256];
        if (!(length = strcspn(p, " ")) || length >= sizeof name)
            continue;
        memcpy(name, p, length);
        name[length] = 0;
        const struct name *named =
            bsearch(&(struct name){name, 0}, o->name, o->b->units, sizeof *o->name, boot_without_by_text);
        const int at = named ? o->of_unit[named->unit] : BOOT_NONE;
        if (at == BOOT_NONE || &o->node[at] >= n || o->node[at].done > n->begin + SLACK_NS)
            continue; /* not started, or not waited for */
        const struct node *d = &o->node[at];
        found                = boot_without_later(found, d->done);
        *would               = boot_without_later(*would, d->done - d->moved);
    }
    return found;
}

/* How much sooner a unit's programs would have had a processor, had the left-out unit taken none. */
static int64_t lighter(const struct boot_without_order *o, const struct node *n)
{
    const int64_t from = boot_without_later(n->begin, o->without->begin),
                  to   = boot_without_sooner(n->done, o->without->done);
    return to > from ? (int64_t)(o->share * (double)boot_without_sooner(o->ready[n->unit], to - from)) : 0;
}

/* Finds how long each unit's programs were ready without a processor during the start of the left-out unit. */
static void ready_find(struct boot_without_order *o)
{
    const struct boot *b = o->b;
    for (unsigned i = 0; i < b->runs; i++) {
        const struct boot_run *r    = &b->run[i];
        const int64_t          from = (int64_t)r->bin * b->run_width,
                      in            = boot_without_sooner(from + b->run_width, o->without->done) -
                           boot_without_later(from, o->without->begin);
        const int unit = r->process < 0 ? BOOT_NONE : b->process[r->process].unit;
        if (in > 0 && unit != BOOT_NONE)
            o->ready[unit] += (int64_t)((double)r->ready * (double)in / (double)b->run_width);
    }
}

static void move_all(struct boot_without_order *o, bool share)
{
    for (unsigned i = 0; i < o->nodes; i++) {
        struct node  *n = &o->node[i];
        int64_t       would;
        const int64_t was = awaited(o, n, &would);
        n->moved          = was > would ? was - would : 0;
        if (n == o->without)
            n->moved += n->done - n->begin;
        else if (share)
            n->moved += lighter(o, n);
    }
}

/* True if the unit had a job of the boot: the boot ends with the last of these. Units that a socket or a timer starts
 * meanwhile do not count. */
static bool had_job(const struct boot_without_order *o, const struct node *n)
{
    const struct boot_unit *u = &o->b->unit[n->unit];
    return u->job_result && strncmp(u->name, "autologger", 10) != 0 /* autologger's own units */ &&
           u->job_end <= o->b->finish + SLACK_NS && u->job_end >= n->begin;
}

static bool has_jobs(const struct boot_without_order *o)
{
    bool any = false;
    for (unsigned i = 0; i < o->nodes; i++)
        any |= had_job(o, &o->node[i]);
    return any;
}

static bool boot_without_is_awaited(const struct boot_without_order *o, const struct node *n, bool jobs)
{
    const struct boot_unit *u   = &o->b->unit[n->unit];
    const char             *dot = strrchr(u->name, '.');
    return jobs ? had_job(o, n) : dot && strcmp(dot, ".target") == 0;
}

/* Share of the processors that was busy in a time. */
static double busy(const struct boot *b, int64_t from, int64_t to)
{
    const struct boot_lane *l   = &b->lane[BOOT_LANE_CPU];
    double                  sum = 0;
    from                        = boot_without_later(from, 0);
    if (!l->width || to <= from || !b->cpus)
        return 0;
    const int64_t first = from / l->width, last = (to - 1) / l->width, bins = last - first + 1;
    for (int64_t i = first; i <= last && i < LANE_BINS; i++)
        sum += l->bin[i];
    const double share = sum / ((double)bins * (double)l->width * b->cpus);
    return share < 1 ? share : 1;
}

/* The part of the gain that is lost because moved units compete with those that had the processors then. */
static int64_t met(const struct boot *b, const struct node *n, int64_t gain)
{
    const double share = busy(b, n->done - gain, n->done),
                 moved = busy(b, n->done, b->finish) * (double)(b->finish - n->done);
    return (int64_t)(share * (double)boot_without_sooner((int64_t)moved, gain));
}

/* How much sooner the boot would end, by the units that it waits for; *next: the last of them. */
static int64_t gain_of(const struct boot_without_order *o, bool jobs, int *next)
{
    int64_t was = 0, would = 0;
    for (unsigned i = 0; i < o->nodes; i++) {
        const struct node *n = &o->node[i];
        if (!boot_without_is_awaited(o, n, jobs))
            continue;
        was = boot_without_later(was, n->done);
        if (n->done - n->moved > would && n != o->without) {
            would = n->done - n->moved;
            *next = n->unit;
        }
    }
    return was - would;
}

enum { WORKS_ON_PART = 20 };
static bool works_on(const struct boot *b, const struct node *n)
{
    return boot_unit_ran(b, n->unit, n->done, b->finish) >= b->finish / WORKS_ON_PART;
}

static void compute(struct boot_without_order *o, struct boot_without *out)
{
    const struct boot *b    = o->b;
    const struct node *n    = o->without;
    const bool         jobs = has_jobs(o);
    const double       all  = busy(b, n->begin, n->done) * (double)(n->done - n->begin) * b->cpus;
    int                ignored;
    move_all(o, false);
    out->works_on = works_on(b, n);
    out->gain     = gain_of(o, jobs, &out->next);
    out->least    = out->gain - met(b, n, out->gain);
    o->share = all > 0 ? (double)boot_without_sooner(b->unit[n->unit].time[BOOT_RUNNING], n->done - n->begin) / all : 0;
    o->share = o->share < 1 ? o->share : 1;
    ready_find(o);
    move_all(o, true);
    out->most = boot_without_later(out->gain, boot_without_sooner(gain_of(o, jobs, &ignored), b->finish));
}

bool boot_order_told(const struct boot *b)
{
    for (unsigned i = 0; i < b->units; i++)
        if (b->unit[i].after)
            return true;
    return false;
}

bool boot_is_device(const struct boot *b, int unit)
{
    const char *dot = strrchr(b->unit[unit].name, '.');
    return dot && strcmp(dot, ".device") == 0;
}

bool boot_without(const struct boot *b, int unit, struct boot_without *out)
{
    struct boot_without_order o;
    bool                      known = false;

    *out = (struct boot_without){.next = BOOT_NONE};
    if (b->finish <= 0 || b->live || unit < 0 || (unsigned)unit >= b->units || boot_is_device(b, unit) ||
        !boot_order_told(b))
        return false;
    if (order_make(b, &o) && o.of_unit[unit] != BOOT_NONE) {
        known     = true;
        o.without = &o.node[o.of_unit[unit]];
        compute(&o, out);
    }
    order_finish(&o);
    return known;
}
