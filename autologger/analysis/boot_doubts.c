/* See boot_doubts.h. */
#include "autologger/analysis/boot_doubts.h"

#include <inttypes.h>
#include <stdio.h>

#define DOUBT_ADD(d, ...) snprintf((d)->text[(d)->count++], BOOT_DOUBT, __VA_ARGS__)

bool boot_seen_late(const struct boot *b)
{
    const int64_t late = INT64_C(2000000000);
    return b->switches && b->user && b->seen_from > b->user + late;
}

void boot_doubts_find(const struct boot *b, struct boot_doubts *d)
{
    const struct boot_trust *t = &b->trust;

    *d      = (struct boot_doubts){0};
    d->lost = t->lost || t->buffers_lost || t->damaged;
    if (t->lost || t->buffers_lost)
        DOUBT_ADD(d, "%" PRIu64 " events and %" PRIu64 " buffers were lost: the cause may be among them", t->lost,
                  t->buffers_lost);
    if (t->damaged)
        DOUBT_ADD(d, "the file is damaged in %" PRIu64 " place%s", t->damaged, t->damaged == 1 ? "" : "s");
    if (!b->switches)
        DOUBT_ADD(d, "no context switches (CSWITCH) were recorded: nothing tells who ran and who waited");
    else if (boot_seen_late(b))
        DOUBT_ADD(d, "the first context switch is at %.1f s: before it nothing tells who ran and who waited",
                  (double)b->seen_from / 1e9);
    if (b->switches && !b->wakeups)
        DOUBT_ADD(d, "no wake-ups (DISPATCHER) were recorded: nothing tells who ended a wait");
    if (!b->units && !b->live)
        DOUBT_ADD(d, "no units were recorded: the path has processes only");
    if (b->left_out)
        DOUBT_ADD(d, "%" PRIu64 " moments had no place in memory", b->left_out);
    if (b->live)
        DOUBT_ADD(d, "this is no boot, but some time of a machine that runs");
}
