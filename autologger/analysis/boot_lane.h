/* boot_lane.h - a figure over time, in a bounded number of bins: when the time grows beyond them, neighbouring bins are
 * merged in pairs.
 * Invariant: the sum over all bins is that of all additions. Threads: one. Ownership: plain data. Not for: drawing. */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_LANE_H
#define AUTOLOGGER_ANALYSIS_BOOT_LANE_H
#include <stdint.h>

enum { LANE_BINS = 2048, LANE_FIRST_NS = 1000000 };
struct boot_lane {
    int64_t width; /* ns of a bin; 0: nothing was added */
    double  bin[LANE_BINS];
};
/* Spreads (to - from) x weight over the bins it touches, in ns x weight. */
void boot_lane_span(struct boot_lane *l, int64_t from, int64_t to, double weight);
void boot_lane_add(struct boot_lane *l, int64_t at, double amount);
/* Makes its bins as wide as `width`, a power of two times its own. */
void boot_lane_widen(struct boot_lane *l, int64_t width);
#endif
