/* The horizon waits for an exec without its note, and never goes back. */
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/tests/raw_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void horizon_waits_for_execs(void **state)
{
    static struct maker maker;
    static struct drain d;
    (void)state;
    maker_init(&maker, 2, 1 << 20);
    d.log                      = &maker.log;
    maker.log.work->horizon_ns = 1000; /* the last pass's horizon */
    assert_int_equal(enrich_horizon(&d, 9000), 9000);
    d.pending[0]    = (struct drain_exec){10, 10, 5000};
    d.pending[1]    = (struct drain_exec){11, 11, 4000};
    d.pending[2]    = (struct drain_exec){12, 12, 9500}; /* later than the horizon anyway */
    d.pending_count = 3;
    assert_int_equal(enrich_horizon(&d, 9000), 3999);
    assert_int_equal(enrich_horizon(&d, UINT64_MAX), 3999);
    d.pending[1].time = 500; /* a published horizon stays */
    assert_int_equal(enrich_horizon(&d, 9000), 1000);
    d.pending_count = 0;
    assert_int_equal(enrich_horizon(&d, UINT64_MAX), UINT64_MAX);
    maker_finish(&maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(horizon_waits_for_execs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
