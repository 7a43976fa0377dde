/* A session on a machine that fails: every write, every creation in turn. Whatever fails, the Status says so, nothing
 * leaks, and attempted = written + lost. Proves: COR-20, LGT-05. */
// timeout: 180
#include "autologger/session/tests/fixture.h"

#include <errno.h>
#include <fcntl.h>

static struct {
    unsigned at, calls; /* fail call number `at` (1-based) */
    int      error;
} pwrite_fault, shm_fault, open_fault, fsync_fault, ftruncate_fault;

static ssize_t faulty_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    if (++pwrite_fault.calls == pwrite_fault.at) {
        if (pwrite_fault.error == 0 && size > 1) /* a short write: the caller continues */
            return os_linux()->pwrite(os, fd, data, size / 2, offset);
        return -pwrite_fault.error;
    }
    return os_linux()->pwrite(os, fd, data, size, offset);
}
static int faulty_shm(struct os *os, const char *name, uint64_t size, uint64_t populate)
{
    return ++shm_fault.calls == shm_fault.at ? -shm_fault.error : os_linux()->shm_create(os, name, size, populate);
}
static int faulty_open(struct os *os, const char *path, int flags, unsigned mode)
{
    return ++open_fault.calls == open_fault.at ? -open_fault.error : os_linux()->open(os, path, flags, mode);
}

static int faulty_fsync(struct os *os, int fd)
{
    return ++fsync_fault.calls == fsync_fault.at ? -fsync_fault.error : os_linux()->fsync(os, fd);
}
static int faulty_ftruncate(struct os *os, int fd, uint64_t size)
{
    return ++ftruncate_fault.calls == ftruncate_fault.at ? -ftruncate_fault.error : os_linux()->ftruncate(os, fd, size);
}

static struct os faulty;

static void faults_clear(void)
{
    memset(&pwrite_fault, 0, sizeof pwrite_fault);
    memset(&shm_fault, 0, sizeof shm_fault);
    memset(&open_fault, 0, sizeof open_fault);
    memset(&fsync_fault, 0, sizeof fsync_fault);
    memset(&ftruncate_fault, 0, sizeof ftruncate_fault);
}

/* One whole session; true when nothing failed. */
static bool run(void)
{
    struct fixture      f;
    struct plan_text    t;
    struct program      w;
    unsigned            slot, entry;
    struct session     *s     = NULL;
    struct enable_terms all   = {0};
    struct reason       why   = {0};
    bool                clean = true;
    fixture_init(&f, false);
    faulty            = *os_linux();
    faulty.pwrite     = faulty_pwrite;
    faulty.shm_create = faulty_shm;
    faulty.open       = faulty_open;
    faulty.fsync      = faulty_fsync;
    faulty.ftruncate  = faulty_ftruncate;
    f.env.os          = &faulty;
    struct plan plan  = plan_make(&f, &t, "fault", 8, 16, 32);
    wstatus     st    = table_add(&f.table, &plan, &s, &why);
    if (st) {
        assert_true(strlen(why.text) > 5);
        fixture_finish(&f);
        return false;
    }
    assert_int_equal(session_enable(s, &test_provider, "key", &all, &slot, &entry, &why), 0);
    assert_int_equal(session_start(s, &why), 0);
    session_fs_ready(s);
    program_attach(&w, s, (uint32_t)geteuid(), slot, entry);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 60; i++)
            program_write(&w, &(int[50]){i}, 200);
        logger_pass(s->logger, false, round % 3 == 0);
    }
    session_stop(s);
    struct ctl_session_info info;
    session_info(s, &info);
    assert_int_equal(w.attempted, info.events_written + info.lost_ring + info.lost_file);
    st = session_file_status(s, &why);
    if (st) {
        assert_true(strlen(why.text) > 5);
        assert_int_equal(info.state, SESSION_FAILED);
        clean = false;
    } else {
        struct found found = file_read(t.path);
        assert_int_equal(found.events, info.events_written);
        assert_int_equal(found.lost + found.events, w.attempted);
        assert_int_equal(found.inversions + found.damage, 0);
    }
    fixture_finish(&f);
    return clean;
}

static void every_write_fails_in_turn(void **state)
{
    static const int errors[] = {ENOSPC, EIO, EROFS, 0, EINTR};
    (void)state;
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        unsigned at = 1, failed = 0;
        for (;; at++) {
            faults_clear();
            pwrite_fault.at    = at;
            pwrite_fault.error = errors[e];
            failed += !run();
            if (pwrite_fault.calls < at)
                break;
            assert_true(at < 1000);
        }
        print_message("error %d: %u writes failed in turn, %u runs ended with a Status\n", errors[e], at - 1, failed);
        assert_true(at > 5 && (failed > 0) == (errors[e] != 0 && errors[e] != EINTR));
    }
}

static void every_creation_fails_in_turn(void **state)
{
    (void)state;
    for (unsigned at = 1;; at++) {
        faults_clear();
        shm_fault.at    = at;
        shm_fault.error = ENOMEM;
        bool clean      = run();
        if (shm_fault.calls < at) {
            assert_true(clean && at > 2);
            break;
        }
        assert_false(clean);
    }
    for (unsigned at = 1;; at++) {
        faults_clear();
        open_fault.at    = at;
        open_fault.error = EACCES;
        bool clean       = run();
        if (open_fault.calls < at) {
            assert_true(clean && at > 1);
            break;
        }
        assert_false(clean);
    }
}

static void every_sync_fails_in_turn(void **state)
{
    unsigned failed = 0, at = 1;
    (void)state;
    for (;; at++) {
        faults_clear();
        fsync_fault.at    = at;
        fsync_fault.error = EIO;
        failed += !run();
        if (fsync_fault.calls < at)
            break;
    }
    print_message("%u syncs failed in turn, %u runs ended with a Status\n", at - 1, failed);
    assert_true(at > 2 && failed > 0);
}

/* A torn write is cut off; if even that fails, it is tried again before the next write. */
static void every_cut_fails_in_turn(void **state)
{
    unsigned cuts = 0;
    (void)state;
    for (unsigned write = 3; write < 8; write++)
        for (unsigned at = 1;; at++) {
            faults_clear();
            pwrite_fault.at       = write;
            pwrite_fault.error    = ENOSPC;
            ftruncate_fault.at    = at;
            ftruncate_fault.error = EIO;
            run();
            if (ftruncate_fault.calls < at)
                break;
            cuts++;
        }
    print_message("%u cuts failed in turn\n", cuts);
    assert_true(cuts > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_write_fails_in_turn), cmocka_unit_test(every_creation_fails_in_turn),
        cmocka_unit_test(every_sync_fails_in_turn), cmocka_unit_test(every_cut_fails_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
