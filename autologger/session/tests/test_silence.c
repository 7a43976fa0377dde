/* A ring in memory whose writers are faster than its daemon: the daemon reads by the clock, and they do not signal;
 * slow writers do. Either way each event is written or counted. */
// timeout: 60
#include "autologger/session/logger.h"
#include "autologger/session/tests/fixture.h"

#include <poll.h>

enum { PAYLOAD = 200, CHUNKS = 8 };

struct quiet {
    struct fixture   f;
    struct os        os;
    struct plan_text text;
    struct session  *s;
    struct program   w;
    uint64_t         attempted;
};
static uint64_t clock_ns;

static uint64_t told_raw_ns(struct os *os)
{
    (void)os;
    return clock_ns;
}

static void quiet_begin(struct quiet *q)
{
    struct enable_terms all = {0};
    struct reason       why;
    unsigned            slot, entry;
    memset(q, 0, sizeof *q);
    fixture_init(&q->f, false);
    clock_ns           = os_linux()->raw_ns(os_linux());
    q->os              = *os_linux();
    q->os.raw_ns       = told_raw_ns;
    q->f.env.os        = &q->os;
    q->f.env.log_dir   = q->f.dir;
    q->f.env.modes     = &logger_modes;
    struct plan plan   = plan_make(&q->f, &q->text, "quiet", 64, 2 * q->f.env.cpus + 4, 2 * q->f.env.cpus + 4);
    plan.log_file_mode = ETL_MODE_BUFFERING;
    plan.memory_bytes *= 2;
    assert_int_equal(table_add(&q->f.table, &plan, &q->s, &why), 0);
    assert_int_equal(session_enable(q->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(q->s);
    assert_int_equal(session_start(q->s, &why), 0);
    program_attach(&q->w, q->s, 0, slot, entry);
    q->w.view.eventfd = dup(q->w.view.eventfd);
}

static void write_chunks(struct quiet *q, unsigned chunks)
{
    const uint8_t payload[PAYLOAD] = {0};
    for (uint64_t bytes = 0; bytes < (uint64_t)chunks << q->s->chunk_shift;
         bytes += sizeof(struct etl_event_header) + PAYLOAD, q->attempted++)
        assert_int_equal(program_write(&q->w, payload, sizeof payload), 0);
}

/* Was there a signal in the eventfd? Empties it. */
static bool signalled(const struct quiet *q)
{
    struct pollfd p = {.fd = q->w.view.eventfd, .events = POLLIN};
    uint64_t      count;
    if (poll(&p, 1, 0) != 1)
        return false;
    assert_int_equal(read(p.fd, &count, sizeof count), sizeof count);
    return true;
}

static void pass_after(struct quiet *q, uint64_t ns)
{
    clock_ns += ns;
    logger_pass(q->s->logger, false, false);
    (void)signalled(q);
}

static void who_writes_fast_does_not_signal(void **state)
{
    static struct quiet     q;
    struct ctl_session_info info;
    (void)state;
    quiet_begin(&q);
    pass_after(&q, 1000000);
    write_chunks(&q, CHUNKS);
    assert_true(signalled(&q));
    for (unsigned i = 0; i < 3; i++) { /* many chunks in 1 ms, again and again */
        pass_after(&q, 1000000);
        assert_true(q.s->logger->silent);
        write_chunks(&q, 4 * CHUNKS); /* more chunks than there are */
        assert_false(signalled(&q));
    }
    pass_after(&q, 5000000000); /* the writers were slow */
    assert_false(q.s->logger->silent);
    write_chunks(&q, 4 * CHUNKS);
    assert_true(signalled(&q));
    pass_after(&q, 1000000);
    pass_after(&q, 1000000); /* no writer is active */
    assert_false(q.s->logger->silent);
    logger_pass(q.s->logger, false, true);
    session_info(q.s, &info);
    assert_int_equal(info.events_written, q.attempted); /* overwritten events count as written */
    assert_int_equal(ctl_events_lost(&info), 0);
    assert_true(info.overwritten > 0);
    close(q.w.view.eventfd);
    fixture_finish(&q.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_writes_fast_does_not_signal)};
    return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
