#include "autologger/analysis/boot_verdict.h"

#include "autologger/analysis/boot_modules.h"
#include "autologger/analysis/boot_queue.h"
#include "autologger/analysis/boot_reason.h"
#include "autologger/analysis/boot_verdict_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_NS = BOOT_FINDING_LEAST, VERDICT_NS = 500000000, VERDICT_PART = 20 /* of the boot */, UNITS_MOST = 3 };

struct boot_verdict_look { /* input of a rule, and its output */
    const struct boot      *b;
    const struct boot_path *p;
    struct boot_finding    *f;
    unsigned                rank; /* for a rule with several findings: 0 is the worst */
};

static double boot_verdict_seconds(int64_t ns) { return (double)ns / 1e9; }

/* The time on the path; the rest held up nothing. Without a path: a quarter of the length. */
static int64_t cost_of(const struct boot_verdict_look *l, int unit, int process, int64_t start, int64_t end)
{
    return l->p->steps ? boot_path_overlap(l->b, l->p, unit, process, start, end)
                       : boot_between(start, end, 0, l->b->finish) / 4;
}

/* The cost of a process. If the path only goes through its unit, the unit's steps count during the process' life. */
static int64_t process_cost(const struct boot_verdict_look *l, int process)
{
    const struct boot_process *p  = &l->b->process[process];
    const int64_t              on = cost_of(l, BOOT_NONE, process, p->start, p->end);
    return on || p->unit == BOOT_NONE ? on : cost_of(l, p->unit, BOOT_NONE, p->start, p->end);
}

static const char *unit_name(const struct boot *b, int unit) { return unit == BOOT_NONE ? NULL : b->unit[unit].name; }

static void boot_verdict_place(struct boot_finding *f, int unit, int process, int64_t start, int64_t end, int64_t cost)
{
    f->unit    = unit;
    f->process = process;
    f->start   = start;
    f->end     = end;
    f->cost    = cost;
}

/* The first two numbers of every finding: its length, and its share of the boot. */
static void numbers(const struct boot_verdict_look *l, const char *what, int64_t length)
{
    BOOT_NUMBER(l->f, 0, what, "%.1f s", boot_verdict_seconds(length));
    BOOT_NUMBER(l->f, 1, l->b->live ? "of the recorded time" : "of the boot", "%.0f %% of %.1f s",
                l->b->finish ? 100.0 * boot_verdict_seconds(l->f->cost) / boot_verdict_seconds(l->b->finish) : 0,
                boot_verdict_seconds(l->b->finish));
}

/* ---- processes by kind ---- */

typedef bool (*process_test)(const struct boot *b, const struct boot_process *p);

/* The longest process of that kind that began before the end of the boot; of nested ones that is the outer one. */
static int longest_process(const struct boot *b, process_test test)
{
    int found = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if (p->start >= b->finish || p->lives || !test(b, p))
            continue;
        if (found == BOOT_NONE || p->end - p->start > b->process[found].end - b->process[found].start)
            found = (int)i;
    }
    return found;
}

static bool finding_process(const struct boot_verdict_look *l, int at)
{
    if (at == BOOT_NONE)
        return false;
    const struct boot_process *p = &l->b->process[at];
    boot_verdict_place(l->f, p->unit, at, p->start, p->end, process_cost(l, at));
    return true;
}

static const char *in_unit(const struct boot *b, const struct boot_process *p, char out[300])
{
    const char *unit = unit_name(b, p->unit);
    out[0]           = 0;
    if (unit)
        snprintf(out, 300, " (%s)", unit);
    return out;
}

static bool boot_verdict_is_person(const struct boot *b, const struct boot_process *p)
{
    static const char *const people[] = {
#define P(name) name,
#include "autologger/analysis/boot_people.def"
#undef P
    };
    (void)b;
    for (size_t i = 0; i < sizeof people / sizeof *people; i++)
        if (strncmp(p->label, people[i], strlen(people[i])) == 0)
            return true;
    return false;
}

