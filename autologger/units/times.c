#include "autologger/units/times.h"

#include "registry-sim/win32/filetime.h"

#include <string.h>
#include <time.h>

enum { PAIR_EVERY_NS = 1000000000, TRIES = 5 };

static uint64_t read_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void times_init(struct times *t)
{
    memset(t, 0, sizeof *t);
    clockmap_init(&t->map, clock_boot_hz());
    times_sync(t);
}

/* Reads the raw clock between two readings of the other, and keeps the narrowest of some tries. */
static void times_pair_take(struct times *t)
{
    uint64_t best = UINT64_MAX;
    if (t->count == TIMES_PAIRS) { /* drops the second pair: the first one serves all earlier times */
        memmove(&t->pair[1], &t->pair[2], (TIMES_PAIRS - 2) * sizeof *t->pair);
        t->count--;
    }
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = read_ns(CLOCK_MONOTONIC), raw = read_ns(CLOCK_MONOTONIC_RAW),
                 after = read_ns(CLOCK_MONOTONIC);
        if (after - before >= best)
            continue;
        best                           = after - before;
        t->pair[t->count].monotonic_ns = before + best / 2;
        t->pair[t->count].raw_ns       = raw;
    }
    t->count++;
}

void times_sync(struct times *t)
{
    if (t->count > 0 && read_ns(CLOCK_MONOTONIC) - t->pair[t->count - 1].monotonic_ns < PAIR_EVERY_NS)
        return;
    times_pair_take(t);
    if (t->map.tsc_hz)
        clockmap_sync(&t->map);
}

uint64_t times_raw(const struct times *t, uint64_t monotonic_us)
{
    const uint64_t ns = monotonic_us * 1000;
    unsigned       i  = t->count - 1;

    while (i > 0 && t->pair[i].monotonic_ns > ns)
        i--;
    if (i == t->count - 1 || t->pair[i].monotonic_ns > ns) /* outside all pairs: the distance of the nearest */
        return ns + t->pair[i].raw_ns > t->pair[i].monotonic_ns ? ns + t->pair[i].raw_ns - t->pair[i].monotonic_ns : 0;
    const uint64_t length = t->pair[i + 1].monotonic_ns - t->pair[i].monotonic_ns,
                   raw    = t->pair[i + 1].raw_ns - t->pair[i].raw_ns;
    return t->pair[i].raw_ns + (uint64_t)((unsigned __int128)(ns - t->pair[i].monotonic_ns) * raw / length);
}

uint64_t times_on(struct times *t, uint64_t monotonic_us, uint32_t clock_kind)
{
    if (clock_kind == CLOCK_READ_COARSE) {
        uint64_t now = read_ns(CLOCK_REALTIME), monotonic = read_ns(CLOCK_MONOTONIC);
        return filetime_from_unix_ns(monotonic_us ? now - monotonic + monotonic_us * 1000 : now);
    }
    const uint64_t raw = monotonic_us ? times_raw(t, monotonic_us) : read_ns(CLOCK_MONOTONIC_RAW);
    return clock_kind == CLOCK_READ_TSC ? clockmap_tsc(&t->map, raw) : raw;
}
