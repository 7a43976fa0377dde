/* A ring in memory whose daemon dies at any write of a pass: its successor's ring has no hole, and an event missing
 * there is counted as overwritten. The writer has one number after another, on all processors by turns. Proves: COR-16,
 * SES-03. */
// timeout: 120
#include "autologger/session/tests/keeper.h"

#include <sched.h>

enum { PAYLOAD = 200, FEW = 60, BURST = 6000, TURN = 40 };

struct box {
    struct fixture   f;
    struct os        os;
    struct plan_text text;
    struct session  *s;
    struct program   w;
    uint32_t         next;
    bool             seen[FEW + BURST + FEW];
};

static ssize_t dying_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t at)
{
    keeper_step();
    return os_linux()->pwrite(os, fd, data, size, at);
}

static void box_begin(struct box *b)
{
    struct enable_terms all = {0};
    struct reason       why;
    unsigned            slot, entry;
    memset(b, 0, sizeof *b);
    memset(&keeper, 0, sizeof keeper);
    fixture_init(&b->f, false);
    b->os              = *os_linux();
    b->os.pwrite       = dying_pwrite;
    b->f.env.os        = &b->os;
    b->f.env.log_dir   = b->f.dir;
    b->f.env.modes     = &logger_modes;
    b->f.env.keep      = keeper_keep;
    struct plan plan   = plan_make(&b->f, &b->text, "box", 64, 2 * b->f.env.cpus + 4, 2 * b->f.env.cpus + 4);
    plan.log_file_mode = ETL_MODE_BUFFERING;
    plan.memory_bytes *= 2;
    assert_int_equal(table_add(&b->f.table, &plan, &b->s, &why), 0);
    assert_int_equal(session_enable(b->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    session_fs_ready(b->s);
    assert_int_equal(session_start(b->s, &why), 0);
    program_attach(&b->w, b->s, 0, slot, entry);
    b->w.view.eventfd = dup(b->w.view.eventfd); /* as a program has its own */
}

/* Writes on one processor after another. */
static void write_some(struct box *b, unsigned events)
{
    uint8_t payload[PAYLOAD] = {0};
    for (unsigned i = 0; i < events; i++, b->next++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(i / TURN % b->f.env.cpus, &one);
        if (i % TURN == 0)
            assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        memcpy(payload, &b->next, sizeof b->next);
        assert_int_equal(program_write(&b->w, payload, sizeof payload), 0);
    }
}

/* The content of a snapshot: the newest events, without a hole; with the overwritten ones, all. */
static void window_check(struct box *b)
{
    char                    path[128];
    struct etl_reader      *r = NULL;
    struct etl_event        e;
    struct ctl_session_info info;
    struct reason           why;
    struct logger          *l = b->s->logger;
    uint32_t                number, events = 0, first = b->next;

    memset(b->seen, 0, sizeof b->seen);
    snprintf(path, sizeof path, "%s/copy.etl", b->f.dir);
    logger_pass(l, false, true);
    assert_int_equal(etl_writer_trim(l->writer, &why), 0);
    logger_publish_file(l);
    session_info(b->s, &info);
    assert_int_equal(etl_writer_copy(l->writer, path, 0, UINT64_MAX / 4, 0, &why), 0);
    assert_int_equal(etl_reader_open(path, &r, NULL), 0);
    while (etl_next(r, &e)) {
        if (e.kind != ETL_KIND_EVENT)
            continue;
        assert_int_equal(e.payload_size, PAYLOAD);
        memcpy(&number, e.payload, sizeof number);
        assert_true(number < b->next && !b->seen[number]);
        b->seen[number] = true;
        first           = number < first ? number : first;
        events++;
    }
    etl_reader_close(r);
    assert_true(events > 0);
    for (uint32_t n = first; n < b->next; n++)
        assert_true(b->seen[n]);
    assert_int_equal(ctl_events_lost(&info), 0);
    assert_int_equal(info.events_written, b->next);
    assert_int_equal(events + info.overwritten, b->next);
}

static void no_hole_whenever_the_daemon_dies(void **state)
{
    static struct box b;
    cpu_set_t         all;
    bool              died;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (unsigned step = 1;; step++) {
        box_begin(&b);
        write_some(&b, FEW); /* they stay in the ring, whose next buffers are much later */
        logger_pass(b.s->logger, false, true);
        write_some(&b, BURST);
        keeper.calls   = 0;
        keeper.dies_at = step;
        keeper_leaks(true);
        died = setjmp(keeper.death) != 0;
        if (!died)
            logger_pass(b.s->logger, false, true);
        keeper.dies_at = 0;
        keeper_leaks(false);
        assert_true(died || step > 10); /* there are writes to die at */
        if (died)
            b.s = keeper_successor(&b.f, b.s);
        window_check(&b);
        write_some(&b, FEW);
        window_check(&b);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
        keeper_close();
        if (!died) {
            fixture_finish(&b.f);
            break;
        }
        session_destroy(b.s);
        char command[128]; /* not fixture_finish: the table's session is dead */
        snprintf(command, sizeof command, "rm -rf '%s'", b.f.dir);
        assert_int_equal(system(command), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_hole_whenever_the_daemon_dies)};
    return cmocka_run_group_tests_name("black_box", tests, NULL, NULL);
}
