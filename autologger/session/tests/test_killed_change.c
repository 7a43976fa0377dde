/* A daemon dies in the middle of a change of its session: before each call to the file system in turn, and at steps
 * between two calls. At each point the successor's session is complete: it has a file of its kind, or real time, or
 * both; the caller may ask again; each event is in the file once, or delivered once,
 * or counted as lost. Proves: COR-20, LGT-05. */
// timeout: 120
#include "autologger/session/logger.h"
#include "autologger/session/tests/adopting.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { ALL = 1000, DIED = 7, CHANGED = 8 };

/* ---- a machine on which a process ends before call number `at` (1-based) ---- */

static struct {
    unsigned              at, calls;
    const struct session *shrinks; /* or when its MaximumBuffers are these, and its logger reads the clock */
    uint32_t              maximum_buffers;
} death;

static void die(void)
{
    if (death.at && ++death.calls == death.at)
        _exit(DIED);
}
static int dying_open(struct os *os, const char *path, int flags, unsigned mode)
{
    return die(), os_linux()->open(os, path, flags, mode);
}
static ssize_t dying_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t at)
{
    return die(), os_linux()->pwrite(os, fd, data, size, at);
}
static int dying_ftruncate(struct os *os, int fd, uint64_t size) { return die(), os_linux()->ftruncate(os, fd, size); }
static int dying_fsync(struct os *os, int fd) { return die(), os_linux()->fsync(os, fd); }
static int dying_close(struct os *os, int fd) { return die(), os_linux()->close(os, fd); }
static int dying_lstat(struct os *os, const char *path, struct os_stat *out)
{
    return die(), os_linux()->lstat(os, path, out);
}
static int dying_rename(struct os *os, const char *from, const char *to)
{
    return die(), os_linux()->rename(os, from, to);
}
static int      dying_unlink(struct os *os, const char *path) { return die(), os_linux()->unlink(os, path); }
static uint64_t dying_raw_ns(struct os *os)
{
    if (death.shrinks && gettid() == atomic_load(&death.shrinks->logger_tid) &&
        death.shrinks->state->maximum_buffers == death.maximum_buffers)
        _exit(DIED);
    return os_linux()->raw_ns(os);
}

static struct os *dying(void)
{
    static struct os os;
    os      = *os_linux();
    os.open = dying_open, os.pwrite = dying_pwrite, os.ftruncate = dying_ftruncate, os.fsync = dying_fsync;
    os.close = dying_close, os.lstat = dying_lstat, os.rename = dying_rename, os.unlink = dying_unlink,
    os.raw_ns = dying_raw_ns;
    return &os;
}

/* ---- a session, its end, and its successor ---- */

struct scene {
    struct fixture   f;
    struct plan_text text;
    struct session  *s, *n; /* the predecessor's, the successor's */
    struct program   w;
    uint32_t         kind; /* the file's mode */
    char             other[200];
};

static void scene_begin(struct scene *c, uint32_t mode, bool file)
{
    struct enable_terms all = {0};
    struct reason       why;
    unsigned            slot, entry;
    memset(c, 0, sizeof *c);
    memset(&death, 0, sizeof death);
    fixture_init(&c->f, false);
    c->f.env.os       = dying();
    c->f.env.log_dir  = c->f.dir;
    c->f.env.realtime = &realtime_delivery;
    c->f.env.modes    = &logger_modes;
    snprintf(c->other, sizeof c->other, "%s/other.etl", c->f.dir);
    struct plan plan     = plan_make(&c->f, &c->text, "dying", 8, 2 * c->f.env.cpus, 64);
    plan.log_file_mode   = mode;
    plan.max_file_size   = mode & ETL_MODE_CIRCULAR ? 8 : 0;
    plan.forget_realtime = true; /* unread events are lost, unless they are in a file */
    plan.flush_timer     = mode & ETL_MODE_REAL_TIME ? 1 : 0;
    plan.log_path        = file ? c->text.path : NULL;
    c->kind              = mode & (uint32_t)~ETL_MODE_REAL_TIME;
    assert_int_equal(table_add(&c->f.table, &plan, &c->s, &why), 0);
    assert_int_equal(session_enable(c->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(c->s, &why), 0);
    session_fs_ready(c->s);
    program_attach(&c->w, c->s, (uint32_t)geteuid(), slot, entry);
}

static void write_some(struct scene *c)
{
    for (uint64_t i = 0; i < 60; i++)
        program_write(&c->w, (uint64_t[10]){i}, 80);
}

/* The change of session_update, in this thread. */
static int change(struct session *s, const char *file, bool convert)
{
    const bool           deliver = convert || s->realtime;
    const uint32_t       mode    = convert ? ETL_MODE_REAL_TIME : s->state->log_file_mode;
    struct logger_change c       = {mode, deliver, convert};
    char                 path[200];
    struct logger_errand e = {.more = &c, .file = file ? strcpy(path, file) : NULL};
    struct reason        why;
    if (deliver && !s->realtime && s->env->realtime->create(s, &s->realtime, &why))
        return 1;
    logger_pass(s->logger, false, true);
    return logger_change(s->logger, &e) ? 2 : CHANGED;
}

/* Another process changes the session, and dies. Returns true when the change was complete. */
static bool changed_by_who_dies(struct scene *c, unsigned at, const char *file, bool convert)
{
    int         status;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        death.at = at;
        _exit(change(c->s, file, convert));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == DIED || WEXITSTATUS(status) == CHANGED);
    return WEXITSTATUS(status) == CHANGED;
}

