/* times.h - systemd's times on the clocks of sessions. systemd has CLOCK_MONOTONIC, whose speed is being adjusted;
 * sessions have the TSC, CLOCK_MONOTONIC_RAW or the time of day. Pairs of readings join them in between. Before the
 * first pair they are as far apart as there: in a kernel's first second, before it has its clock, CLOCK_MONOTONIC can
 * leave the raw one by 0.3 s (6.1, emulated), and what adjusts it later moves it by at most 0.5 ms a second.
 * Threads: one. Not for: clocks of our own events (registry-sim/base/clock.h). */
#ifndef AUTOLOGGER_UNITS_TIMES_H
#define AUTOLOGGER_UNITS_TIMES_H
#include "registry-sim/base/clock.h"

enum { TIMES_PAIRS = 512 };
struct times {
    struct {
        uint64_t monotonic_ns, raw_ns;
    } pair[TIMES_PAIRS];
    unsigned        count;
    struct clockmap map; /* raw to TSC; no TSC: tsc_hz 0 */
};
void times_init(struct times *t);
/* A pair of now, unless the last one is younger than a second. */
void times_sync(struct times *t);
/* CLOCK_MONOTONIC us to CLOCK_MONOTONIC_RAW ns, by the pairs there are. */
uint64_t times_raw(const struct times *t, uint64_t monotonic_us);
/* The same on a session's clock (enum clock_read_kind); 0 us is now. */
uint64_t times_on(struct times *t, uint64_t monotonic_us, uint32_t clock_kind);
#endif
