/* clock.h - the clocks of a session, and the map from CLOCK_MONOTONIC_RAW to the TSC.
 * ClockType 1 (QPC) is the raw TSC with its calibrated frequency where the kernel's clocksource is tsc and the CPU has
 * constant_tsc and nonstop_tsc, else CLOCK_MONOTONIC_RAW at 1 GHz; 2 is CLOCK_REALTIME_COARSE as FILETIME; 3 is the
 * TSC. perf records carry CLOCK_MONOTONIC_RAW; a clockmap converts them to the TSC piecewise, by sync pairs.
 * Invariants: K1 clockmap results never go backwards for inputs that don't. K2 one frequency a boot.
 * Threads: reading: any; adding pairs: one. Not for: time zones and text (filetime.h). */
#ifndef REGISTRY_SIM_BASE_CLOCK_H
#define REGISTRY_SIM_BASE_CLOCK_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>

enum clock_read_kind { CLOCK_READ_TSC = 0, CLOCK_READ_RAW = 1, CLOCK_READ_COARSE = 2 };

struct session_clock {
    uint32_t type;      /* 1, 2, 3: as in the file header */
    uint32_t read_kind; /* enum clock_read_kind: how a writer reads it */
    uint64_t freq;      /* ticks a second */
};

/* Machine facts, found once: is the TSC usable, and its frequency (the one kept for this boot, clock_kept.h; else
 * perf's time_mult where it is available, else a fit of about 100 ms against CLOCK_MONOTONIC_RAW). */
struct clock_machine {
    bool     tsc_usable;
    uint64_t tsc_hz;       /* 0 when not usable */
    uint32_t cpu_mhz;      /* never 0 */
    char     why_not[128]; /* when not usable: the reason in words */
};
void clock_machine_find(struct clock_machine *out);
/* Hz -> MHz, rounded, as in a file's header. */
uint32_t clock_mhz(uint64_t hz);
/* The TSC frequency that sessions of this boot use, even if the kernel's clocksource has changed since; 0: no session
 * can use the TSC. */
uint64_t clock_boot_hz(void);
/* The clock for a declared ClockType. *slow (may be NULL): each reading takes a system call. */
struct session_clock clock_for_type(uint32_t clock_type, const struct clock_machine *machine, bool *slow);
uint64_t             clock_read(const struct session_clock *clock);

/* An anchor: three clocks at one instant, and how far apart the readings may be. */
struct clock_anchor {
    uint64_t tsc;
    uint64_t raw_ns;        /* CLOCK_MONOTONIC_RAW */
    uint64_t filetime;      /* UTC */
    uint64_t boot_filetime; /* FILETIME of the boot */
    uint64_t tsc_hz;
    uint64_t error_ns; /* half the distance of the closest pair of reads */
};
void clock_anchor_take(const struct clock_machine *machine, struct clock_anchor *out);
/* Moves an anchor back in time to `raw_ns` (events of the boot are older than the anchor). It does not move when one of
 * the clocks had not begun by then. */
void clock_anchor_back(struct clock_anchor *anchor, uint64_t raw_ns);
/* The anchor's value on a session's clock (the value at the file header's start time). */
uint64_t clock_anchor_on(const struct clock_anchor *anchor, const struct session_clock *clock);

enum { CLOCKMAP_PAIRS = 256 };
struct clockmap {
    uint64_t tsc_hz;
    unsigned count; /* the newest CLOCKMAP_PAIRS - 1 are kept */
    struct {
        uint64_t raw_ns, tsc;
    } pair[CLOCKMAP_PAIRS];
    uint64_t error_ns; /* largest half distance of a pair so far */
};
void clockmap_init(struct clockmap *map, uint64_t tsc_hz);
/* takes a pair now: at arming, each drain (at most every 50 ms), clocksource change */
void     clockmap_sync(struct clockmap *map);
uint64_t clockmap_tsc(const struct clockmap *map, uint64_t raw_ns);
/* Adds a pair taken elsewhere (raw kernel records carry them). It serves any session clock: with `tsc_hz` set to the
 * clock's frequency, `value` and the map's results are of that clock. A pair that would make the map go backwards is
 * dropped. */
void clockmap_add(struct clockmap *map, uint64_t raw_ns, uint64_t value, uint64_t error_ns);
/* One instant on CLOCK_MONOTONIC_RAW and on `clock`; returns the error bound in ns. */
uint64_t clock_pair(const struct session_clock *clock, uint64_t *raw_ns, uint64_t *value);
#endif
