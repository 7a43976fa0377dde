/* The file writer's other modes: rings, preallocated files, files that are appended to. Every event is in the file,
 * overwritten, or was refused.
 * Proves: SES-02 (circular: never larger than MaxFileSize, oldest gone, newest kept), SES-03 (a ring in memory), SES-04
 * (copies of rings), SES-20 (LogFileMode in the header). */
#include "autologger/etl/tests/build.h"
#include "autologger/etl/xpress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUFFER = 4096, EVENTS = 3 /* a buffer */ };
static char    folder[32], path[64], other[64];
static uint8_t buffer[BUFFER];
static int     events_a_buffer = EVENTS;

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-etl-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/x.etl", folder);
    snprintf(other, sizeof other, "%s/y.etl", folder);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

static long file_size(const char *name)
{
    struct stat st;
    return stat(name, &st) < 0 ? -1 : (long)st.st_size;
}

/* Fills a buffer with events of consecutive numbers from *next on. */
static uint32_t fill(uint32_t *next)
{
    uint32_t at = 72;
    for (int i = 0; i < events_a_buffer; i++, (*next)++) {
        struct etl_event_header h = build_event(2000000 + *next, sizeof *next);
        memcpy(buffer + at, &h, sizeof h);
        memcpy(buffer + at + sizeof h, next, sizeof *next);
        at += (h.size + 7u) & ~7u;
    }
    return at;
}

static wstatus put(struct etl_writer *w, uint32_t *next)
{
    struct reason why;
    uint32_t      filled = fill(next);
    return etl_writer_put(w, buffer, filled, (uint16_t)(*next / EVENTS % 2), 3000000 + *next, &why);
}

struct found {
    uint32_t first, last, count, buffers, lost;
    bool     rising, whole;
    uint32_t mode;
};
static struct found look(const char *name)
{
    struct etl_reader *r;
    struct etl_event   e;
    struct found       f = {.first = UINT32_MAX, .rising = true};
    unsigned           damage;
    assert_int_equal(etl_reader_open(name, &r, NULL), W_SUCCESS);
    while (etl_next(r, &e)) {
        uint32_t n;
        if (e.kind != ETL_KIND_EVENT || e.payload_size < sizeof n)
            continue;
        memcpy(&n, e.payload, sizeof n);
        f.rising &= f.count == 0 || n == f.last + 1;
        f.first = f.count++ ? f.first : n;
        f.last  = n;
    }
    etl_reader_damage(r, &damage);
    f.whole   = !damage;
    f.buffers = etl_reader_header(r)->raw.buffers_written;
    f.lost    = etl_reader_header(r)->raw.events_lost;
    f.mode    = etl_reader_header(r)->raw.log_file_mode;
    etl_reader_close(r);
    return f;
}

/* At every length of a trace, finished and unfinished: the newest events, all in order, in at most the ring's
 * buffers. */
static void a_ring_keeps_the_newest(void **state)
{
    enum { SLOTS = 8 };
    struct etl_file_info info = build_info(BUFFER);
    struct reason        why;
    (void)state;
    info.log_file_mode = ETL_MODE_CIRCULAR | ETL_MODE_KBYTES;
    info.max_file_size = SLOTS * 4;
    for (unsigned puts = 0; puts < 4 * SLOTS; puts++) {
        struct etl_writer *w;
        uint32_t           next = 0, kept = puts < SLOTS ? puts : SLOTS - 1;
        assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
        for (unsigned i = 0; i < puts; i++)
            assert_int_equal(put(w, &next), W_SUCCESS);
        for (int finished = 0; finished < 2; finished++) {
            struct found f = look(path);
            assert_true(f.whole && f.rising);
            assert_int_equal(f.count, kept * EVENTS);
            assert_int_equal(f.count ? f.last + 1 : next, next);
            assert_int_equal(f.buffers, kept + 1);
            assert_int_equal(f.mode, info.log_file_mode);
            if (!finished)
                assert_int_equal(etl_writer_finish(w, 1, 7, true, &why), W_SUCCESS);
            else
                assert_int_equal(f.lost, 7);
        }
        assert_int_equal(etl_writer_state(w).overwritten + kept * EVENTS, next);
        assert_true(file_size(path) <= SLOTS * BUFFER);
        etl_writer_destroy(w);
    }
}