static bool rule_person(const struct boot_verdict_look *l)
{
    const struct boot *b = l->b;
    char               unit[300];
    int64_t            all = 0;

    if (!finding_process(l, longest_process(b, boot_verdict_is_person)))
        return false;
    const struct boot_process *p = &b->process[l->f->process];
    for (unsigned i = 0; i < b->phases; i++)
        all += strcmp(b->phase[i].name, "waiting for a person") == 0 ? b->phase[i].end - b->phase[i].start : 0;
    BOOT_SAY(l->f, "The boot waited %.1f s for a person: %s%s asked for something.",
             boot_verdict_seconds(p->end - p->start), p->label, in_unit(b, p, unit));
    numbers(l, "waited for an answer", p->end - p->start);
    BOOT_NUMBER(l->f, 2, "without all such waits", "%.1f s", boot_verdict_seconds(b->finish - all));
    return true;
}

static bool is_settle(const struct boot *b, const struct boot_process *p)
{
    (void)b;
    return strstr(p->label, "udevadm") && strstr(p->command, "settle");
}

/* The process of udev that took longest meanwhile: a worker's program, else the worker. */
static int busy_with(const struct boot *b, int64_t from, int64_t to)
{
    int     found = BOOT_NONE;
    int64_t most  = 0;
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p     = &b->process[i];
        const char                *u     = unit_name(b, p->unit);
        const bool                 below = (u && strncmp(u, "systemd-udevd", 13) == 0) ||
                           (p->parent != BOOT_NONE && strstr(b->process[p->parent].command, "udevd"));
        const int64_t n = boot_between(p->start, p->end, from, to);
        if (below && !strstr(p->command, "udevd") && n > most) {
            found = (int)i;
            most  = n;
        }
    }
    return found;
}

static bool rule_settle(const struct boot_verdict_look *l)
{
    const struct boot *b = l->b;
    char               unit[300];
    if (!finding_process(l, longest_process(b, is_settle)))
        return false;
    const struct boot_process *p    = &b->process[l->f->process];
    const int                  busy = busy_with(b, p->start, p->end);
    if (busy != BOOT_NONE)
        BOOT_SAY(
            l->f,
            "udevadm settle%s waited %.1f s for all devices; of these \"%.80s\", run by a rule of udev, took %.1f s.",
            in_unit(b, p, unit), boot_verdict_seconds(p->end - p->start), b->process[busy].command,
            boot_verdict_seconds(b->process[busy].end - b->process[busy].start));
    else
        BOOT_SAY(l->f, "udevadm settle%s waited %.1f s for all devices.", in_unit(b, p, unit),
                 boot_verdict_seconds(p->end - p->start));
    numbers(l, "settle waited", p->end - p->start);
    BOOT_NUMBER(l->f, 2, "longest program of a rule", "%.1f s",
                busy != BOOT_NONE ? boot_verdict_seconds(b->process[busy].end - b->process[busy].start) : 0.0);
    return true;
}

static bool is_fsck(const struct boot *b, const struct boot_process *p)
{
    (void)b;
    return strncmp(p->label, "fsck", 4) == 0 || strcmp(p->label, "e2fsck") == 0 ||
           strncmp(p->label, "systemd-fsck", 12) == 0 || strncmp(p->label, "xfs_repair", 10) == 0;
}

static bool rule_fsck(const struct boot_verdict_look *l)
{
    const struct boot *b = l->b;
    char               unit[300];
    /* systemd-fsckd only reports the progress, and lives on */
    int at = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++)
        if (is_fsck(b, &b->process[i]) && strcmp(b->process[i].label, "systemd-fsckd") != 0 &&
            b->process[i].start < b->finish && !b->process[i].lives &&
            (at == BOOT_NONE || b->process[i].end - b->process[i].start > b->process[at].end - b->process[at].start))
            at = (int)i;
    if (!finding_process(l, at))
        return false;
    const struct boot_process *p = &b->process[at];
    BOOT_SAY(l->f, "A file system was checked for %.1f s: %s, \"%.120s\"%s.", boot_verdict_seconds(p->end - p->start),
             p->label, p->command, in_unit(b, p, unit));
    numbers(l, "the check", p->end - p->start);
    BOOT_NUMBER(l->f, 2, "read by it", "%.1f MB", (double)p->read / 1e6);
    return true;
}

