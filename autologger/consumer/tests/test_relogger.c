/* The functions of relogger.h: merging as perfctrl.dll's function has it, relogging with a callback that drops and
 * injects.
 * Proves: MRG-01, MRG-08, MRG-10 (named status, no file). */
#include "autologger/include/relogger.h"

#include "autologger/etl/tests/build.h"
#include "registry-sim/win32/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static char  folder[32];
static WCHAR one[64], two[64], other[64], target[64];

static const WCHAR *wide(WCHAR out[64], const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    out[utf8_to_utf16le(path, strlen(path), out, 126) / 2] = 0;
    return out;
}

static void save(struct image *m, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->data, 1, m->size, f), m->size);
    fclose(f);
    image_free(m);
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-relog-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (int file = 0; file < 3; file++) {
        struct etl_file_info info = build_info(8192);
        if (file == 2)
            info.perf_freq = 1000; /* another clock */
        struct image m = image_start(&info);
        image_buffer(&m, 0, 1);
        for (uint32_t i = 0; i < 20; i++)
            image_event(&m, 2000000 + 10 * i + file, i);
        save(&m, file == 0 ? "one.etl" : file == 1 ? "two.etl" : "other.etl");
    }
    wide(one, "one.etl");
    wide(two, "two.etl");
    wide(other, "other.etl");
    wide(target, "target.etl");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static struct etl_reader *result(void)
{
    char               path[64];
    struct etl_reader *r = NULL;
    snprintf(path, sizeof path, "%s/target.etl", folder);
    return etl_reader_open(path, &r, NULL) ? NULL : r;
}

static void merges(void **state)
{
    (void)state;
    const WCHAR *const files[] = {one, two};
    struct etl_event   e;
    unsigned           n    = 0;
    int64_t            last = 0;
    assert_int_equal(CreateMergedETLFile(files, 2, target), ERROR_SUCCESS);
    struct etl_reader *r = result();
    assert_non_null(r);
    while (etl_next(r, &e)) {
        assert_true(e.raw_time >= last);
        last = e.raw_time;
        n++;
    }
    assert_int_equal(n, 41 + 2); /* and the events that name the source of each file */
    etl_reader_close(r);
}

static void refuses(void **state)
{
    (void)state;
    const WCHAR *const clocks[] = {one, other}, *const twice[] = {one, one}, *const none[] = {NULL};
    WCHAR              missing[64];
    const WCHAR *const gone[] = {wide(missing, "missing.etl")};
    assert_int_equal(CreateMergedETLFile(clocks, 2, target), ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateMergedETLFile(twice, 2, target), ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateMergedETLFile(none, 1, target), ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateMergedETLFile(NULL, 0, target), ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateMergedETLFile(clocks, 65, target), ERROR_INVALID_PARAMETER);
    assert_int_equal(CreateMergedETLFile(gone, 1, target), ERROR_FILE_NOT_FOUND);
    assert_int_equal(RelogTraceFiles(twice, 1, target, NULL, NULL), ERROR_INVALID_PARAMETER);
    assert_int_equal(RelogInjectEvent(0, NULL), ERROR_INVALID_PARAMETER);
    assert_null(result()); /* no file is left behind */
}

/* Drops the odd ones; before every fifth another event goes, with an activity's item and a text. */
static BOOLEAN every_second(ULONGLONG relog, PEVENT_RECORD e, PVOID context)
{
    uint32_t value;
    memcpy(&value, e->UserData, sizeof value);
    ++*(unsigned *)context;
    if (value % 5 == 0) {
        static GUID                     related  = {1, 2, 3, {4}};
        EVENT_HEADER_EXTENDED_DATA_ITEM item     = {.ExtType  = EVENT_HEADER_EXT_TYPE_RELATED_ACTIVITYID,
                                                    .DataSize = sizeof related,
                                                    .DataPtr  = (ULONGLONG)(uintptr_t)&related};
        EVENT_RECORD                    injected = *e;
        char                            text[]   = "injected";
        injected.EventHeader.EventDescriptor.Id  = 99;
        injected.EventHeader.TimeStamp.QuadPart  = value ? e->EventHeader.TimeStamp.QuadPart - 3 : 0;
        injected.ExtendedData                    = &item;
        injected.ExtendedDataCount               = 1;
        injected.UserData                        = text;
        injected.UserDataLength                  = sizeof text;
        assert_int_equal(RelogInjectEvent(relog, &injected), ERROR_SUCCESS);
        injected.EventHeader.TimeStamp.QuadPart = e->EventHeader.TimeStamp.QuadPart + 1; /* later than the event */
        assert_int_equal(RelogInjectEvent(relog, &injected), ERROR_INVALID_PARAMETER);
    }
    return value % 2 == 0;
}

static void relogs(void **state)
{
    (void)state;
    const WCHAR *const files[] = {one};
    struct etl_event   e;
    unsigned           called = 0, kept = 0, injected = 0;
    int64_t            last = 0;
    assert_int_equal(RelogTraceFiles(files, 1, target, every_second, &called), ERROR_SUCCESS);
    assert_int_equal(called, 20);
    struct etl_reader *r = result();
    assert_non_null(r);
    while (etl_next(r, &e)) {
        const uint8_t *data;
        uint32_t       size, value;
        assert_true(e.raw_time >= last);
        last = e.raw_time;
        if (e.kind != ETL_KIND_EVENT)
            continue;
        if (e.id == 99) {
            assert_int_equal(e.payload_size, 9);
            assert_string_equal((const char *)e.payload, "injected");
            assert_true(etl_ext_find(&e, ETL_EXT_RELATED_ACTIVITY, &data, &size) && size == 16 && data[0] == 1);
            assert_int_equal(e.raw_time, injected ? 2000000 + 50 * injected - 3 : 2000000);
            injected++;
            continue;
        }
        memcpy(&value, e.payload, 4);
        assert_int_equal(value, 2 * kept);
        assert_int_equal(e.raw_time, 2000000 + 20 * kept); /* time stamps are kept */
        kept++;
    }
    assert_int_equal(kept, 10);
    assert_int_equal(injected, 4);
    etl_reader_close(r);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {T(merges), T(refuses), T(relogs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
