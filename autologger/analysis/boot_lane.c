#include "autologger/analysis/boot_lane.h"

static void boot_lane_fold(struct boot_lane *l)
{
    for (unsigned i = 0; i < LANE_BINS; i++)
        l->bin[i] = 2 * i + 1 < LANE_BINS ? l->bin[2 * i] + l->bin[2 * i + 1] : 0;
    l->width *= 2;
}

static void reach(struct boot_lane *l, int64_t at)
{
    if (!l->width)
        l->width = LANE_FIRST_NS;
    while (at / l->width >= LANE_BINS)
        boot_lane_fold(l);
}

void boot_lane_add(struct boot_lane *l, int64_t at, double amount)
{
    if (at < 0)
        return;
    reach(l, at);
    l->bin[at / l->width] += amount;
}

void boot_lane_span(struct boot_lane *l, int64_t from, int64_t to, double weight)
{
    if (from < 0)
        from = 0;
    if (to <= from)
        return;
    reach(l, to);
    while (from < to) {
        const int64_t i   = from / l->width;
        const int64_t end = (i + 1) * l->width < to ? (i + 1) * l->width : to;
        l->bin[i] += (double)(end - from) * weight;
        from = end;
    }
}

void boot_lane_widen(struct boot_lane *l, int64_t width)
{
    if (!l->width)
        l->width = width;
    while (l->width < width)
        boot_lane_fold(l);
}
