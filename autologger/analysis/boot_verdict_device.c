/* boot_verdict_device.c - the rule "device": a driver that took long for a device, or a device whose probe was
 * deferred. See boot_verdict.h. */
#include "autologger/analysis/boot_device.h"
#include "autologger/analysis/boot_run.h"
#include "autologger/analysis/boot_verdict_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True for units that wait until a device is there. */
static bool unit_waits(const char *name)
{
    const char *dot = strrchr(name, '.');
    return (dot && strcmp(dot, ".device") == 0) || strncmp(name, "systemd-udev-settle", 19) == 0 ||
           strncmp(name, "systemd-modules-load", 20) == 0;
}

static bool program_waits(const struct boot_process *p)
{
    return (strcmp(p->label, "udevadm") == 0 && strstr(p->command, "settle")) || strcmp(p->label, "wait-for-root") == 0;
}

enum {
    SPANS_MOST = 256,
    LOOKS_MOST = 1024 /* of searches on the path: a strange trace may need any number */
};
/* The times on the path in which units, or programs of the initramfs, waited for a device. Sorted by start. */
struct boot_verdict_device_waiting {
    struct boot_verdict_device_span {
        int64_t start, end;
        int     unit;
    } span[SPANS_MOST];
    unsigned spans;
    int64_t  kernel; /* the end of the kernel's own start, in which process 1 probes devices */
};

static void span_add(struct boot_verdict_device_waiting *w, int64_t start, int64_t end, int unit)
{
    if (end > start && w->spans < SPANS_MOST)
        w->span[w->spans++] = (struct boot_verdict_device_span){start, end, unit};
}

