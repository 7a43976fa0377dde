/* clock.c - machine clocks, the boot's anchor, and the map from CLOCK_MONOTONIC_RAW to a session's clock. See
 * clock.h. */
#include "registry-sim/base/clock.h"
#include "registry-sim/base/clock_kept.h"
#include "registry-sim/win32/filetime.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { PAIR_TRIES = 24, FIT_TRIES = 400 };
#define NS_PER_S UINT64_C(1000000000)

static uint64_t base_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t tsc_now(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return base_clock_ns(CLOCK_MONOTONIC_RAW);
#endif
}

static size_t slurp(const char *path, char *out, size_t size)
{
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* The closest of several (TSC, RAW) pairs; returns the distance of its two TSC reads, a measure of its error. */
static uint64_t clock_pair_take(unsigned tries, uint64_t *tsc, uint64_t *raw)
{
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < tries; i++) {
        uint64_t a = tsc_now(), r = base_clock_ns(CLOCK_MONOTONIC_RAW), b = tsc_now();
        if (b - a < best) {
            best = b - a;
            *tsc = a + (b - a) / 2;
            *raw = r;
        }
    }
    return best;
}

/* The kernel's own scale for user space, from the first page of any perf ring: no waiting. 0: not available. */
static uint64_t hz_from_perf(void)
{
    struct perf_event_attr attr = {.type           = PERF_TYPE_SOFTWARE,
                                   .size           = sizeof attr,
                                   .config         = PERF_COUNT_SW_DUMMY,
                                   .exclude_kernel = 1,
                                   .exclude_hv     = 1};
    size_t                 page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t               hz   = 0;
    int                    fd   = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return 0;
    struct perf_event_mmap_page *m = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
    if (m != MAP_FAILED) {
        if (m->cap_user_time && m->time_mult && m->time_shift < 64)
            hz = (uint64_t)((((unsigned __int128)NS_PER_S << m->time_shift) + m->time_mult / 2) / m->time_mult);
        munmap(m, page);
    }
    close(fd);
    return hz;
}

static uint64_t hz_from_fit(void)
{
    uint64_t t0 = 0, r0 = 0, t1 = 0, r1 = 0;
    clock_pair_take(FIT_TRIES, &t0, &r0);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    clock_pair_take(FIT_TRIES, &t1, &r1);
    return (uint64_t)((unsigned __int128)(t1 - t0) * NS_PER_S / (r1 - r0));
}

/* Is `word` one of the words of `text`? */
static bool clock_has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        if ((p == text || strchr(" \t\n", p[-1])) && (p[n] == 0 || strchr(" \t\n", p[n])))
            return true;
    return false;
}