static bool is_script(const struct boot *b, const struct boot_process *p)
{
    return p->start >= b->init && p->start < b->user && p->pid != 1 &&
           (strncmp(p->label, "/scripts/", 9) == 0 || strncmp(p->label, "/lib/dracut/hooks", 17) == 0 ||
            strncmp(p->label, "/usr/lib/dracut/hooks", 21) == 0);
}

static bool rule_initramfs_script(const struct boot_verdict_look *l)
{
    const struct boot *b = l->b;
    if (!finding_process(l, longest_process(b, is_script)))
        return false;
    const struct boot_process *p     = &b->process[l->f->process];
    int                        child = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].parent == l->f->process && b->process[i].exec_of == BOOT_NONE &&
            (child == BOOT_NONE ||
             b->process[i].end - b->process[i].start > b->process[child].end - b->process[child].start))
            child = (int)i;
    const int64_t most = child == BOOT_NONE ? 0 : b->process[child].end - b->process[child].start;
    if (most * 2 > p->end - p->start)
        BOOT_SAY(l->f, "The initramfs script %s took %.1f s, most of it in \"%.120s\".", p->label,
                 boot_verdict_seconds(p->end - p->start),
                 *b->process[child].command ? b->process[child].command : b->process[child].label);
    else
        BOOT_SAY(l->f, "The initramfs script %s took %.1f s.", p->label, boot_verdict_seconds(p->end - p->start));
    numbers(l, "the script", p->end - p->start);
    BOOT_NUMBER(l->f, 2, "its longest program", "%.1f s", boot_verdict_seconds(most));
    return true;
}

/* systemd runs them before all units, and waits for each. */
static bool is_generator(const struct boot *b, const struct boot_process *p)
{
    (void)b;
    return strstr(p->command, "/system-generators/") || strstr(p->command, "/system-environment-generators/");
}

static bool rule_generator(const struct boot_verdict_look *l)
{
    const struct boot *b = l->b;
    if (!finding_process(l, longest_process(b, is_generator)))
        return false;
    const struct boot_process *p    = &b->process[l->f->process];
    const char                *path = strstr(p->command, "-generators/");
    int                        name = (int)strcspn(path + 12, " ");
    BOOT_SAY(l->f, "systemd waited %.1f s for the generator %.*s, before it started any unit.",
             boot_verdict_seconds(p->end - p->start), name < 80 ? name : 80, path + 12);
    numbers(l, "the generator", p->end - p->start);
    BOOT_NUMBER(l->f, 2, "on a processor", "%.2f s", boot_verdict_seconds(p->time[BOOT_RUNNING]));
    return true;
}

static bool rule_module(const struct boot_verdict_look *l)
{
    const struct boot *b = l->b;
    char               unit[300], names[200] = "";
    int64_t            running = 0;
    const int          at      = longest_process(b, boot_is_loader);
    if (!finding_process(l, at))
        return false;
    const struct boot_process *p     = &b->process[at];
    const int64_t              sum   = boot_modules_of(b, at, names, sizeof names, &running);
    int64_t                    start = p->start, end = p->end, cost = 0;
    for (unsigned i = 0; i < b->processes; i++)
        if (boot_is_loader(b, &b->process[i]) && boot_loads_beside(b, at, (int)i)) {
            start = b->process[i].start < start ? b->process[i].start : start;
            end   = b->process[i].end > end ? b->process[i].end : end;
            cost += b->process[i].lives ? 0 : process_cost(l, (int)i);
        }
    /* parallel loads count once */
    const int64_t on = cost_of(l, p->unit, p->unit == BOOT_NONE ? at : BOOT_NONE, start, end);
    boot_verdict_place(l->f, p->unit, at, start, end, p->unit != BOOT_NONE && cost > on ? on : cost);
    BOOT_SAY(l->f, "Loading kernel modules took %.1f s%s: %s.", boot_verdict_seconds(sum), in_unit(b, p, unit), names);
    numbers(l, "loading", sum);
    BOOT_NUMBER(l->f, 2, "of it on a processor", "%.1f s", boot_verdict_seconds(running));
    return true;
}

