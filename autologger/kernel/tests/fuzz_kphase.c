/* A trace buffer with any content: pages, counts, marks. No length leads out of its page, every record in the raw log
 * can be walked and converted, and the sum over all entries is right. An input: pages of 512 bytes, the
 * first byte of each says of which CPU and how it ends. Proves: COR-18. */
#include "autologger/kernel/tests/phase_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum { CPUS = 2, PAGE = 512 };

static void sources_make(struct phase_fixture *f)
{
    static const struct raw_field fields[][7] = {{{24, 4}, {28, 4}, {32, 8}, {56, 4}, {60, 4}, {8, 16}, {40, 16}},
                                                 {{12, 4}, {20, 4}, {8, 4}},
                                                 {{8, 4}, {12, 4}},
                                                 {{24, 4}},
                                                 {{8, 4}, {32, 8}},
                                                 {{8, 8}},
                                                 {{8, 8}, {16, 4}},
                                                 {{8, 4}},
                                                 {{8, 4}, {16, 8}, {24, 4}, {34, 10}, {32, 2}}};
    static const unsigned         kinds[]     = {
                    SRC_SWITCH,          SRC_FORK,           SRC_EXEC,    SRC_EXIT, SRC_NEWTASK, SRC_INITCALL_START,
                    SRC_INITCALL_FINISH, SRC_INITCALL_LEVEL, SRC_RQ_ISSUE};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        phase_source(f, kinds[i], (uint16_t)(6 + i), fields[i], 7, kinds[i] == SRC_SWITCH || kinds[i] == SRC_RQ_ISSUE);
}

static void convert_all(struct phase_fixture *f)
{
    struct convert c;
    drain_pass(&f->drain, true);
    if (convert_init(&c, &f->config, &f->log, NULL))
        abort();
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        struct klog_record r;
        uint64_t           last = 0;
        for (; convert_peek(&c, cpu, &r); convert_pop(&c, cpu)) {
            if (r.time <= last)
                abort();
            last = r.time;
        }
    }
    const struct raw_slot *slot    = rawlog_published(&f->log);
    uint64_t               drained = 0;
    for (unsigned i = 0; i < f->count; i++)
        drained += slot->drained[i];
    if (c.converted + c.lost != drained)
        abort();
    convert_finish(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct phase_fixture f;
    if (!phase_make(&f, CPUS))
        return 0;
    f.config.mask[0] &= ~1u; /* no command lines of processes: they would depend on this machine */
    sources_make(&f);
    f.config.raw_bytes = 256 << 10;
    if (!phase_open(&f))
        abort();
    if (f.p->proc >= 0)
        abort(); /* and no names of processes */
    f.p->stop_before = f.p->stop_after = UINT64_C(1) << 50;
    f.p->arming = f.p->armed = 1;
    f.p->tail_from           = size > 2 ? (uint64_t)data[1] << 20 : 0;
    f.p->marker              = 0xA;
    f.p->sync[f.p->syncs++] =
        (struct kphase_sync){UINT64_C(1) << 32, (UINT64_C(1) << 32) + 500, size > 10 ? data[9] : 0, 0};
    kphase_begin(f.p, &f.drain);
    for (size_t at = 0; at < size; at += PAGE) {
        size_t n = size - at < PAGE ? size - at : PAGE;
        kphase_page(f.p, data[at] & 1, data + at, n);
        if (data[at] & 2)
            kphase_cpu_end(f.p, data[at] & 1);
    }
    uint64_t seen = 0, records = 0;
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        kphase_cpu_end(f.p, cpu);
        seen += f.p->cpu[cpu].seen;
    }
    kphase_end(f.p, &f.drain);
    const struct raw_slot *slot = rawlog_published(&f.log);
    for (unsigned i = 1; i < f.count; i++)
        records += slot->drained[i] + slot->lost_memory[i];
    if (seen != records + f.p->sum.absorbed + f.p->sum.late + f.p->sum.damaged)
        abort();
    convert_all(&f);
    phase_finish(&f);
    return 0;
}
