#include "autologger/analysis/boot_path.h"

#include "autologger/analysis/boot_queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 8000, NESTED_MOST = 200 /* below one step */, CHILD_LEAST_NS = 2000000, DEPTH_MOST = 12 };

struct boot_path_walk {
    const struct boot *b;
    struct boot_path  *p;
    unsigned           nested; /* below the last step of depth 0 */
    bool               failed;
};

__attribute__((format(printf, 2, 3))) static char *boot_path_say(struct boot_path_walk *w, const char *format, ...)
{
    char    text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = strdup(text);
    w->failed |= !copy;
    return copy;
}

static struct boot_step *boot_path_add(struct boot_path_walk *w, struct boot_step s)
{
    w->nested = s.depth ? w->nested + 1 : 0;
    if (w->p->steps == STEPS_MOST || w->nested > NESTED_MOST || s.end <= s.start) {
        w->p->left_out += s.end > s.start;
        free(s.what);
        free(s.why);
        return NULL;
    }
    if (w->p->steps % 64 == 0) {
        void *grown = realloc(w->p->step, (w->p->steps + 64ul) * sizeof *w->p->step);
        if (!grown) {
            w->failed = true;
            free(s.what);
            free(s.why);
            return NULL;
        }
        w->p->step = grown;
    }
    w->p->step[w->p->steps] = s;
    return &w->p->step[w->p->steps++];
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
    const int64_t start = a > from ? a : from, end = b < to ? b : to;
    return end > start ? end - start : 0;
}

/* ---- processes ---- */

/* The child of `parent` whose end is the latest in (from, to]; BOOT_NONE: none that took long enough. */
static int last_child(const struct boot *b, int parent, int64_t from, int64_t to)
{
    int found = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p  = &b->process[i];
        const int                  up = p->exec_of != BOOT_NONE ? p->exec_of : p->parent;
        if (up != parent || p->end <= from || p->start >= to || p->end - p->start < CHILD_LEAST_NS || p->lives)
            continue;
        if (p->end > to + CHILD_LEAST_NS)
            continue; /* it still ran: its end was not waited for */
        if (found == BOOT_NONE || p->end > b->process[found].end)
            found = (int)i;
    }
    return found;
}

static const char *longest_wait(const int64_t time[BOOT_STATES], int64_t length)
{
    static const char *const words[BOOT_STATES] = {"",
                                                   "",
                                                   "waited for a disk",
                                                   "waited for a lock",
                                                   "waited for the network",
                                                   "slept",
                                                   "waited for its child",
                                                   "waited"};
    unsigned                 best               = BOOT_OTHER;
    for (unsigned i = BOOT_DISK; i < BOOT_STATES; i++)
        if (time[i] > time[best])
            best = i;
    return time[best] * 2 > length ? words[best] : NULL;
}

/* "flock (slow-holder.service)" */
static const char *boot_path_whose(const struct boot *b, int process, char out[400])
{
    const struct boot_process *p = &b->process[process];
    if (p->unit == BOOT_NONE)
        snprintf(out, 400, "%s", p->label);
    else
        snprintf(out, 400, "%s (%s)", p->label, b->unit[p->unit].name);
    return out;
}

static int holder_of(const struct boot *b, int process, int64_t from, int64_t to)
{
    const struct boot_wait *longest = NULL;
    for (unsigned i = 0; i < b->waits; i++) {
        const struct boot_wait *t = &b->wait[i];
        if (t->process == process && overlap(t->start, t->end, from, to) &&
            (!longest || t->end - t->start > longest->end - longest->start))
            longest = t;
    }
    return longest && longest->state == BOOT_LOCK ? longest->waker : BOOT_NONE;
}

