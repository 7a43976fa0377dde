/* How large buffers get to the disk: past the page cache where the file system can, through it where not, and in a
 * hurry by the faster way; the file is the same. Proves: the writer's invariants W1 W3 hold either way. */
#include "autologger/etl/reader.h"
#include "autologger/etl/tests/build.h"
#include "autologger/etl/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUFFER = 256 << 10, BUFFERS = 40 };

static struct os os;
static int       direct_fd;                                   /* -1: not asked for */
static unsigned  direct_writes, cached_writes, direct_errors; /* counts of whole buffers */
static int       open_error, write_error;
static uint64_t  clock_ns, direct_takes, cached_takes;
static size_t    largest_at_start; /* largest cached write at the first byte of the file */

static int opens(struct os *o, const char *path, int flags, unsigned mode)
{
    (void)o;
    if (!(flags & O_DIRECT))
        return os_linux()->open(os_linux(), path, flags, mode);
    if (open_error)
        return -open_error;
    return direct_fd = os_linux()->open(os_linux(), path, flags & ~O_DIRECT, mode); /* for any volume */
}
static ssize_t writes(struct os *o, int fd, const void *data, size_t size, uint64_t offset)
{
    (void)o;
    if (offset == 0 && fd != direct_fd && size > largest_at_start)
        largest_at_start = size;
    if (size == BUFFER && fd == direct_fd && write_error) {
        direct_errors++;
        return -write_error;
    }
    if (size == BUFFER) {
        *(fd == direct_fd ? &direct_writes : &cached_writes) += 1;
        clock_ns += fd == direct_fd ? direct_takes : cached_takes;
    }
    return os_linux()->pwrite(os_linux(), fd, data, size, offset);
}
static uint64_t now(struct os *o)
{
    (void)o;
    return clock_ns;
}

static int setup(void **state)
{
    (void)state;
    os            = *os_linux();
    os.open       = opens;
    os.pwrite     = writes;
    os.raw_ns     = now;
    direct_fd     = -1;
    direct_writes = cached_writes = direct_errors = 0;
    open_error = write_error = 0;
    largest_at_start         = 0;
    direct_takes = cached_takes = 1000;
    return 0;
}

/* Writes a file of BUFFERS buffers, which reads without damage and is complete. */
static void write_file(bool direct, bool hurry)
{
    char                 path[] = "/tmp/autologger-direct-XXXXXX";
    struct etl_file_info info   = build_info(BUFFER);
    struct etl_writer   *w      = NULL;
    struct etl_reader   *r      = NULL;
    struct etl_event     e;
    struct reason        why;
    struct stat          st;
    unsigned             read   = 0, damage;
    uint8_t             *buffer = aligned_alloc(4096, BUFFER);
    int                  fd     = mkstemp(path);

    assert_true(fd >= 0 && buffer != NULL);
    close(fd);
    info.direct = direct;
    assert_int_equal(etl_writer_create(&os, path, &info, 0, &w, &why), W_SUCCESS);
    etl_writer_hurry(w, hurry);
    for (unsigned i = 0; i < BUFFERS; i++) {
        memset(buffer, 0, BUFFER);
        const struct etl_event_header h      = build_event(1000000 + (int64_t)i, sizeof i);
        const uint32_t                filled = (uint32_t)(sizeof(struct etl_buffer_header) + sizeof h + 8);
        memcpy(buffer + sizeof(struct etl_buffer_header), &h, sizeof h);
        memcpy(buffer + sizeof(struct etl_buffer_header) + sizeof h, &i, sizeof i);
        assert_int_equal(etl_writer_put(w, buffer, filled, 0, h.time, &why), W_SUCCESS);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, (off_t)(i + 2) * BUFFER);
    }
    assert_int_equal(etl_writer_finish(w, info.start_time + 1, 0, true, &why), W_SUCCESS);
    etl_writer_destroy(w);
    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    while (etl_next(r, &e))
        read += e.kind == ETL_KIND_EVENT;
    etl_reader_damage(r, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(read, BUFFERS);
    etl_reader_close(r);
    unlink(path);
    free(buffer);
}

static void past_the_cache(void **state)
{
    (void)state;
    write_file(true, false);
    assert_true(direct_writes >= BUFFERS && cached_writes <= 1); /* the header's buffer is not aligned in memory */
    direct_writes = 0;
    write_file(false, false);
    assert_int_equal(direct_writes, 0);
}

/* Each buffer updates four bytes of the first page: the page cache has it in a piece of at most one page, or not at
 * all. */
static void the_first_page_by_itself(void **state)
{
    (void)state;
    write_file(true, false);
    assert_true(largest_at_start <= 4096);
    setup(NULL);
    write_file(false, false);
    assert_int_equal(largest_at_start, 4096);
}

static void where_it_is_refused(void **state)
{
    (void)state;
    open_error = EINVAL;
    write_file(true, false);
    assert_int_equal(direct_writes, 0);
    open_error  = 0;
    write_error = EINVAL; /* some file systems open the file, but refuse the write */
    write_file(true, false);
    assert_int_equal(direct_writes, 0);
    assert_int_equal(direct_errors, 1);
    assert_true(cached_writes >= 2 * BUFFERS);
}

static void in_a_hurry_the_faster_way(void **state)
{
    (void)state;
    direct_takes = UINT64_C(10000) * (BUFFER >> 10); /* a slow disk, and a cache with room */
    cached_takes = UINT64_C(500) * (BUFFER >> 10);
    write_file(true, true);
    assert_true(cached_writes >= BUFFERS - 2 && direct_writes >= 1);
    setup(NULL);
    direct_takes = UINT64_C(10000) * (BUFFER >> 10); /* a slow disk, and a cache that is slower still */
    cached_takes = UINT64_C(20000) * (BUFFER >> 10);
    write_file(true, true);
    assert_true(direct_writes >= BUFFERS - 3);
    setup(NULL);
    cached_takes = 0; /* a fast disk: used however fast the cache is */
    write_file(true, true);
    assert_true(direct_writes >= BUFFERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(past_the_cache, setup), cmocka_unit_test_setup(the_first_page_by_itself, setup),
        cmocka_unit_test_setup(where_it_is_refused, setup), cmocka_unit_test_setup(in_a_hurry_the_faster_way, setup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
