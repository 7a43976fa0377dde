/* phase_fixture.h - the kernel phase without a kernel: a raw log, a drainer without rings, and a converter that reads
 * the log. */
#ifndef AUTOLOGGER_KERNEL_TESTS_PHASE_FIXTURE_H
#define AUTOLOGGER_KERNEL_TESTS_PHASE_FIXTURE_H
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/tests/page_maker.h"

#include <stdio.h>

struct phase_fixture {
    struct klog_config config;
    struct rings       rings; /* no CPU has a ring */
    struct rawlog      log;
    struct drain       drain;
    struct kphase     *p;
    struct raw_source  sources[RAW_SOURCES];
    unsigned           count;
};

/* Before phase_open: prepares config, sources and `p`, whose sources go to f->sources from 1 on (0: the side band). */
static inline bool phase_make(struct phase_fixture *f, unsigned cpus)
{
    *f       = (struct phase_fixture){.config = {.mask       = {0x513, 0x4},
                                                 .hooks      = {0x0524},
                                                 .hook_count = 1,
                                                 .raw_bytes  = 4 << 20,
                                                 .clock      = {1, CLOCK_READ_RAW, 1000000000}}};
    f->rings = (struct rings){.cpus = cpus, .count = 1, .bytes = 4096, .ring = calloc(cpus, sizeof *f->rings.ring)};
    f->sources[f->count++] = (struct raw_source){.name = "sideband"};
    f->p                   = kphase_new(&f->config, cpus);
    for (unsigned c = 0; f->rings.ring && c < cpus; c++)
        for (unsigned i = 0; i < RAW_SOURCES; i++)
            f->rings.ring[c].fd[i] = -1;
    return f->p && f->rings.ring;
}
/* A source of the test's own making, with the event number `id`. */
static inline void phase_source(struct phase_fixture *f, unsigned kind, uint16_t id, const struct raw_field *fields,
                                unsigned count, bool chain)
{
    struct raw_source s = {.kind = kind, .flags = RAW_SOURCE_PHASE | RAW_SOURCE_RAW | (chain ? RAW_SOURCE_CHAIN : 0)};
    for (unsigned i = 0; i < RAW_FIELDS; i++)
        s.field[i] = i < count ? fields[i] : (struct raw_field){RAW_NO_FIELD, 0};
    snprintf(s.name, sizeof s.name, "kernel phase %.30s", source_table[kind].name);
    f->p->first            = 1;
    f->p->source[f->count] = f->sources[f->count] = s;
    f->p->by_id[id]                               = (uint8_t)f->count++;
    f->p->count++;
}
static inline bool phase_open(struct phase_fixture *f)
{
    if (rawlog_init(&f->log, f->config.raw_bytes, 0, f->rings.cpus, f->sources, f->count, NULL))
        return false;
    f->rings.count = f->count;
    kphase_ids(f->p, &f->log);
    return drain_init(&f->drain, &f->rings, &f->log, &f->config, NULL) == W_SUCCESS;
}
static inline void phase_finish(struct phase_fixture *f)
{
    f->p->stop_after = 0; /* no tracing to switch off */
    kphase_close(f->p);
    drain_finish(&f->drain);
    rawlog_finish(&f->log);
    free(f->rings.ring);
}
#endif
