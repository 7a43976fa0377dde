/* histogram.h - the distribution of a number, in bounded memory. Each power of two has 64 cells, so a percentile is
 * at most 1.6 % too high; least, most and sum are exact. The caller sets the struct to zero before the first value.
 * Threads: one. Ownership: the struct (30 KB) holds no pointers and may be copied. */
#ifndef AUTOLOGGER_ANALYSIS_HISTOGRAM_H
#define AUTOLOGGER_ANALYSIS_HISTOGRAM_H
#include <stdint.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_CELLS = 59 * HISTOGRAM_STEPS };
struct histogram {
    uint64_t count, sum, least, most;
    uint64_t cell[HISTOGRAM_CELLS];
};
void histogram_add(struct histogram *h, uint64_t value);
/* The value that `per_mille` of all values do not exceed; 0 when there are none. */
uint64_t histogram_percentile(const struct histogram *h, unsigned per_mille);
uint64_t histogram_mean(const struct histogram *h);
#endif
