/* boot_modes.h - two populations in one: some boots took much longer than the others, and one item tells them apart. A
 * median hides such boots.
 * What counts: a gap between the two groups of several spreads of the quicker one, at least two slow boots and more
 * quick ones than slow ones, and an item whose values in the slow boots are all beyond those in the quick ones and which
 * explains at least half of the difference.
 * Threads: one. Not for: two sets of boots that the caller knows (boot_gate.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_MODES_H
#define AUTOLOGGER_ANALYSIS_BOOT_MODES_H
#include "autologger/analysis/boot_figures.h"

struct boot_modes {
    unsigned                slow, boots;   /* slow 0: one population */
    double                  more;          /* ns: median of the slow ones less that of the others */
    const struct boot_item *item;          /* of the figures */
    double                  quick, slower; /* medians of the item, ns */
};
/* Boots [first, first + count). False: no memory. */
bool boot_modes_find(const struct boot_figures *f, unsigned first, unsigned count, struct boot_modes *out);
#endif
