/* boot_without.h - what a boot would have taken without one of its units: every other unit keeps the length of its
 * start and the pauses before it, and begins as soon as what it is ordered after is done. So a unit beside the path
 * gains nothing, and one on it gains until the next path is as long.
 * Known limits: units that something else starts (a socket, a timer, a program) stay where they were; so do devices,
 * the kernel and the initramfs.
 * Threads: one. Ownership: plain data. Not for: what the unit did (boot_reason.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_WITHOUT_H
#define AUTOLOGGER_ANALYSIS_BOOT_WITHOUT_H
#include "autologger/analysis/boot.h"

struct boot_without {
    int64_t gain; /* ns that the boot would be shorter */
    /* least: what moves to an earlier time meets those that had the processors then; most: what the unit itself took of
     * them is free for others */
    int64_t least, most;
    int     next; /* the unit whose start would be done last; BOOT_NONE: not known */
};
/* False: no memory, or the unit was not started in this boot, or there is no end of the boot. */
bool boot_without(const struct boot *b, int unit, struct boot_without *out);
#endif
