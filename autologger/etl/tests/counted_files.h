/* counted_files.h - traces read in full: how many events, processors and buffers, time order, no damage. */
#ifndef AUTOLOGGER_ETL_TESTS_COUNTED_FILES_H
#define AUTOLOGGER_ETL_TESTS_COUNTED_FILES_H
#include "autologger/etl/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct file {
    const char *name, *logger;
    unsigned    events, processors, buffers;
};

static inline void counted_file(const char *folder, const struct file *f)
{
    char               path[5000];
    struct etl_reader *r;
    struct reason      why;
    struct etl_event   e;
    unsigned           count = 0, inversions = 0, damage;
    int64_t            last = INT64_MIN;

    snprintf(path, sizeof path, "%s/%s", folder, f->name);
    assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
    while (etl_next(r, &e)) {
        count++;
        inversions += e.raw_time < last;
        last = e.raw_time;
    }
    etl_reader_damage(r, &damage);
    assert_int_equal(damage, 0);
    assert_int_equal(count, f->events);
    assert_string_equal(etl_reader_header(r)->logger_name, f->logger);
    assert_int_equal(etl_reader_header(r)->raw.processors, f->processors);
    assert_int_equal(etl_reader_header(r)->buffers_found, f->buffers);
    assert_int_equal(inversions, 0);
    assert_int_equal(etl_reader_header(r)->buffers_found, etl_reader_header(r)->raw.buffers_written);
    etl_reader_close(r);
}
#endif