/* ---- units ---- */

static bool rule_wait_online(const struct boot_verdict_look *l)
{
    const struct boot *b  = l->b;
    int                at = BOOT_NONE;
    for (unsigned i = 0; i < b->units; i++)
        if (strstr(b->unit[i].name, "wait-online") &&
            (at == BOOT_NONE || boot_unit_length(&b->unit[i]) > boot_unit_length(&b->unit[at])))
            at = (int)i;
    if (at == BOOT_NONE || !boot_unit_length(&b->unit[at]))
        return false;
    const struct boot_unit *u = &b->unit[at];
    const int64_t           n = boot_unit_length(u), start = boot_unit_done(u) - n;
    boot_verdict_place(l->f, at, BOOT_NONE, start, boot_unit_done(u),
                       cost_of(l, at, BOOT_NONE, start, boot_unit_done(u)));
    BOOT_SAY(l->f, "%s waited %.1f s for a network%s.", u->name, boot_verdict_seconds(n),
             u->failed || (u->result && strcmp(u->result, "success") != 0) ? ", in vain" : "");
    numbers(l, "waited", n);
    BOOT_NUMBER(l->f, 2, "on a processor", "%.2f s", boot_verdict_seconds(u->time[BOOT_RUNNING]));
    return true;
}

static bool rule_timeout(const struct boot_verdict_look *l)
{
    const struct boot *b    = l->b;
    int64_t            most = 0;
    for (unsigned i = 0; i < b->units; i++) {
        const struct boot_unit *u = &b->unit[i];
        if (!((u->job_result && strcmp(u->job_result, "timeout") == 0) ||
              (u->result && strcmp(u->result, "timeout") == 0)))
            continue;
        const int64_t end   = u->job_end ? u->job_end : boot_unit_done(u);
        const int64_t start = u->activating ? u->activating : u->queued ? u->queued : b->user;
        const int64_t cost  = cost_of(l, (int)i, BOOT_NONE, start, end);
        if (cost <= most)
            continue;
        most = cost;
        boot_verdict_place(l->f, (int)i, BOOT_NONE, start, end, cost);
    }
    if (!most)
        return false;
    const char *name = b->unit[l->f->unit].name, *dot = strrchr(name, '.'), *who = NULL;
    for (unsigned i = 0; i < l->p->steps; i++) /* the unit of the next step on the path */
        if (l->p->step[i].depth == 0 && l->p->step[i].unit != BOOT_NONE &&
            l->p->step[i].start >= l->f->end - 50000000 && l->p->step[i].unit != l->f->unit && !who)
            who = unit_name(b, l->p->step[i].unit);
    BOOT_SAY(l->f, "%s %s: its start was given up after a timeout%s%s.", name,
             dot && strcmp(dot, ".device") == 0 ? "never appeared" : "did not come up",
             who ? ", and meanwhile it held up " : "", who ? who : "");
    l->f->next =
        dot && strcmp(dot, ".device") == 0
            ? l->f->next
            : "See its state and its log (systemctl status, journalctl -u): why it did not come up; or lower TimeoutStartSec=.";
    numbers(l, "waited for it", l->f->end - l->f->start);
    BOOT_NUMBER(l->f, 2, "given up at", "%.1f s", boot_verdict_seconds(l->f->end));
    return true;
}

