/* kphase_clock.c - maps the trace clock to CLOCK_MONOTONIC_RAW, by marks written between two readings of the latter.
 * A mark's time T lies between the readings A and B, so the offset lies within [A - T, B - T]. The narrowest such
 * interval gives the offset (its middle) and the error (half of it), and the others must agree. See kphase.h. */
#include "autologger/kernel/phase/kphase.h"

struct interval {
    int64_t low, high;
    bool    known;
};

static struct interval narrowest(const struct kphase *p, int cpu)
{
    struct interval best = {0};
    for (unsigned i = 0; i < p->syncs; i++) {
        const struct kphase_sync *s = &p->sync[i];
        if (!s->trace || s->after < s->before || (cpu >= 0 && s->cpu != (unsigned)cpu))
            continue;
        struct interval here = {(int64_t)(s->before - s->trace), (int64_t)(s->after - s->trace), true};
        if (!best.known || here.high - here.low < best.high - best.low)
            best = here;
    }
    return best;
}

static int64_t middle(const struct interval *i) { return i->low + (i->high - i->low) / 2; }

/* How far `offset` is outside the interval of any mark of this CPU (-1: of all), at most. */
static uint64_t disagreement(const struct kphase *p, int cpu, int64_t offset)
{
    uint64_t worst = 0;
    for (unsigned i = 0; i < p->syncs; i++) {
        const struct kphase_sync *s = &p->sync[i];
        if (!s->trace || (cpu >= 0 && s->cpu != (unsigned)cpu))
            continue;
        int64_t  low = (int64_t)(s->before - s->trace), high = (int64_t)(s->after - s->trace);
        uint64_t off = offset < low ? (uint64_t)(low - offset) : offset > high ? (uint64_t)(offset - high) : 0;
        worst        = off > worst ? off : worst;
    }
    return worst;
}

void kphase_join(struct kphase *p)
{
    enum { SAME_CLOCK_NS = 20000 };
    struct interval all = narrowest(p, -1);
    int64_t         one = middle(&all);
    p->error_ns         = (uint64_t)(all.high - all.low) / 2 + 1;
    uint64_t apart      = disagreement(p, -1, one);
    for (unsigned c = 0; c < p->cpus; c++)
        p->cpu[c].map = trace_map_make(one);
    if (apart <= SAME_CLOCK_NS) { /* one clock: the order over CPUs stays as the kernel saw it */
        p->error_ns += apart;
        return;
    }
    for (unsigned c = 0; c < p->cpus; c++) {
        struct interval own = narrowest(p, (int)c);
        if (!own.known) {
            p->error_ns = p->error_ns > apart ? p->error_ns : apart;
            continue;
        }
        int64_t  offset = middle(&own);
        uint64_t error  = (uint64_t)(own.high - own.low) / 2 + 1 + disagreement(p, (int)c, offset);
        p->cpu[c].map   = trace_map_make(offset);
        p->error_ns     = p->error_ns > error ? p->error_ns : error;
    }
}
