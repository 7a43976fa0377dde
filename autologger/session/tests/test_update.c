/* Changed terms of a running session, under writers: MaximumBuffers up and down, another file, real time on and off,
 * real time alone; attempted events are written or lost over each change. Also one row of buffers for all processors,
 * and numbers of messages.
 * Proves: SES-06, SES-08, SES-22, COR-17, COR-20, LGT-05. */
#include "autologger/ring/classic.h"
#include "autologger/session/tests/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

enum { WRITERS = 3, BURST = 64 };

struct writer {
    struct program w;
    pthread_t      thread;
    int            cpu;      /* -1: any */
    unsigned       pause_us; /* after each burst */
    atomic_bool   *stop;
};

static void *write_on(void *ctx)
{
    struct writer *w       = ctx;
    uint64_t       data[8] = {0};
    if (w->cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((unsigned)w->cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    while (!atomic_load(w->stop)) {
        for (int i = 0; i < BURST; i++, data[0]++)
            program_write(&w->w, data, sizeof data);
        if (w->pause_us)
            usleep(w->pause_us);
    }
    return NULL;
}

struct stand {
    struct fixture        f;
    struct plan_text      text;
    struct session       *s;
    struct writer         writer[WRITERS];
    atomic_bool           stop;
    struct condition_list found;
    struct reason         why;
    unsigned              slot, entry;
    bool                  write;
};

/* 64 KB buffers, `maximum` of them. */
static void stand_begin(struct stand *t, const char *name, uint32_t mode, uint32_t maximum, bool with_file)
{
    struct enable_terms all = {0};
    memset(t, 0, sizeof *t);
    fixture_init(&t->f, true);
    t->f.env.log_dir   = t->f.dir;
    t->f.env.realtime  = &realtime_delivery;
    t->f.env.modes     = &logger_modes;
    t->f.env.next_file = logger_next_file;
    struct plan plan   = plan_make(&t->f, &t->text, name, 64, 2 * t->f.env.cpus, maximum);
    plan.log_file_mode = mode;
    plan.max_file_size = mode & (ETL_MODE_NEWFILE | ETL_MODE_CIRCULAR) ? 1 : 0;
    plan.flush_timer   = mode & ETL_MODE_REAL_TIME ? 1 : 0;
    if (!with_file)
        plan.log_path = NULL;
    if (mode & ETL_MODE_BUFFERING)
        plan.memory_bytes *= 2;
    assert_int_equal(table_add(&t->f.table, &plan, &t->s, &t->why), 0);
    assert_int_equal(session_enable(t->s, &test_provider, "key", &all, &t->slot, &t->entry, &t->why), 0);
    session_fs_ready(t->s);
    assert_int_equal(session_start(t->s, &t->why), 0);
    assert_int_equal(session_flush(t->s), 0);
}

static wstatus errand_wait(struct stand *t, struct logger_errand *e)
{
    for (unsigned i = 0; i < 20000 && !session_errand_done(t->s, e); i++)
        usleep(1000);
    assert_true(session_errand_done(t->s, e));
    const wstatus st = e->status;
    session_errand_end(t->s, e);
    return st;
}

static void writers_go(struct stand *t, unsigned pause_us, bool pinned)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        struct writer *w = &t->writer[i];
        program_attach(&w->w, t->s, (uint32_t)geteuid(), t->slot, t->entry);
        w->cpu      = pinned ? (int)(i % t->f.env.cpus) : -1;
        w->pause_us = pause_us;
        w->stop     = &t->stop;
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        struct writer *w = &t->writer[i];
        assert_int_equal(pthread_create(&w->thread, NULL, write_on, w), 0);
    }
    t->write = true;
}

/* Ends the session, and compares its counts with the writers' own. */
static struct ctl_session_info stand_stop(struct stand *t)
{
    struct ctl_session_info info;
    uint64_t                attempted = 0, written = 0, refused = 0;
    atomic_store(&t->stop, true);
    for (unsigned i = 0; t->write && i < WRITERS; i++) {
        pthread_join(t->writer[i].thread, NULL);
        attempted += t->writer[i].w.attempted, written += t->writer[i].w.written, refused += t->writer[i].w.refused;
    }
    session_stop(t->s);
    session_info(t->s, &info);
    assert_int_equal(attempted, written + refused);
    assert_int_equal(info.lost_ring, refused);
    assert_int_equal(info.events_written + info.lost_file, written);
    assert_int_equal(info.corrupt, 0);
    assert_int_equal(info.late_events, 0);
    return info;
}

