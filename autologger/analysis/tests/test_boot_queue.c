/* Which programs ran in a span, and what systemd did before it started a unit: a boot made by hand, with known runs. */
#include "autologger/analysis/boot_build.h"
#include "autologger/analysis/boot_queue.h"
#include "autologger/analysis/boot_verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000000)
enum { ONE, UDEV, HELPER, GPG, PROCESSES, UDEV_UNIT = 0, SLOW_UNIT, TARGET_UNIT, UNITS };

struct made {
    struct boot_builder w;
    struct boot         b;
    struct boot_process process[PROCESSES];
    struct boot_unit    unit[UNITS];
    struct boot_wait    wait[1];
};

static void begin(struct made *m)
{
    static char *const units[UNITS]      = {(char *)(uintptr_t) "udevd.service", (char *)(uintptr_t) "slow.service",
                                            (char *)(uintptr_t) "end.target"};
    static char *const labels[PROCESSES] = {(char *)(uintptr_t) "systemd", (char *)(uintptr_t) "udevd",
                                            (char *)(uintptr_t) "helper", (char *)(uintptr_t) "gpg"};
    memset(m, 0, sizeof *m);
    for (int i = 0; i < PROCESSES; i++)
        m->process[i] = (struct boot_process){.pid     = i == ONE ? 1 : 100 + (uint32_t)i,
                                              .unit    = i == UDEV || i == HELPER ? UDEV_UNIT : BOOT_NONE,
                                              .parent  = BOOT_NONE,
                                              .exec_of = BOOT_NONE,
                                              .label   = labels[i],
                                              .command = labels[i],
                                              .end     = 40 * S,
                                              .lives   = true};
    for (int i = 0; i < UNITS; i++)
        m->unit[i].name = units[i];
    m->b   = (struct boot){.process   = m->process,
                           .processes = PROCESSES,
                           .unit      = m->unit,
                           .units     = UNITS,
                           .wait      = m->wait,
                           .switches  = true,
                           .wakeups   = true,
                           .cpus      = 2,
                           .user      = 5 * S,
                           .finish    = 30 * S,
                           .last      = 40 * S};
    m->w.b = &m->b;
}

static void end(struct made *m)
{
    free(m->b.run);
    idmap_finish(&m->w.runs);
}

static void ran(struct made *m, int process, bool running, double from, double to)
{
    boot_run_add(&m->w, process, running, (int64_t)(from * S), (int64_t)(to * S));
}

static void near_to(int64_t is, double seconds)
{
    const int64_t should = (int64_t)(seconds * S);
    assert_in_range(is, should - S / 20 > 0 ? should - S / 20 : 0, should + S / 20);
}

static void runs_are_what_ran(void **state)
{
    struct made        m;
    struct boot_runner who[3];
    (void)state;
    begin(&m);
    ran(&m, ONE, true, 10, 12);
    ran(&m, ONE, false, 12, 15);
    ran(&m, UDEV, true, 11, 14);
    ran(&m, HELPER, true, 14, 18);
    ran(&m, GPG, true, 14, 15);
    near_to(boot_ran(&m.b, ONE, 0, 40 * S).running, 2);
    near_to(boot_ran(&m.b, ONE, 0, 40 * S).ready, 3);
    near_to(boot_ran(&m.b, ONE, 11 * S, 13 * S).running, 1);
    near_to(boot_ran(&m.b, ONE, 11 * S, 13 * S).ready, 1);
    assert_int_equal(boot_ran(&m.b, ONE, 20 * S, 30 * S).running, 0);
    assert_int_equal(boot_runners(&m.b, 10 * S, 20 * S, ONE, who, 3), 2);
    assert_int_equal(who[0].unit, UDEV_UNIT);
    assert_int_equal(who[0].process, HELPER); /* the process of the unit that ran most */
    near_to(who[0].ran, 7);
    assert_int_equal(who[1].unit, BOOT_NONE);
    assert_int_equal(who[1].process, GPG);
    assert_int_equal(boot_runners(&m.b, 10 * S, 20 * S, BOOT_NONE, who, 1), 1); /* there is room for one row */
    assert_int_equal(who[0].unit, UDEV_UNIT);
    end(&m);
}