static void a_ring_goes_on_after_its_writer_died(void **state)
{
    struct etl_file_info info = build_info(BUFFER);
    struct reason        why;
    (void)state;
    info.log_file_mode = ETL_MODE_CIRCULAR;
    info.ring_buffers  = 5;
    for (unsigned puts = 0; puts < 14; puts++) {
        struct etl_writer *w;
        uint32_t           next = 0, again;
        assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
        for (unsigned i = 0; i < puts; i++)
            put(w, &next);
        struct etl_write_state published = etl_writer_state(w);
        again                            = next;
        put(w, &next); /* written, but not published: the successor writes it again */
        etl_writer_destroy(w);
        next = again;
        assert_int_equal(etl_writer_resume(os_linux(), path, &info, &published, 0, &w, &why), W_SUCCESS);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(put(w, &next), W_SUCCESS);
        struct found f = look(path);
        assert_true(f.whole && f.rising);
        assert_int_equal(f.last + 1, next);
        assert_int_equal(f.count, (puts + 3 < 5 ? puts + 3 : 5) * EVENTS);
        assert_int_equal(f.count + etl_writer_state(w).overwritten, next);
        etl_writer_destroy(w);
    }
}

/* The events of the buffer just overwritten are counted, not those of the new one. */
static void a_ring_of_unequal_buffers_goes_on(void **state)
{
    struct etl_file_info info = build_info(BUFFER);
    struct reason        why;
    (void)state;
    info.log_file_mode = ETL_MODE_CIRCULAR;
    info.ring_buffers  = 4;
    for (unsigned puts = 0; puts < 14; puts++)
        for (int last = 1; last <= 5; last++) {
            struct etl_writer *w;
            uint32_t           next = 0;
            assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
            for (unsigned i = 0; i < puts; i++) {
                events_a_buffer = 1 + (int)(i * 7 % 5);
                put(w, &next);
            }
            const struct etl_write_state published = etl_writer_state(w);
            const uint32_t               again     = next;
            events_a_buffer                        = last;
            put(w, &next);
            etl_writer_destroy(w);
            next = again;
            assert_int_equal(etl_writer_resume(os_linux(), path, &info, &published, 0, &w, &why), W_SUCCESS);
            for (unsigned i = 0; i < 6; i++) {
                events_a_buffer = 5 - (int)(i % 5);
                assert_int_equal(put(w, &next), W_SUCCESS);
                struct found f = look(path);
                assert_true(f.whole && f.rising && f.last + 1 == next);
                assert_int_equal(f.count + etl_writer_state(w).overwritten, next);
            }
            etl_writer_destroy(w);
            unlink(path);
        }
    events_a_buffer = EVENTS;
}

static void a_ring_in_memory_is_copied_while_it_runs(void **state)
{
    struct etl_file_info info = build_info(BUFFER);
    struct etl_writer   *w;
    struct reason        why;
    uint32_t             next = 0;
    (void)state;
    info.log_file_mode = ETL_MODE_BUFFERING;
    info.ring_buffers  = 4;
    assert_int_equal(etl_writer_create_in(os_linux(), memfd_create("ring", MFD_CLOEXEC), "memory", &info, &w, &why),
                     W_SUCCESS);
    events_a_buffer = (BUFFER - 72) / 88; /* full: other buffers are filled up (test_open.c) */
    for (unsigned i = 0; i < 11; i++)
        assert_int_equal(put(w, &next), W_SUCCESS);
    for (int copy = 0; copy < 2; copy++) { /* the second copy has the first's events, too */
        assert_int_equal(etl_writer_copy(w, other, 0, 99, 5, &why), W_SUCCESS);
        struct found f = look(other);
        assert_true(f.whole && f.rising);
        assert_int_equal(f.count, 4 * events_a_buffer);
        assert_int_equal(f.last + 1, next);
        assert_int_equal(f.lost, 5);
    }
    assert_int_equal(put(w, &next), W_SUCCESS);
    events_a_buffer = EVENTS;
    char nowhere[96];
    snprintf(nowhere, sizeof nowhere, "%s/none/y.etl", folder);
    assert_int_equal(etl_writer_copy(w, nowhere, 0, 99, 5, &why), W_PATH_NOT_FOUND);
    unlink(other);
    assert_int_equal(etl_writer_copy(w, other, UINT64_C(1) << 62, 99, 5, &why), W_DISK_FULL);
    assert_int_equal(file_size(other), -1); /* no part of it stays */
    etl_writer_destroy(w);
}

