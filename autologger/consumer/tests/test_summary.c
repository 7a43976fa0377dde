/* The figures of a file with bounded memory: a stack finds its trigger among the kept times, whether it comes at once,
 * later, or before it in a damaged file; a stack that comes too late counts as one without a trigger. Progress is
 * reported.
 * Proves: issue 5 "memory bounded ... not by the file". */
#include "autologger/consumer/summary.h"
#include "autologger/etl/tests/build.h"
#include "autologger/schema/classic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { EVENTS = 500, STEP = 100 };
static const int64_t start = 2000000;

static void add_stack(struct image *m, int64_t time, int64_t trigger)
{
    struct {
        int64_t  trigger;
        uint32_t process, thread;
        uint64_t frame[2];
    } body = {trigger, 1, 2, {0xFFFFFFFF81000010, 0xFFFFFFFF81000020}};
    if (m->pos + 256 > m->buffer)
        image_buffer(m, 0, (int64_t)(m->size / m->buffer));
    image_kernel(m, time, HOOK_STACK_WALK, 2, 0, &body, sizeof body);
}

static void add_event(struct image *m, int64_t time)
{
    if (m->pos + 256 > m->buffer)
        image_buffer(m, 0, (int64_t)(m->size / m->buffer));
    image_event(m, time, 1);
}

static void heard(void *ctx, unsigned per_mille)
{
    unsigned *last = ctx;
    assert_true(per_mille <= 1000);
    *last = per_mille + 1;
}

/* Stacks `behind` events behind their trigger. Returns how many were matched, with room for `times` times. */
static uint64_t matched(unsigned behind, size_t times, bool reversed)
{
    struct etl_file_info info = build_info(8192);
    struct image         m    = image_start(&info);
    unsigned             told = 0;
    struct summary_more  more = {.times = times, .progress = heard, .progress_ctx = &told};
    struct etl_reader   *r;
    struct summary      *s;
    struct reason        why;

    image_buffer(&m, 0, 1);
    for (int i = 0; i < EVENTS; i++) {
        const int64_t time = start + i * STEP, of = time - (int64_t)behind * STEP;
        if (reversed && i % 2) /* an event that is earlier than the one before it */
            add_event(&m, time - 3 * STEP / 2);
        add_event(&m, time);
        if (of >= start)
            add_stack(&m, time + 1, of);
    }
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(summary_create_with(r, &more, &s, &why), W_SUCCESS);
    assert_true(s->stacks == EVENTS - behind && s->frames == 2 * s->stacks && told > 0);
    uint64_t n = s->stacks_matched;
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
    return n;
}

static void within_what_is_kept(void **state)
{
    (void)state;
    for (unsigned behind = 0; behind < 8; behind++)
        for (size_t times = 32; times <= 1024; times *= 4) {
            assert_int_equal(matched(behind, times, false), EVENTS - behind);
            assert_int_equal(matched(behind, times, true), EVENTS - behind);
        }
    assert_int_equal(matched(400, 0, false), EVENTS - 400);
}

static void later_than_that(void **state)
{
    (void)state;
    assert_int_equal(matched(100, 16, false), 0);
    assert_int_equal(matched(400, 64, false), 0);
}

/* All stacks first, as no writer would order them: they wait for their triggers, as many as there is room for. */
static void before_their_trigger(void **state)
{
    struct etl_file_info info = build_info(8192);
    struct image         m    = image_start(&info);
    struct summary_more  more = {.times = 64};
    struct etl_reader   *r;
    struct summary      *s;
    struct reason        why;
    (void)state;
    image_buffer(&m, 0, 1);
    for (int i = 0; i < 40; i++)
        add_stack(&m, start + i, start + 10000 + i);
    for (int i = 0; i < 200; i++)
        add_event(&m, start + 10000 + i);
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(summary_create_with(r, &more, &s, &why), W_SUCCESS);
    assert_true(s->stacks == 40 && s->stacks_matched == 40);
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_what_is_kept), cmocka_unit_test(later_than_that),
                                       cmocka_unit_test(before_their_trigger)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
