/* samples.h - how much two samples differ, and how sure that is. The shift is the median of all differences between a
 * value of one and a value of the other (Hodges and Lehmann, 1963); its interval follows from the exact distribution of
 * the rank sum (Mann and Whitney, 1947), so it needs no assumption about how values are spread, and holds for five
 * values as well as for fifty, and says where values are too few. (By bootstrap 92 of 100 intervals of 95 % hold with
 * four values a side, and none is ever infinite: test_samples.c measures both.)
 * Threads: any. Not for: boots (boot_gate.h). */
#ifndef AUTOLOGGER_ANALYSIS_SAMPLES_H
#define AUTOLOGGER_ANALYSIS_SAMPLES_H
#include <stdbool.h>

struct sample_shift {
    double shift;
    double low, high; /* infinite: too few values for that certainty */
    double
        effect; /* Cliff's delta: 1 where each value of b is above each of a, -1 the other way round, 0 for like ones */
};
/* `risk`: the share of intervals that may miss the true shift, 0 to 1, both ends together. At least one value each.
 * False: no memory. */
bool samples_shift(const double *a, unsigned a_count, const double *b, unsigned b_count, double risk,
                   struct sample_shift *out);
/* Sorts; the mean of the middle two of an even number. At least one value. */
double samples_median(double *values, unsigned count);
/* Values a side, both sides alike, below which an interval of that risk is infinite; at most SAMPLES_MOST. */
enum { SAMPLES_MOST = 1000 };
unsigned samples_least(double risk);
#endif
