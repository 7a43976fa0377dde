/* The phases of a boot out of its merged file: process 1 becomes /init, programs of the initramfs, the system's own;
 * without a kernel phase, without processes, without an early program, without a file. Proves: ANA-10. */
#include "autologger/boot/phases.h"
#include "autologger/daemon/end/phase_count.h"
#include "autologger/etl/tests/build.h"
#include "autologger/kernel/source/bootenv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/autologger-phases-XXXXXX";

/* The file begins 0.1 s after the boot, its clock has 10 MHz: `ms` since the boot. */
static int64_t at(unsigned ms) { return (int64_t)ms * 10000; }

static void program(struct image *m, unsigned ms, uint32_t pid)
{
    uint8_t body[16] = {0};
    memcpy(body + 8, &pid, sizeof pid);
    image_kernel(m, at(ms), 0x0301, 4, 4, body, sizeof body);
}

static void events(struct image *m, unsigned from_ms, unsigned count)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++)
        image_kernel(m, at(from_ms + i), 0x030B, 2, 0, &value, sizeof value);
}

static void save(struct image *m)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->data, 1, m->size, f), m->size);
    fclose(f);
    image_free(m);
}

/* kernel: 3 events before /init at 200; initramfs to 600, with two programs of process 1 more; target at 1000, done at
 * 2000. */
static void a_whole_boot(bool processes)
{
    struct etl_file_info info = build_info(8192);
    struct image         m    = image_start(&info);
    image_buffer(&m, 0, 1);
    events(&m, 110, 3);
    if (processes)
        program(&m, 200, 1);
    events(&m, 210, 5);
    if (processes) {
        program(&m, 500, 77); /* another process */
        program(&m, 550, 1);  /* run-init */
        program(&m, 600, 1);  /* systemd */
    }
    events(&m, 610, 7);
    events(&m, 1000, 2);
    if (processes)
        program(&m, 1500, 1); /* systemd executed itself again after an update */
    events(&m, 2000, 4);
    save(&m);
}

#define MS UINT64_C(1000000)
static const struct result_list times = {.early_ns     = 250 * MS,
                                         .start_ns     = 300 * MS,
                                         .target_ms    = 700,
                                         .boot_done_ms = 1700};

static void expect(const struct result_list *boot, enum result_phase phase, bool counted, uint64_t start_ms,
                   uint64_t length_ms, uint64_t count)
{
    struct phase_span s = phase_span(boot, phase);
    assert_int_equal(s.counted, counted);
    assert_int_equal(s.start_ns / MS, start_ms);
    assert_int_equal(s.length_ns / MS, length_ms);
    assert_int_equal(s.events, count);
}

static void all_phases(void **state)
{
    struct result_list boot = times;
    (void)state;
    a_whole_boot(true);
    phase_count(path, &times, &boot.phases);
    expect(&boot, RESULT_PHASE_KERNEL, true, 0, 200, 3);
    expect(&boot, RESULT_PHASE_INITRAMFS, true, 200, 400, 1 + 5 + 2);
    expect(&boot, RESULT_PHASE_USER, true, 600, 400, 1 + 7);
    expect(&boot, RESULT_PHASE_SETTLING, true, 1000, 1000, 2 + 1);
    expect(&boot, RESULT_PHASE_AFTER, true, 2000, 0, 4);
}

/* The end of the initramfs is not known: its events and those of user space cannot be told apart. */
static void without_processes(void **state)
{
    struct result_list boot = times;
    (void)state;
    a_whole_boot(false);
    phase_count(path, &times, &boot.phases);
    expect(&boot, RESULT_PHASE_KERNEL, true, 0, 300, 3 + 5); /* the early program's start stands for /init */
    expect(&boot, RESULT_PHASE_INITRAMFS, false, 300, 0, 0);
    expect(&boot, RESULT_PHASE_USER, false, 0, 0, 0);
    expect(&boot, RESULT_PHASE_SETTLING, true, 1000, 1000, 2);
    expect(&boot, RESULT_PHASE_AFTER, true, 2000, 0, 4);
}

static void without_an_early_program(void **state)
{
    struct result_list boot = times;
    (void)state;
    boot.early_ns = 0;
    a_whole_boot(true);
    phase_count(path, &boot, &boot.phases);
    assert_false(phase_span(&boot, RESULT_PHASE_KERNEL).begins);
    expect(&boot, RESULT_PHASE_INITRAMFS, false, 0, 0, 0);
    expect(&boot, RESULT_PHASE_USER, true, 0, 0, 3 + 1 + 5 + 3 + 7);
    expect(&boot, RESULT_PHASE_SETTLING, true, 1000, 1000, 3);
}

static void without_a_mark_or_a_file(void **state)
{
    struct result_list boot = times;
    (void)state;
    boot.target_ms = boot.boot_done_ms = 0;
    a_whole_boot(true);
    phase_count(path, &boot, &boot.phases);
    /* up to the last program: without a target its end is not known */
    expect(&boot, RESULT_PHASE_INITRAMFS, true, 200, 1300, 1 + 5 + 3 + 7 + 2);
    expect(&boot, RESULT_PHASE_USER, true, 1500, 0, 1 + 4);
    expect(&boot, RESULT_PHASE_SETTLING, false, 0, 0, 0);
    unlink(path);
    phase_count(path, &boot, &boot.phases);
    for (enum result_phase i = 0; i < RESULT_PHASES; i++)
        assert_false(phase_span(&boot, i).counted);
}

/* Values of the machine in the kernel session at its end: read from the self-describing event, of our provider
 * alone. */
static void told_by_the_machine(void **state)
{
    enum { TRAITS = sizeof BOOTENV_PROVIDER + 2, SCHEMA = 3 + sizeof BOOTENV_TIMES_NAME };
    static const uint8_t schema[SCHEMA + 1] = "\0\0\0" BOOTENV_TIMES_NAME, traits[TRAITS + 1] = "\0\0" BOOTENV_PROVIDER;
    const uint64_t       ns[] = {3000 * MS, 1500 * MS};
    struct etl_file_info info = build_info(8192);
    (void)state;
    for (int ours = 0; ours < 2; ours++) {
        struct result_list boot = times;
        struct image       m    = image_start(&info);
        uint8_t            sized[2][64];
        memcpy(sized[0], traits, TRAITS);
        memcpy(sized[1], schema, SCHEMA);
        sized[0][0] = TRAITS;
        sized[1][0] = SCHEMA;
        image_buffer(&m, 0, 1);
        events(&m, 110, 3);
        const size_t head = m.pos;
        image_tracelogging(&m, at(2500), sized[0], TRAITS, sized[1], SCHEMA, ns, sizeof ns);
        const struct guid provider = guid_from_name(ours ? BOOTENV_PROVIDER : "Contoso-Demo");
        memcpy(image_last(&m) + head + offsetof(struct etl_event_header, provider), &provider, sizeof provider);
        save(&m);
        phase_count(path, &boot, &boot.phases);
        assert_int_equal(boot.phases.machine_asked, ours);
        expect(&boot, RESULT_PHASE_FIRMWARE, false, 0, ours ? 3000 : 0, 0);
        expect(&boot, RESULT_PHASE_LOADER, false, 0, ours ? 1500 : 0, 0);
        assert_int_equal(phase_span(&boot, RESULT_PHASE_LOADER).lasts, ours);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_phases),
        cmocka_unit_test(without_processes),
        cmocka_unit_test(without_an_early_program),
        cmocka_unit_test(without_a_mark_or_a_file),
        cmocka_unit_test(told_by_the_machine),
    };
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
