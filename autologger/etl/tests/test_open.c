/* A ring in memory whose buffers are filled up (W8): at any length and in any order of processors, with a death between
 * any two writes, each event is in the ring once, or overwritten and counted; the newest are there without a hole; and
 * small buffers do not take the place of large ones.
 * Proves: SES-03, SES-04. */
#include "autologger/etl/tests/build.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUFFER = 4096, RING = 8, CPUS = 4, MOST = 4096, RECORD = 88, FULL = (BUFFER - 72) / RECORD };

struct ring {
    struct etl_file_info   info;
    struct etl_writer     *w;
    int                    fd;
    uint32_t               next; /* number of the next event */
    uint64_t               published_open[CPUS + 1];
    struct etl_write_state published;
    uint32_t               published_next;
    uint8_t                buffer[BUFFER];
};

/* An os that dies with its process: from the nth write on no write reaches the file. */
static unsigned writes_left = UINT32_MAX;
static ssize_t  dying_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    (void)os;
    if (!writes_left)
        return -EIO;
    writes_left--;
    return os_linux()->pwrite(os_linux(), fd, data, size, offset);
}

/* Each of thousands of checks makes a copy: a disk that is busy with other tests must not delay this test. */
static int no_fsync(struct os *os, int fd)
{
    (void)os, (void)fd;
    return 0;
}

static struct os *os_without_fsync(void)
{
    static struct os os;
    os       = *os_linux();
    os.fsync = no_fsync;
    return &os;
}

static void ring_begin(struct ring *r)
{
    static struct os dying;
    struct reason    why;
    dying        = *os_without_fsync();
    dying.pwrite = dying_pwrite;
    writes_left  = UINT32_MAX;
    memset(r, 0, sizeof *r);
    r->info               = build_info(BUFFER);
    r->info.log_file_mode = ETL_MODE_BUFFERING;
    r->info.ring_buffers  = RING;
    r->fd                 = memfd_create("ring", MFD_CLOEXEC);
    assert_int_equal(etl_writer_create_in(&dying, dup(r->fd), "memory", &r->info, &r->w, &why), W_SUCCESS);
}

static wstatus ring_put(struct ring *r, uint32_t events, uint16_t cpu)
{
    struct reason why;
    uint32_t      at = 72;
    for (uint32_t i = 0; i < events; i++, r->next++, at += RECORD) {
        const struct etl_event_header h = build_event(2000000 + r->next, sizeof r->next);
        memcpy(r->buffer + at, &h, sizeof h);
        memcpy(r->buffer + at + sizeof h, &r->next, sizeof r->next);
    }
    return etl_writer_put(r->w, r->buffer, at, cpu, 3000000 + r->next, &why);
}

static void ring_publish(struct ring *r)
{
    r->published      = etl_writer_state(r->w);
    r->published_next = r->next;
    for (uint16_t c = 0; c <= CPUS; c++)
        r->published_open[c] = etl_writer_open(r->w, c);
}

/* Checks a copy of the ring: from some event on, all up to the newest. Returns how many. */
static uint32_t ring_check(struct ring *r)
{
    char               name[] = "/dev/shm/al-open-XXXXXX";
    struct etl_reader *reader;
    struct etl_event   e;
    struct reason      why;
    unsigned           damage, count = 0;
    uint32_t           expected = 0, n;
    close(mkstemp(name));
    assert_int_equal(etl_writer_trim(r->w, &why), W_SUCCESS);
    assert_int_equal(etl_writer_copy(r->w, name, 0, 99, 5, &why), W_SUCCESS);
    assert_int_equal(etl_reader_open(name, &reader, NULL), W_SUCCESS);
    while (etl_next(reader, &e)) {
        if (e.kind != ETL_KIND_EVENT)
            continue;
        assert_int_equal(e.payload_size, sizeof n);
        memcpy(&n, e.payload, sizeof n);
        assert_true(!count || n == expected);
        assert_int_equal(e.raw_time, 2000000 + n);
        expected = n + 1;
        count++;
    }
    etl_reader_damage(reader, &damage);
    etl_reader_close(reader);
    unlink(name);
    assert_int_equal(damage, 0);
    assert_true(!count || expected == r->next);
    assert_int_equal(count + etl_writer_state(r->w).overwritten, r->next);
    return count;
}

