/* A session's buffers in a query: allocated, in use, full, written, and free for other events; at first MinimumBuffers,
 * and all of MaximumBuffers before an event is lost. While the file system is not ready full buffers wait, and the
 * query shows it.
 * Proves: COR-15, COR-17, SES-22. */
#include "autologger/session/tests/fixture.h"

#include <sched.h>

enum { KB = 64, PAYLOAD = 1008, A_BUFFER = 60 /* events of this payload */, FULL = 5, ROUNDS = 20, GROWTH = 20 };

struct stand {
    struct fixture   f;
    struct plan_text text;
    struct session  *s;
    struct program   w;
    cpu_set_t        all;
};

/* Without a thread: the logger runs when the test calls it. All events come from one processor. */
static void stand_begin(struct stand *t, uint32_t minimum, uint32_t maximum)
{
    struct enable_terms all = {0};
    struct reason       why;
    unsigned            slot, entry;
    cpu_set_t           one;
    memset(t, 0, sizeof *t);
    assert_int_equal(sched_getaffinity(0, sizeof t->all, &t->all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &t->all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    fixture_init(&t->f, false);
    struct plan plan = plan_make(&t->f, &t->text, "buffers", KB, minimum, maximum);
    assert_int_equal(table_add(&t->f.table, &plan, &t->s, &why), 0);
    assert_int_equal(session_enable(t->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(t->s, &why), 0);
    program_attach(&t->w, t->s, (uint32_t)geteuid(), slot, entry);
}

static void stand_end(struct stand *t)
{
    session_fs_ready(t->s);
    session_stop(t->s);
    assert_int_equal(file_read(t->text.path).events, t->w.written);
    assert_int_equal(sched_setaffinity(0, sizeof t->all, &t->all), 0);
    fixture_finish(&t->f);
}

static wstatus write_one(struct stand *t)
{
    static const uint8_t payload[PAYLOAD];
    return program_write(&t->w, payload, sizeof payload);
}

static void write_all(struct stand *t, unsigned events)
{
    for (unsigned i = 0; i < events; i++)
        assert_int_equal(write_one(t), 0);
}

/* Checks a query; `used` buffers are not free. */
static struct ctl_session_info query(struct stand *t, uint32_t buffers, uint32_t used, uint32_t written)
{
    struct ctl_session_info info;
    session_info(t->s, &info);
    assert_int_equal(info.number_of_buffers, buffers);
    assert_int_equal(info.number_of_buffers - info.free_buffers, used);
    assert_int_equal(info.buffers_written, written);
    return info;
}

static bool woken(struct stand *t)
{
    uint64_t n;
    return read(t->s->uid[0].event_fd, &n, sizeof n) == sizeof n;
}

/* COR-15: free, in use, full and waiting for the logger, written, free again. */
static void a_buffer_is_used_written_and_free_again(void **state)
{
    struct stand   t;
    const uint32_t buffers = 2u * (uint32_t)os_linux()->cpu_count(os_linux()) + 12;
    (void)state;
    stand_begin(&t, buffers, buffers);
    logger_pass(t.s->logger, false, false);
    query(&t, buffers, 0, 0);
    assert_false(woken(&t));
    write_all(&t, 1);
    logger_pass(t.s->logger, false, false);
    query(&t, buffers, 1, 0); /* in use */
    assert_false(woken(&t));
    write_all(&t, FULL * A_BUFFER);
    assert_true(woken(&t)); /* the logger is woken for full buffers */
    logger_pass(t.s->logger, false, false);
    query(&t, buffers, FULL + 1, 0); /* not writable yet: they wait */
    session_fs_ready(t.s);
    logger_pass(t.s->logger, false, false);
    query(&t, buffers, 1, 1 + FULL); /* whole buffers behind the file's header; the one in use stays */
    logger_pass(t.s->logger, false, true);
    struct ctl_session_info info = query(&t, buffers, 0, 1 + FULL + 1);
    assert_int_equal(info.events_written, FULL * A_BUFFER + 1);
    for (unsigned i = 0; i < ROUNDS; i++) { /* more buffers than there are: each is reused */
        write_all(&t, FULL * A_BUFFER);
        logger_pass(t.s->logger, false, true);
        info = query(&t, buffers, 0, info.buffers_written + FULL);
    }
    assert_int_equal(ctl_events_lost(&info), 0);
    stand_end(&t);
}

/* COR-17: nothing is released, and the logger is quick enough: as long as more buffers are allowed, they are added, and
 * no event is lost. */
static void all_buffers_come_before_a_loss(void **state)
{
    struct stand            t;
    struct ctl_session_info info;
    const uint32_t          minimum = 2u * (uint32_t)os_linux()->cpu_count(os_linux()), maximum = minimum + GROWTH;
    uint32_t                last = minimum, steps = 0;
    (void)state;
    stand_begin(&t, minimum, maximum);
    logger_pass(t.s->logger, false, false);
    query(&t, minimum, 0, 0);
    while (write_one(&t) == 0) {
        logger_pass(t.s->logger, false, false);
        session_info(t.s, &info);
        assert_int_equal(ctl_events_lost(&info), 0);
        assert_true(info.number_of_buffers >= last && info.number_of_buffers <= maximum);
        steps += info.number_of_buffers != last;
        last = info.number_of_buffers;
    }
    assert_int_equal(last, maximum);
    assert_int_equal(steps, GROWTH);
    session_info(t.s, &info);
    assert_int_equal(ctl_events_lost(&info), 1);
    assert_true(t.w.written >= (uint64_t)(maximum - minimum) * A_BUFFER);
    stand_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_buffer_is_used_written_and_free_again),
                                       cmocka_unit_test(all_buffers_come_before_a_loss)};
    return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}