/* ---- a ring of compressed buffers ---- */

static struct etl_file_info packed_info(void)
{
    struct etl_file_info info = build_info(BUFFER);
    info.log_file_mode        = ETL_MODE_BUFFERING;
    info.ring_buffers         = 4;
    info.compress             = xpress_compress;
    info.compression          = ETL_XPRESS;
    return info;
}

/* Puts a buffer filled to at least `least` bytes, with events that compress well or not at all. */
static wstatus packed_put(struct etl_writer *w, uint32_t *next, uint32_t least, bool noise)
{
    struct reason   why;
    static uint32_t seed = 1;
    uint32_t        at   = 72, payload[8];
    do {
        struct etl_event_header h = build_event(2000000 + *next, sizeof payload);
        for (size_t i = 1; i < 8; i++)
            payload[i] = noise ? (seed = seed * 1664525u + 1013904223u) : 7;
        if (noise)
            memcpy(&h.activity, payload + 1, sizeof h.activity);
        payload[0] = (*next)++;
        memcpy(buffer + at, &h, sizeof h);
        memcpy(buffer + at + sizeof h, payload, sizeof payload);
        at += (h.size + 7u) & ~7u;
    } while (at < least);
    return etl_writer_put(w, buffer, at, 1, 3000000 + *next, &why);
}

enum { FULL = BUFFER - 200 };

/* At every length, of full and of short buffers that compress or do not: the newest events, without a gap; overwritten
 * events are counted. */
static void a_packed_ring_keeps_more_of_the_newest(void **state)
{
    const struct etl_file_info info = packed_info();
    struct reason              why;
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct etl_writer *w;
        uint32_t           next = 0, before = 0, most = 0;
        assert_int_equal(etl_writer_create_in(os_linux(), memfd_create("ring", MFD_CLOEXEC), "memory", &info, &w, &why),
                         W_SUCCESS);
        for (unsigned i = 0; i < 120; i++) {
            const uint32_t least = kind == 3 ? 100 + i * 977 % (FULL - 100) : kind & 1 ? FULL : 100;
            assert_int_equal(packed_put(w, &next, least, kind >= 2), W_SUCCESS);
            assert_int_equal(etl_writer_copy(w, other, 0, 99, 5, &why), W_SUCCESS);
            struct found f = look(other);
            assert_true(f.whole && f.rising);
            assert_int_equal(f.last + 1, next);
            assert_int_equal(f.count + etl_writer_state(w).overwritten, next);
            assert_true(etl_writer_state(w).overwritten >= before);
            assert_true(f.mode & ETL_MODE_COMPRESSED);
            assert_int_equal(f.lost, 5);
            assert_true(file_size(other) <= 5 * BUFFER);
            before = (uint32_t)etl_writer_state(w).overwritten;
            most   = f.count > most ? f.count : most;
        }
        assert_true(before > 0);
        if (kind == 1) /* uncompressed the same memory holds 4 x FULL */
            assert_true(most > 2 * 4 * (FULL / 112));
        etl_writer_destroy(w);
    }
}

/* An os that dies with its process: from the nth write on no write reaches the file. */
static struct os dying;
static unsigned  writes_left;
static ssize_t   dying_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    (void)os;
    if (!writes_left)
        return -EIO;
    writes_left--;
    return os_linux()->pwrite(os_linux(), fd, data, size, offset);
}

/* Death after every write of every put: published events are in the ring or counted; the successor writes unpublished
 * ones again. */
