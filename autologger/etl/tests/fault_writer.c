/* The writer over a failing disk: whatever write fails, and however, the file is whole buffers and reads without
 * damage, and every buffer is either in it or counted. Proves: COR-20 (written + lost = attempted), the writer's
 * invariants W1 W3. */
#include "autologger/etl/tests/build.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUFFER = 4096, BUFFERS = 5 };
enum how { FAIL, SHORT_THEN_FAIL, INTERRUPT };

static struct os faulty;
static int       until; /* the pwrite that fails, counted from 0 */
static int       calls, failed;
static enum how  how;
static uint64_t  volume; /* bytes the volume holds; 0 = no limit */

static ssize_t faulty_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    (void)os;
    if (volume && offset + size > volume) {
        failed++;
        return offset >= volume ? -ENOSPC : os_linux()->pwrite(os_linux(), fd, data, (size_t)(volume - offset), offset);
    }
    int n = calls++;
    if (how == SHORT_THEN_FAIL && n == until && size > 8) {
        failed++;
        return os_linux()->pwrite(os_linux(), fd, data, size / 2, offset); /* call until + 1 writes the rest: */
    }
    if (n == until + (how == SHORT_THEN_FAIL)) {
        failed++;
        return how == INTERRUPT ? -EINTR : -EIO;
    }
    return os_linux()->pwrite(os_linux(), fd, data, size, offset);
}

/* Writes a file and checks the invariants. False when the file could not be created. */
static bool trial(const char *path)
{
    static uint8_t       buffer[BUFFER];
    struct etl_file_info info = build_info(BUFFER);
    struct etl_writer   *w;
    struct reason        why;
    struct etl_reader   *r;
    struct etl_event     e;
    struct stat          st;
    unsigned             put = 0, read = 0, damage;

    faulty        = *os_linux();
    faulty.pwrite = faulty_pwrite;
    calls = failed = 0;
    unlink(path);
    if (etl_writer_create(&faulty, path, &info, 0, &w, &why) != W_SUCCESS) {
        assert_int_not_equal(access(path, F_OK), 0); /* a new file whose header can't be written is removed */
        return false;
    }
    for (uint32_t i = 0; i < BUFFERS; i++) {
        struct etl_event_header h = build_event(2000000 + i, sizeof i);
        memcpy(buffer + 72, &h, sizeof h);
        memcpy(buffer + 72 + sizeof h, &i, sizeof i);
        wstatus status = etl_writer_put(w, buffer, 72 + h.size, (uint16_t)(i % 2), 3000000, &why);
        put += status == W_SUCCESS;
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size % BUFFER, 0); /* W1 */
        assert_int_equal(st.st_size / BUFFER, etl_writer_state(w).buffers_written);
        if (volume)
            assert_true(status == W_SUCCESS || status == W_DISK_FULL);
    }
    struct etl_write_state at = etl_writer_state(w);
    assert_int_equal(at.buffers_written + at.buffers_lost, 1 + BUFFERS); /* W3 */
    assert_int_equal(at.buffers_written, 1 + put);
    wstatus finished = etl_writer_finish(w, BUILD_START_TIME + 1, 0, true, &why);
    etl_writer_destroy(w);
    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    int64_t last[2] = {-1, -1};
    while (etl_next(r, &e)) {
        if (e.kind == ETL_KIND_EVENT) {
            assert_true(e.buffer_sequence > last[e.cpu]); /* W2 */
            last[e.cpu] = e.buffer_sequence;
        }
        read++;
    }
    etl_reader_damage(r, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(read, 1 + put);
    if (finished == W_SUCCESS)
        assert_int_equal(etl_reader_header(r)->raw.buffers_lost, at.buffers_lost);
    etl_reader_close(r);
    return put == BUFFERS && finished == W_SUCCESS;
}

static char folder[] = "/tmp/al-etl-XXXXXX", path[64];

static void every_write_fails_once(void **state)
{
    (void)state;
    for (how = FAIL; how <= INTERRUPT; how++) {
        int good = 0;
        for (until = 0;; until++) {
            bool ok = trial(path);
            good += ok;
            if (!failed)
                break; /* past the last write */
            if (how == INTERRUPT)
                assert_true(ok);
        }
        assert_true(until >= 2 * BUFFERS + 1);
        assert_true(good >= 1);
    }
}

static void the_disk_fills_at_every_kilobyte(void **state)
{
    (void)state;
    how   = FAIL;
    until = -2; /* no failing call */
    for (volume = 1024; volume <= (BUFFERS + 1) * BUFFER; volume += 1024)
        assert_int_equal(trial(path), volume >= (BUFFERS + 1) * BUFFER);
    volume = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_write_fails_once),
                                       cmocka_unit_test(the_disk_fills_at_every_kilobyte)};
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/x.etl", folder);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return r;
}
