/* A logger thread that stands still between its clock and its look at the streams, as on a starved machine: events that
 * were written meanwhile keep their times. Proves: COR-08. */
// timeout: 60
#include "autologger/session/logger.h"
#include "autologger/session/tests/fixture.h"

static void *pass(void *session)
{
    logger_pass(((struct session *)session)->logger, false, true);
    return NULL;
}

static void times_outlive_a_stall(void **state)
{
    static struct fixture  f;
    static struct program  w;
    struct plan_text       text;
    struct session        *s;
    struct enable_terms    all = {0};
    struct reason          why;
    struct stream_counters n;
    unsigned               slot, entry;
    pthread_t              thread;
    (void)state;
    fixture_init(&f, false);
    struct plan plan = plan_make(&f, &text, "stall", 64, 2 * f.env.cpus + 4, 2 * f.env.cpus + 4);
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(s);
    assert_int_equal(session_start(s, &why), 0);
    program_attach(&w, s, 0, slot, entry);
    logger_pass(s->logger, false, false);
    pthread_mutex_lock(&s->lock); /* the pass has read its clock, and waits here */
    assert_int_equal(pthread_create(&thread, NULL, pass, s), 0);
    usleep(1600000); /* more than the second that a time may be ahead */
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(program_write(&w, "12345678", 8), 0);
    pthread_mutex_unlock(&s->lock);
    pthread_join(thread, NULL);
    logger_pass(s->logger, false, true);
    stream_counters(s->uid[0].streams, UINT64_MAX, &n);
    assert_int_equal(n.adjusted, 0);
    assert_int_equal(n.events, w.attempted);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_outlive_a_stall)};
    return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