static void a_packed_ring_goes_on_after_its_writer_died(void **state)
{
    const struct etl_file_info info = packed_info();
    struct reason              why;
    (void)state;
    dying        = *os_linux();
    dying.pwrite = dying_pwrite;
    for (unsigned puts = 0; puts < 60; puts++)
        for (unsigned writes = 0; writes < 6; writes++) {
            struct etl_writer *w;
            uint32_t           next = 0;
            int                ring = memfd_create("ring", MFD_CLOEXEC);
            writes_left             = UINT32_MAX;
            assert_int_equal(etl_writer_create_in(&dying, dup(ring), "memory", &info, &w, &why), W_SUCCESS);
            for (unsigned i = 0; i < puts; i++)
                assert_int_equal(packed_put(w, &next, i % 3 ? FULL : 100, i % 2), W_SUCCESS);
            const struct etl_write_state published = etl_writer_state(w);
            const uint32_t               again     = next;
            writes_left                            = writes;
            packed_put(w, &next, FULL, true);
            etl_writer_destroy(w);
            next = again;
            assert_int_equal(etl_writer_resume_in(os_linux(), ring, "memory", &info, &published, &w, &why), W_SUCCESS);
            for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(etl_writer_copy(w, other, 0, 99, 5, &why), W_SUCCESS);
                struct found f = look(other);
                assert_true(f.whole && f.rising);
                assert_int_equal(f.count + etl_writer_state(w).overwritten, next);
                assert_true(!f.count || f.last + 1 == next);
                assert_int_equal(packed_put(w, &next, FULL, i % 2), W_SUCCESS);
            }
            etl_writer_destroy(w);
        }
}

static void a_packed_ring_trusts_no_list(void **state)
{
    const struct etl_file_info info = packed_info();
    struct reason              why;
    (void)state;
    for (unsigned at = 0; at < 40; at++) {
        struct etl_writer *w;
        uint32_t           next  = 0;
        const uint64_t     wrong = UINT64_MAX;
        int                ring  = memfd_create("ring", MFD_CLOEXEC);
        struct stat        st;
        assert_int_equal(etl_writer_create_in(os_linux(), dup(ring), "memory", &info, &w, &why), W_SUCCESS);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(packed_put(w, &next, FULL, false), W_SUCCESS);
        const struct etl_write_state published = etl_writer_state(w);
        etl_writer_destroy(w);
        assert_int_equal(fstat(ring, &st), 0);
        assert_int_equal(pwrite(ring, &wrong, sizeof wrong, st.st_size - 8 - 8 * (off_t)at), sizeof wrong);
        if (etl_writer_resume_in(os_linux(), ring, "memory", &info, &published, &w, &why) != W_SUCCESS)
            continue;
        assert_int_equal(etl_writer_copy(w, other, 0, 99, 5, &why), W_SUCCESS);
        assert_int_equal(packed_put(w, &next, FULL, true), W_SUCCESS);
        etl_writer_destroy(w);
    }
}

/* The record's LogFileMode is in the file's header: 0 as 0, 1 as 1; only the bit for real time is not stored. */
static void the_mode_is_in_the_header(void **state)
{
    static const struct {
        uint32_t asked, stands;
    } rows[] = {
        {0, 0},
        {ETL_MODE_SEQUENTIAL, ETL_MODE_SEQUENTIAL},
        {ETL_MODE_REAL_TIME, 0},
        {ETL_MODE_SEQUENTIAL | ETL_MODE_REAL_TIME, ETL_MODE_SEQUENTIAL},
    };
    struct etl_file_info info = build_info(BUFFER);
    struct etl_writer   *w;
    struct reason        why;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t next      = 0;
        info.log_file_mode = rows[i].asked;
        assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
        assert_int_equal(look(path).mode, rows[i].stands);
        assert_int_equal(put(w, &next), W_SUCCESS);
        assert_int_equal(etl_writer_finish(w, 1, 0, true, &why), W_SUCCESS);
        etl_writer_destroy(w);
        assert_int_equal(look(path).mode, rows[i].stands);
        unlink(path);
    }
}

static void a_ring_needs_three_buffers(void **state)
{
    struct etl_file_info info = build_info(BUFFER);
    struct etl_writer   *w;
    struct reason        why;
    (void)state;
    info.log_file_mode = ETL_MODE_CIRCULAR | ETL_MODE_KBYTES;
    info.max_file_size = 8;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_INVALID_PARAMETER);
    assert_non_null(strstr(why.text, "MaxFileSize"));
    assert_int_equal(file_size(path), -1);
}