/* Adds the children of a process, one after another, from `to` back to `from`, and below each child its own. */
static void boot_path_processes(struct boot_path_walk *w, int process, int64_t from, int64_t to, unsigned depth)
{
    char text[400];
    if (depth > DEPTH_MOST)
        return;
    while (to > from) {
        const int child = last_child(w->b, process, from, to);
        if (child == BOOT_NONE)
            return;
        const struct boot_process *p     = &w->b->process[child];
        const int64_t              start = p->start > from ? p->start : from, end = p->end < to ? p->end : to;
        struct boot_step           s = {STEP_PROCESS, p->unit, child, start, end, NULL, NULL, depth, {0}};
        boot_waited(w->b, child, start, end, s.time);
        const char *waited = longest_wait(s.time, end - start);
        const int   holder = holder_of(w->b, child, start, end);
        const char *parent = w->b->process[process].label;
        s.what             = boot_path_say(w, "%s", p->label);
        s.why = holder != BOOT_NONE ? boot_path_say(w, "%s waited for it; it waited for a lock that %s held", parent,
                                                    boot_path_whose(w->b, holder, text))
                : waited            ? boot_path_say(w, "%s waited until it ended; it %s", parent, waited)
                                    : boot_path_say(w, "%s waited until it ended", parent);
        if (!boot_path_add(w, s))
            return;
        boot_path_processes(w, child, start, end, depth + 1);
        to = start;
    }
}

/* ---- units ---- */

static bool in_list(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static bool had_start(const struct boot_unit *u) { return u->activating || u->active || u->job_end; }

/* Of the units that `unit` is ordered after, the last one that was done before `before`; *told: its order is known.
 * Else of all units. */
static int boot_path_waited_for(const struct boot *b, int unit, int64_t before, bool *told)
{
    enum { SLACK_NS = 20000000 };
    const struct boot_unit *u     = &b->unit[unit];
    int                     found = BOOT_NONE, any = BOOT_NONE;
    for (unsigned i = 0; i < b->units; i++) {
        const int64_t done = boot_unit_done(&b->unit[i]);
        if ((int)i == unit || !had_start(&b->unit[i]) || done <= b->user || done > before + SLACK_NS)
            continue;
        if (in_list(u->after, b->unit[i].name) && (found == BOOT_NONE || done > boot_unit_done(&b->unit[found])))
            found = (int)i;
        if (done <= before && before - done < SLACK_NS && (any == BOOT_NONE || done > boot_unit_done(&b->unit[any])))
            any = (int)i;
    }
    *told = found != BOOT_NONE || u->after;
    return *told ? found : any;
}

/* The target whose start was over last before the end of the boot (1 s of slack): normally the default target. */
static int last_unit(const struct boot *b)
{
    int found = BOOT_NONE;
    for (unsigned i = 0; i < b->units; i++) {
        const int64_t done = boot_unit_done(&b->unit[i]);
        const char   *dot  = strrchr(b->unit[i].name, '.');
        if (!done || done > b->finish + 1000000000 || !dot || strcmp(dot, ".target") != 0)
            continue;
        if (found == BOOT_NONE || done > boot_unit_done(&b->unit[found]))
            found = (int)i;
    }
    return found;
}

static void unit_processes(struct boot_path_walk *w, int unit, int64_t from, int64_t to)
{
    const struct boot *b = w->b;
    char               text[400];
    while (to > from) { /* the processes that process 1 started for the unit, from the last one back */
        int found = BOOT_NONE;
        for (unsigned i = 0; i < b->processes; i++) {
            const struct boot_process *p = &b->process[i];
            if (p->unit != unit || p->start >= to || p->end <= from || p->end - p->start < CHILD_LEAST_NS)
                continue;
            const int up = p->exec_of != BOOT_NONE ? p->exec_of : p->parent;
            if (up != BOOT_NONE && b->process[up].unit == unit)
                continue;
            if (found == BOOT_NONE ||
                (p->end < to ? p->end : to) > (b->process[found].end < to ? b->process[found].end : to))
                found = (int)i;
        }
        if (found == BOOT_NONE)
            return;
        const struct boot_process *p     = &b->process[found];
        const int64_t              start = p->start > from ? p->start : from, end = p->end < to ? p->end : to;
        struct boot_step s = {STEP_PROCESS, unit, found, start, end, boot_path_say(w, "%s", p->label), NULL, 1, {0}};
        boot_waited(b, found, start, end, s.time);
        const char *waited = longest_wait(s.time, end - start);
        const int   holder = holder_of(b, found, start, end);
        s.why = holder != BOOT_NONE ? boot_path_say(w, "it does the unit's work; it waited for a lock that %s held",
                                                    boot_path_whose(b, holder, text))
                : waited            ? boot_path_say(w, "it does the unit's work; it %s", waited)
                                    : boot_path_say(w, "it does the unit's work");
        if (!boot_path_add(w, s))
            return;
        boot_path_processes(w, found, start, end, 2);
        to = start;
    }
}

static void unit_step(struct boot_path_walk *w, int unit, int64_t begin, int64_t done, const char *next, bool told)
{
    const struct boot_unit *u = &w->b->unit[unit];
    struct boot_step s = {STEP_UNIT, unit, BOOT_NONE, begin, done, boot_path_say(w, "%s", u->name), NULL, 0, {0}};
    for (unsigned i = 0; i < w->b->processes; i++)
        if (w->b->process[i].unit == unit)
            boot_waited(w->b, (int)i, begin, done, s.time);
    const char *ends = u->job_result && strcmp(u->job_result, "done") != 0 ? u->job_result
                       : u->failed                                         ? "failed"
                                                                           : NULL;
    if (!next)
        s.why = boot_path_say(w, "it is the end of the boot");
    else if (ends)
        s.why = boot_path_say(w, "%s is ordered after it, and its start ended with \"%s\"", next, ends);
    else if (told)
        s.why = boot_path_say(w, "%s is ordered after it", next);
    else
        s.why = boot_path_say(w, "%s was started when it was done (nothing tells an order)", next);
    if (boot_path_add(w, s))
        unit_processes(w, unit, begin, done);
}

/* The time before the path's first unit: systemd reads its own configuration and all units, and makes the first
 * ones. */
static void systemd_begins(struct boot_path_walk *w)
{
    const struct boot *b     = w->b;
    int64_t            first = b->finish;
    int                one   = BOOT_NONE;
    for (unsigned i = 0; i < w->p->steps; i++)
        if (w->p->step[i].depth == 0 && w->p->step[i].start >= b->user && w->p->step[i].start < first)
            first = w->p->step[i].start;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].pid == 1 && b->process[i].start <= first)
            one = (int)i;
    struct boot_step s = {STEP_PROCESS, BOOT_NONE, one, b->user, first, NULL, NULL, 0, {0}};
    if (!b->units || first - b->user < 50000000)
        return;
    s.what = boot_path_say(w, "systemd begins");
    s.why  = boot_path_say(w, "process 1 reads its configuration and all units before it starts the first one");
    if (one != BOOT_NONE)
        boot_waited(b, one, s.start, s.end, s.time);
    if (boot_path_add(w, s) && one != BOOT_NONE)
        boot_path_processes(w, one, s.start, s.end, 1); /* generators */
}

