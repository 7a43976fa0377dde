/* When a boot is done: answers of systemd, and made-up series of CPU counters. */
#include "autologger/daemon/end/boot_done.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define START (5000 * MS)

enum { MOST = 8 };
/* A machine: counters in ticks of 10 ms. */
struct machine {
    struct boot_done     d;
    struct boot_done_cpu cpu[MOST];
    unsigned             cpus;
    uint64_t             now;
};

static struct machine machine_make(unsigned cpus)
{
    struct machine m = {.cpus = cpus, .now = START};
    boot_done_init(&m.d, START - 2000 * MS);
    for (unsigned i = 0; i < cpus; i++)
        m.cpu[i] = (struct boot_done_cpu){100 * i, 1000 + 100 * i};
    return m;
}

/* Advances time by `ms`, `percent` of it idle on every CPU, and takes a sample. */
static bool pass(struct machine *m, unsigned ms, unsigned percent)
{
    m->now += ms * MS;
    for (unsigned i = 0; i < m->cpus; i++) {
        m->cpu[i].total += ms / 10;
        m->cpu[i].idle += ms / 10 * percent / 100;
    }
    return boot_done_sample(&m->d, m->now, m->cpu, m->cpus);
}

/* Passes slices of 100 ms until mark 2. Returns their number, 0: not within `most`. */
static unsigned slices(struct machine *m, unsigned percent, unsigned most)
{
    for (unsigned n = 1; n <= most; n++)
        if (pass(m, 100, percent))
            return n;
    return 0;
}

static struct machine running(unsigned cpus)
{
    struct machine m = machine_make(cpus);
    assert_int_equal(boot_done_answer(&m.d, m.now, BOOT_ANSWER_RUNNING), 0);
    assert_int_equal(m.d.target_ns, m.now);
    assert_false(boot_done_sample(&m.d, m.now, m.cpu, m.cpus));
    return m;
}

static void answers(void **state)
{
    (void)state;
    assert_int_equal(boot_answer_parse("running\n"), BOOT_ANSWER_RUNNING);
    assert_int_equal(boot_answer_parse("degraded\n"), BOOT_ANSWER_DEGRADED);
    assert_int_equal(boot_answer_parse("starting\n"), BOOT_ANSWER_NOT_YET);
    assert_int_equal(boot_answer_parse("maintenance"), BOOT_ANSWER_NOT_YET);
    assert_int_equal(boot_answer_parse("stopping\n"), BOOT_ANSWER_NOT_YET);
    assert_int_equal(boot_answer_parse("offline\n"), BOOT_ANSWER_NONE);
    assert_int_equal(boot_answer_parse("runningx\n"), BOOT_ANSWER_NONE);
    assert_int_equal(boot_answer_parse("run"), BOOT_ANSWER_NONE);
    assert_int_equal(boot_answer_parse(""), BOOT_ANSWER_NONE);
}

static void mark_one_comes_from_the_system(void **state)
{
    struct machine m = machine_make(1);
    (void)state;
    assert_true(boot_done_answer(&m.d, 1 * MS, BOOT_ANSWER_NOT_YET) > 0);
    assert_int_equal(m.d.target_ns, 0);
    assert_int_equal(boot_done_answer(&m.d, 7 * MS, BOOT_ANSWER_DEGRADED), 0);
    assert_int_equal(m.d.target_ns, 7 * MS);
    assert_true(*m.d.note); /* the note says that something failed */
    assert_int_equal(boot_done_answer(&m.d, 9 * MS, BOOT_ANSWER_RUNNING), 0);
    assert_int_equal(m.d.target_ns, 7 * MS); /* the first answer counts */
    boot_done_finish(&m.d);
}

static void a_system_that_cannot_be_asked_is_ready_when_its_files_are(void **state)
{
    struct machine m = machine_make(1);
    (void)state;
    assert_true(boot_done_answer(&m.d, 1 * MS, BOOT_ANSWER_NONE) > 0);
    assert_true(boot_done_answer(&m.d, 2 * MS, BOOT_ANSWER_NONE) > 0);
    assert_true(boot_done_answer(&m.d, 3 * MS, BOOT_ANSWER_NOT_YET) > 0); /* an answer: the count starts afresh */
    for (int i = 1; i < BOOT_ASK_FAILURES; i++)
        assert_true(boot_done_answer(&m.d, 4 * MS, BOOT_ANSWER_NONE) > 0);
    assert_int_equal(boot_done_answer(&m.d, 5 * MS, BOOT_ANSWER_NONE), 0);
    assert_int_equal(m.d.target_ns, m.d.ready_ns);
    assert_true(*m.d.note);
    boot_done_finish(&m.d);
}

static void idle_counts_after_mark_one_only(void **state)
{
    struct machine m = machine_make(2);
    (void)state;
    assert_int_equal(slices(&m, 100, 300), 0);
    boot_done_answer(&m.d, m.now, BOOT_ANSWER_RUNNING);
    assert_int_equal(slices(&m, 100, 300), 101); /* the first sample only gives the base */
    assert_int_equal(m.d.idle_ns, m.now);
    assert_true(m.d.idle_ns - m.d.target_ns >= BOOT_IDLE_MS * MS);
    assert_false(pass(&m, 100, 100)); /* the mark is reported once */
    boot_done_finish(&m.d);
}