static void succeed(struct scene *c)
{
    struct reason why;
    c->f.env.os      = os_linux();
    c->f.env.threads = true;
    c->n             = adopting_successor(&c->f, c->s);
    session_fs_ready(c->n);
    assert_int_equal(session_start(c->n, &why), 0);
    assert_int_equal(session_flush(c->n), 0);
}

static void assert_whole(const struct scene *c)
{
    const struct state_session *st = c->n->state;
    assert_int_equal(st->status, 0);
    if (*session_log_path(st))
        assert_int_equal(st->log_file_mode & ~(uint32_t)ETL_MODE_REAL_TIME, c->kind);
    else
        assert_int_equal(st->log_file_mode, ETL_MODE_REAL_TIME);
    assert_int_equal(c->n->realtime != NULL, (st->log_file_mode & ETL_MODE_REAL_TIME) != 0);
    if (st->log_file_mode & ETL_MODE_REAL_TIME)
        assert_true(st->flush_timer > 0 && st->stack_cache_bytes == 0);
}

static uint64_t consume(struct scene *c)
{
    static _Alignas(8) uint8_t answer[sizeof(struct ctl_consume_answer) + 8192];
    struct ctl_consume_answer *a    = (void *)answer;
    uint64_t                   n    = 0;
    bool                       wait = false;
    assert_int_equal(realtime_delivery.attach(c->n, 7, a), 0);
    for (uint64_t next = a->sequence;; next = a->sequence + 1) {
        struct ctl_consume_request q = {.done = next, .wanted = next, .what = CTL_CONSUME_BUFFER};
        memset(a, 0, sizeof *a);
        assert_int_equal(realtime_delivery.next(c->n, 7, &q, a, 8192, &wait), 0);
        if (wait)
            return n;
        for (uint32_t at = sizeof(struct etl_buffer_header); at < a->size; n++)
            at += ((uint32_t)etl_record_size((const uint8_t *)(a + 1) + at, a->size - at) + 7u) & ~7u;
    }
}

static void scene_end(struct scene *c)
{
    session_destroy(c->n);
    fixture_finish(&c->f);
}

static uint64_t in_file(const char *path)
{
    struct found f = file_read(path);
    assert_int_equal(f.inversions + f.damage, 0);
    return f.events;
}

/* ---- converted to real time ---- */

/* The caller is still there, and asks the successor. */
static void asked_again(struct scene *c)
{
    struct condition_list found = {0};
    struct session_terms  terms = {.convert = true};
    struct reason         why;
    assert_int_equal(session_update(c->n, &terms, &found, &why), 0);
    assert_true(*c->n->state->log_path && !*session_log_path(c->n->state));
    assert_whole(c);
    write_some(c);
    assert_int_equal(session_flush(c->n), 0);
    const uint64_t got = consume(c);
    assert_true(got >= 60);
    session_stop(c->n);
    assert_true(in_file(c->text.path) + got >= c->w.written); /* with both outputs events are in both */
    struct ctl_session_info info;
    session_info(c->n, &info);
    assert_int_equal(info.events_written + info.lost_file, c->w.written);
    assert_int_equal(info.lost_file, 0);
    condition_list_finish(&found);
}

/* Nobody asks again, and no consumer listens. */
static void left_alone(struct scene *c)
{
    struct ctl_session_info info;
    const bool              file = *session_log_path(c->n->state);
    write_some(c);
    assert_int_equal(session_flush(c->n), 0);
    session_stop(c->n);
    session_info(c->n, &info);
    assert_int_equal(info.events_written + info.lost_file, c->w.written);
    assert_int_equal(in_file(c->text.path), info.events_written);
    assert_int_equal(info.lost_file > 0, !file);
}

static void converted(uint32_t kind, bool asks)
{
    bool     done  = false;
    unsigned stops = 0;
    for (unsigned at = 1; !done; at++, stops++) {
        struct scene c;
        assert_true(at < ALL);
        scene_begin(&c, kind, true);
        write_some(&c);
        logger_pass(c.s->logger, false, true);
        write_some(&c);
        done = changed_by_who_dies(&c, at, NULL, true);
        succeed(&c);
        assert_whole(&c);
        asks ? asked_again(&c) : left_alone(&c);
        scene_end(&c);
    }
    print_message("died at %u places\n", stops);
    assert_true(stops > 5);
}

static void dies_while_a_file_ends_and_is_asked_again(void **state)
{
    (void)state, converted(ETL_MODE_SEQUENTIAL, true);
}
static void dies_while_a_file_ends_and_is_left_alone(void **state)
{
    (void)state, converted(ETL_MODE_SEQUENTIAL, false);
}
static void dies_while_a_ring_ends(void **state) { (void)state, converted(ETL_MODE_CIRCULAR, true); }

