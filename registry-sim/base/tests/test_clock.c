/* Session clocks, the boot's anchor, and joining CLOCK_MONOTONIC_RAW with the TSC. Proves: one clock for a merged
 * trace, and issue 2 "one anchor". */
#include "registry-sim/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint64_t raw_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void machine_says_why(void **state)
{
    struct clock_machine m;
    (void)state;
    clock_machine_find(&m);
    assert_true(m.cpu_mhz > 0);
    assert_int_equal(m.tsc_usable, m.why_not[0] == 0);
    assert_int_equal(m.tsc_usable, m.tsc_hz != 0);
}

static void types_and_fallback(void **state)
{
    struct clock_machine yes = {.tsc_usable = true, .tsc_hz = 2500000000u, .cpu_mhz = 2500}, no = {.cpu_mhz = 1000};
    bool                 slow;
    (void)state;
    struct session_clock c = clock_for_type(1, &yes, &slow);
    assert_true(c.type == 1 && c.read_kind == CLOCK_READ_TSC && c.freq == 2500000000u && !slow);
    c = clock_for_type(3, &yes, NULL);
    assert_true(c.type == 3 && c.read_kind == CLOCK_READ_TSC);
    c = clock_for_type(3, &no, NULL); /* no TSC: the file must not claim cycles */
    assert_true(c.type == 1 && c.read_kind == CLOCK_READ_RAW && c.freq == 1000000000u);
    c = clock_for_type(2, &no, &slow);
    assert_true(c.type == 2 && c.read_kind == CLOCK_READ_COARSE && c.freq == 10000000u && !slow);
}

static void clocks_do_not_go_back(void **state)
{
    struct clock_machine m;
    (void)state;
    clock_machine_find(&m);
    for (uint32_t type = 1; type <= 3; type++) {
        struct session_clock c    = clock_for_type(type, &m, NULL);
        uint64_t             last = clock_read(&c);
        for (int i = 0; i < 1000; i++) {
            uint64_t now = clock_read(&c);
            assert_true(now >= last);
            last = now;
        }
    }
}

static void anchor_is_close(void **state)
{
    struct clock_machine m;
    struct clock_anchor  a;
    (void)state;
    clock_machine_find(&m);
    uint64_t before = raw_now();
    clock_anchor_take(&m, &a);
    uint64_t after = raw_now();
    assert_true(before <= a.raw_ns && a.raw_ns <= after);
    assert_true(a.error_ns > 0 && a.error_ns < 1000000);
    assert_true(a.boot_filetime < a.filetime);
    struct session_clock coarse = clock_for_type(2, &m, NULL);
    uint64_t             now    = clock_read(&coarse);
    assert_true(now + 10000000 > a.filetime && now < a.filetime + 50000000);
    assert_int_equal(clock_anchor_on(&a, &coarse), a.filetime);
}

/* Stamps as perf gives them, between two reads of the TSC: the map's answer must lie between those reads, plus its
 * bound. */
static void map_is_within_its_bound(void **state)
{
    struct clock_machine m;
    static struct {
        uint64_t before, raw, after;
    } s[2000];
    struct clockmap map;
    unsigned        n = 0;
    (void)state;
    clock_machine_find(&m);
    if (!m.tsc_usable)
        skip();
    struct session_clock tsc = clock_for_type(1, &m, NULL);
    clockmap_init(&map, m.tsc_hz);
    for (int round = 0; round < 4; round++) {
        clockmap_sync(&map);
        for (int i = 0; i < 500; i++, n++) {
            s[n].before = clock_read(&tsc);
            s[n].raw    = raw_now();
            s[n].after  = clock_read(&tsc);
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    clockmap_sync(&map);
    assert_int_equal(map.count, 5);
    assert_true(map.error_ns > 0 && map.error_ns < 100000);
    uint64_t slack = (uint64_t)((double)map.error_ns * (double)m.tsc_hz / 1e9) + 8, last = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t t = clockmap_tsc(&map, s[i].raw);
        assert_true(t >= last && t + slack >= s[i].before && t <= s[i].after + slack);
        last = t;
    }
}

static void map_is_monotone_and_bounded(void **state)
{
    static struct clockmap map;
    (void)state;
    clockmap_init(&map, 2000000000u);
    /* a clock that wobbles: 2 GHz +- 1000 ppm, more pairs than the map keeps */
    for (uint64_t i = 1, tsc = 5000; i <= 1000; i++) {
        tsc += 100000000u + (i % 2 ? 100000u : 0);
        clockmap_add(&map, i * 50000000u, tsc, 10);
    }
    assert_int_equal(map.count, CLOCKMAP_PAIRS - 1);
    unsigned count = map.count;
    clockmap_add(&map, 1, 1, 10); /* backwards: dropped */
    clockmap_add(&map, UINT64_C(1) << 62, 3, 10);
    assert_int_equal(map.count, count);
    uint64_t last = 0;
    for (uint64_t raw = 0; raw < UINT64_C(51000000000); raw += 7654321) {
        uint64_t t = clockmap_tsc(&map, raw);
        assert_true(t >= last);
        last = t;
    }
    for (unsigned i = 0; i < map.count; i++)
        assert_int_equal(clockmap_tsc(&map, map.pair[i].raw_ns), map.pair[i].tsc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_says_why),        cmocka_unit_test(types_and_fallback),
        cmocka_unit_test(clocks_do_not_go_back),   cmocka_unit_test(anchor_is_close),
        cmocka_unit_test(map_is_within_its_bound), cmocka_unit_test(map_is_monotone_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
