/* D-27: EventsLost in the file's header is what the session's answers say, and attempted = in the file + EventsLost. A
 * record that makes no sense is lost where it is dropped, and is not lost where it is corrected and kept. Proves:
 * COR-20. */
#include "autologger/ring/classic.h"
#include "autologger/session/tests/fixture.h"

enum { NO_KIND = 99 };

/* An event of the older API whose kind does not exist: the ring takes it, the logger cannot know what it is. */
static wstatus write_nonsense(struct program *w)
{
    struct etl_event_header h       = {.header_type    = ETL_EVENT64,
                                       .marker         = ETL_MARKER,
                                       .flags          = SHM_CLASSIC,
                                       .event_property = NO_KIND,
                                       .thread_id      = (uint32_t)gettid(),
                                       .process_id     = (uint32_t)getpid(),
                                       .provider       = test_provider};
    uint64_t                payload = 1;
    struct ring_piece       piece   = {(uint64_t)(uintptr_t)&payload, sizeof payload, 0};
    bool                    written = false;
    wstatus                 st = ring_write(&w->view, w->enable, w->ticket, &h, &piece, 1, sizeof payload, &written);
    w->attempted++;
    w->written += st == 0 && written;
    return st;
}

static void what_is_dropped_is_lost(void **state)
{
    enum { GOOD = 30, NONSENSE = 7 };
    struct fixture          f;
    struct plan_text        t;
    struct program          w;
    struct session         *s   = NULL;
    struct enable_terms     all = {0};
    struct reason           why = {0};
    struct ctl_session_info info;
    unsigned                slot, entry;
    (void)state;

    fixture_init(&f, true);
    struct plan plan = plan_make(&f, &t, "lost", 64, 2 * f.env.cpus, 64);
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (uint64_t i = 0; i < GOOD; i++) {
        assert_int_equal(program_write(&w, &i, sizeof i), 0);
        if (i < NONSENSE)
            assert_int_equal(write_nonsense(&w), 0);
    }
    session_stop(s);
    session_info(s, &info);
    struct found file = file_read(t.path);
    assert_int_equal(file.events, GOOD);
    assert_int_equal(info.events_written, GOOD);
    assert_int_equal(info.corrupt, NONSENSE);
    assert_int_equal(ctl_events_lost(&info), NONSENSE);
    assert_int_equal(file.lost, NONSENSE);
    assert_int_equal(w.attempted, file.events + file.lost);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_dropped_is_lost)};
    return cmocka_run_group_tests_name("events_lost", tests, NULL, NULL);
}
