/* Real-time sessions: the backup file, who is given what, what is acknowledged, over restarts and reboots; caps and losses.
 * Proves: LGT-07, LGT-13, SES-22. */
#include "autologger/session/backup.h"
#include "autologger/session/tests/fixture.h"

#include <sys/stat.h>

struct live {
    struct fixture   f;
    struct plan_text text;
    struct session  *s;
    struct program   w;
    uint64_t         numbers; /* of events written, as their payload */
};

/* A session without threads: the test says when the logger runs. The folder stays over "reboots". */
static void live_start(struct live *l, bool boot, uint32_t maximum, uint32_t size_mb, bool with_file, bool forget)
{
    unsigned            slot, entry;
    struct enable_terms all = {0};
    struct reason       why = {0};
    char                dir[64];

    memcpy(dir, l->f.dir, sizeof dir);
    fixture_init(&l->f, false);
    if (!boot) {
        rmdir(l->f.dir);
        memcpy(l->f.dir, dir, sizeof dir);
    }
    l->f.env.log_dir  = l->f.dir;
    l->f.env.realtime = &realtime_delivery;
    struct plan plan  = plan_make(&l->f, &l->text, "live/one", 8, 2 * l->f.env.cpus, maximum);
    snprintf(l->text.path, sizeof l->text.path, "%s/live.etl", l->f.dir);
    plan.log_path        = with_file ? l->text.path : NULL;
    plan.log_file_mode   = ETL_MODE_REAL_TIME;
    plan.flush_timer     = 1;
    plan.max_file_size   = size_mb;
    plan.forget_realtime = forget;
    assert_int_equal(table_add(&l->f.table, &plan, &l->s, &why), 0);
    assert_int_equal(session_enable(l->s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(l->s, &why), 0);
    program_attach(&l->w, l->s, (uint32_t)geteuid(), slot, entry);
    session_fs_ready(l->s);
}

static void live_new(struct live *l, uint32_t maximum, uint32_t size_mb, bool with_file, bool forget)
{
    memset(l, 0, sizeof *l);
    live_start(l, true, maximum, size_mb, with_file, forget);
}

/* The end of a machine's boot: the folder is all that stays. */
static void power_off(struct live *l)
{
    session_stop(l->s);
    table_finish(&l->f.table);
    directory_destroy(l->f.table.directory);
    close(l->f.env.changed_fd);
}

static void live_finish(struct live *l)
{
    fixture_finish(&l->f);
}

/* Writes `count` numbered events of about `bytes`, and has the logger flush them. */
static void produce(struct live *l, unsigned count, unsigned bytes)
{
    uint64_t payload[512] = {0};
    for (unsigned i = 0; i < count; i++) {
        payload[0] = l->numbers;
        if (program_write(&l->w, payload, bytes) == 0)
            l->numbers++;
        if (i % 16 == 15)
            logger_pass(l->s->logger, false, false);
    }
    logger_pass(l->s->logger, false, true);
}

/* ---- a consumer by hand ---- */

struct reader {
    uint32_t id;
    uint64_t next, done;
    uint64_t events, bad, last;
    uint64_t seen[4096];
};
static struct {
    struct ctl_consume_answer a;
    uint8_t                   bytes[CTL_MAX];
} answer;

static wstatus reader_attach(struct live *l, struct reader *r, uint32_t id)
{
    memset(r, 0, sizeof *r);
    memset(&answer, 0, sizeof answer);
    r->id      = id;
    wstatus st = realtime_delivery.attach(l->s, id, &answer.a);
    r->next = r->done = answer.a.sequence;
    return st;
}

static void events_take(struct reader *r, const uint8_t *data, size_t size)
{
    struct etl_event_header h;
    for (size_t at = sizeof(struct etl_buffer_header); at < size;) {
        int n = etl_record_size(data + at, size - at);
        if (n <= 0)
            break;
        memcpy(&h, data + at, sizeof h);
        if (h.header_type == ETL_EVENT64 && r->events < sizeof r->seen / sizeof *r->seen)
            memcpy(&r->seen[r->events], data + at + sizeof h, sizeof r->seen[0]);
        r->events += h.header_type == ETL_EVENT64;
        at += ((size_t)n + 7) & ~(size_t)7;
    }
}

/* Reads one buffer, in parts of 3,000 bytes; false: there is none. */
static bool reader_read(struct live *l, struct reader *r)
{
    uint8_t                    whole[8192];
    uint32_t                   have = 0;
    bool                       wait;
    struct ctl_consume_request q = {.done = r->done, .wanted = r->next};
    do {
        q.offset = have;
        memset(&answer.a, 0, sizeof answer.a);
        assert_int_equal(realtime_delivery.next(l->s, r->id, &q, &answer.a, 3000, &wait), 0);
        if (wait)
            return false;
        if (answer.a.sequence != q.wanted) { /* skipped */
            q.wanted = answer.a.sequence;
            have     = 0;
        }
        assert_int_equal(answer.a.offset, have);
        memcpy(whole + have, answer.bytes, answer.a.bytes);
        have += answer.a.bytes;
    } while (have < answer.a.size);
    events_take(r, whole, have);
    r->next = answer.a.sequence + 1;
    return true;
}

static void reader_acknowledge(struct live *l, struct reader *r)
{
    bool                       wait;
    struct ctl_consume_request q = {.done = r->done = r->next, .what = CTL_CONSUME_ACKNOWLEDGE};
    assert_int_equal(realtime_delivery.next(l->s, r->id, &q, &answer.a, 0, &wait), 0);
    assert_false(wait);
}

static void reader_read_all(struct live *l, struct reader *r)
{
    while (reader_read(l, r))
        ;
    reader_acknowledge(l, r);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The reader's events are from .. from + count - 1, each once. */
static void assert_numbers(struct reader *r, uint64_t from, uint64_t count)
{
    assert_int_equal(r->events, count);
    qsort(r->seen, r->events, sizeof r->seen[0], by_number);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(r->seen[i], from + i);
}

static const char *backup_path(const struct live *l)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/RtBackup/EtwRTlive%%2Fone.etl", l->f.dir);
    return path;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static struct ctl_session_info info_of(struct live *l)
{
    struct ctl_session_info info;
    session_info(l->s, &info);
    return info;
}

static void balance(struct live *l)
{
    struct ctl_session_info i = info_of(l);
    assert_int_equal(l->w.attempted, i.events_written + i.lost_ring + i.lost_file);
}

/* ---- tests ---- */

static void nobody_reads_then_one_does(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 500, 100);
    assert_true(exists(backup_path(&l)));
    assert_int_equal(info_of(&l).state, SESSION_WRITING);
    assert_int_equal(info_of(&l).status, 0);
    assert_int_equal(reader_attach(&l, &r, 7), 0);
    assert_true(reader_read(&l, &r));
    produce(&l, 100, 100);
    reader_read_all(&l, &r);
    assert_numbers(&r, 0, 600);
    logger_pass(l.s->logger, false, true);
    assert_false(exists(backup_path(&l))); /* all is acknowledged */
    produce(&l, 10, 100);
    assert_true(exists(backup_path(&l)));
    reader_read_all(&l, &r);
    assert_int_equal(r.events, 610);
    session_stop(l.s);
    balance(&l);
    live_finish(&l);
}

static void a_reboot_gives_what_was_not_read_once(void **state)
{
    struct live   l;
    struct reader r;
    (void)state;
    live_new(&l, 32, 0, false, false);
    produce(&l, 300, 100);
    reader_attach(&l, &r, 1);
    for (int i = 0; i < 2; i++)
        assert_true(reader_read(&l, &r));
    reader_acknowledge(&l, &r);
    uint64_t before = r.events;
    realtime_delivery.gone(l.s, 1);
    power_off(&l);
    live_start(&l, false, 32, 0, false, false);
    produce(&l, 50, 100);
    assert_int_equal(reader_attach(&l, &r, 2), 0);
    reader_read_all(&l, &r);
    assert_int_equal(before + r.events, 350);
    qsort(r.seen, r.events, sizeof r.seen[0], by_number);
    for (uint64_t i = 1; i < r.events; i++)
        assert_int_not_equal(r.seen[i], r.seen[i - 1]);
    /* a third boot gets what came after; nothing of what was acknowledged */
    produce(&l, 20, 100);
    realtime_delivery.gone(l.s, 2);
    power_off(&l);
    live_start(&l, false, 32, 0, false, false);
    reader_attach(&l, &r, 3);
    logger_pass(l.s->logger, false, true);
    reader_read_all(&l, &r);
    assert_numbers(&r, 350, 20);
    session_stop(l.s);
    live_finish(&l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nobody_reads_then_one_does),
    cmocka_unit_test(a_reboot_gives_what_was_not_read_once),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
