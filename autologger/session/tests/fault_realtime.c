/* A real-time session on a machine that fails: every call to the file system in turn, while events are written, read
 * and kept over a reboot. Whatever fails: attempted = written + lost, no consumer gets an event twice, and the readable
 * events are those kept.
 * Proves: COR-20, LGT-07. */
// timeout: 240
#include "autologger/session/tests/fixture.h"
#include "autologger/wire/backup.h"

#include <errno.h>

enum { MOST = 8192 };

static struct {
    unsigned at, calls; /* fail call number `at` (1-based); 0: none */
    int      error;
    bool     reads; /* a read has failed: kept events may not be found again */
    bool     marks; /* an acknowledgement did not reach the disk: its events may come again after a reboot */
} fault;
static struct os faulty;

static bool fails(void) { return ++fault.calls == fault.at; }

static ssize_t faulty_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    if (!fails())
        return os_linux()->pwrite(os, fd, data, size, offset);
    fault.marks = size == BACKUP_MARK_SIZE;
    return -fault.error;
}
static ssize_t faulty_pread(struct os *os, int fd, void *data, size_t size, uint64_t offset)
{
    if (!fails())
        return os_linux()->pread(os, fd, data, size, offset);
    fault.reads = true;
    return -fault.error;
}
static int faulty_open(struct os *os, const char *path, int flags, unsigned mode)
{
    if (!fails())
        return os_linux()->open(os, path, flags, mode);
    fault.reads = true;
    return -fault.error;
}
static int faulty_mkdir(struct os *os, const char *path, unsigned mode)
{
    return fails() ? -fault.error : os_linux()->mkdir(os, path, mode);
}
static int faulty_unlink(struct os *os, const char *path)
{
    return fails() ? -fault.error : os_linux()->unlink(os, path);
}
static int faulty_fsync(struct os *os, int fd) { return fails() ? -fault.error : os_linux()->fsync(os, fd); }
static int faulty_rename(struct os *os, const char *from, const char *to)
{
    if (!fails())
        return os_linux()->rename(os, from, to);
    fault.reads = true;
    return -fault.error;
}

static struct {
    struct ctl_consume_answer a;
    uint8_t                   bytes[16384];
} answer;
static uint64_t seen[MOST];
static unsigned seen_count;

static void take(const uint8_t *data, size_t size)
{
    for (size_t at = sizeof(struct etl_buffer_header); at < size;) {
        struct etl_event_header h;
        int                     n = etl_record_size(data + at, size - at);
        assert_true(n > 0);
        memcpy(&h, data + at, sizeof h);
        assert_true(seen_count < MOST);
        memcpy(&seen[seen_count++], data + at + sizeof h, sizeof seen[0]);
        at += ((size_t)n + 7) & ~(size_t)7;
    }
}

/* Reads all buffers; `acknowledge`: the last one, too. */
static void read_all(struct session *s)
{
    struct ctl_consume_request q = {.what = CTL_CONSUME_BUFFER};
    memset(&answer.a, 0, sizeof answer.a);
    assert_int_equal(realtime_delivery.attach(s, 1, &answer.a), 0);
    q.wanted = q.done = answer.a.sequence;
    for (bool wait = false;;) {
        memset(&answer.a, 0, sizeof answer.a);
        assert_int_equal(realtime_delivery.next(s, 1, &q, &answer.a, sizeof answer.bytes, &wait), 0);
        if (wait)
            break;
        if (answer.a.bytes == answer.a.size) /* else the read failed half-way */
            take(answer.bytes, answer.a.size);
        q.wanted = q.done = answer.a.sequence + 1;
    }
    realtime_delivery.gone(s, 1);
}

/* One boot; `number` continues. Returns the events in the backup or delivered. */
static uint64_t boot(struct fixture *f, bool read, uint64_t *number)
{
    struct plan_text    t;
    struct program      w;
    unsigned            slot, entry;
    struct session     *s    = NULL;
    struct enable_terms all  = {0};
    struct reason       why  = {0};
    struct plan         plan = plan_make(f, &t, "fault", 8, 16, 32);
    plan.log_path            = NULL;
    plan.log_file_mode       = ETL_MODE_REAL_TIME;
    assert_int_equal(table_add(&f->table, &plan, &s, &why), 0);
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    session_fs_ready(s);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 60; i++) {
            uint64_t payload[25] = {*number};
            if (program_write(&w, payload, sizeof payload) == 0)
                ++*number;
        }
        logger_pass(s->logger, false, round % 2 == 0);
        if (read && round == 2)
            read_all(s);
    }
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    assert_int_equal(w.attempted, info.events_written + info.lost_ring + info.lost_file);
    if (!fault.at)
        assert_int_equal(info.lost_file + info.realtime_buffers_lost, 0);
    table_remove(&f->table, s);
    return info.events_written;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Three boots, of which the second and third are read; then one without faults that reads the rest. */
static void run(void)
{
    struct fixture f;
    uint64_t       number = 0, written = 0;
    fixture_init(&f, false);
    faulty        = *os_linux();
    faulty.pwrite = faulty_pwrite, faulty.pread = faulty_pread, faulty.open = faulty_open, faulty.mkdir = faulty_mkdir;
    faulty.unlink = faulty_unlink, faulty.rename = faulty_rename, faulty.fsync = faulty_fsync;
    f.env.os       = &faulty;
    f.env.log_dir  = f.dir;
    f.env.realtime = &realtime_delivery;
    seen_count     = 0;
    fault.calls    = 0;
    fault.reads = fault.marks = false;
    for (int i = 0; i < 3; i++)
        written += boot(&f, i > 0, &number);
    unsigned calls = fault.calls;
    f.env.os       = os_linux();
    written += boot(&f, true, &number);
    fault.calls = calls;
    struct plan_text t;
    struct plan      plan = plan_make(&f, &t, "fault", 8, 16, 32);
    struct session  *s    = NULL;
    struct reason    why;
    plan.log_path = NULL, plan.log_file_mode = ETL_MODE_REAL_TIME;
    assert_int_equal(table_add(&f.table, &plan, &s, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    session_fs_ready(s);
    logger_pass(s->logger, false, true);
    read_all(s);
    qsort(seen, seen_count, sizeof seen[0], by_number);
    unsigned twice = 0;
    for (unsigned i = 1; i < seen_count; i++)
        twice += seen[i] == seen[i - 1];
    if (!fault.reads)
        assert_int_equal(seen_count - twice, written);
    assert_true(seen_count - twice <= written);
    assert_true(fault.marks || !twice);
    fixture_finish(&f);
}

static void every_call_fails_in_turn(void **state)
{
    static const int errors[] = {EIO, ENOSPC};
    (void)state;
    fault.at = 0;
    run();
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        fault.error   = errors[e];
        unsigned step = getenv("AL_FULL") ? 1 : e ? 14 : 3, runs = 0;
        for (fault.at = 1;; fault.at += step, runs++) {
            run();
            if (fault.calls < fault.at)
                break;
            assert_true(fault.at < 3000);
        }
        print_message("error %d: %u calls failed in turn\n", errors[e], runs);
        assert_true(fault.at > 50);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_fails_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
