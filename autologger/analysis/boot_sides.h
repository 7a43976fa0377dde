/* boot_sides.h - boots before a change beside boots after it: by item how much longer it takes, how sure that is, and
 * whether each side is one population.
 * Threads: one. Ownership: boot_sides_create / destroy; it borrows the figures. Not for: a single boot after
 * (boot_compare.h), limits (boot_gate.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_SIDES_H
#define AUTOLOGGER_ANALYSIS_BOOT_SIDES_H
#include "autologger/analysis/boot_gate.h"
#include "autologger/analysis/boot_modes.h"

struct boot_sides {
    unsigned           before, after; /* boots */
    struct boot_shift *row;           /* by kind, largest shift first; the first is the boot as a whole */
    unsigned           rows;
    struct boot_modes  modes[2]; /* before, after */
    char               sentence[400];
};
/* Boots [0, before) of the sorted figures are before. `least`: rows of items with a smaller shift are left out, but for
 * the boot and its phases. W_NOT_ENOUGH_MEMORY. */
wstatus boot_sides_create(const struct boot_figures *f, unsigned before, double least, struct boot_sides **out,
                          struct reason *why);
void    boot_sides_destroy(struct boot_sides *s); /* NULL is fine */
#endif