static void eighty_percent_is_the_bound(void **state)
{
    static const struct {
        unsigned percent, slices;
    } cases[] = {{100, 100}, {80, 100}, {79, 0}, {70, 0}, {0, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine m = running(4);
        assert_int_equal(slices(&m, cases[i].percent, 2000), cases[i].slices);
        boot_done_finish(&m.d);
    }
}

static void busy_slices_are_skipped_not_starting_afresh(void **state)
{
    struct machine m = running(1);
    (void)state;
    for (int i = 0; i < 60; i++)
        assert_false(pass(&m, 100, 100));
    for (int i = 0; i < 1000; i++)
        assert_false(pass(&m, 100, 10));
    assert_int_equal(m.d.collected_ns, 6000 * MS);
    assert_int_equal(slices(&m, 90, 300), 40);
    boot_done_finish(&m.d);
}

/* One CPU of four busy: 75 % idle. */
static void the_machine_counts_not_one_cpu(void **state)
{
    struct machine m = running(4);
    (void)state;
    for (int i = 0; i < 500; i++) {
        m.cpu[0].idle -= 10;
        assert_false(pass(&m, 100, 100));
    }
    assert_int_equal(m.d.collected_ns, 0);
    boot_done_finish(&m.d);
}

static void a_late_sample_counts_as_one_slice(void **state)
{
    struct machine m = running(2);
    (void)state;
    assert_false(pass(&m, 30000, 100));
    assert_int_equal(m.d.collected_ns, BOOT_SLICE_MS * MS);
    assert_false(pass(&m, 120, 100)); /* a sample that is a little late is accepted */
    assert_int_equal(m.d.collected_ns, 220 * MS);
    boot_done_finish(&m.d);
}

static void cpus_come_and_go(void **state)
{
    struct machine m = running(4);
    (void)state;
    assert_false(pass(&m, 100, 100));
    m.cpu[3] = (struct boot_done_cpu){0, 0}; /* off: its counters are not missed */
    m.now += 100 * MS;
    for (unsigned i = 0; i < 3; i++)
        m.cpu[i].total += 10, m.cpu[i].idle += 10;
    assert_false(boot_done_sample(&m.d, m.now, m.cpu, 4));
    assert_int_equal(m.d.collected_ns, 200 * MS);
    m.cpu[3] = (struct boot_done_cpu){50, 100000}; /* back, with counters of its own */
    assert_false(pass(&m, 100, 100));
    assert_int_equal(m.d.collected_ns, 300 * MS);
    m.cpus   = 6; /* two more */
    m.cpu[4] = m.cpu[5] = (struct boot_done_cpu){1, 100000};
    assert_false(pass(&m, 100, 100));
    assert_int_equal(m.d.collected_ns, 400 * MS);
    m.cpu[0].idle -= 5000; /* counted backwards: that CPU is left out */
    assert_false(pass(&m, 100, 100));
    assert_int_equal(m.d.collected_ns, 500 * MS);
    m.cpus = 1; /* fewer, and busy */
    assert_false(pass(&m, 100, 0));
    assert_int_equal(m.d.collected_ns, 500 * MS);
    assert_int_equal(slices(&m, 100, 300), 95);
    boot_done_finish(&m.d);
}

static void counters_that_stand_still_say_nothing(void **state)
{
    struct machine m = running(2);
    (void)state;
    for (int i = 0; i < 500; i++)
        assert_false(boot_done_sample(&m.d, m.now += 100 * MS, m.cpu, m.cpus));
    assert_int_equal(m.d.collected_ns, 0);
    assert_false(boot_done_sample(&m.d, m.now += 100 * MS, m.cpu, 0)); /* no CPU at all */
    assert_int_equal(m.d.collected_ns, 0);
    boot_done_finish(&m.d);
}

static void a_clock_that_stands_still_adds_nothing(void **state)
{
    struct machine m = running(1);
    (void)state;
    for (int i = 0; i < 300; i++) {
        m.cpu[0].total += 10, m.cpu[0].idle += 10;
        assert_false(boot_done_sample(&m.d, m.now, m.cpu, m.cpus));
    }
    assert_int_equal(m.d.collected_ns, 0);
    boot_done_finish(&m.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(mark_one_comes_from_the_system),
        cmocka_unit_test(a_system_that_cannot_be_asked_is_ready_when_its_files_are),
        cmocka_unit_test(idle_counts_after_mark_one_only),
        cmocka_unit_test(eighty_percent_is_the_bound),
        cmocka_unit_test(busy_slices_are_skipped_not_starting_afresh),
        cmocka_unit_test(the_machine_counts_not_one_cpu),
        cmocka_unit_test(a_late_sample_counts_as_one_slice),
        cmocka_unit_test(cpus_come_and_go),
        cmocka_unit_test(counters_that_stand_still_say_nothing),
        cmocka_unit_test(a_clock_that_stands_still_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