static int boot_verdict_device_by_start(const void *a, const void *b)
{
    const struct boot_verdict_device_span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void waiting_find(const struct boot *b, const struct boot_path *p, struct boot_verdict_device_waiting *w)
{
    unsigned looks = 0;
    w->spans       = 0;
    w->kernel      = 0;
    for (unsigned i = 0; i < p->steps; i++) {
        const struct boot_step *s = &p->step[i];
        if (s->depth == 0 && s->kind == STEP_KERNEL)
            w->kernel = s->end;
        else if (s->depth == 0 && s->kind == STEP_UNIT && s->unit != BOOT_NONE && unit_waits(b->unit[s->unit].name))
            span_add(w, s->start, s->end, s->unit);
    }
    for (unsigned i = 0; i < b->processes && looks < LOOKS_MOST; i++) {
        const struct boot_process *one = &b->process[i];
        if (one->unit != BOOT_NONE || !program_waits(one))
            continue;
        looks++;
        if (boot_path_overlap(b, p, BOOT_NONE, (int)i, one->start, one->end))
            span_add(w, one->start, one->end, BOOT_NONE);
    }
    qsort(w->span, w->spans, sizeof *w->span, boot_verdict_device_by_start);
}

/* The time in [start, end) in which a device was waited for; parallel waits count once. */
static int64_t boot_verdict_device_waited_for(const struct boot_verdict_device_waiting *w, int64_t start, int64_t end)
{
    int64_t sum = 0, until = start;
    for (unsigned i = 0; i < w->spans; i++) {
        sum += boot_between(boot_later(w->span[i].start, until), w->span[i].end, start, end);
        until = boot_later(until, w->span[i].end);
    }
    return sum;
}

/* The unit that waited for a device in [start, end); BOOT_NONE: none did. */
static int waiter(const struct boot_verdict_device_waiting *w, int64_t start, int64_t end)
{
    int     unit = BOOT_NONE;
    int64_t most = 0;
    for (unsigned i = 0; i < w->spans; i++) {
        const int64_t n = boot_between(w->span[i].start, w->span[i].end, start, end);
        if (w->span[i].unit != BOOT_NONE && n > most) {
            most = n;
            unit = w->span[i].unit;
        }
    }
    return unit;
}

/* The cost of a probe includes the delay of its own thread: a program or a unit that loads a module. */
static int64_t probe_cost(const struct boot *b, const struct boot_path *p, const struct boot_verdict_device_waiting *w,
                          const struct boot_probe *probe)
{
    int64_t own = 0;
    if (!p->steps)
        return boot_between(probe->start, probe->end, 0, b->finish) / 4;
    const struct boot_process *one = probe->process == BOOT_NONE ? NULL : &b->process[probe->process];
    if (one && one->pid == 1)
        own = boot_between(probe->start, probe->end, 0, w->kernel);
    if (one && one->pid > BOOT_SYSTEM_PID) {
        own = boot_path_overlap(b, p, BOOT_NONE, probe->process, probe->start, probe->end);
        if (!own && one->unit != BOOT_NONE)
            own = boot_path_overlap(b, p, one->unit, BOOT_NONE, probe->start, probe->end);
    }
    const int64_t others = boot_verdict_device_waited_for(w, probe->start, probe->end);
    return own > others ? own : others;
}

static double boot_verdict_device_seconds(int64_t ns) { return (double)ns / 1e9; }

/* Where the probe's thread spent most of the time; "": not known, for example for threads of the kernel. */
static const char *where_words(const struct boot *b, const struct boot_probe *p)
{
    int64_t waited = 0;
    for (unsigned i = 0; i < b->waits; i++)
        if (b->wait[i].thread == p->thread)
            waited += boot_between(b->wait[i].start, b->wait[i].end, p->start, p->end);
    if (waited * 2 > p->end - p->start)
        return ", most of it asleep: it waited for the device";
    const bool known = b->switches && p->process != BOOT_NONE && b->process[p->process].pid > BOOT_SYSTEM_PID;
    return known && boot_ran(b, p->process, p->start, p->end).running * 2 > p->end - p->start
               ? ", most of it on a processor"
               : "";
}

static void say_slow(const struct boot *b, const struct boot_probe *p, struct boot_finding *f)
{
    const struct boot_firmware *request;
    const int64_t               firmware = boot_probe_firmware(b, p, &request);
    char                        how[300] = "";
    if (request && firmware * 2 > p->end - p->start)
        snprintf(how, sizeof how, ", %.1f s of it for the firmware %.100s%s", boot_verdict_device_seconds(firmware),
                 request->name, request->result ? ", which it did not get" : "");
    else
        snprintf(how, sizeof how, "%s", where_words(b, p));
    if (p->open)
        BOOT_SAY(f, "The driver %.60s has not taken the device %.80s (%.40s) in %.1f s%s.", p->driver, p->device,
                 p->bus, boot_verdict_device_seconds(p->end - p->start), how);
    else
        BOOT_SAY(f, "The driver %.60s took %.1f s for the device %.80s (%.40s)%s%s.", p->driver,
                 boot_verdict_device_seconds(p->end - p->start), p->device, p->bus, p->result ? ", in vain" : "", how);
    if (p->open)
        BOOT_NUMBER(f, 2, "result", "none yet");
    else
        BOOT_NUMBER(f, 2, "result", "%d", p->result);
}

/* Why the awaited device (`root`) came late. */
static void root_words(const struct boot *b, const struct boot_device *d, const struct boot_device *root, char *out,
                       size_t room)
{
    const struct boot_probe  *own    = root->longest == BOOT_NONE ? NULL : &b->probe[root->longest];
    const struct boot_module *module = boot_module_of(b, root->driver, root->first);
    if (own && boot_between(own->start, own->end, d->put_off, d->put_off + d->waited) * 2 > d->waited)
        snprintf(out, room, ", whose driver %.60s took %.1f s for it", root->driver,
                 boot_verdict_device_seconds(own->end - own->start));
    else if (root->first > d->put_off && module)
        snprintf(out, room, ", whose driver (module %.60s) was loaded %.1f s after that", module->name,
                 boot_verdict_device_seconds(module->at - d->put_off));
    else if (root->first > d->put_off)
        snprintf(out, room, ", which came %.1f s after that (driver %.60s)",
                 boot_verdict_device_seconds(root->first - d->put_off), root->driver);
    else if (!root->ready)
        snprintf(out, room, ", which never got a driver");
}

static void say_put_off(const struct boot *b, const struct boot_device *all, unsigned count,
                        const struct boot_device *d, struct boot_finding *f)
{
    bool                      circle;
    const struct boot_device *root     = boot_device_root(all, count, d, &circle);
    char                      why[400] = "", chain[120] = "";
    if (root != d) {
        root_words(b, d, root, why, sizeof why);
        if (strcmp(root->name, d->supplier) != 0)
            snprintf(chain, sizeof chain, ", and that one in the end for %.80s", root->name);
        BOOT_SAY(f, "The device %.80s (driver %.60s) waited %.1f s%s for the device %.80s that it needs%s%s.", d->name,
                 d->driver, boot_verdict_device_seconds(d->waited), d->ready ? "" : ", in vain,", d->supplier, chain,
                 why);
    } else if (*d->supplier) {
        BOOT_SAY(f, "The device %.80s (driver %.60s) waited %.1f s%s for the device %.80s that it needs%s.", d->name,
                 d->driver, boot_verdict_device_seconds(d->waited), d->ready ? "" : ", in vain,", d->supplier,
                 circle     ? ", and that one needs it"
                 : d->ready ? ""
                            : "; no driver took that one");
    } else {
        char times[32] = "once";
        if (d->deferrals > 1)
            snprintf(times, sizeof times, "%u times", d->deferrals);
        BOOT_SAY(f, "The driver %.60s put the device %.80s off %s, %.1f s in all%s%s%.200s%s.", d->driver, d->name,
                 times, boot_verdict_device_seconds(d->waited), d->ready ? "" : ", and never took it",
                 *d->reason ? ": \"" : "", d->reason, *d->reason ? "\"" : "");
    }
    f->next =
        "See which module the other driver is in: put it into the initramfs or load it earlier (modules-load.d, softdep), so that it is there first.";
    BOOT_NUMBER(f, 2, "times it was put off", "%u", d->deferrals);
}

/* "..., and x.service waited for it." */
static void say_waiter(const struct boot *b, struct boot_finding *f)
{
    const size_t n = strlen(f->sentence);
    if (f->unit != BOOT_NONE && n && f->sentence[n - 1] == '.')
        snprintf(f->sentence + n - 1, sizeof f->sentence - n + 1, "; %.120s waited for it.", b->unit[f->unit].name);
}

bool boot_rule_device(const struct boot *b, const struct boot_path *p, struct boot_finding *f)
{
    unsigned                           count;
    bool                               failed;
    struct boot_device                *all  = boot_devices_make(b, &count, &failed);
    const struct boot_device          *late = NULL;
    const struct boot_probe           *slow = NULL;
    int64_t                            most = BOOT_FINDING_LEAST - 1; /* shorter ones are no finding */
    struct boot_verdict_device_waiting w;
    unsigned                           looks = 0;
    waiting_find(b, p, &w);
    for (unsigned i = 0; i < b->probes && looks < LOOKS_MOST; i++) {
        const struct boot_probe *one  = &b->probe[i];
        const bool               may  = !boot_probe_is_deferred(one) && !one->unknown && one->end - one->start > most;
        const int64_t            cost = may ? probe_cost(b, p, &w, one) : 0;
        looks += may;
        if (cost > most) { /* of nested probes the outer one: inner ones are shorter */
            slow = one;
            most = cost;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        const int64_t cost = boot_verdict_device_waited_for(&w, all[i].put_off, all[i].put_off + all[i].waited);
        /* a deferral says more than the probe of the awaited device */
        if (all[i].waited && cost * 10 >= most * 9 && cost > (late ? most : 0)) {
            late = &all[i];
            most = cost;
        }
    }
    if (late)
        say_put_off(b, all, count, late, f);
    else if (slow)
        say_slow(b, slow, f);
    if (late || slow) {
        const int64_t start = late ? late->put_off : slow->start, end = late ? late->put_off + late->waited : slow->end;
        f->about   = late ? late->name : slow->device;
        f->process = late ? BOOT_NONE : slow->process;
        f->unit    = waiter(&w, start, end);
        if (f->unit == BOOT_NONE && f->process != BOOT_NONE)
            f->unit = b->process[f->process].unit;
        say_waiter(b, f);
        f->start = start;
        f->end   = end;
        f->cost  = most;
        BOOT_NUMBER(f, 0, late ? "put off" : "the driver took", "%.1f s", boot_verdict_device_seconds(end - start));
        BOOT_NUMBER(f, 1, "of the boot", "%.0f %% of %.1f s",
                    b->finish ? 100.0 * boot_verdict_device_seconds(most) / boot_verdict_device_seconds(b->finish) : 0,
                    boot_verdict_device_seconds(b->finish));
    }
    free(all);
    return late || slow;
}