static uint32_t seed = 1;
static uint32_t any(uint32_t most)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % most;
}

static void small_buffers_fill_the_ring(void **state)
{
    static const struct {
        uint32_t events, cpus, least;
    } rows[] = {
        {1, 1, (RING - 1) * FULL}, {7, 1, (RING - 2) * FULL / 2},       {FULL, 1, (RING - 1) * FULL},
        {1, 2, (RING - 2) * FULL}, {1, CPUS, (RING - CPUS - 1) * FULL},
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        static struct ring r;
        uint32_t           kept = 0;
        ring_begin(&r);
        while (r.next + rows[k].events < MOST) {
            assert_int_equal(ring_put(&r, rows[k].events, (uint16_t)(r.next % rows[k].cpus)), W_SUCCESS);
            if (r.next % 64 == 0)
                kept = ring_check(&r);
        }
        kept = ring_check(&r);
        assert_true(kept >= rows[k].least);
        assert_true(etl_writer_state(r.w).buffers_written <= 2 + 2 * MOST / FULL);
        etl_writer_destroy(r.w);
        close(r.fd);
    }
}

/* Death after every write of a put of any kind: the successor continues from the published state, and writes
 * unpublished events again. */
static void a_successor_cuts_off_what_was_not_published(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        static struct ring r;
        struct reason      why;
        ring_begin(&r);
        for (unsigned i = any(60); i > 0; i--)
            assert_int_equal(ring_put(&r, 1 + any(any(4) ? 5 : FULL), (uint16_t)any(CPUS)), W_SUCCESS);
        ring_publish(&r);
        writes_left = any(4);
        ring_put(&r, 1 + any(any(2) ? 5 : FULL), (uint16_t)any(CPUS));
        etl_writer_destroy(r.w);
        r.next = r.published_next;
        assert_int_equal(
            etl_writer_resume_in(os_without_fsync(), dup(r.fd), "memory", &r.info, &r.published, &r.w, &why),
            W_SUCCESS);
        for (uint16_t c = 0; c <= CPUS; c++)
            assert_int_equal(etl_writer_reopen(r.w, c, r.published_open[c], &why), W_SUCCESS);
        for (unsigned i = 0; i < 4; i++) {
            ring_check(&r);
            assert_int_equal(ring_put(&r, 1 + any(5), (uint16_t)any(CPUS)), W_SUCCESS);
        }
        ring_check(&r);
        etl_writer_destroy(r.w);
        close(r.fd);
    }
}

/* A failed write loses at most its own events, and counts them. */
static void a_failed_write_leaves_the_rest(void **state)
{
    (void)state;
    for (unsigned writes = 0; writes < 2; writes++) {
        static struct ring r;
        ring_begin(&r);
        assert_int_equal(ring_put(&r, 5, 1), W_SUCCESS);
        writes_left = writes;
        assert_int_not_equal(ring_put(&r, 3, 1), W_SUCCESS);
        writes_left = UINT32_MAX;
        r.next -= 3;
        assert_int_equal(ring_put(&r, 3, 1), W_SUCCESS);
        assert_int_equal(ring_check(&r), 8);
        etl_writer_destroy(r.w);
        close(r.fd);
    }
}

static void what_was_not_published_so_is_refused(void **state)
{
    static struct ring r;
    struct reason      why;
    (void)state;
    const uint64_t wrong[] = {UINT64_C(7) << 32 | 100, UINT64_C(1) << 32 | 71, UINT64_C(1) << 32 | 2000, UINT64_MAX,
                              UINT64_C(1) << 32 | 5000};
    ring_begin(&r);
    assert_int_equal(ring_put(&r, 5, 1), W_SUCCESS);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(etl_writer_reopen(r.w, 1, wrong[i], &why), W_INVALID_DATA);
    assert_int_equal(etl_writer_reopen(r.w, CPUS + 1, UINT64_C(1) << 32 | 100, &why), W_INVALID_DATA);
    assert_int_equal(ring_check(&r), 5);
    etl_writer_destroy(r.w);
    close(r.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_buffers_fill_the_ring),
        cmocka_unit_test(a_successor_cuts_off_what_was_not_published),
        cmocka_unit_test(a_failed_write_leaves_the_rest),
        cmocka_unit_test(what_was_not_published_so_is_refused),
    };
    return cmocka_run_group_tests_name("open", tests, NULL, NULL);
}