static void set_aside_and_given_back(void **state)
{
    struct etl_file_info info = build_info(BUFFER);
    struct etl_writer   *w;
    struct reason        why;
    uint32_t             next = 0;
    struct stat          st;
    (void)state;
    info.log_file_mode = ETL_MODE_PREALLOCATE;
    info.max_file_size = 1;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    assert_int_equal(file_size(path), 1 << 20);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_blocks * 512 >= 1 << 20); /* allocated, not sparse */
    put(w, &next);
    put(w, &next);
    struct found f = look(path); /* the file as after a crash */
    assert_int_equal(f.count, next);
    struct etl_write_state published = etl_writer_state(w);
    etl_writer_destroy(w);
    assert_int_equal(etl_writer_resume(os_linux(), path, &info, &published, 0, &w, &why), W_SUCCESS);
    put(w, &next);
    assert_int_equal(etl_writer_finish(w, 1, 0, true, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(file_size(path), 4 * BUFFER);
    assert_int_equal(look(path).count, next);
    unlink(path);
    assert_int_equal(etl_writer_create(os_linux(), path, &info, UINT64_C(1) << 62, &w, &why), W_DISK_FULL);
    assert_int_equal(file_size(path), -1);
}

static void a_file_goes_on(void **state)
{
    struct etl_file_info info = build_info(BUFFER);
    struct etl_writer   *w;
    struct reason        why;
    uint32_t             next = 0;
    (void)state;
    info.log_file_mode = ETL_MODE_SEQUENTIAL | ETL_MODE_APPEND;
    for (unsigned run = 1; run <= 3; run++) { /* the first run creates the file */
        assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
        put(w, &next);
        put(w, &next);
        assert_int_equal(etl_writer_finish(w, 1, 2, true, &why), W_SUCCESS);
        etl_writer_destroy(w);
        struct found f = look(path);
        assert_true(f.whole && f.rising);
        assert_int_equal(f.count, next);
        assert_int_equal(f.buffers, 1 + 2 * run);
        assert_int_equal(f.lost, 2 * run); /* of all runs */
    }
    static const struct {
        const char *what;
        uint32_t    buffer, processors, clock;
        uint64_t    boot;
        uint32_t    kb;
        wstatus     status;
    } wrong[] = {
        {"BufferSize", 2 * BUFFER, 0, 0, 0, 0, W_INVALID_USER_BUFFER},
        {"processors", 0, 3, 0, 0, 0, W_INVALID_PARAMETER},
        {"clock", 0, 0, 3, 0, 0, W_INVALID_PARAMETER},
        {"boot", 0, 0, 0, 10000000, 0, W_INVALID_PARAMETER},
        {"full", 0, 0, 0, 0, 28, W_LOG_FILE_FULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct etl_file_info as = info;
        as.buffer_size          = wrong[i].buffer ? wrong[i].buffer : as.buffer_size;
        as.processors           = wrong[i].processors ? wrong[i].processors : as.processors;
        as.clock_type           = wrong[i].clock ? wrong[i].clock : as.clock_type;
        as.start_time += wrong[i].boot;
        as.max_file_size = wrong[i].kb;
        as.log_file_mode |= wrong[i].kb ? ETL_MODE_KBYTES : 0;
        assert_int_equal(etl_writer_create(os_linux(), path, &as, 0, &w, &why), wrong[i].status);
        assert_int_equal(look(path).count, next); /* untouched */
    }
    /* system time goes on over boots */
    unlink(path);
    info.clock_type = 2;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    etl_writer_destroy(w);
    info.boot_time += 1000000;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, &why), W_SUCCESS);
    etl_writer_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_ring_keeps_the_newest),
        T(a_ring_goes_on_after_its_writer_died),
        T(a_ring_of_unequal_buffers_goes_on),
        T(a_ring_in_memory_is_copied_while_it_runs),
        T(the_mode_is_in_the_header),
        T(a_ring_needs_three_buffers),
        T(a_packed_ring_keeps_more_of_the_newest),
        T(a_packed_ring_goes_on_after_its_writer_died),
        T(a_packed_ring_trusts_no_list),
        T(set_aside_and_given_back),
        T(a_file_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
