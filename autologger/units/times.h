/* times.h - maps systemd's times to the clocks of sessions. systemd uses CLOCK_MONOTONIC, whose speed is adjusted;
 * sessions use the TSC, CLOCK_MONOTONIC_RAW or the time of day. Times are interpolated between pairs of readings.
 * Before the first pair its distance holds: in a kernel's first second, before it has its clock, CLOCK_MONOTONIC can
 * leave the raw one by 0.3 s (6.1, emulated), and later adjustments move it by at most 0.5 ms a second.
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
/* Takes a pair of readings, unless the last one is younger than a second. */
void times_sync(struct times *t);
/* CLOCK_MONOTONIC us to CLOCK_MONOTONIC_RAW ns, by the pairs so far. */
uint64_t times_raw(const struct times *t, uint64_t monotonic_us);
/* The same on a session's clock (enum clock_read_kind); 0 us is now. */
uint64_t times_on(struct times *t, uint64_t monotonic_us, uint32_t clock_kind);
#endif