static void stand_finish(struct stand *t)
{
    condition_list_finish(&t->found);
    fixture_finish(&t->f);
}

static wstatus update(struct stand *t, struct session_terms terms)
{
    condition_list_finish(&t->found);
    t->found = (struct condition_list){0};
    return session_update(t->s, &terms, &t->found, &t->why);
}

static wstatus maximum(struct stand *t, uint32_t buffers)
{
    return update(t, (struct session_terms){.maximum = true, .maximum_buffers = buffers});
}

static uint64_t taken(const struct stand *t)
{
    uint64_t n = 0;
    for (unsigned u = 0; u < t->s->uid_count; u++)
        n += (uint64_t)stream_set_granted(t->s->uid[u].streams) << t->s->chunk_shift;
    return n;
}

static uint64_t in_memory(const struct stand *t)
{
    struct stat st;
    assert_int_equal(fstat(stream_set_data_fd(t->s->uid[0].streams), &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* Waits until every writer has written one more event. */
static void more_is_written(const struct stand *t)
{
    uint64_t before[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++)
        before[i] = __atomic_load_n(&t->writer[i].w.written, __ATOMIC_RELAXED);
    for (unsigned i = 0, ms = 0; i < WRITERS; ms++) {
        i += __atomic_load_n(&t->writer[i].w.written, __ATOMIC_RELAXED) > before[i];
        assert_true(ms < 30000);
        usleep(1000);
    }
}

/* MaximumBuffers up and down under three fast writers: nothing is torn, nothing uncounted. */
static void buffers_come_and_go_under_writers(void **state)
{
    struct stand   t;
    const uint32_t least = 2u * (uint32_t)os_linux()->cpu_count(os_linux());
    (void)state;
    stand_begin(&t, "come-and-go", 0, 2 * least, true);
    writers_go(&t, 0, false);
    for (int i = 0; i < 40; i++) {
        const uint32_t buffers = i % 2 ? least : least + 8u * (uint32_t)(i + 1);
        assert_int_equal(maximum(&t, buffers), 0);
        usleep(5000);
        struct ctl_session_info info;
        session_info(t.s, &info);
        assert_true(info.maximum_buffers >= least && info.maximum_buffers <= buffers);
    }
    struct ctl_session_info info = stand_stop(&t);
    assert_true(info.updates >= 40);
    struct found in_file = file_read(t.text.path);
    assert_int_equal(in_file.events, info.events_written);
    assert_int_equal(in_file.inversions + in_file.damage, 0);
    stand_finish(&t);
}

/* Writes `count` events of 8 KB, eight in a chunk, while the logger can't run. Returns how many were accepted. */
static unsigned stopped_write(struct stand *t, struct program *w, unsigned count)
{
    uint64_t payload[1000] = {0};
    uint64_t before        = w->written;
    pthread_mutex_lock(&t->s->lock);
    for (unsigned i = 0; i < count; i++)
        program_write(w, payload, sizeof payload);
    pthread_mutex_unlock(&t->s->lock);
    return (unsigned)(w->written - before);
}

/* Events lost with few buffers are not lost with more; released memory is the machine's again. */
static void more_buffers_hold_more(void **state)
{
    struct stand   t;
    struct program w;
    cpu_set_t      all, one;
    const uint32_t least = 2u * (uint32_t)os_linux()->cpu_count(os_linux());
    (void)state;
    stand_begin(&t, "more", 0, least, true);
    program_attach(&w, t.s, (uint32_t)geteuid(), t.slot, t.entry);
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_true(stopped_write(&t, &w, 200) < 200); /* only the present buffers */
    assert_int_equal(session_flush(t.s), 0);
    assert_int_equal(maximum(&t, least + 100), 0);
    assert_int_equal(t.s->state->maximum_buffers, least + 100);
    assert_int_equal(t.found.count, 0);
    const uint64_t few = taken(&t);
    for (int i = 0; i < 8; i++) { /* a little more than half of this CPU's chunks: it gets more */
        const uint64_t chunks = taken(&t) / 65536 - 2u * (t.f.env.cpus - 1) - 1;
        stopped_write(&t, &w, (unsigned)(chunks * 4 + 1));
        assert_int_equal(session_flush(t.s), 0);
    }
    assert_int_equal(stopped_write(&t, &w, 200), 200);
    assert_int_equal(session_flush(t.s), 0);
    struct ctl_session_info info;
    session_info(t.s, &info);
    assert_true(taken(&t) >= few);
    const uint64_t most = in_memory(&t);
    assert_int_equal(maximum(&t, least), 0);
    assert_int_equal(t.found.count, 0);
    assert_true(taken(&t) <= (uint64_t)(least + 1) * 65536);
    assert_true(in_memory(&t) <= most);
    assert_true(in_memory(&t) < (uint64_t)(least + 4) * 65536); /* plus the pages before the chunks */
    sched_setaffinity(0, sizeof all, &all);
    session_stop(t.s);
    session_info(t.s, &info);
    assert_int_equal(info.events_written, w.written);
    assert_int_equal(info.lost_ring, w.refused);
    stand_finish(&t);
}

/* Limited to the possible range, with a condition. */
static void limits_of_maximum(void **state)
{
    struct stand   t;
    const uint32_t least = 2u * (uint32_t)os_linux()->cpu_count(os_linux());
    (void)state;
    stand_begin(&t, "limits", 0, least + 4, true);
    assert_int_equal(maximum(&t, 0), W_INVALID_PARAMETER);
    assert_int_equal(maximum(&t, 1), 0);
    assert_int_equal(t.s->state->maximum_buffers, least);
    assert_int_equal(t.found.count, 1);
    assert_int_equal(maximum(&t, 1u << 30), 0);
    assert_true(t.found.count == 1 && t.found.items[0].number == W_NOT_ENOUGH_MEMORY &&
                strstr(t.found.items[0].reason, "at the start"));
    assert_true(t.s->state->maximum_buffers >= 4 * (least + 4) && t.s->state->maximum_buffers < 1u << 30);
    assert_int_equal(update(&t, (struct session_terms){.maximum         = true,
                                                       .maximum_buffers = 1u << 20,
                                                       .memory_limit    = (least + 9) * UINT64_C(65536)}),
                     0);
    assert_int_equal(t.s->state->maximum_buffers, least + 9);
    session_stop(t.s);
    assert_int_equal(maximum(&t, least), W_NOT_READY);
    stand_finish(&t);
    stand_begin(&t, "ring", ETL_MODE_BUFFERING, least, false);
    assert_int_equal(maximum(&t, least + 1), W_INVALID_PARAMETER);
    stand_finish(&t);
}

/* The file changes often while programs write: each file is complete, and together they hold every event once. */
static void files_change_under_writers(void **state)
{
    enum { FILES = 12 };
    struct stand t;
    char         path[FILES][200];
    uint64_t     events = 0, buffers = 0;
    (void)state;
    stand_begin(&t, "files", 0, 64, true);
    writers_go(&t, 100, false);
    for (int i = 0; i < FILES; i++) {
        more_is_written(&t);
        snprintf(path[i], sizeof path[i], "%s/other/%d.etl", t.f.dir, i);
        assert_int_equal(update(&t, (struct session_terms){.log_path = path[i], .file_name = "declared.etl"}), 0);
        assert_string_equal(session_log_path(t.s->state), path[i]);
    }
    struct ctl_session_info info = stand_stop(&t);
    assert_string_equal(info.log_path, path[FILES - 1]);
    assert_string_equal(t.s->state->file_name, "declared.etl");
    for (int i = -1; i < FILES; i++) {
        const char        *p = i < 0 ? t.text.path : path[i];
        struct found       f = file_read(p);
        struct etl_reader *r = NULL;
        assert_int_equal(etl_reader_open(p, &r, NULL), 0);
        assert_true(etl_reader_header(r)->raw.end_time > 0);
        buffers += etl_reader_header(r)->raw.buffers_written;
        etl_reader_close(r);
        assert_int_equal(f.inversions + f.damage, 0);
        assert_true(f.events > 0);
        events += f.events;
    }
    assert_int_equal(events, info.events_written);
    assert_int_equal(buffers, info.buffers_written);
    stand_finish(&t);
}

/* Events that a ring has overwritten in its first file stay counted. */
static void a_ring_changes_its_file(void **state)
{
    struct stand            t;
    char                    path[200];
    struct ctl_session_info info;
    (void)state;
    stand_begin(&t, "round", ETL_MODE_CIRCULAR, 64, true);
    writers_go(&t, 50, false);
    for (int i = 0; i < 2; i++) {
        const uint64_t before = (session_info(t.s, &info), info.overwritten);
        for (int ms = 0; ms < 60000 && info.overwritten <= before; ms += 5) {
            usleep(5000);
            session_info(t.s, &info);
        }
        assert_true(info.overwritten > before);
        snprintf(path, sizeof path, "%s/second.etl", t.f.dir);
        if (i == 0)
            assert_int_equal(update(&t, (struct session_terms){.log_path = path}), 0);
    }
    info = stand_stop(&t);
    assert_int_equal(file_read(t.text.path).events + file_read(path).events + info.overwritten, info.events_written);
    stand_finish(&t);
}

static void files_that_cannot_be(void **state)
{
    struct stand t;
    char         path[200], folder[200];
    struct stat  st;
    (void)state;
    stand_begin(&t, "cannot", 0, 64, true);
    assert_int_equal(update(&t, (struct session_terms){.log_path = t.text.path}), W_BAD_PATHNAME);
    snprintf(folder, sizeof folder, "%s/folder.etl", t.f.dir);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(update(&t, (struct session_terms){.log_path = folder}), W_BAD_PATHNAME);
    snprintf(path, sizeof path, "%s/link", t.f.dir);
    assert_int_equal(symlink("/tmp", path), 0);
    strcat(path, "/x.etl");
    assert_int_equal(update(&t, (struct session_terms){.log_path = path}), W_BAD_PATHNAME);
    snprintf(path, sizeof path, "%s/text.etl", t.f.dir);
    FILE *text = fopen(path, "w");
    assert_true(text && fputs("not an etl", text) >= 0 && !fclose(text));
    assert_int_equal(update(&t, (struct session_terms){.log_path = path}), W_ALREADY_EXISTS);
    writers_go(&t, 100, false); /* the session continues in its present file */
    more_is_written(&t);
    struct ctl_session_info info = stand_stop(&t);
    assert_string_equal(info.log_path, t.text.path);
    assert_int_equal(file_read(t.text.path).events, info.events_written);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 10);
    stand_finish(&t);

    stand_begin(&t, "new-%d", ETL_MODE_NEWFILE, 64, true);
    snprintf(path, sizeof path, "%s/x-%%d.etl", t.f.dir);
    assert_int_equal(update(&t, (struct session_terms){.log_path = path}), W_INVALID_PARAMETER);
    struct logger_errand *more;
    assert_int_equal(session_next_file(t.s, &more, &t.why), 0);
    assert_int_equal(errand_wait(&t, more), 0);
    stand_finish(&t);
    stand_begin(&t, "ring", ETL_MODE_BUFFERING, 2u * (uint32_t)os_linux()->cpu_count(os_linux()), false);
    snprintf(path, sizeof path, "%s/x.etl", t.f.dir);
    assert_int_equal(update(&t, (struct session_terms){.log_path = path}), W_INVALID_PARAMETER);
    assert_int_equal(update(&t, (struct session_terms){.realtime = true, .deliver = true}), W_INVALID_PARAMETER);
    assert_int_equal(update(&t, (struct session_terms){.convert = true}), W_INVALID_PARAMETER);
    stand_finish(&t);
    stand_begin(&t, "fixed", ETL_MODE_NONSTOPPABLE | ETL_MODE_CIRCULAR, 64, true);
    assert_int_equal(update(&t, (struct session_terms){.log_path = path}), W_INVALID_PARAMETER);
    assert_int_equal(maximum(&t, 100), W_INVALID_PARAMETER);
    assert_int_equal(update(&t, (struct session_terms){.timer = true, .flush_timer = 3}), W_INVALID_PARAMETER);
    stand_finish(&t);
}

/* A consumer as the server plays it: reads all buffers until the end. Returns the number of events. */
static uint64_t consume(struct stand *t, uint32_t id, uint64_t *next)
{
    static _Alignas(8) uint8_t answer[sizeof(struct ctl_consume_answer) + 65536];
    struct ctl_consume_answer *a    = (void *)answer;
    uint64_t                   n    = 0;
    bool                       wait = false;
    while (!wait) {
        struct ctl_consume_request q = {.done = *next, .wanted = *next, .what = CTL_CONSUME_BUFFER};
        assert_int_equal(realtime_delivery.next(t->s, id, &q, a, 65536, &wait), 0);
        if (wait)
            break;
        assert_int_equal(a->bytes, a->size);
        const uint8_t *data = (const uint8_t *)(a + 1);
        for (uint32_t at = sizeof(struct etl_buffer_header); at < a->size; n++) {
            uint16_t size;
            memcpy(&size, data + at, sizeof size);
            assert_true(size >= 80);
            at += (size + 7u) & ~7u;
        }
        *next = a->sequence + 1;
    }
    return n;
}

static void real_time_is_switched(void **state)
{
    struct stand              t;
    struct ctl_consume_answer a;
    struct ctl_session_info   info;
    (void)state;
    stand_begin(&t, "live", 0, 64, true);
    assert_int_equal(update(&t, (struct session_terms){.realtime = true}), 0); /* it is off */
    writers_go(&t, 300, false);
    for (uint32_t round = 0; round < 5; round++) {
        usleep(10000);
        assert_int_equal(update(&t, (struct session_terms){.realtime = true, .deliver = true}), 0);
        session_info(t.s, &info);
        assert_true(info.log_file_mode & ETL_MODE_REAL_TIME && info.flush_timer == 1 && t.s->realtime);
        uint64_t next = 0, got = 0;
        if (round != 3) { /* then no consumer listens */
            memset(&a, 0, sizeof a);
            assert_int_equal(realtime_delivery.attach(t.s, 7 + round, &a), 0);
            next = a.sequence;
        }
        for (int i = 0; i < 500 && got == 0; i++) {
            usleep(2000);
            assert_int_equal(session_flush(t.s), 0);
            got = round == 3 ? 1 : consume(&t, 7 + round, &next);
        }
        assert_true(got > 0);
        assert_int_equal(update(&t, (struct session_terms){.realtime = true}), 0);
        session_info(t.s, &info);
        assert_false(info.log_file_mode & ETL_MODE_REAL_TIME);
        session_realtime_end(t.s);
    }
    info = stand_stop(&t);
    assert_true(info.realtime_buffers_lost > 0); /* from the round without a consumer */
    assert_int_equal(info.lost_file, 0);         /* they are in the file */
    assert_int_equal(file_read(t.text.path).events, info.events_written);
    stand_finish(&t);
}

/* A session without a file gets one: unread events in memory end with real time, and count as lost. */
static void a_file_for_a_session_without(void **state)
{
    struct stand t;
    char         path[200];
    (void)state;
    stand_begin(&t, "no-file", ETL_MODE_REAL_TIME, 64, false);
    assert_int_equal(update(&t, (struct session_terms){.realtime = true}), W_INVALID_PARAMETER);
    assert_int_equal(update(&t, (struct session_terms){.convert = true}), W_INVALID_PARAMETER);
    writers_go(&t, 300, false);
    more_is_written(&t);
    snprintf(path, sizeof path, "%s/later.etl", t.f.dir);
    assert_int_equal(update(&t, (struct session_terms){.log_path = path}), 0);
    more_is_written(&t);
    assert_int_equal(update(&t, (struct session_terms){.realtime = true}), 0);
    session_realtime_end(t.s);
    usleep(10000);
    struct ctl_session_info info = stand_stop(&t);
    assert_true(info.lost_file > 0 && info.realtime_buffers_lost > 0);
    assert_int_equal(file_read(path).events, info.events_written);
    stand_finish(&t);
}

static void converted_to_real_time(void **state)
{
    struct stand              t;
    struct ctl_consume_answer a = {.sequence = 0};
    (void)state;
    stand_begin(&t, "converted", ETL_MODE_SEQUENTIAL, 64, true);
    writers_go(&t, 300, false);
    more_is_written(&t);
    assert_int_equal(update(&t, (struct session_terms){.convert = true}), 0);
    assert_int_equal(t.s->state->log_file_mode, ETL_MODE_REAL_TIME);
    assert_string_equal(session_log_path(t.s->state), "");
    const uint64_t in_file = file_read(t.text.path).events;
    assert_int_equal(realtime_delivery.attach(t.s, 7, &a), 0);
    uint64_t next = a.sequence, got = 0;
    more_is_written(&t);
    atomic_store(&t.stop, true);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(t.writer[i].thread, NULL);
    t.write = false;
    assert_int_equal(session_flush(t.s), 0);
    got = consume(&t, 7, &next);
    struct ctl_session_info info;
    uint64_t                written = 0, refused = 0;
    for (unsigned i = 0; i < WRITERS; i++)
        written += t.writer[i].w.written, refused += t.writer[i].w.refused;
    session_stop(t.s);
    session_info(t.s, &info);
    assert_int_equal(info.events_written, written);
    assert_int_equal(info.lost_ring, refused);
    assert_int_equal(in_file + got, written); /* in the file, or delivered: each once */
    assert_true(in_file > 0 && got > 0);
    assert_int_equal(file_read(t.text.path).events, in_file);
    stand_finish(&t);
}

/* Checks the records in the file, buffer by buffer, in time order; no buffer belongs to a processor. */
static void one_row_for_all_processors(void **state)
{
    struct stand t;
    (void)state;
    stand_begin(&t, "row", ETL_MODE_NO_PER_PROCESSOR, 64, true);
    writers_go(&t, 200, true);
    more_is_written(&t);
    usleep(100000);
    struct ctl_session_info info   = stand_stop(&t);
    FILE                   *file   = fopen(t.text.path, "rb");
    uint8_t                *data   = malloc(65536);
    uint64_t                events = 0, last = 0;
    assert_true(file && data);
    for (unsigned n = 0; fread(data, 65536, 1, file) == 1; n++) {
        struct etl_buffer_header h;
        memcpy(&h, data, sizeof h);
        assert_int_equal(h.sequence_number, n);
        assert_int_equal(h.processor_index, 0);
        if (n == 0)
            continue; /* the header's buffer */
        for (uint32_t at = sizeof h; at < h.saved_offset; events++) {
            uint16_t size;
            uint64_t time;
            memcpy(&size, data + at, sizeof size);
            memcpy(&time, data + at + offsetof(struct etl_event_header, time), sizeof time);
            assert_true(size >= 80 && time >= last);
            last = time;
            at += (size + 7u) & ~7u;
        }
    }
    assert_int_equal(fclose(file), 0);
    free(data);
    assert_true(events > 0);
    assert_int_equal(events, info.events_written);
    struct etl_reader *r = NULL;
    assert_int_equal(etl_reader_open(t.text.path, &r, NULL), 0);
    assert_int_equal(etl_reader_header(r)->raw.processors, 1);
    assert_true(etl_reader_header(r)->raw.log_file_mode & ETL_MODE_NO_PER_PROCESSOR);
    etl_reader_close(r);
    struct found f = file_read(t.text.path);
    assert_int_equal(f.events, events);
    assert_int_equal(f.inversions, 0);
    stand_finish(&t);
}

/* A message of the older API, which asks for a number. */
static void message_write(struct program *w)
{
    struct etl_event_header h       = {.header_type    = ETL_EVENT64,
                                       .marker         = ETL_MARKER,
                                       .flags          = SHM_CLASSIC,
                                       .event_property = CLASSIC_MESSAGE,
                                       .thread_id      = (uint32_t)gettid(),
                                       .process_id     = (uint32_t)getpid(),
                                       .provider       = test_provider,
                                       .id             = 7,
                                       .level          = 4,
                                       .task           = MESSAGE_SEQUENCE};
    uint64_t                payload = 1;
    struct ring_piece       piece   = {(uint64_t)(uintptr_t)&payload, sizeof payload, 0};
    bool                    written = false;
    assert_int_equal(ring_write(&w->view, w->enable, w->ticket, &h, &piece, 1, sizeof payload, &written), 0);
    assert_true(written);
}

/* The numbers in a file, in its order. */
static unsigned numbers_read(const char *path, uint32_t *out, unsigned most)
{
    FILE    *file = fopen(path, "rb");
    uint8_t *data = malloc(65536);
    unsigned n    = 0;
    assert_true(file && data);
    for (unsigned b = 0; fread(data, 65536, 1, file) == 1; b++) {
        struct etl_buffer_header h;
        memcpy(&h, data, sizeof h);
        for (uint32_t at = sizeof h; b > 0 && at < h.saved_offset; n++) {
            uint16_t size;
            memcpy(&size, data + at, sizeof size);
            assert_true(size >= 20 && n < most && data[at + 3] == ETL_MARKER_MESSAGE);
            memcpy(&out[n], data + at + 8, sizeof *out);
            at += (size + 7u) & ~7u;
        }
    }
    assert_int_equal(fclose(file), 0);
    free(data);
    return n;
}

/* USE_LOCAL_SEQUENCE counts in the session, USE_GLOBAL_SEQUENCE in all of them; without either the number is 0. */
static void messages_are_numbered(void **state)
{
    enum { EACH = 40 };
    static const struct {
        uint32_t mode, first;
    } rows[]        = {{ETL_MODE_LOCAL_SEQUENCE, 1},
                       {ETL_MODE_GLOBAL_SEQUENCE, 1001},
                       {ETL_MODE_GLOBAL_SEQUENCE, 1001 + EACH},
                       {ETL_MODE_LOCAL_SEQUENCE, 1},
                       {0, 0}};
    uint32_t global = 1000;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stand   t;
        struct program w;
        uint32_t       number[2 * EACH];
        char           name[16];
        snprintf(name, sizeof name, "numbers-%zu", i);
        stand_begin(&t, name, rows[i].mode | ETL_MODE_NO_PER_PROCESSOR, 64, true);
        t.f.env.message_number = &global;
        program_attach(&w, t.s, (uint32_t)geteuid(), t.slot, t.entry);
        for (int k = 0; k < EACH; k++)
            message_write(&w);
        session_stop(t.s);
        assert_int_equal(numbers_read(t.text.path, number, 2 * EACH), EACH);
        for (uint32_t k = 0; k < EACH; k++)
            assert_int_equal(number[k], rows[i].mode ? rows[i].first + k : 0);
        stand_finish(&t);
    }
    assert_int_equal(global, 1000 + 2 * EACH);
}

/* ---- an errand that comes during a pass of the logger ---- */

static struct {
    struct stand *t;
    atomic_bool   armed, inside;
} meanwhile;

/* The pass has looked at the streams, and lasts until an errand has come. */
static void slow_merge(struct logger *l, uint64_t horizon)
{
    if (atomic_exchange(&meanwhile.armed, false)) {
        atomic_store(&meanwhile.inside, true);
        for (int ms = 0; ms < 5000 && !atomic_load(&meanwhile.t->s->errand); ms++)
            usleep(1000);
    }
    logger_modes.merge(l, horizon);
}

static void *flush_once(void *ctx)
{
    session_flush(ctx);
    return NULL;
}

/* Events written before a snapshot is requested are in it, also when the request comes during a pass. */
static void asked_in_the_middle_of_a_pass(void **state)
{
    enum { EVENTS = 10 };
    const struct logger_modes slow = {.merge = slow_merge, .message_number = logger_modes.message_number};
    struct stand              t;
    struct program            w;
    pthread_t                 thread;
    char                      path[200];
    const uint64_t            payload = 1;
    (void)state;
    stand_begin(&t, "meanwhile", ETL_MODE_NO_PER_PROCESSOR, 64, true);
    program_attach(&w, t.s, (uint32_t)geteuid(), t.slot, t.entry);
    t.f.env.modes = &slow;
    meanwhile.t   = &t;
    atomic_store(&meanwhile.inside, false);
    atomic_store(&meanwhile.armed, true);
    assert_int_equal(pthread_create(&thread, NULL, flush_once, t.s), 0);
    while (!atomic_load(&meanwhile.inside))
        usleep(1000);
    for (int i = 0; i < EVENTS; i++)
        assert_int_equal(program_write(&w, &payload, sizeof payload), 0);
    snprintf(path, sizeof path, "%s/snapshot.etl", t.f.dir);
    struct logger_errand *copy;
    assert_int_equal(session_snapshot(t.s, path, &copy, &t.why), 0);
    assert_int_equal(errand_wait(&t, copy), 0);
    pthread_join(thread, NULL);
    assert_int_equal(file_read(path).events, EVENTS);
    session_stop(t.s);
    stand_finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_come_and_go_under_writers),
        cmocka_unit_test(more_buffers_hold_more),
        cmocka_unit_test(limits_of_maximum),
        cmocka_unit_test(files_change_under_writers),
        cmocka_unit_test(a_ring_changes_its_file),
        cmocka_unit_test(files_that_cannot_be),
        cmocka_unit_test(real_time_is_switched),
        cmocka_unit_test(a_file_for_a_session_without),
        cmocka_unit_test(converted_to_real_time),
        cmocka_unit_test(one_row_for_all_processors),
        cmocka_unit_test(messages_are_numbered),
        cmocka_unit_test(asked_in_the_middle_of_a_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
