#include "autologger/boot/phases.h"

static uint64_t phases_mark(const struct result_list *boot, uint64_t ms)
{
    return boot->start_ns && ms ? boot->start_ns + ms * 1000000 : 0;
}

uint64_t phase_begin(const struct result_list *boot, enum result_phase phase)
{
    /* with an early program: process 1 became /init a moment before */
    const uint64_t began = boot->early_ns ? boot->start_ns : 0;
    switch (phase) {
    case RESULT_PHASE_INITRAMFS: return boot->phases.init_ns ? boot->phases.init_ns : began;
    case RESULT_PHASE_USER: return boot->phases.user_ns;
    case RESULT_PHASE_SETTLING: return phases_mark(boot, boot->target_ms);
    case RESULT_PHASE_AFTER: return phases_mark(boot, boot->boot_done_ms);
    case RESULT_PHASE_FIRMWARE:
    case RESULT_PHASE_LOADER: /* before there was a clock */
    case RESULT_PHASE_KERNEL:
    case RESULT_PHASES: break;
    }
    return 0;
}

struct phase_span phase_span(const struct result_list *boot, enum result_phase phase)
{
    static const char *const names[]  = {"firmware",   "boot loader", "kernel",         "initramfs",
                                         "user space", "settling",    "after boot-done"};
    const uint64_t           before[] = {boot->phases.firmware_ns, boot->phases.loader_ns};
    if (phase < RESULT_PHASE_KERNEL)
        return (struct phase_span){.name = names[phase], .lasts = before[phase], .length_ns = before[phase]};
    const uint64_t    begin = phase_begin(boot, phase);
    const uint64_t    end   = phase == RESULT_PHASE_AFTER ? 0 : phase_begin(boot, phase + 1);
    struct phase_span s     = {.name = names[phase], .start_ns = begin};

    s.begins = begin || (phase == RESULT_PHASE_KERNEL && boot->early_ns);
    s.lasts  = s.begins && end > begin;
    if (s.lasts)
        s.length_ns = end - begin;
    switch (phase) { /* the last phase reached has events, but no end */
    case RESULT_PHASE_KERNEL:
    case RESULT_PHASE_INITRAMFS: s.counted = s.lasts; break;
    case RESULT_PHASE_USER:
        s.counted = begin || !boot->early_ns;
        break; /* without an early program all began in user space */
    default: s.counted = begin; break;
    }
    s.counted &= boot->phases.counted;
    s.events = s.counted ? boot->phases.events[phase] : 0;
    return s;
}
