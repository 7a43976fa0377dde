#include "autologger/analysis/histogram.h"

enum { STEP_BITS = 6 };

/* Values below 64 have cells of their own; above, 64 cells a power of two. */
static unsigned cell_of(uint64_t v)
{
    if (v < HISTOGRAM_STEPS)
        return (unsigned)v;
    unsigned power = 63u - (unsigned)__builtin_clzll(v);
    return (power - STEP_BITS + 1) * HISTOGRAM_STEPS + (unsigned)(v >> (power - STEP_BITS) & (HISTOGRAM_STEPS - 1));
}

/* The largest value of a cell. */
static uint64_t cell_end(unsigned cell)
{
    if (cell < HISTOGRAM_STEPS)
        return cell;
    unsigned shift = cell / HISTOGRAM_STEPS - 1;
    return ((UINT64_C(1) << STEP_BITS | cell % HISTOGRAM_STEPS) << shift) + ((UINT64_C(1) << shift) - 1);
}

void histogram_add(struct histogram *h, uint64_t value)
{
    if (!h->count || value < h->least)
        h->least = value;
    if (value > h->most)
        h->most = value;
    h->count++;
    h->sum += value;
    h->cell[cell_of(value)]++;
}

uint64_t histogram_percentile(const struct histogram *h, unsigned per_mille)
{
    uint64_t wanted = (h->count * per_mille + 999) / 1000, seen = 0;

    if (!h->count)
        return 0;
    wanted = wanted ? wanted : 1;
    for (unsigned i = 0; i < HISTOGRAM_CELLS; i++)
        if ((seen += h->cell[i]) >= wanted) {
            uint64_t value = cell_end(i);
            return value > h->most ? h->most : value < h->least ? h->least : value;
        }
    return h->most;
}

uint64_t histogram_mean(const struct histogram *h) { return h->count ? h->sum / h->count : 0; }