/* The longest step of a unit on the path; with a rank: without that many longer ones, of other units. */
static const struct boot_step *path_unit(const struct boot_verdict_look *l, unsigned rank)
{
    const struct boot_path *p                 = l->p;
    const struct boot_step *taken[UNITS_MOST] = {NULL};
    for (unsigned r = 0; r <= rank && r < UNITS_MOST; r++) {
        const struct boot_step *most = NULL;
        for (unsigned i = 0; i < p->steps; i++) {
            const struct boot_step *s    = &p->step[i];
            bool                    used = s->kind != STEP_UNIT;
            for (unsigned k = 0; k < r; k++)
                used |= s->unit == taken[k]->unit;
            if (!used && (!most || s->end - s->start > most->end - most->start))
                most = s;
        }
        if (!(taken[r] = most))
            return NULL;
    }
    return taken[rank];
}

static bool rule_slow_unit(const struct boot_verdict_look *l)
{
    const struct boot      *b = l->b;
    struct boot_reason      why;
    const struct boot_step *most = path_unit(l, l->rank);
    if (!most)
        return false;
    const int64_t           all = most->end - most->start;
    const struct boot_unit *u   = &b->unit[most->unit];
    boot_verdict_place(l->f, most->unit, BOOT_NONE, most->start, most->end, all);
    const char *dot = strrchr(u->name, '.');
    if (dot && strcmp(dot, ".device") == 0)
        BOOT_SAY(l->f, "%s held up the boot for %.1f s: so long after udev had looked for all devices did it come.",
                 u->name, boot_verdict_seconds(all));
    else if (boot_reason_find(b, most->unit, most->start, most->end, &why)) {
        BOOT_SAY(l->f, "%s held up the boot for %.1f s: %s.", u->name, boot_verdict_seconds(all), why.text);
        l->f->next    = why.next;
        l->f->process = why.process;
    } else
        BOOT_SAY(l->f, "%s held up the boot for %.1f s.", u->name, boot_verdict_seconds(all));
    numbers(l, "its start", all);
    BOOT_NUMBER(l->f, 2, "its processes ran", "%.1f s", boot_verdict_seconds(u->time[BOOT_RUNNING]));
    return true;
}

/* ---- locks, processors, disks ---- */

static bool rule_lock(const struct boot_verdict_look *l)
{
    const struct boot      *b    = l->b;
    const struct boot_wait *most = NULL;
    int64_t                 cost = 0;
    char                    who[300], holder[300] = "somebody unknown";
    for (unsigned i = 0; i < b->waits; i++) {
        const struct boot_wait *w = &b->wait[i];
        /* only the main thread: other threads often wait until they are needed */
        if (w->state != BOOT_LOCK || w->thread != b->process[w->process].pid || w->end > b->finish)
            continue;
        const int64_t on = boot_path_overlap(b, l->p, b->process[w->process].unit, w->process, w->start, w->end);
        if (on > cost) {
            cost = on;
            most = w;
        }
    }
    if (!most)
        return false;
    const struct boot_process *p = &b->process[most->process];
    boot_verdict_place(l->f, p->unit, most->process, most->start, most->end, cost);
    if (most->waker != BOOT_NONE) {
        const struct boot_process *h = &b->process[most->waker];
        const char                *u = unit_name(b, h->unit);
        if (u)
            snprintf(holder, sizeof holder, "%s (%s)", u, h->label);
        else
            snprintf(holder, sizeof holder, "%s", h->label);
    }
    BOOT_SAY(l->f, "%s%s waited %.1f s for a lock that %s held.", p->label, in_unit(b, p, who),
             boot_verdict_seconds(most->end - most->start), holder);
    numbers(l, "waited for the lock", most->end - most->start);
    BOOT_NUMBER(l->f, 2, "on a processor meanwhile", "%.1f s", 0.0);
    if (most->waker != BOOT_NONE)
        BOOT_NUMBER(l->f, 2, "the holder ran in all", "%.1f s",
                    boot_verdict_seconds(b->process[most->waker].time[BOOT_RUNNING]));
    return true;
}