/* When bins become wider, run times keep their sum, and nearly their place. */
static void many_runs_are_folded(void **state)
{
    struct made m;
    (void)state;
    begin(&m);
    for (int i = 0; i < 20000; i++)
        ran(&m, i % PROCESSES, i % 8 < 4, i * 0.01, i * 0.01 + 0.005);
    int64_t running = 0, ready = 0;
    for (int p = 0; p < PROCESSES; p++) {
        running += boot_ran(&m.b, p, 0, 400 * S).running;
        ready += boot_ran(&m.b, p, 0, 400 * S).ready;
    }
    near_to(running, 50);
    near_to(ready, 50);
    assert_true(m.b.runs <= LANE_BINS * PROCESSES && m.b.run_width > LANE_FIRST_NS);
    near_to(boot_ran(&m.b, ONE, 0, 100 * S).running, 12.5 / 2);
    end(&m);
}

static void says(struct made *m, const char *text)
{
    struct boot_queue q;
    char              out[500];
    boot_queue_find(&m->b, 10 * S, 20 * S, &q);
    assert_string_equal(boot_queue_text(&m->b, &q, out, sizeof out), text);
    end(m);
}

static void what_systemd_did_is_told(void **state)
{
    struct made m;
    (void)state;
    begin(&m);
    ran(&m, ONE, true, 10, 18);
    ran(&m, UDEV, true, 10, 13);
    says(&m, "systemd itself ran 8.0 s; meanwhile udevd.service ran 3.0 s");
    begin(&m);
    ran(&m, ONE, false, 10, 17);
    ran(&m, UDEV, true, 10, 19);
    ran(&m, GPG, true, 10, 16);
    says(&m, "systemd waited 7.0 s for a processor; meanwhile udevd.service ran 9.0 s, gpg 6.0 s");
    begin(&m);
    ran(&m, ONE, false, 10, 14);
    ran(&m, ONE, true, 14, 17);
    says(&m, "systemd waited 4.0 s for a processor, and ran 3.0 s");
    begin(&m);
    m.wait[0] = (struct boot_wait){.process = ONE,
                                   .waker   = BOOT_NONE,
                                   .thread  = 1,
                                   .start   = 10 * S,
                                   .end     = 19 * S,
                                   .state   = BOOT_DISK,
                                   .stack   = BOOT_NONE};
    m.b.waits = 1;
    says(&m, "systemd waited 9.0 s for a disk");
    begin(&m);
    ran(&m, UDEV, true, 10, 14);
    says(&m, "systemd itself ran 0.0 s, and nothing tells what it waited for; meanwhile udevd.service ran 4.0 s");
    begin(&m);
    m.b.wakeups = false; /* without wake-ups a wait for a processor looks like any wait */
    ran(&m, ONE, true, 10, 12);
    says(&m, "systemd itself ran 2.0 s; without wake-ups (DISPATCHER) nothing tells whether it waited for a processor");
    begin(&m);
    m.b.seen_from = 15 * S; /* no context switch is known before this time */
    says(&m, "systemd itself, or a busy machine");
}

/* A unit that takes long is the verdict; systemd itself is the verdict only where nothing else stands out. */
static void it_is_the_verdict_of_last_resort(void **state)
{
    static struct boot_verdict v;
    struct boot_path          *p;
    struct reason              why;
    struct made                m;
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        begin(&m);
        m.unit[SLOW_UNIT].activating   = 6 * S;
        m.unit[SLOW_UNIT].active       = slow ? 10 * S : 6 * S + S / 10;
        m.unit[TARGET_UNIT].activating = m.unit[TARGET_UNIT].active = 20 * S;
        m.unit[TARGET_UNIT].after                                   = (char *)(uintptr_t) "slow.service";
        m.b.finish                                                  = 20 * S;
        ran(&m, ONE, true, 6, 20);
        assert_int_equal(boot_path_create(&m.b, &p, &why), 0);
        boot_verdict_make(&m.b, p, &v);
        assert_true(v.findings >= 1);
        assert_string_equal(v.finding[0].rule, slow ? "slow-unit" : "systemd");
        const struct boot_finding *f = &v.finding[0];
        for (unsigned i = 0; i < v.findings; i++)
            f = strcmp(v.finding[i].rule, "systemd") == 0 ? &v.finding[i] : f;
        assert_string_equal(f->rule, "systemd");
        near_to(f->cost, slow ? 10 : 13.9);
        assert_non_null(strstr(f->sentence, "was before end.target"));
        boot_path_destroy(p);
        end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_are_what_ran), cmocka_unit_test(many_runs_are_folded),
                                       cmocka_unit_test(what_systemd_did_is_told),
                                       cmocka_unit_test(it_is_the_verdict_of_last_resort)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
