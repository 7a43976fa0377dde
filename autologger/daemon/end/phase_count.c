#include "autologger/daemon/end/phase_count.h"

#include "autologger/boot/phases.h"
#include "autologger/etl/reader.h"
#include "autologger/kernel/source/bootenv.h"
#include "autologger/schema/tracelogging.h"
#include "autologger/wire/merged.h"

#include <string.h>

struct counting {
    struct result_list times; /* the known times, and those found here */
    uint64_t           since; /* events since process 1's last new program */
};

static bool is_program_of_one(const struct etl_event *e)
{
    uint32_t     pid = 0;
    const size_t at  = e->is_64bit ? 8 : 4; /* behind the UniqueProcessKey */
    if (e->hook != HOOK_PROCESS_START || e->payload_size < at + sizeof pid)
        return false;
    memcpy(&pid, e->payload + at, sizeof pid);
    return pid == 1;
}

/* The system's own init is the last program before the default target: an initramfs has several (sh, run-init or
 * switch_root, ...). */
static void new_program(struct counting *c, uint64_t ns)
{
    struct result_phases *p      = &c->times.phases;
    const uint64_t        began  = c->times.early_ns ? c->times.start_ns : 0;
    const uint64_t        target = phase_begin(&c->times, RESULT_PHASE_SETTLING);

    if (!began || (target && ns >= target))
        return;
    if (ns <= began) { /* the kernel's own process becomes /init; all events so far were the kernel's */
        p->init_ns = ns;
        p->events[RESULT_PHASE_KERNEL] += c->since;
    } else {
        p->user_ns = ns;
        p->events[RESULT_PHASE_INITRAMFS] += c->since;
    }
    c->since = 0;
}

/* The times of firmware and loader, from the kernel session's event at its end. */
static void machine_told(struct counting *c, const struct etl_event *e)
{
    struct tracelogging_names names;
    uint64_t                  ns[2];
    if (e->payload_size < sizeof ns)
        return;
    tracelogging_names(e, &names);
    if (!names.event || strcmp(names.event, BOOTENV_TIMES_NAME) != 0)
        return;
    memcpy(ns, e->payload, sizeof ns);
    c->times.phases.firmware_ns   = ns[0];
    c->times.phases.loader_ns     = ns[1];
    c->times.phases.machine_asked = true;
}

static void phase_count_event(struct counting *c, uint64_t ns, const struct etl_event *e)
{
    const uint64_t target = phase_begin(&c->times, RESULT_PHASE_SETTLING),
                   done   = phase_begin(&c->times, RESULT_PHASE_AFTER);
    const uint64_t began  = c->times.early_ns ? c->times.start_ns : 0;

    if (is_program_of_one(e))
        new_program(c, ns);
    if (done && ns >= done)
        c->times.phases.events[RESULT_PHASE_AFTER]++;
    else if (target && ns >= target)
        c->times.phases.events[RESULT_PHASE_SETTLING]++;
    else if (!c->times.phases.init_ns && ns < began)
        c->times.phases.events[RESULT_PHASE_KERNEL]++; /* /init was not seen: the early program's start stands for it */
    else
        c->since++;
}

void phase_count(const char *path, const struct result_list *boot, struct result_phases *out)
{
    const struct guid  bootenv = guid_from_name(BOOTENV_PROVIDER), merge = guid_from_name(MERGED_PROVIDER);
    struct counting    c = {.times = *boot};
    struct etl_reader *r;
    struct etl_event   e;

    memset(out, 0, sizeof *out);
    memset(&c.times.phases, 0, sizeof c.times.phases);
    if (etl_reader_open(path, &r, NULL) != W_SUCCESS)
        return;
    const uint64_t base = (uint64_t)etl_reader_header(r)->raw.boot_time;
    while (etl_next(r, &e)) {
        if (e.kind == ETL_KIND_EVENT && guid_equal(&e.provider, &bootenv))
            machine_told(&c, &e);
        if (e.kind == ETL_KIND_EVENT && guid_equal(&e.provider, &merge))
            continue; /* the merge's own events are no events of the boot */
        if ((e.kind != ETL_KIND_SYSTEM && e.kind != ETL_KIND_PERFINFO) || e.hook >> 8 != ETL_GROUP_HEADER)
            phase_count_event(&c, e.filetime > base ? (e.filetime - base) * 100 : 1, &e);
    }
    etl_reader_close(r);
    c.times.phases.events[RESULT_PHASE_USER] += c.since;
    c.times.phases.counted = true;
    *out                   = c.times.phases;
}
