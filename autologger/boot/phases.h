/* phases.h - a boot as a line of phases: firmware and boot loader, as the machine tells their lengths (before the
 * kernel's clock, so without a start and without events); the kernel until process 1 is /init; the initramfs until
 * process 1 is the system's; user space until the default target; settling until boot-done; what was recorded after
 * that. What is not known of a boot is not guessed. Times are ns since the kernel began, on the clock of the boot's
 * files.
 * Threads: pure. Not for: reading events (daemon/end/phase_count.h). */
#ifndef AUTOLOGGER_BOOT_PHASES_H
#define AUTOLOGGER_BOOT_PHASES_H
#include "autologger/boot/result.h"

struct phase_span {
    const char *name;
    bool        begins, lasts, counted; /* what of it is known */
    uint64_t    start_ns, length_ns, events;
};
/* 0 = not known */
uint64_t phase_begin(const struct result_list *boot, enum result_phase phase);
/* Whether events of the phase can be told from those of its neighbours. */
struct phase_span phase_span(const struct result_list *boot, enum result_phase phase);
#endif
