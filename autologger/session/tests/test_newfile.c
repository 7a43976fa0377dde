/* D-71: the files of a NEWFILE session. A file that is full has lost nothing: the buffer that it has no room for is the
 * first one of the next file. A buffer is lost, and counted, where the next file cannot be made. Proves: SES-05,
 * SES-22, COR-20. */
#include "autologger/session/tests/fixture.h"

enum { FILES = 5, EVENTS = 256, PAYLOAD = 2000, ROUNDS_MOST = 100 };

struct stand {
    struct fixture   f;
    struct plan_text text;
    struct session  *s;
    struct program   w;
    struct reason    why;
};

static void path_of(const struct stand *t, unsigned number, char path[200])
{
    snprintf(path, 200, "%s/%u.etl", t->f.dir, number);
}

/* A session whose files have 1 MB. */
static void stand_begin(struct stand *t)
{
    struct enable_terms all = {0};
    unsigned            slot, entry;

    memset(t, 0, sizeof *t);
    fixture_init(&t->f, true);
    t->f.env.log_dir   = t->f.dir;
    t->f.env.next_file = logger_next_file;
    struct plan plan   = plan_make(&t->f, &t->text, "new", 64, 2 * t->f.env.cpus, 2 * t->f.env.cpus + 60);
    plan.log_file_mode = ETL_MODE_NEWFILE;
    plan.max_file_size = 1;
    snprintf(t->text.path, sizeof t->text.path, "%s/%%d.etl", t->f.dir);
    assert_int_equal(table_add(&t->f.table, &plan, &t->s, &t->why), 0);
    assert_int_equal(session_enable(t->s, &test_provider, "key", &all, &slot, &entry, &t->why), 0);
    session_fs_ready(t->s);
    assert_int_equal(session_start(t->s, &t->why), 0);
    assert_int_equal(session_flush(t->s), 0);
    program_attach(&t->w, t->s, (uint32_t)geteuid(), slot, entry);
}

/* Writes until the session has finished `files` files, or has failed. */
static void write_files(struct stand *t, uint32_t files)
{
    static const uint8_t    payload[PAYLOAD];
    struct ctl_session_info info = {0};

    for (int round = 0; round < ROUNDS_MOST && !info.status; round++) {
        for (int i = 0; i < EVENTS; i++)
            program_write(&t->w, payload, sizeof payload);
        const wstatus st = session_flush(t->s);
        session_info(t->s, &info);
        assert_int_equal(st, info.status);
        char path[200];
        path_of(t, files + 1, path);
        if (strcmp(info.log_path, path) == 0)
            return;
    }
}

/* Reads a file: its header's counts, and its events. */
static struct found file_of(const struct stand *t, unsigned number, uint32_t *buffers_lost)
{
    struct etl_reader *r = NULL;
    char               path[200];

    path_of(t, number, path);
    assert_int_equal(etl_reader_open(path, &r, NULL), 0);
    *buffers_lost = etl_reader_header(r)->raw.buffers_lost;
    assert_true(etl_reader_header(r)->raw.end_time > 0);
    etl_reader_close(r);
    return file_read(path);
}

static void a_full_file_has_lost_nothing(void **state)
{
    struct stand            t;
    struct ctl_session_info info;
    uint64_t                events = 0;
    uint32_t                buffers_lost;
    (void)state;

    stand_begin(&t);
    write_files(&t, FILES);
    session_stop(t.s);
    session_info(t.s, &info);
    assert_int_equal(info.status, 0);
    assert_int_equal(info.events_written, t.w.written);
    assert_int_equal(info.log_buffers_lost, 0);
    for (unsigned n = 1; n <= FILES + 1; n++) {
        struct found f = file_of(&t, n, &buffers_lost);
        assert_int_equal(buffers_lost, 0);
        assert_int_equal(f.lost, t.w.refused);
        assert_int_equal(f.damage + f.inversions, 0);
        events += f.events;
    }
    assert_int_equal(events, info.events_written);
    assert_int_equal(t.w.attempted, info.events_written + info.lost_ring + info.lost_file);
    fixture_finish(&t.f);
}

static void without_a_next_file_a_buffer_is_lost(void **state)
{
    struct stand            t;
    struct ctl_session_info info;
    char                    path[200];
    uint32_t                first, second;
    (void)state;

    stand_begin(&t);
    path_of(&t, 3, path);
    FILE *other = fopen(path, "w");
    assert_true(other && fputs("not a trace", other) >= 0 && !fclose(other));
    write_files(&t, FILES);
    session_stop(t.s);
    session_info(t.s, &info);
    assert_int_equal(info.status, W_ALREADY_EXISTS);
    assert_int_equal(file_of(&t, 1, &first).events + file_of(&t, 2, &second).events, info.events_written);
    assert_int_equal(first, 0);
    assert_int_equal(second, 1);
    assert_int_equal(info.log_buffers_lost, 1);
    assert_true(info.lost_file > 0);
    assert_int_equal(t.w.attempted, info.events_written + info.lost_ring + info.lost_file);
    assert_int_equal(file_of(&t, 2, &second).lost, info.lost_ring + info.lost_file);
    fixture_finish(&t.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_file_has_lost_nothing),
                                       cmocka_unit_test(without_a_next_file_a_buffer_is_lost)};
    return cmocka_run_group_tests_name("newfile", tests, NULL, NULL);
}
