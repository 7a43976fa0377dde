/* phases.h - the phases of a boot: firmware and boot loader, with the lengths that the machine reports (they precede
 * the kernel's clock, so have no start and no events); the kernel until process 1 is /init; the initramfs until process
 * 1 is the system's; user space until the default target; settling until boot-done; and the time after that. Unknown
 * values are not guessed. Times are ns since the kernel began, on the clock of the boot's files.
 * Threads: pure. Not for: reading events (daemon/end/phase_count.h). */
#ifndef AUTOLOGGER_BOOT_PHASES_H
#define AUTOLOGGER_BOOT_PHASES_H
#include "autologger/boot/result.h"

struct phase_span {
    const char *name;
    bool        begins, lasts, counted; /* which values are known */
    uint64_t    start_ns, length_ns, events;
};
/* 0 = not known */
uint64_t phase_begin(const struct result_list *boot, enum result_phase phase);
/* `counted`: events of the phase can be told from those of its neighbours. */
struct phase_span phase_span(const struct result_list *boot, enum result_phase phase);
#endif