static void tsc_check(struct clock_machine *out, const char *cpuinfo)
{
    char source[64];
    slurp("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    source[strcspn(source, "\n")] = 0;
#if !defined(__x86_64__)
    (void)cpuinfo;
    snprintf(out->why_not, sizeof out->why_not, "this architecture has no TSC (clocksource %s)", source);
#else
    if (strcmp(source, "tsc") != 0)
        snprintf(out->why_not, sizeof out->why_not, "the kernel's clocksource is '%s', not tsc", source);
    else if (!clock_has_word(cpuinfo, "constant_tsc"))
        snprintf(out->why_not, sizeof out->why_not, "the CPU lacks constant_tsc");
    else if (!clock_has_word(cpuinfo, "nonstop_tsc"))
        snprintf(out->why_not, sizeof out->why_not, "the CPU lacks nonstop_tsc");
    else
        out->tsc_usable = true;
#endif
}

uint32_t clock_mhz(uint64_t hz) { return (uint32_t)((hz + 500000) / 1000000); }

void clock_machine_find(struct clock_machine *out)
{
    char cpuinfo[8192]; /* the first CPU is enough */
    *out = (struct clock_machine){0};
    slurp("/proc/cpuinfo", cpuinfo, sizeof cpuinfo);
    tsc_check(out, cpuinfo);
    if (out->tsc_usable) {
        out->tsc_hz = clock_kept_read(clock_kept_path());
        if (!out->tsc_hz)
            out->tsc_hz = hz_from_perf();
        if (!out->tsc_hz)
            out->tsc_hz = hz_from_fit();
        out->cpu_mhz = clock_mhz(out->tsc_hz);
    } else {
        const char *p = strstr(cpuinfo, "cpu MHz");
        p             = p ? strchr(p, ':') : NULL;
        out->cpu_mhz  = p ? (uint32_t)strtoul(p + 1, NULL, 10) : 0;
    }
    if (!out->cpu_mhz)
        out->cpu_mhz = 1000;
}

uint64_t clock_boot_hz(void)
{
    struct clock_machine machine;
    clock_machine_find(&machine);
    return machine.tsc_usable ? machine.tsc_hz : clock_kept_read(clock_kept_path());
}

/* Does reading CLOCK_MONOTONIC_RAW leave user space? The vDSO reads only these sources. */
static bool raw_needs_syscall(void)
{
    static const char *const vdso[] = {"tsc", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page",
                                       "arch_sys_counter"};
    char                     source[64];
    slurp("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    for (size_t i = 0; i < sizeof vdso / sizeof *vdso; i++)
        if (clock_has_word(source, vdso[i]))
            return false;
    return true;
}

struct session_clock clock_for_type(uint32_t clock_type, const struct clock_machine *machine, bool *slow)
{
    struct session_clock c;
    if (clock_type == 2)
        c = (struct session_clock){2, CLOCK_READ_COARSE, 10000000};
    else if (machine->tsc_usable)
        c = (struct session_clock){clock_type == 3 ? 3 : 1, CLOCK_READ_TSC, machine->tsc_hz};
    else
        c = (struct session_clock){1, CLOCK_READ_RAW, NS_PER_S};
    if (slow)
        *slow = c.read_kind == CLOCK_READ_RAW && raw_needs_syscall();
    return c;
}

uint64_t clock_read(const struct session_clock *clock)
{
    switch (clock->read_kind) {
    case CLOCK_READ_TSC: return tsc_now();
    case CLOCK_READ_RAW: return base_clock_ns(CLOCK_MONOTONIC_RAW);
    default: return filetime_from_unix_ns(base_clock_ns(CLOCK_REALTIME_COARSE));
    }
}

void clock_anchor_take(const struct clock_machine *machine, struct clock_anchor *out)
{
    uint64_t best = UINT64_MAX;
    *out          = (struct clock_anchor){.tsc_hz = machine->tsc_hz};
    for (unsigned i = 0; i < PAIR_TRIES * 2; i++) {
        uint64_t r0 = base_clock_ns(CLOCK_MONOTONIC_RAW), t = machine->tsc_usable ? tsc_now() : 0;
        uint64_t real = base_clock_ns(CLOCK_REALTIME), r1 = base_clock_ns(CLOCK_MONOTONIC_RAW);
        if (r1 - r0 < best) {
            best          = r1 - r0;
            out->tsc      = t;
            out->raw_ns   = r0 + (r1 - r0) / 2;
            out->filetime = filetime_from_unix_ns(real);
        }
    }
    out->error_ns      = best / 2 + 1;
    out->boot_filetime = filetime_from_unix_ns(base_clock_ns(CLOCK_REALTIME) - base_clock_ns(CLOCK_BOOTTIME));
}

void clock_anchor_back(struct clock_anchor *anchor, uint64_t raw_ns)
{
    uint64_t back  = anchor->raw_ns > raw_ns ? anchor->raw_ns - raw_ns : 0;
    uint64_t ticks = (uint64_t)((unsigned __int128)back * anchor->tsc_hz / NS_PER_S);
    if (ticks > anchor->tsc || back / 100 > anchor->filetime)
        return;
    anchor->raw_ns -= back;
    anchor->tsc -= ticks;
    anchor->filetime -= back / 100;
}

uint64_t clock_anchor_on(const struct clock_anchor *anchor, const struct session_clock *clock)
{
    switch (clock->read_kind) {
    case CLOCK_READ_TSC: return anchor->tsc;
    case CLOCK_READ_RAW: return anchor->raw_ns;
    default: return anchor->filetime;
    }
}

void clockmap_init(struct clockmap *map, uint64_t tsc_hz) { *map = (struct clockmap){.tsc_hz = tsc_hz}; }

void clockmap_add(struct clockmap *map, uint64_t raw_ns, uint64_t value, uint64_t error_ns)
{
    unsigned n = map->count;
    if (n && (raw_ns <= map->pair[n - 1].raw_ns || value <= map->pair[n - 1].tsc))
        return; /* K1: drop a pair that would make the map go backwards */
    if (n >= CLOCKMAP_PAIRS - 1) {
        memmove(map->pair, map->pair + 1, (n - 1) * sizeof *map->pair);
        n--;
    }
    map->pair[n].raw_ns = raw_ns;
    map->pair[n].tsc    = value;
    map->count          = n + 1;
    if (error_ns > map->error_ns)
        map->error_ns = error_ns;
}

uint64_t clock_pair(const struct session_clock *clock, uint64_t *raw_ns, uint64_t *value)
{
    uint64_t best = UINT64_MAX;
    if (clock->read_kind == CLOCK_READ_TSC) {
        best = clock_pair_take(PAIR_TRIES, value, raw_ns);
        return (uint64_t)((unsigned __int128)best * NS_PER_S / clock->freq / 2) + 1;
    }
    for (unsigned i = 0; i < PAIR_TRIES && clock->read_kind == CLOCK_READ_COARSE; i++) {
        uint64_t a = base_clock_ns(CLOCK_MONOTONIC_RAW), r = base_clock_ns(CLOCK_REALTIME),
                 b = base_clock_ns(CLOCK_MONOTONIC_RAW);
        if (b - a < best) {
            best    = b - a;
            *raw_ns = a + (b - a) / 2;
            *value  = filetime_from_unix_ns(r);
        }
    }
    if (clock->read_kind == CLOCK_READ_RAW) {
        *raw_ns = *value = base_clock_ns(CLOCK_MONOTONIC_RAW);
        return 0;
    }
    return best / 2 + 1;
}

void clockmap_sync(struct clockmap *map)
{
    struct session_clock tsc = {1, CLOCK_READ_TSC, map->tsc_hz};
    uint64_t             raw = 0, value = 0, error = clock_pair(&tsc, &raw, &value);
    clockmap_add(map, raw, value, error);
}

/* a * b / c without losing the high bits; 64 bits are nearly always enough */
static uint64_t clock_scale(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product / c;
    return (uint64_t)((unsigned __int128)a * b / c);
}

uint64_t clockmap_tsc(const struct clockmap *map, uint64_t raw_ns)
{
    unsigned i = map->count;
    if (i == 0)
        return clock_scale(raw_ns, map->tsc_hz, NS_PER_S);
    while (i && map->pair[i - 1].raw_ns > raw_ns)
        i--;
    if (i == 0) { /* before the first pair: extrapolate backwards */
        uint64_t back = clock_scale(map->pair[0].raw_ns - raw_ns, map->tsc_hz, NS_PER_S);
        return back < map->pair[0].tsc ? map->pair[0].tsc - back : 0;
    }
    uint64_t from = raw_ns - map->pair[i - 1].raw_ns, base = map->pair[i - 1].tsc;
    if (i == map->count)
        return base + clock_scale(from, map->tsc_hz, NS_PER_S);
    return base + clock_scale(from, map->pair[i].tsc - base, map->pair[i].raw_ns - map->pair[i - 1].raw_ns);
}
