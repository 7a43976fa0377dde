/* boot_without.h - how long a boot would have taken without one of its units: every other unit keeps the length of its
 * start and the pauses before it, and begins as soon as the units that it is ordered after are done. So leaving out a
 * unit beside the path gains nothing, and one on the path gains only until the next path is as long.
 * Known limits: units that are started otherwise (by a socket, a timer, a program) keep their times; so do devices, the
 * kernel and the initramfs.
 * Threads: one. Ownership: plain data. Not for: what the unit did (boot_reason.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_WITHOUT_H
#define AUTOLOGGER_ANALYSIS_BOOT_WITHOUT_H
#include "autologger/analysis/boot.h"

struct boot_without {
    int64_t gain; /* ns by which the boot would be shorter */
    /* least: units that move to an earlier time compete with those that had the processors then; most: the processor
     * time of the left-out unit is free for others */
    int64_t least, most;
    /* the unit works on after its start, for a twentieth of the boot or more: what it took from others is not counted,
     * so the boot may gain more than this */
    bool works_on;
    int  next; /* the unit whose start would be done last; BOOT_NONE: not known */
};
/* True: the trace tells what at least one unit is ordered after. */
bool boot_order_told(const struct boot *b);
/* A .device unit: it is there when its driver is done, so leaving it out says nothing. */
bool boot_is_device(const struct boot *b, int unit);
/* False: no memory, or the unit was not started in this boot (BOOT_NONE), or is a device, or the order of units or the
 * boot's end is not known. */
bool boot_without(const struct boot *b, int unit, struct boot_without *out);
#endif
