/* The quality of stacks: each event has one, in one part or two, also when events of two CPUs have the same time, and
 * when a part comes from another CPU than its event. The sum over the ends of complete stacks is the number of events
 * with a stack. */
#include "autologger/symbols/quality.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SWITCH = 0x0524, READY = 0x0532, IMAGE = 0x1403 };
static const struct quality_parts kernel_part = {.kernel = STACK_COMPLETE, .kernel_frames = 5};
static const struct quality_parts user_part   = {.user = STACK_COMPLETE, .user_frames = 3};

static struct etl_event event(uint16_t hook, int64_t time, uint16_t cpu)
{
    return (struct etl_event){.kind = ETL_KIND_PERFINFO, .hook = hook, .raw_time = time, .cpu = cpu};
}

static void row_is(const struct quality *q, uint16_t hook, uint64_t events, uint64_t with_stack, uint64_t complete)
{
    size_t              count;
    struct quality_row *rows = quality_rows(q, &count);
    assert_non_null(rows);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].hook != hook)
            continue;
        assert_int_equal(rows[i].events, events);
        assert_int_equal(rows[i].with_stack, with_stack);
        assert_int_equal(rows[i].missing, events - with_stack);
        assert_int_equal(rows[i].whole[STACK_COMPLETE], complete);
        assert_int_equal(rows[i].whole[STACK_NO_PART] + rows[i].whole[STACK_CUT] + rows[i].whole[STACK_END_UNKNOWN], 0);
        free(rows);
        return;
    }
    fail_msg("no row of 0x%04x", hook);
}

/* A switch on CPU 0 and a wake-up on CPU 1 at one time, each with a stack in two parts. */
static void events_of_one_time(void **state)
{
    struct quality         q         = {0};
    const struct etl_event events[2] = {event(SWITCH, 1000, 0), event(READY, 1000, 1)};
    (void)state;
    for (unsigned part = 0; part < 2; part++)
        for (uint16_t cpu = 0; cpu < 2; cpu++)
            quality_expect(&q, 1000, cpu);
    quality_ready(&q);
    assert_int_equal(q.count, 2);
    for (unsigned i = 0; i < 2; i++)
        quality_event(&q, &events[i]);
    for (uint16_t cpu = 0; cpu < 2; cpu++)
        quality_stack(&q, 1000, cpu, &kernel_part);
    for (uint16_t cpu = 0; cpu < 2; cpu++)
        quality_stack(&q, 1000, cpu, &user_part);
    row_is(&q, SWITCH, 1, 1, 1);
    row_is(&q, READY, 1, 1, 1);
    quality_finish(&q);
}

/* The program's part comes when the thread returns to user mode, perhaps on another CPU. */
static void a_part_from_another_cpu(void **state)
{
    struct quality         q = {0};
    const struct etl_event e = event(SWITCH, 500, 3);
    (void)state;
    quality_expect(&q, 500, 3);
    quality_expect(&q, 500, 7);
    quality_ready(&q);
    quality_event(&q, &e);
    quality_stack(&q, 500, 3, &kernel_part);
    quality_stack(&q, 500, 7, &user_part);
    row_is(&q, SWITCH, 1, 1, 1);
    quality_finish(&q);
}

/* A whole stack from another CPU still belongs to that event. */
static void a_stack_from_another_cpu(void **state)
{
    struct quality         q = {0};
    const struct etl_event e = event(SWITCH, 500, 3), without = event(SWITCH, 600, 3);
    (void)state;
    quality_expect(&q, 500, 7);
    quality_ready(&q);
    quality_event(&q, &e);
    quality_event(&q, &without);
    quality_stack(&q, 500, 7, &kernel_part);
    quality_stack(&q, 500, 7, &user_part);
    row_is(&q, SWITCH, 2, 1, 1);
    quality_finish(&q);
}

/* An event without a stack has by chance the time of another CPU's event, and comes first. */
static void an_event_of_the_same_time_without_a_stack(void **state)
{
    struct quality         q     = {0};
    const struct etl_event image = event(IMAGE, 1000, 1), change = event(SWITCH, 1000, 0),
                           later = event(IMAGE, 2000, 0);
    (void)state;
    quality_expect(&q, 1000, 0);
    quality_expect(&q, 2000, 0);
    quality_ready(&q);
    quality_event(&q, &image);
    quality_event(&q, &change);
    quality_event(&q, &later);
    quality_stack(&q, 1000, 0, &user_part);
    quality_stack(&q, 2000, 0, &user_part);
    row_is(&q, SWITCH, 1, 1, 1);
    row_is(&q, IMAGE, 2, 1, 1);
    quality_finish(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_of_one_time), cmocka_unit_test(a_part_from_another_cpu),
                                       cmocka_unit_test(a_stack_from_another_cpu),
                                       cmocka_unit_test(an_event_of_the_same_time_without_a_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
