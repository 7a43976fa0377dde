/* What a boot would have taken without a unit: on the path, beside it, with a second path, with orders that turn in
 * circles, with processors that everybody wants. */
#include "autologger/analysis/boot_run.h"
#include "autologger/analysis/boot_without.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000000)
enum { UNITS = 8 };

struct made {
    struct boot         b;
    struct boot_unit    unit[UNITS];
    struct boot_process process[UNITS];
    struct boot_run     run[64];
};

static char *word(const char *text) { return (char *)(uintptr_t)text; }

static void begin(struct made *m)
{
    memset(m, 0, sizeof *m);
    m->b = (struct boot){
        .unit = m->unit, .process = m->process, .run = m->run, .run_width = S, .cpus = 2, .switches = true};
    m->b.lane[BOOT_LANE_CPU].width = S;
}

static int unit(struct made *m, const char *name, const char *after, double from, double to)
{
    const int at = (int)m->b.units++;
    m->unit[at]  = (struct boot_unit){
         .name = word(name), .after = word(after), .activating = (int64_t)(from * S), .active = (int64_t)(to * S)};
    if (m->unit[at].active > m->b.finish)
        m->b.finish = m->b.last = m->unit[at].active;
    return at;
}

static void expect(struct made *m, int without, double gain, double least, double most, const char *last)
{
    struct boot_without x;
    assert_true(boot_without(&m->b, without, &x));
    print_message("without %s: %.2f s (%.2f to %.2f)\n", m->unit[without].name, (double)x.gain / S, (double)x.least / S,
                  (double)x.most / S);
    assert_float_equal((double)x.gain / S, gain, 0.001);
    assert_float_equal((double)x.least / S, least, 0.001);
    assert_float_equal((double)x.most / S, most, 0.001);
    assert_string_equal(m->unit[x.next].name, last);
    assert_true(x.least <= x.gain && x.gain <= x.most && x.least >= 0 && x.most <= m->b.finish);
}

/* first 1..2, then slow 2..10 and other 2..6, then last.target, which waits for both. */
static void a_chain(struct made *m)
{
    begin(m);
    unit(m, "first.service", "", 1, 2);
    unit(m, "slow.service", "first.service", 2, 10);
    unit(m, "other.service", "first.service", 2, 6);
    unit(m, "last.target", "slow.service other.service", 10, 10);
}

static void until_the_next_path(void **state)
{
    struct made m;
    (void)state;
    a_chain(&m);
    expect(&m, 1, 4, 4, 4, "last.target"); /* the other unit is done at 6 */
    expect(&m, 2, 0, 0, 0, "last.target"); /* beside the path */
    expect(&m, 0, 1, 1, 1, "last.target"); /* both paths go through it */
}

/* The pauses of systemd between a unit and the next one stay. */
static void pauses_stay(void **state)
{
    struct made m;
    (void)state;
    begin(&m);
    unit(&m, "slow.service", "", 1, 9);
    unit(&m, "next.service", "slow.service", 9.5, 10);
    unit(&m, "last.target", "next.service", 10.2, 10.2);
    expect(&m, 0, 8, 8, 8, "last.target");
}

/* Its order is not known: another unit, such as a timer, started it, so it does not move. */
static void what_something_else_started_stays(void **state)
{
    struct made m;
    (void)state;
    begin(&m);
    unit(&m, "slow.service", "", 1, 9);
    unit(&m, "by-timer.target", NULL, 9, 9.5);
    expect(&m, 0, 0, 0, 0, "by-timer.target");
}

static void circles_and_strangers(void **state)
{
    struct made m;
    (void)state;
    begin(&m);
    unit(&m, "a.service", "b.service gone.service", 1, 9);
    unit(&m, "b.service", "a.service b.service", 9, 10);
    unit(&m, "last.target", "b.service  a.service", 10, 11);
    expect(&m, 0, 8, 8, 8, "last.target");
}

/* The boot ends with the starts that were requested with it: not with a start that a socket causes meanwhile, nor with
 * autologger's own. */
static void what_the_boot_waits_for(void **state)
{
    struct made m;
    (void)state;
    a_chain(&m);
    unit(&m, "by-socket.service", "", 9, 9.9);
    m.unit[unit(&m, "autologger-status.service", "", 9, 9.9)].job_result = word("done");
    m.unit[3].job_result                                                 = word("done");
    m.unit[3].job_end                                                    = 10 * S;
    expect(&m, 1, 4, 4, 4, "last.target");
}

