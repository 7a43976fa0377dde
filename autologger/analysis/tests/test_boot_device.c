/* How devices got their drivers, and the rule that names a device that held the boot up: boots made by hand. */
#include "autologger/analysis/boot_device.h"
#include "autologger/analysis/boot_run.h"
#include "autologger/analysis/boot_verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000000)
enum { MANY = 16, THREAD = 77 };

struct made {
    struct boot          b;
    struct boot_unit     unit[2];
    struct boot_process  process[4];
    struct boot_probe    probe[MANY];
    struct boot_deferral deferral[MANY];
    struct boot_firmware firmware[MANY];
    struct boot_module   module[MANY];
    struct boot_wait     wait[MANY];
    struct boot_run      run[1];
    struct boot_step     step[2];
    struct boot_path     path;
};

static char *word(const char *text) { return (char *)(uintptr_t)text; }

/* A boot of 20 s whose path goes through the unit from 2 s to 19 s. */
static void begin(struct made *m, const char *unit)
{
    memset(m, 0, sizeof *m);
    m->unit[0]    = (struct boot_unit){.name = word(unit), .activating = 2 * S, .active = 19 * S};
    m->unit[1]    = (struct boot_unit){.name = word("last.service"), .activating = 19 * S, .active = 20 * S};
    m->process[0] = (struct boot_process){.pid     = THREAD,
                                          .parent  = BOOT_NONE,
                                          .exec_of = BOOT_NONE,
                                          .unit    = 0,
                                          .name    = word("insmod"),
                                          .command = word("insmod x.ko"),
                                          .label   = word("insmod"),
                                          .start   = 2 * S,
                                          .end     = 19 * S};
    m->step[0]    = (struct boot_step){.kind    = STEP_UNIT,
                                       .unit    = 0,
                                       .process = BOOT_NONE,
                                       .start   = 2 * S,
                                       .end     = 19 * S,
                                       .what    = word(unit),
                                       .why     = word("")};
    m->step[1]    = (struct boot_step){.kind    = STEP_UNIT,
                                       .unit    = 1,
                                       .process = BOOT_NONE,
                                       .start   = 19 * S,
                                       .end     = 20 * S,
                                       .what    = word("last.service"),
                                       .why     = word("")};
    m->path       = (struct boot_path){.step = m->step, .steps = 2};
    m->b          = (struct boot){.unit             = m->unit,
                                  .units            = 2,
                                  .process          = m->process,
                                  .processes        = 1,
                                  .probe            = m->probe,
                                  .deferral         = m->deferral,
                                  .firmware_request = m->firmware,
                                  .module           = m->module,
                                  .wait             = m->wait,
                                  .run              = m->run,
                                  .switches         = true,
                                  .cpus             = 2,
                                  .user             = S,
                                  .finish           = 20 * S,
                                  .last             = 30 * S};
}

static void probed(struct made *m, const char *device, double start, double end, int result)
{
    m->probe[m->b.probes++] = (struct boot_probe){.device  = word(device),
                                                  .driver  = word(device),
                                                  .bus     = word("platform"),
                                                  .process = 0,
                                                  .thread  = THREAD,
                                                  .start   = (int64_t)(start * S),
                                                  .end     = (int64_t)(end * S),
                                                  .result  = result};
}

static void put_off(struct made *m, const char *device, const char *reason, const char *supplier, double at)
{
    m->deferral[m->b.deferrals++] =
        (struct boot_deferral){word(device), word(reason), word(supplier), (int64_t)(at * S)};
}

static const struct boot_finding *verdict(struct made *m, struct boot_verdict *v)
{
    boot_verdict_make(&m->b, &m->path, v);
    return v->findings ? &v->finding[0] : NULL;
}

static void expect(struct made *m, const char *const *texts)
{
    struct boot_verdict        v;
    const struct boot_finding *f = verdict(m, &v);
    assert_non_null(f);
    print_message("%s\n", v.sentence);
    assert_string_equal(f->rule, "device");
    for (; *texts; texts++)
        assert_non_null(strstr(v.sentence, *texts));
}
#define EXPECT(m, ...) expect(m, (const char *const[]){__VA_ARGS__, NULL})

static void a_slow_driver(void **state)
{
    struct made m;
    (void)state;
    begin(&m, "load.service");
    probed(&m, "al-quick", 2.1, 2.2, 0);
    probed(&m, "al-slow", 3, 18, 0);
    m.wait[m.b.waits++] = (struct boot_wait){.process = 0,
                                             .waker   = BOOT_NONE,
                                             .thread  = THREAD,
                                             .start   = 3 * S,
                                             .end     = 18 * S,
                                             .state   = BOOT_OTHER,
                                             .stack   = BOOT_NONE};
    EXPECT(&m, "The driver al-slow took 15.0 s for the device al-slow (platform)", "asleep",
           "; load.service waited for it.");
    m.b.waits = 0;
    struct boot_verdict v;
    assert_non_null(verdict(&m, &v));
    assert_null(strstr(v.sentence, "most of it")); /* no context switch tells how the driver spent the time */
    m.b.runs = 1, m.b.run_width = 32 * S;
    m.run[0] = (struct boot_run){0, 0, 30 * S, 0};
    EXPECT(&m, "on a processor");
    m.probe[1].result = -5;
    EXPECT(&m, "in vain");
    m.probe[1].open = true;
    EXPECT(&m, "has not taken the device al-slow");
}

