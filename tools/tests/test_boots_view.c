/* Medians over boots: times only of boots that reached boot-done, rehearsals only where there is nothing else, boots
 * that were off never.
 * Proves: what is shown of boots. */
#include "tools/view/boots_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct history_boot boot(uint32_t number, uint64_t written, uint64_t done_ms, bool rehearsal)
{
    struct history_boot b = {
        .list       = {.number = number, .boot_done_ms = done_ms, .target_ms = done_ms / 2, .rehearsal = rehearsal},
        .sessions   = 1,
        .written    = written,
        .lost       = number,
        .peak_bytes = written * 10};
    return b;
}

static void medians(void **state)
{
    struct history_boot boots[] = {boot(6, 100, 30000, false), boot(5, 900, 0, false),     boot(4, 300, 50000, false),
                                   boot(3, 7, 0, true),        boot(2, 200, 20000, false), boot(1, 500, 90000, false),
                                   boot(0, 0, 0, false)};
    struct history      h       = {.boots = boots, .count = 7};
    (void)state;
    boots[6].sessions     = 0; /* kept off by the guard: nothing was recorded */
    struct boots_median m = boots_median(&h, 0);
    assert_int_equal(m.boots, 5);
    assert_int_equal(m.timed, 4);
    assert_int_equal(m.written, 300);
    assert_int_equal(m.boot_done_ms, 40000); /* between 30000 and 50000 */
    assert_int_equal(m.target_ms, 20000);
    assert_int_equal(m.lost, 4);
    assert_int_equal(m.peak_bytes, 3000);
    m = boots_median(&h, 3);
    assert_int_equal(m.boots, 3);
    assert_int_equal(m.written, 300);
    assert_int_equal(m.boot_done_ms, 40000);
    m = boots_median(&(struct history){.boots = &boots[3], .count = 1}, 0);
    assert_int_equal(m.boots, 1); /* nothing but a rehearsal */
    assert_int_equal(m.written, 7);
    m = boots_median(&(struct history){.boots = &boots[6], .count = 1}, 0);
    assert_int_equal(m.boots, 0);
    m = boots_median(&(struct history){0}, 0);
    assert_int_equal(m.boots, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(medians)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
