/* XPRESS: libfwnt expands our compressed data to the same bytes; compressed files are written and read back.
 * Proves: issue 5 "XPRESS compression is ours, decompression is libfwnt's". */
#include "autologger/etl/reader.h"
#include "autologger/etl/tests/build.h"
#include "autologger/etl/writer.h"
#include "autologger/etl/xpress.h"

#include <libfwnt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 1 << 17 };
static uint32_t seed = 1;
static uint32_t next(void) { return seed = seed * 1664525 + 1013904223; }

static size_t check(const uint8_t *in, size_t size)
{
    size_t   room = size * 9 / 8 + 64, got = size;
    uint8_t *out = malloc(room), *back = malloc(size ? size : 1);
    size_t   n = xpress_compress(in, size, out, room);
    assert_true(n > 0 && n <= room);
    uint8_t *exact = malloc(n); /* ASan sees any byte past it */
    memcpy(exact, out, n);
    if (size) {
        assert_int_equal(libfwnt_lzxpress_decompress(exact, n, back, &got, NULL), 1);
        assert_int_equal(got, size);
        assert_memory_equal(back, in, size);
    }
    for (size_t less = 0; less < n && less < 200; less++) /* no room: nothing, and nothing is written behind it */
        assert_int_equal(xpress_compress(in, size, exact, less), 0);
    free(exact);
    free(out);
    free(back);
    return n;
}

static void every_kind_of_match(void **state)
{
    static uint8_t in[MOST];
    (void)state;
    assert_true(check(in, MOST) < 100);               /* a few matches */
    for (size_t length = 1; length < 400; length++) { /* a match of each length, in each encoding */
        for (size_t i = 0; i < 1000; i++)
            in[i] = (uint8_t)next();
        memcpy(in + 1000, in + 100, length);
        in[1000 + length] = (uint8_t)~in[100 + length];
        check(in, 1001 + length);
    }
    for (size_t length = 65530; length < 65550; length++) {
        memset(in, 'a', length);
        check(in, length);
    }
    for (size_t offset = 8185; offset < 8200; offset++) { /* at the end of the window */
        for (size_t i = 0; i < offset; i++)
            in[i] = (uint8_t)next();
        memcpy(in + offset, in, 50);
        check(in, offset + 50);
    }
}

static void made_up_bytes(void **state)
{
    static uint8_t in[20000];
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        size_t   size = next() >> 8 & 0x3FFF;
        unsigned many = 1 + (next() >> 24 & 31);
        for (size_t i = 0; i < size;) {
            size_t run = 1 + (next() >> 16) % many, from = i ? next() % i : 0;
            bool   old = i && (next() >> 20 & 1);
            for (size_t j = 0; j < run && i < size; j++, i++)
                in[i] = old ? in[from + j] : (uint8_t)(next() >> 24 & (many | 3));
        }
        check(in, size);
    }
}

static uint64_t sum_of(const char *path, uint64_t *events, uint64_t *damage)
{
    struct etl_reader *r;
    struct etl_event   e;
    uint64_t           sum = 0;
    unsigned           n;
    *events = 0;
    assert_int_equal(etl_reader_open(path, &r, NULL), W_SUCCESS);
    while (etl_next(r, &e)) {
        ++*events;
        for (uint32_t i = 0; i<e.record_size && * events> 1; i++) /* all but the header event */
            sum = sum * 31 + e.record[i];
    }
    etl_reader_damage(r, &n);
    *damage = n;
    etl_reader_close(r);
    return sum;
}

/* The same events in a compressed file and in one that is not. */
static void files(void **state)
{
    char     path[2][64], folder[] = "/tmp/al-xpress-XXXXXX";
    uint64_t sum[2], events[2], damage[2];
    off_t    size[2];
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int packed = 0; packed < 2; packed++) {
        struct etl_file_info info = build_info(16384);
        struct etl_writer   *w;
        struct stat          st;
        snprintf(path[packed], sizeof path[packed], "%s/%d.etl", folder, packed);
        info.compress    = packed ? xpress_compress : NULL;
        info.compression = ETL_XPRESS;
        assert_int_equal(etl_writer_create(os_linux(), path[packed], &info, 0, &w, NULL), W_SUCCESS);
        seed = 7;
        for (uint32_t b = 0; b < 20; b++) {
            uint8_t  buffer[16384];
            uint32_t filled = 72;
            for (uint32_t i = 0; filled + 128 < sizeof buffer && i < 5 + b * 10; i++) {
                struct etl_event_header h = build_event(2000000 + b * 100000 + i * 10, 16);
                memcpy(buffer + filled, &h, sizeof h);
                for (unsigned j = 0; j < 16; j++)
                    buffer[filled + 80 + j] = b % 3 == 2 ? (uint8_t)(next() >> 24) : (uint8_t)i;
                filled += 96;
            }
            assert_int_equal(etl_writer_put(w, buffer, filled, (uint16_t)(b % 2), 3000000, NULL), W_SUCCESS);
        }
        assert_int_equal(etl_writer_finish(w, BUILD_START_TIME + 100000000, 3, false, NULL), W_SUCCESS);
        etl_writer_destroy(w);
        sum[packed] = sum_of(path[packed], &events[packed], &damage[packed]);
        stat(path[packed], &st);
        size[packed] = st.st_size;
    }
    assert_int_equal(events[0], events[1]);
    assert_true(events[0] > 1000 && sum[0] == sum[1]);
    assert_int_equal(damage[0], 0);
    assert_int_equal(damage[1], 0);
    assert_true(size[1] * 3 < size[0]);
    struct etl_reader *r;
    assert_int_equal(etl_reader_open(path[1], &r, NULL), W_SUCCESS);
    const struct etl_file_header *h = etl_reader_header(r);
    assert_true(h->raw.log_file_mode & ETL_MODE_COMPRESSED);
    assert_int_equal(h->raw.sub, 2);
    assert_int_equal(h->raw.buffers_written, h->buffers_found);
    assert_int_equal(h->raw.events_lost, 3);
    etl_reader_close(r);
    unlink(path[0]);
    unlink(path[1]);
    rmdir(folder);
}

/* A buffer that compression does not shrink is stored as it is. */
static void cannot_be_smaller(void **state)
{
    char                 path[64];
    struct etl_file_info info = build_info(4096);
    struct etl_writer   *w;
    uint8_t              buffer[4096];
    uint64_t             events, damage;
    (void)state;
    snprintf(path, sizeof path, "/tmp/al-xpress-%d.etl", (int)getpid());
    info.compress    = xpress_compress;
    info.compression = ETL_XPRESS;
    assert_int_equal(etl_writer_create(os_linux(), path, &info, 0, &w, NULL), W_SUCCESS);
    struct etl_event_header h = build_event(2000000, 4096 - 72 - 80);
    for (size_t i = 0; i < sizeof buffer; i++)
        buffer[i] = (uint8_t)(next() >> 24);
    h.provider.data1 = next();
    memcpy(buffer + 72, &h, sizeof h);
    assert_int_equal(etl_writer_put(w, buffer, sizeof buffer, 0, 3000000, NULL), W_SUCCESS);
    assert_int_equal(etl_writer_finish(w, BUILD_START_TIME + 100000000, 0, false, NULL), W_SUCCESS);
    etl_writer_destroy(w);
    sum_of(path, &events, &damage);
    assert_int_equal(events, 2);
    assert_int_equal(damage, 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_of_match), cmocka_unit_test(made_up_bytes),
                                       cmocka_unit_test(files), cmocka_unit_test(cannot_be_smaller)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