static void firmware_that_is_not_there(void **state)
{
    struct made m;
    (void)state;
    begin(&m, "load.service");
    probed(&m, "al-radio", 3, 18, 0);
    m.firmware[m.b.firmware_requests++] =
        (struct boot_firmware){word("radio.bin"), word("al-radio"), THREAD, 4 * S, 17 * S, -2};
    EXPECT(&m, "13.0 s of it for the firmware radio.bin, which it did not get");
}

static void a_supplier_that_comes_late(void **state)
{
    struct made m;
    (void)state;
    begin(&m, "dev-al\\x2dconsumer.device");
    probed(&m, "al-consumer", 3, 3.001, -517);
    put_off(&m, "al-consumer", "supplier al-supplier not ready", "al-supplier", 3.0005);
    probed(&m, "al-supplier", 17, 17.1, 0);
    probed(&m, "al-consumer", 17.2, 17.3, 0);
    m.module[m.b.modules++] = (struct boot_module){word("al_supplier"), (int64_t)(16.9 * S)};
    EXPECT(&m, "The device al-consumer (driver al-consumer) waited 14.2 s for the device al-supplier",
           "(module al_supplier) was loaded 13.9 s after", "; dev-al\\x2dconsumer.device waited for it.");
    m.b.modules = 0;
    EXPECT(&m, "which came 14.0 s after");
    m.probe[1].start = 4 * S; /* the device existed; its driver took long */
    EXPECT(&m, "whose driver al-supplier took 13.1 s for it");
    m.b.probes = 1; /* neither device ever got a driver */
    EXPECT(&m, "waited 17.0 s, in vain, for the device al-supplier", "no driver took that one");
}

static void a_chain_of_suppliers(void **state)
{
    struct made m;
    (void)state;
    begin(&m, "dev-x.device");
    probed(&m, "first", 3, 3.001, -517);
    put_off(&m, "first", "supplier second not ready", "second", 3);
    probed(&m, "second", 3.1, 3.2, -517);
    put_off(&m, "second", "supplier third not ready", "third", 3.1);
    probed(&m, "third", 15, 15.1, 0);
    probed(&m, "second", 15.2, 15.3, 0);
    probed(&m, "first", 15.4, 15.5, 0);
    EXPECT(&m, "The device first", "for the device second", "in the end for third", "which came");
    /* a cycle of two suppliers does not loop for ever */
    put_off(&m, "second", "supplier first not ready", "first", 3.2);
    EXPECT(&m, "for the device second that it needs, and that one needs it");
}

static void a_driver_with_words_of_its_own(void **state)
{
    struct made m;
    (void)state;
    begin(&m, "systemd-udev-settle.service");
    for (int i = 0; i < 3; i++) {
        probed(&m, "al-defer", 3 + i, 3.01 + i, 517);
        put_off(&m, "al-defer", "clock not there yet (1)", "", 3 + i);
    }
    probed(&m, "al-defer", 18, 18.1, 0);
    EXPECT(&m, "The driver al-defer put the device al-defer off 3 times, 15.0 s in all: \"clock not there yet (1)\"");
}

/* Probes beside the path are never the verdict. */
static void beside_the_path(void **state)
{
    struct made         m;
    struct boot_verdict v;
    (void)state;
    begin(&m, "works.service");
    m.process[0].unit = BOOT_NONE;
    m.process[0].pid  = 4; /* a thread of the kernel's */
    probed(&m, "al-slow", 3, 18, 0);
    probed(&m, "al-defer", 3, 3.01, 517);
    probed(&m, "al-defer", 18, 18.1, 0);
    boot_verdict_make(&m.b, &m.path, &v);
    for (unsigned i = 0; i < v.findings; i++)
        assert_string_not_equal(v.finding[i].rule, "device");
}

static void devices_as_they_were(void **state)
{
    struct made m;
    unsigned    count;
    bool        failed;
    (void)state;
    begin(&m, "x.service");
    struct boot_device *all = boot_devices_make(&m.b, &count, &failed);
    assert_true(!all && count == 0 && !failed);
    probed(&m, "same", 1, 1.5, 19);
    probed(&m, "other", 2, 2.2, 0);
    probed(&m, "same", 3, 4, 0);
    m.probe[1].bus = word("pci");
    all            = boot_devices_make(&m.b, &count, &failed);
    assert_int_equal(count, 2);
    assert_string_equal(all[0].name, "same");
    assert_true(all && all[0].first == S && all[0].ready == 4 * S && all[0].longest == 2 && all[0].deferrals == 0 &&
                all[0].waited == 0);
    assert_string_equal(all[1].bus, "pci");
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_slow_driver),
                                       cmocka_unit_test(firmware_that_is_not_there),
                                       cmocka_unit_test(a_supplier_that_comes_late),
                                       cmocka_unit_test(a_chain_of_suppliers),
                                       cmocka_unit_test(a_driver_with_words_of_its_own),
                                       cmocka_unit_test(beside_the_path),
                                       cmocka_unit_test(devices_as_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
