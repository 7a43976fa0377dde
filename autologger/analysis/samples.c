#include "autologger/analysis/samples.h"

#include <math.h>
#include <stdlib.h>

enum { EXACT_MOST = 26 }; /* of both samples together twice as many: counts of orders are whole numbers of a double */

static int samples_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, samples_order);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The normal distribution's value that a share `p` lies above; p is at most 0.5. By halving. */
static double samples_normal(double p)
{
    double low = 0, high = 40;
    for (unsigned i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) / 2 > p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* How many of the sorted differences are outside of the interval at each end: the largest k with P(U < k) <= risk / 2. U
 * counts pairs where a's value is above b's. 0: no interval. */
static unsigned samples_outside(unsigned n, unsigned m, double risk)
{
    const unsigned pairs = n * m;
    if (n > EXACT_MOST || m > EXACT_MOST) {
        const double mean = pairs / 2.0, spread = sqrt(pairs * (n + m + 1.0) / 12);
        const double k = floor(mean - samples_normal(risk / 2) * spread);
        return k > 0 ? (unsigned)k : 0;
    }
    /* The number of orders of each U: the coefficients of the product of (1 - x^(m+i)) / (1 - x^i). */
    double *orders = calloc(pairs + 1ul, sizeof *orders), all = 0, below = 0;
    if (!orders)
        return 0;
    orders[0] = 1;
    for (unsigned i = 1; i <= n; i++) {
        for (unsigned u = pairs; u >= m + i; u--)
            orders[u] -= orders[u - m - i];
        for (unsigned u = i; u <= pairs; u++)
            orders[u] += orders[u - i];
    }
    for (unsigned u = 0; u <= pairs; u++)
        all += orders[u];
    unsigned k = 0;
    while (k < pairs / 2 && (below + orders[k]) / all <= risk / 2)
        below += orders[k++];
    free(orders);
    return k;
}

bool samples_shift(const double *a, unsigned a_count, const double *b, unsigned b_count, double risk,
                   struct sample_shift *out)
{
    const unsigned pairs = a_count * b_count, k = samples_outside(a_count, b_count, risk);
    double        *difference = malloc(pairs * sizeof *difference);
    long           above = 0, below = 0;
    if (!difference)
        return false;
    for (unsigned i = 0; i < a_count; i++)
        for (unsigned j = 0; j < b_count; j++) {
            difference[i * b_count + j] = b[j] - a[i];
            above += b[j] > a[i];
            below += b[j] < a[i];
        }
    out->shift  = samples_median(difference, pairs);
    out->low    = k ? difference[k - 1] : -INFINITY;
    out->high   = k ? difference[pairs - k] : INFINITY;
    out->effect = (double)(above - below) / pairs;
    free(difference);
    return true;
}

unsigned samples_least(double risk)
{
    double orders = 1; /* of n values a side */
    for (unsigned n = 1; n < SAMPLES_MOST; n++) {
        orders = orders * (2.0 * n) * (2.0 * n - 1) / ((double)n * n);
        if (1 / orders <= risk / 2)
            return n;
    }
    return SAMPLES_MOST;
}