static void boot_path_queue_step(struct boot_path_walk *w, int unit, int64_t ready, int64_t begin)
{
    struct boot_queue q;
    char              text[500];
    boot_queue_find(w->b, ready, begin, &q);
    boot_path_add(w, (struct boot_step){STEP_QUEUE,
                                        unit,
                                        BOOT_NONE,
                                        ready,
                                        begin,
                                        boot_path_say(w, "%s, not started yet", w->b->unit[unit].name),
                                        boot_path_say(w, "what it is ordered after was done: %s",
                                                      boot_queue_text(w->b, &q, text, sizeof text)),
                                        0,
                                        {0}});
}

/* For a device unit that was queued before systemd-udev-trigger.service was done, came after that, and has no order:
 * returns that service, because the device was missing from its end on. Else BOOT_NONE. */
static int late_device(const struct boot *b, int unit)
{
    const struct boot_unit *u   = &b->unit[unit];
    const char             *dot = strrchr(u->name, '.');
    const int               looked =
        dot && strcmp(dot, ".device") == 0 && u->active ? boot_unit_find(b, "systemd-udev-trigger.service") : BOOT_NONE;
    const int64_t done = looked == BOOT_NONE ? 0 : boot_unit_done(&b->unit[looked]);
    bool          told;
    if (!done || done >= u->active || u->queued > done)
        return BOOT_NONE;
    return u->after && boot_path_waited_for(b, unit, u->active, &told) != BOOT_NONE ? BOOT_NONE : looked;
}

