/* D-27: EventsLost of EVENT_TRACE_PROPERTIES is the sum that the daemon's other answers and the file's header have,
 * with what the kernel withheld.
 * Proves: SES-22, COR-20. */
#include "autologger/controller/properties.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static ULONG events_lost(const struct ctl_session_info *s)
{
    struct {
        EVENT_TRACE_PROPERTIES p;
        char                   text[256];
    } x = {.p = {.Wnode = {.BufferSize = sizeof x, .Flags = WNODE_FLAG_TRACED_GUID}, .LoggerNameOffset = sizeof x.p}};
    assert_int_equal(properties_fill(&x.p, false, s, NULL), W_SUCCESS);
    return x.p.EventsLost;
}

static void every_part_counts(void **state)
{
    struct ctl_session_info s = {.name            = "s",
                                 .lost_ring       = 1,
                                 .lost_memory     = 20,
                                 .lost_conversion = 300,
                                 .lost_file       = 4000,
                                 .withheld        = 50000,
                                 .corrupt         = 600000,
                                 .filtered        = 7000000,
                                 .overwritten     = 80000000};
    (void)state;
    assert_int_equal(events_lost(&s), 54321);
    assert_int_equal(ctl_events_lost(&s), 54321);
    s.withheld = UINT64_C(1) << 40; /* more than the field can hold */
    assert_int_equal(events_lost(&s), UINT32_MAX);
}

/* SES-22: the seven counters of a query, each in its own field. */
static void each_counter_has_its_field(void **state)
{
    const struct ctl_session_info s = {.name                  = "s",
                                       .number_of_buffers     = 11,
                                       .free_buffers          = 7,
                                       .lost_ring             = 5,
                                       .buffers_written       = 300,
                                       .log_buffers_lost      = 4,
                                       .realtime_buffers_lost = 9,
                                       .logger_thread_id      = 4711};
    struct {
        EVENT_TRACE_PROPERTIES p;
        char                   text[256];
    } x = {.p = {.Wnode = {.BufferSize = sizeof x, .Flags = WNODE_FLAG_TRACED_GUID}, .LoggerNameOffset = sizeof x.p}};
    (void)state;
    assert_int_equal(properties_fill(&x.p, false, &s, NULL), W_SUCCESS);
    assert_int_equal(x.p.NumberOfBuffers, 11);
    assert_int_equal(x.p.FreeBuffers, 7);
    assert_int_equal(x.p.EventsLost, 5);
    assert_int_equal(x.p.BuffersWritten, 300);
    assert_int_equal(x.p.LogBuffersLost, 4);
    assert_int_equal(x.p.RealTimeBuffersLost, 9);
    assert_int_equal((uintptr_t)x.p.LoggerThreadId, 4711);
    assert_string_equal(x.text, "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_counts),
                                       cmocka_unit_test(each_counter_has_its_field)};
    return cmocka_run_group_tests_name("properties", tests, NULL, NULL);
}