static bool boot_verdict_own(const char *name) { return strstr(name, "autologger") || strcmp(name, "init.scope") == 0; }

/* Share of the processors that was busy within a time. */
static double boot_verdict_busy_share(const struct boot *b, int64_t from, int64_t to)
{
    const struct boot_lane *l   = &b->lane[BOOT_LANE_CPU];
    double                  sum = 0;
    if (!l->width || to <= from || !b->cpus)
        return 0;
    for (int64_t i = from / l->width; i <= (to - 1) / l->width && i < LANE_BINS; i++)
        sum += l->bin[i];
    return sum / ((double)(to - from) * b->cpus);
}

static bool rule_cpu_hog(const struct boot_verdict_look *l)
{
    const struct boot *b      = l->b;
    const int64_t      length = b->finish - b->user;
    int                at     = BOOT_NONE;
    for (unsigned i = 0; i < b->units; i++)
        if (!boot_verdict_own(b->unit[i].name) &&
            (at == BOOT_NONE || b->unit[i].time[BOOT_RUNNING] > b->unit[at].time[BOOT_RUNNING]))
            at = (int)i;
    if (at == BOOT_NONE || length <= 0 || !b->cpus)
        return false;
    int64_t start = b->finish, end = 0;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].unit == at) {
            start = b->process[i].start < start ? b->process[i].start : start;
            end   = b->process[i].end > end ? b->process[i].end : end;
        }
    const struct boot_unit *u    = &b->unit[at];
    const int64_t           in   = boot_between(start, end, b->user, b->finish);
    const double            part = end > start ? (double)u->time[BOOT_RUNNING] / (double)(end - start) / b->cpus : 0;
    const double            busy =
        boot_verdict_busy_share(b, start > b->user ? start : b->user, end < b->finish ? end : b->finish);
    if (part < 0.3 || busy < 0.8 || in <= 0)
        return false;
    boot_verdict_place(l->f, at, BOOT_NONE, start, end, (int64_t)((double)in * part));
    BOOT_SAY(l->f, "%s kept the processors busy: it took %.0f %% of them for %.1f s, and %s had to share.", u->name,
             100 * part, boot_verdict_seconds(in), b->live ? "the others" : "the boot");
    numbers(l, "processor time it took", u->time[BOOT_RUNNING]);
    BOOT_NUMBER(l->f, 2, "processors busy meanwhile", "%.0f %%", 100 * busy);
    return true;
}

static bool rule_device(const struct boot_verdict_look *l) { return boot_rule_device(l->b, l->p, l->f); }

/* The times in which no unit was waited for: systemd itself. */
static bool rule_by_systemd(const struct boot_verdict_look *l)
{
    const struct boot      *b = l->b;
    const struct boot_step *longest;
    struct boot_queue       q;
    const unsigned          places = boot_queue_sum(b, l->p, &q, &longest);
    if (!places)
        return false;
    boot_verdict_place(l->f, BOOT_NONE, q.process, longest->start, longest->end,
                       q.ran + q.ready < q.length ? q.ran + q.ready : q.length);
    BOOT_SAY(
        l->f,
        "systemd itself was waited for %u times, %.1f s in all: it ran for %.1f s, and waited %.1f s for a processor; the longest time, %.1f s, was before %s.",
        places, boot_verdict_seconds(q.length), boot_verdict_seconds(q.ran), boot_verdict_seconds(q.ready),
        boot_verdict_seconds(longest->end - longest->start), unit_name(b, longest->unit));
    numbers(l, "systemd was waited for", q.length);
    BOOT_NUMBER(l->f, 2, "it waited for a processor", "%.1f s", boot_verdict_seconds(q.ready));
    return true;
}