static void boot_path_units(struct boot_path_walk *w)
{
    const struct boot *b     = w->b;
    int                unit  = last_unit(b);
    const char        *next  = NULL;
    bool               told  = true;
    bool              *seen  = calloc(b->units + 1ul, sizeof *seen);
    int64_t            limit = b->finish;

    w->failed |= !seen;
    while (seen && unit != BOOT_NONE && !seen[unit] && !w->failed) {
        const struct boot_unit *u = &b->unit[unit];
        seen[unit]                = true;
        int64_t done = boot_unit_done(u), begin = u->activating                   ? u->activating
                                                  : u->queued && u->queued < done ? u->queued
                                                                                  : done;
        bool    order        = false;
        done                 = done < limit ? done : limit;
        const int     late   = late_device(b, unit);
        const int     before = late != BOOT_NONE ? late : boot_path_waited_for(b, unit, begin, &order);
        const int64_t ready  = before == BOOT_NONE ? b->user : boot_unit_done(&b->unit[before]);
        /* the unit never came up: the whole wait is its own */
        if (u->job_result && strcmp(u->job_result, "done") != 0 && !u->activating)
            begin = u->queued ? u->queued : ready;
        if (late != BOOT_NONE)
            begin = ready;
        if (begin > limit)
            begin = limit;
        unit_step(w, unit, begin, done, next, told);
        if (before != BOOT_NONE && begin - ready > 50000000)
            boot_path_queue_step(w, unit, ready, begin);
        next  = u->name;
        told  = order;
        limit = begin < ready ? begin : ready;
        unit  = before;
    }
    free(seen);
    systemd_begins(w);
}

/* ---- all ---- */

static void boot_path_kernel(struct boot_path_walk *w)
{
    const struct boot          *b       = w->b;
    const int64_t               end     = b->init && b->init < b->user ? b->init : b->user;
    const struct boot_initcall *longest = NULL;
    for (unsigned i = 0; i < b->initcalls; i++)
        if (b->initcall[i].start < end && (!longest || b->initcall[i].length > longest->length))
            longest = &b->initcall[i];
    boot_path_add(w, (struct boot_step){
                         STEP_KERNEL,
                         BOOT_NONE,
                         BOOT_NONE,
                         0,
                         end,
                         boot_path_say(w, "kernel"),
                         longest ? boot_path_say(w, "process 1 is its last step; its longest initcall: %s, %.0f ms",
                                                 longest->name, (double)longest->length / 1e6)
                                 : boot_path_say(w, "process 1 is its last step"),
                         0,
                         {0}});
}

static void initramfs(struct boot_path_walk *w)
{
    const struct boot *b = w->b;
    if (!b->init || b->init >= b->user)
        return;
    const unsigned first = w->p->steps;
    for (unsigned i = b->processes; i-- > 0;) /* the programs of process 1, from the last one back */
        if (b->process[i].pid == 1 && b->process[i].start < b->user) {
            const int64_t end = b->process[i].end < b->user ? b->process[i].end : b->user;
            boot_path_processes(w, (int)i, b->process[i].start > b->init ? b->process[i].start : b->init, end, 0);
        }
    (void)first;
}

static int boot_path_by_start(const void *a, const void *b)
{
    const struct boot_step *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->depth < y->depth ? -1 : x->depth > y->depth;
}

wstatus boot_path_create(const struct boot *b, struct boot_path **out, struct reason *why)
{
    struct boot_path_walk w = {.b = b, .p = calloc(1, sizeof *w.p)};

    *out = NULL;
    if (w.p) {
        boot_path_units(&w);
        initramfs(&w);
        boot_path_kernel(&w);
        if (w.p->steps)
            qsort(w.p->step, w.p->steps, sizeof *w.p->step, boot_path_by_start);
    }
    if (!w.p || w.failed) {
        boot_path_destroy(w.p);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a critical path");
    }
    *out = w.p;
    return W_SUCCESS;
}

void boot_path_destroy(struct boot_path *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < p->steps; i++) {
        free(p->step[i].what);
        free(p->step[i].why);
    }
    free(p->step);
    free(p);
}

int64_t boot_path_overlap(const struct boot *b, const struct boot_path *p, int unit, int process, int64_t start,
                          int64_t end)
{
    int64_t sum = 0, until = INT64_MIN;
    for (unsigned i = 0; i < p->steps; i++) {
        const struct boot_step *s    = &p->step[i];
        const bool              mine = (unit != BOOT_NONE && s->unit == unit) ||
                          (process != BOOT_NONE && s->process != BOOT_NONE && boot_is_below(b, s->process, process));
        if (!mine)
            continue;
        const int64_t from = s->start > until ? s->start : until; /* a nested step covers the same time */
        sum += overlap(from, s->end, start, end);
        until = s->end > until ? s->end : until;
    }
    return sum;
}
