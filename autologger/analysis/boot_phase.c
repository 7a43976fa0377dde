/* boot_phase.c - the phases of a boot. See boot_build.h.
 * Firmware and loader are before the time 0, with the lengths that the machine gives. The kernel: until process 1 runs
 * /init (or the system's own program); the initramfs: until it begins to look for the root; root: until process 1 is
 * the system's; user space: until systemd's end of the boot, or the last unit's start; settling: until the processors
 * have idled for 10 s in all, or the file ends. A wait for a person is cut out of its phase. A file that is not of a
 * boot has one phase: the recorded time. */
#include "autologger/analysis/boot_build.h"

#include <string.h>

static const char *const people[] = {
#define P(name) name,
#include "autologger/analysis/boot_people.def"
#undef P
};

static bool boot_phase_is_person(const struct boot_process *p)
{
    for (size_t i = 0; i < sizeof people / sizeof *people; i++)
        if (strncmp(p->label, people[i], strlen(people[i])) == 0 || strncmp(p->name, people[i], strlen(people[i])) == 0)
            return true;
    return false;
}

/* Finds /init and its successors in process 1; the last program before the end of the boot is the system's. */
static void boot_phase_process_one(struct boot *b)
{
    int64_t init = 0, last = 0;
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if (p->pid != 1)
            continue;
        if (!init || p->there)
            init = p->start;
        if (!b->finish || p->start < b->finish)
            last = p->start;
    }
    b->init = init;
    if (!b->user && last > init)
        b->user = last;
}

/* When the initramfs begins with the root: at the first script below /scripts/local, or program that checks or mounts
 * the root. */
static void root_begins(struct boot *b)
{
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if (p->start >= b->user || (b->root && p->start >= b->root) || p->pid == 1)
            continue;
        if (strncmp(p->label, "/scripts/local", 14) == 0 || strncmp(p->label, "fsck", 4) == 0 ||
            (strcmp(p->label, "mount") == 0 && (strstr(p->command, " /root") || strstr(p->command, "/sysroot"))))
            b->root = p->start;
    }
}

static void last_start(struct boot *b)
{
    for (unsigned i = 0; i < b->units && !b->by_systemd; i++)
        if (b->unit[i].active > b->finish)
            b->finish = b->unit[i].active;
    if (!b->finish) /* not known: take the file's end */
        b->finish = b->last;
}

/* As in the daemon: slices of 100 ms in which the processors idle at least 80 %, added up to 10 s. */
static void boot_phase_settle(struct boot *b)
{
    enum { SLICE_NS = 100000000 };
    const int64_t           enough = INT64_C(10000000000);
    const struct boot_lane *l      = &b->lane[BOOT_LANE_CPU];
    int64_t                 calm   = 0;

    b->settled = b->last;
    if (!l->width || !b->cpus)
        return;
    const int64_t slice = l->width > SLICE_NS ? l->width : SLICE_NS / l->width * l->width;
    for (int64_t at = b->finish; at + slice <= b->last; at += slice) {
        double busy = 0;
        for (int64_t i = at / l->width; i < (at + slice) / l->width && i < LANE_BINS; i++)
            busy += l->bin[i];
        calm += busy <= 0.2 * (double)slice * b->cpus ? slice : 0;
        if (calm >= enough) {
            b->settled = at + slice;
            return;
        }
    }
}

static void phase_add(struct boot *b, const char *name, int64_t start, int64_t end)
{
    if (end > start && b->phases < BOOT_PHASES_MOST)
        b->phase[b->phases++] = (struct boot_phase){name, start, end};
}

/* Adds the phase, with the waits for a person in it as phases of their own. */
static void phase_cut(struct boot *b, const char *name, int64_t start, int64_t end)
{
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        if (!boot_phase_is_person(p) || p->end <= start || p->start >= end)
            continue;
        phase_add(b, name, start, p->start);
        phase_add(b, "waiting for a person", p->start > start ? p->start : start, p->end < end ? p->end : end);
        start = p->end;
    }
    phase_add(b, name, start, end);
}

void boot_phase_end(struct boot_builder *w)
{
    struct boot *b = w->b;

    if (b->live) {
        b->finish = b->settled = b->last;
        b->firmware = b->loader = 0;
        phase_add(b, "recorded", 0, b->last);
        return;
    }
    boot_phase_process_one(b);
    last_start(b);
    root_begins(b);
    boot_phase_settle(b);
    const int64_t init = b->init && b->init < b->user ? b->init : b->user;
    phase_add(b, "firmware", -b->loader - b->firmware, -b->loader);
    phase_add(b, "loader", -b->loader, 0);
    phase_add(b, "kernel", 0, init);
    phase_cut(b, "initramfs", init, b->root ? b->root : b->user);
    if (b->root)
        phase_cut(b, "root", b->root, b->user);
    phase_cut(b, "user space", b->user, b->finish);
    phase_add(b, "settling", b->finish, b->settled);
}