static bool rule_slow_disk(const struct boot_verdict_look *l)
{
    const struct boot      *b    = l->b;
    const struct boot_disk *most = NULL;
    for (unsigned i = 0; i < b->disks; i++)
        if (!most || b->disk[i].busy > most->busy)
            most = &b->disk[i];
    if (!most || !(most->reads + most->writes))
        return false;
    const int64_t           begin = b->first > 0 ? b->first : 0, length = b->finish - begin;
    double                  until = 0;
    const struct boot_lane *lane  = &b->lane[BOOT_LANE_DISK];
    for (int64_t i = 0; lane->width && i <= b->finish / lane->width && i < LANE_BINS; i++)
        until += lane->bin[i];
    const double share = length > 0 ? until / (double)length : 0;
    const double each  = boot_verdict_seconds(most->waited) / (double)(most->reads + most->writes);
    const double rate  = boot_verdict_seconds(most->busy) > 0
                             ? (double)(most->read + most->written) / boot_verdict_seconds(most->busy)
                             : 0;
    if (share < 0.3 || (each < 0.005 && rate > 50e6))
        return false;
    boot_verdict_place(l->f, BOOT_NONE, BOOT_NONE, begin, b->finish, (int64_t)until);
    BOOT_SAY(l->f, "The disk is slow: disk %u was busy for %.1f s of the %s, at %.1f MB/s, and a request took %.1f ms.",
             most->number, until / 1e9, b->live ? "recorded time" : "boot", rate / 1e6, each * 1e3);
    numbers(l, "the disk was busy", (int64_t)until);
    BOOT_NUMBER(l->f, 2, "a request took", "%.1f ms", each * 1e3);
    return true;
}

static bool rule_initcall(const struct boot_verdict_look *l)
{
    const struct boot          *b    = l->b;
    const struct boot_initcall *most = NULL;
    for (unsigned i = 0; i < b->initcalls; i++)
        if (!most || b->initcall[i].length > most->length)
            most = &b->initcall[i];
    if (!most)
        return false;
    boot_verdict_place(l->f, BOOT_NONE, BOOT_NONE, most->start, most->start + most->length, most->length);
    BOOT_SAY(l->f, "The kernel's initcall %s took %.2f s.", most->name, boot_verdict_seconds(most->length));
    numbers(l, "the initcall", most->length);
    BOOT_NUMBER(l->f, 2, "initcalls in all", "%u", b->initcalls);
    return true;
}

/* ---- all ---- */

