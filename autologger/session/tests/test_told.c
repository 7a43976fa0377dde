/* Late events (logger.c, G4): in time order whatever comes between, none lost to a stream of one chunk, and only the
 * daemon's own user may write them. */
#include "autologger/ring/section.h"
#include "autologger/session/tests/adopting.h"

static struct session *add(struct fixture *f, struct plan_text *t, uint32_t kb, uint32_t buffers, unsigned *slot,
                           unsigned *entry)
{
    struct plan         plan = plan_make(f, t, "told", kb, 2 * f->env.cpus, buffers);
    struct session     *s    = NULL;
    struct enable_terms all  = {0};
    struct reason       why  = {0};
    assert_int_equal(table_add(&f->table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, slot, entry, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    return s;
}

/* Like the provider library (event_told_write), which is no part of these tests. */
static wstatus tell(struct program *w, uint64_t time, bool count_loss, const void *payload, uint32_t size)
{
    static const uint8_t    zero[16];
    const struct ring_piece piece = {(uint64_t)(uintptr_t)payload, size, 0};
    struct section e = {.first = (uint16_t)(sizeof(struct etl_event_header) + size) | (uint64_t)ETL_EVENT64 << 16 |
                                 (uint64_t)ETL_MARKER << 24,
                        .ids        = (uint32_t)gettid() | (uint64_t)getpid() << 32,
                        .provider   = &test_provider,
                        .descriptor = zero,
                        .activity   = zero,
                        .piece      = &piece,
                        .end        = &piece + 1,
                        .total      = size};
    const struct ring_told told = {time, count_loss};
    bool                   written;
    wstatus                st = ring_write_told(&w->view, w->enable, w->ticket, &e, &told, &written);
    w->attempted++;
    w->written += st == 0 && written;
    return st;
}

struct seen {
    uint64_t events, told, told_cpu, inversions;
    int64_t  first, last;
};
static struct seen look(const char *path)
{
    struct seen        n = {0};
    struct etl_reader *r = NULL;
    struct etl_event   e;
    assert_int_equal(etl_reader_open(path, &r, NULL), 0);
    const unsigned processors = etl_reader_header(r)->raw.processors;
    while (etl_next(r, &e)) {
        if (e.kind != ETL_KIND_EVENT)
            continue;
        n.events++;
        n.told += e.payload_size == 200;
        n.told_cpu += e.cpu == processors;
        n.inversions += n.last && e.raw_time < n.last;
        n.first = n.first ? n.first : e.raw_time;
        n.last  = e.raw_time;
    }
    etl_reader_close(r);
    return n;
}

/* Late events while other threads write current ones, into the smallest session possible: its fallback stream has one
 * chunk. */
static void all_come_in_order(void **state)
{
    enum { TOLD = 3000, STEP = 1000 };
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    uint8_t          payload[200] = {1};
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, 64, 2 * f.env.cpus, &slot, &entry);
    session_fs_ready(s);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    const uint64_t began = clock_read(&s->clock), past = began - s->clock.freq * 5;
    for (unsigned i = 0; i < TOLD; i++) {
        program_write(&w, &i, sizeof i);
        wstatus st;
        for (int tries = 0;
             (st = tell(&w, past + (uint64_t)i * STEP, false, payload, sizeof payload)) != W_SUCCESS && tries < 5000;
             tries++)
            usleep(2000);
        assert_int_equal(st, W_SUCCESS);
    }
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    struct seen n = look(t.path);
    assert_int_equal(n.told, TOLD);
    assert_int_equal(n.told_cpu, TOLD);
    assert_int_equal(n.inversions, 0);
    assert_true(n.first == (int64_t)past && (uint64_t)n.last > began);
    assert_int_equal(info.lost_ring, 2 * TOLD - n.events); /* losses of the other writers, who do not wait */
    assert_int_equal(info.corrupt, 0);
    fixture_finish(&f);
}

/* An event told within the hold is sorted in; a later one gets the last time before it, and is counted. */
static void late_ones_keep_the_order(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    uint8_t          payload[200] = {2};
    (void)state;
    fixture_init(&f, false); /* without a thread: one pass takes both events */
    struct session *s = add(&f, &t, 64, 64, &slot, &entry);
    session_fs_ready(s);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    const uint64_t second = s->clock.freq, now = clock_read(&s->clock);
    tell(&w, now - 10 * second, true, payload, sizeof payload);
    tell(&w, now - 20 * second, true, payload, sizeof payload); /* in the same pass: sorted */
    logger_pass(s->logger, false, true);
    tell(&w, now - 30 * second, true, payload, sizeof payload); /* newer events are in the file */
    logger_pass(s->logger, false, true);
    session_stop(s);
    struct seen n = look(t.path);
    assert_int_equal(n.told, 3);
    assert_int_equal(n.inversions, 0);
    assert_int_equal(n.first, now - 20 * second);
    assert_int_equal(n.last, now - 10 * second);
    const struct state_slot *slots =
        (const void *)((const uint8_t *)s->state + s->state->slot_offset[s->state->current & 1]);
    assert_int_equal(slots->time_adjusted, 1);
    fixture_finish(&f);
}

/* The same when a daemon that died has written the file so far. */
static void late_for_a_successor(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    uint8_t          payload[200] = {2};
    (void)state;
    fixture_init(&f, false);
    struct session *s = add(&f, &t, 64, 64, &slot, &entry);
    session_fs_ready(s);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    const uint64_t second = s->clock.freq, now = clock_read(&s->clock);
    tell(&w, now - 10 * second, true, payload, sizeof payload);
    logger_pass(s->logger, false, true);
    struct session *next = adopting_successor(&f, s);
    session_fs_ready(next);
    tell(&w, now - 20 * second, true, payload, sizeof payload);
    session_stop(next);
    struct seen n = look(t.path);
    assert_int_equal(n.told, 2);
    assert_int_equal(n.inversions, 0);
    assert_true(n.first == n.last && n.first == (int64_t)(now - 10 * second));
    session_destroy(next);
    fixture_finish(&f);
}

static void others_may_not_tell(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    uint8_t          payload[200] = {3};
    (void)state;
    fixture_init(&f, true);
    struct session *s = add(&f, &t, 64, 64, &slot, &entry);
    session_fs_ready(s);
    program_attach(&w, s, 12345, slot, entry);
    assert_int_equal(tell(&w, clock_read(&s->clock), true, payload, sizeof payload), 0);
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    struct seen n = look(t.path);
    assert_int_equal(n.told, 1);
    assert_int_equal(n.told_cpu, 0);
    assert_int_equal(info.corrupt, 1);
    assert_int_equal(file_read(t.path).lost, 0); /* D-27: it is in the file, so it is not lost */
    fixture_finish(&f);
}

static void without_room_it_is_lost_and_counted(void **state)
{
    struct fixture   f;
    struct plan_text t;
    struct program   w;
    unsigned         slot, entry;
    uint8_t          payload[200] = {4};
    (void)state;
    fixture_init(&f, false); /* no logger: no chunk is released */
    struct session *s = add(&f, &t, 64, 2 * f.env.cpus, &slot, &entry);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    while (tell(&w, clock_read(&s->clock), false, payload, sizeof payload) == W_SUCCESS)
        ;
    const uint64_t written = w.written;
    for (int i = 0; i < 10; i++)
        assert_int_equal(tell(&w, clock_read(&s->clock), i >= 5, payload, sizeof payload), W_NOT_ENOUGH_MEMORY);
    session_fs_ready(s);
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    assert_int_equal(info.lost_ring, 5); /* a mere attempt loses nothing */
    assert_int_equal(look(t.path).told, written);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_come_in_order), cmocka_unit_test(late_ones_keep_the_order),
                                       cmocka_unit_test(late_for_a_successor), cmocka_unit_test(others_may_not_tell),
                                       cmocka_unit_test(without_room_it_is_lost_and_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