/* The file has ended, the mode is still a file's; stacks have keys that a new consumer can't know. */
static void dies_before_the_mode_changes(void **state)
{
    struct scene c;
    (void)state;
    scene_begin(&c, ETL_MODE_CIRCULAR, true);
    write_some(&c);
    assert_true(changed_by_who_dies(&c, ALL, NULL, true));
    c.s->state->log_file_mode |= ETL_MODE_CIRCULAR;
    c.s->state->stack_cache_bytes = 65536;
    succeed(&c);
    assert_whole(&c);
    asked_again(&c);
    scene_end(&c);
}

/* ---- a file for real time, or another one for it ---- */

/* The session had a file, had none, and has one again: an unread event counts for the file that holds it, if any. */
static void a_file_after_the_first_has_ended(void **state)
{
    struct scene            c;
    struct ctl_session_info info;
    (void)state;
    scene_begin(&c, ETL_MODE_SEQUENTIAL, true);
    assert_int_equal((write_some(&c), change(c.s, NULL, true)), CHANGED);
    write_some(&c);
    assert_int_equal((logger_pass(c.s->logger, false, true), change(c.s, c.other, false)), CHANGED);
    write_some(&c);
    session_stop(c.s);
    session_info(c.s, &info);
    assert_int_equal(in_file(c.text.path), 60);
    assert_int_equal(in_file(c.other), 60);
    assert_int_equal(info.events_written, 120);
    assert_int_equal(info.lost_file, 60);
    fixture_finish(&c.f);
}

static void dies_while_real_time_gets_a_file(void **state)
{
    bool     done  = false;
    unsigned stops = 0;
    (void)state;
    for (unsigned at = 1; !done; at++, stops++) {
        struct scene            c;
        struct ctl_session_info info;
        assert_true(at < ALL);
        scene_begin(&c, ETL_MODE_REAL_TIME, false);
        write_some(&c);
        logger_pass(c.s->logger, false, true);
        done = changed_by_who_dies(&c, at, c.other, false);
        succeed(&c);
        assert_whole(&c);
        const bool file = *session_log_path(c.n->state);
        write_some(&c);
        assert_int_equal(session_flush(c.n), 0);
        session_stop(c.n);
        session_info(c.n, &info);
        assert_int_equal(info.events_written, file ? in_file(c.other) : 0);
        assert_int_equal(info.events_written + info.lost_file, c.w.written);
        scene_end(&c);
    }
    print_message("died at %u places\n", stops);
    assert_true(stops > 3);
}

/* ---- MaximumBuffers ---- */

static uint32_t taken(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    uint32_t n = 0;
    for (unsigned u = 0; u < s->uid_count; u++)
        n += stream_set_granted(s->uid[u].streams);
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* Writes until the stream of this processor is nearly full. */
static void write_much(struct scene *c)
{
    for (wstatus st = 0; !st;)
        st = program_write(&c->w, (uint64_t[64]){0}, 512);
}

/* Another process dies when MaximumBuffers are `buffers`, before any memory is released. */
static void shrunk_by_who_dies(struct scene *c, uint32_t buffers)
{
    int         status;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct condition_list found = {0};
        struct session_terms  terms = {.maximum = true, .maximum_buffers = buffers};
        struct reason         why;
        death.shrinks         = c->s;
        death.maximum_buffers = buffers;
        c->f.env.threads      = true;
        _exit(session_start(c->s, &why) || session_update(c->s, &terms, &found, &why) ? 1 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == DIED);
}

/* The successor releases the memory beyond MaximumBuffers: empty memory at once, the rest when it has been written. */
static void dies_before_memory_is_given_back(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        struct scene            c;
        struct ctl_session_info info;
        scene_begin(&c, ETL_MODE_SEQUENTIAL, true);
        const uint32_t least = 2 * c.f.env.cpus;
        for (int i = 0; i < 10; i++) {
            write_much(&c);
            logger_pass(c.s->logger, false, true);
        }
        const uint32_t before = taken(c.s);
        shrunk_by_who_dies(&c, least);
        if (full)
            write_much(&c);
        succeed(&c);
        assert_true(before > c.n->budget_chunks && taken(c.n) <= c.n->budget_chunks);
        session_stop(c.n);
        session_info(c.n, &info);
        assert_int_equal(info.maximum_buffers, least);
        assert_int_equal(info.events_written, c.w.written);
        assert_int_equal(info.lost_ring, c.w.refused);
        assert_int_equal(in_file(c.text.path), c.w.written);
        scene_end(&c);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(dies_while_a_file_ends_and_is_asked_again),
        cmocka_unit_test(dies_while_a_file_ends_and_is_left_alone),
        cmocka_unit_test(dies_while_a_ring_ends),
        cmocka_unit_test(dies_before_the_mode_changes),
        cmocka_unit_test(a_file_after_the_first_has_ended),
        cmocka_unit_test(dies_while_real_time_gets_a_file),
        cmocka_unit_test(dies_before_memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