static int by_score(const void *a, const void *b)
{
    const struct boot_finding *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* A finding about loading modules or waiting for devices says less than the finding about the one device. */
static void by_a_device(struct boot_verdict *v)
{
    for (unsigned i = 0; i < v->findings; i++)
        for (unsigned k = 0; k < v->findings; k++) {
            const struct boot_finding *part = &v->finding[k];
            struct boot_finding       *f    = &v->finding[i];
            const bool                 of   = strcmp(f->rule, "module") == 0 || strcmp(f->rule, "udev-settle") == 0 ||
                            strcmp(f->rule, "slow-unit") == 0 || strcmp(f->rule, "timeout") == 0 ||
                            strcmp(f->rule, "initramfs-script") == 0 || strcmp(f->rule, "initcall") == 0;
            const double score = (double)boot_sooner(part->cost, f->cost) * 0.5;
            if (of && strcmp(part->rule, "device") == 0 && part->cost * 2 > f->cost &&
                boot_between(part->start, part->end, f->start, f->end) * 2 > f->cost && score < f->score)
                f->score = score;
        }
}

/* A slow-unit finding says less than a finding about the work in its place on the path. A finding about something else
 * at the same time does not explain it. */
static void boot_verdict_explained(const struct boot *b, const struct boot_path *p, struct boot_verdict *v)
{
    for (unsigned i = 0; i < v->findings; i++)
        for (unsigned k = 0; k < v->findings; k++) {
            const struct boot_finding *part = &v->finding[k];
            struct boot_finding       *f    = &v->finding[i];
            if (strcmp(f->rule, "slow-unit") != 0 || strcmp(part->rule, "slow-unit") == 0 || part->cost * 3 <= f->cost)
                continue;
            const bool whole = part->unit == BOOT_NONE && part->process == BOOT_NONE; /* of the machine: a disk */
            const bool its   = part->unit == f->unit ||
                             (part->process != BOOT_NONE && b->process[part->process].unit == f->unit) ||
                             (strcmp(part->rule, "timeout") == 0 &&
                              boot_path_overlap(b, p, part->unit, BOOT_NONE, f->start, f->end) * 3 > f->cost);
            const bool   shared = strcmp(part->rule, "cpu-hog") == 0 || whole;
            const double score  = (double)(part->cost < f->cost ? part->cost : f->cost) * 0.5;
            if ((its || (shared && boot_between(part->start, part->end, f->start, f->end) * 2 > f->end - f->start)) &&
                score < f->score)
                f->score = score;
        }
}

/* A verdict costs at least half a second, or a twentieth of the boot. */
static bool stands_out(const struct boot *b, const struct boot_finding *f)
{
    return f->cost >= VERDICT_NS || f->cost >= b->finish / VERDICT_PART;
}

/* The first finding that stands out becomes the verdict; the others keep their order. If none does, all are dropped. */
static void verdict_choose(const struct boot *b, struct boot_verdict *v)
{
    unsigned i = 0;
    while (i < v->findings && !stands_out(b, &v->finding[i]))
        i++;
    if (i == v->findings) {
        v->findings = 0;
        return;
    }
    const struct boot_finding first = v->finding[i];
    memmove(&v->finding[1], &v->finding[0], i * sizeof first);
    v->finding[0] = first;
}

/* Rules that also hold for a running machine; the others are about the waits of a boot. */
static bool holds_live(const char *rule)
{
    return strcmp(rule, "cpu-hog") == 0 || strcmp(rule, "slow-disk") == 0 || strcmp(rule, "fsck") == 0;
}

void boot_verdict_make(const struct boot *b, const struct boot_path *p, struct boot_verdict *out)
{
    static const struct {
        bool (*find)(const struct boot_verdict_look *l);
        const char *word;
        double      weight;
        const char *next;
    } rules[] = {
#define R(rule, word, weight, next) {rule_##rule, word, weight, next},
#include "autologger/analysis/boot_rules.def"
#undef R
    };
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && out->findings < BOOT_FINDINGS_MOST; i++) {
        const unsigned ranks = rules[i].find == rule_slow_unit ? UNITS_MOST : 1;
        if (b->live && !holds_live(rules[i].word))
            continue;
        for (unsigned rank = 0; rank < ranks && out->findings < BOOT_FINDINGS_MOST; rank++) {
            struct boot_finding *f = &out->finding[out->findings];
            *f                     = (struct boot_finding){
                                    .rule = rules[i].word, .next = rules[i].next, .unit = BOOT_NONE, .process = BOOT_NONE};
            if (!rules[i].find(&(struct boot_verdict_look){b, p, f, rank}) || f->cost < LEAST_NS)
                break;
            f->score = (double)f->cost * rules[i].weight;
            out->findings++;
        }
    }
    boot_verdict_explained(b, p, out);
    by_a_device(out);
    qsort(out->finding, out->findings, sizeof *out->finding, by_score);
    verdict_choose(b, out);
    if (out->findings)
        memcpy(out->sentence, out->finding[0].sentence, sizeof out->sentence);
    else if (!b->switches && !b->units)
        snprintf(out->sentence, sizeof out->sentence,
                 "The trace has neither context switches (CSWITCH) nor units: nothing tells who waited for whom.");
    else
        snprintf(out->sentence, sizeof out->sentence,
                 "Nothing stands out: no single cause took %.1f s, nor a twentieth of %s.", (double)VERDICT_NS / 1e9,
                 b->live ? "the time that was recorded" : "this boot");
}