/* Work that moves competes with the programs that ran at that time; the unit's own share of the processors is free. */
static void processors_are_shared(void **state)
{
    struct made m;
    (void)state;
    a_chain(&m);
    unit(&m, "end.target", "last.target", 12, 12);
    for (int i = 6; i < 12; i++)
        m.b.lane[BOOT_LANE_CPU].bin[i] = 2 * S; /* all are busy */
    expect(&m, 1, 4, 2, 4, "end.target");       /* the two seconds after it take longer at an earlier time */
    a_chain(&m);
    m.unit[1].time[BOOT_RUNNING] = 8 * S;
    m.process[m.b.processes++] =
        (struct boot_process){.unit = 2, .name = word("o"), .label = word("o"), .command = word("o")};
    for (unsigned i = 2; i < 10; i++)
        m.b.lane[BOOT_LANE_CPU].bin[i] = 2 * S;
    for (unsigned i = 2; i < 6; i++)
        m.run[m.b.runs++] =
            (struct boot_run){0, i, S / 2, S / 2}; /* the other one waits for a processor half of its time */
    expect(&m, 1, 4, 4, 5, "last.target");         /* half of these two seconds were the slow unit's */
}

/* A file from elsewhere: times before its own beginning. */
static void times_before_the_beginning(void **state)
{
    struct made         m;
    struct boot_without x;
    (void)state;
    a_chain(&m);
    m.unit[1].activating = -1000000 * S;
    assert_true(boot_without(&m.b, 1, &x));
    m.unit[0].active = m.unit[0].activating = -1000000 * S;
    assert_false(boot_without(&m.b, 0, &x));
}

/* A unit that is started at once and then has a processor for 2 of 12 s works on; with a tenth of that it does not. */
static void what_works_on(void **state)
{
    struct made         m;
    struct boot_without x;
    (void)state;
    for (int part = 1; part <= 10; part += 9) {
        begin(&m);
        unit(&m, "loud.service", "", 1, 2);
        unit(&m, "last.target", "loud.service", 2, 12);
        m.b.processes = 1;
        m.process[0]  = (struct boot_process){.unit = 0, .start = 1 * S, .end = 12 * S};
        m.run[0]      = (struct boot_run){.process = 0, .bin = 1, .running = S}; /* its start does not count */
        m.run[1]      = (struct boot_run){.process = 0, .bin = 4, .running = S / part};
        m.run[2]      = (struct boot_run){.process = 0, .bin = 5, .running = S / part};
        m.b.runs      = 3;
        assert_true(boot_without(&m.b, 0, &x));
        assert_int_equal(x.works_on, part == 1);
        assert_true(boot_without(&m.b, 1, &x));
        assert_false(x.works_on);
    }
}

/* A device is there when its driver is done, not when systemd starts it. */
static void a_device(void **state)
{
    struct made         m;
    struct boot_without x;
    (void)state;
    begin(&m);
    unit(&m, "dev-sda.device", "", 1, 9);
    unit(&m, "device.service", "dev-sda.device", 9, 10);
    assert_false(boot_without(&m.b, 0, &x));
    assert_true(boot_is_device(&m.b, 0));
    assert_true(boot_without(&m.b, 1, &x));
    assert_false(boot_is_device(&m.b, 1));
}

static void what_cannot_be_said(void **state)
{
    struct made         m;
    struct boot_without x;
    (void)state;
    a_chain(&m);
    assert_false(boot_without(&m.b, BOOT_NONE, &x));
    assert_false(boot_without(&m.b, 99, &x));
    m.unit[1].active = 0; /* it was not started */
    assert_false(boot_without(&m.b, 1, &x));
    m.b.live = true;
    assert_false(boot_without(&m.b, 0, &x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(until_the_next_path),
                                       cmocka_unit_test(pauses_stay),
                                       cmocka_unit_test(what_something_else_started_stays),
                                       cmocka_unit_test(circles_and_strangers),
                                       cmocka_unit_test(what_the_boot_waits_for),
                                       cmocka_unit_test(processors_are_shared),
                                       cmocka_unit_test(times_before_the_beginning),
                                       cmocka_unit_test(what_works_on),
                                       cmocka_unit_test(a_device),
                                       cmocka_unit_test(what_cannot_be_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
