/* Where a merged file comes from: the sessions with their own counters, the host, the configuration; each once;
 * counters are summed truthfully: counters of one NEWFILE session continue, a sum that does not fit is the largest
 * value, unfinished files are named.
 * Proves: MRG-07 (system info in the merged file). */
#include "autologger/consumer/merge.h"
#include "autologger/etl/tests/build.h"
#include "autologger/wire/merged.h"
#include "registry-sim/win32/filetime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 3, EVENTS = 20 };
static char folder[32], path[FILES][64], target[64], again[64];

/* 20 events, at times that identify the file; counters as given. `end`: 0 for a file that was never finished. */
static void save(unsigned i, const char *name, uint32_t mode, uint32_t lost, uint32_t buffers_lost, uint64_t end,
                 uint64_t boot_time)
{
    struct etl_file_info info = build_info(8192);
    info.logger_name          = name;
    info.log_file_mode        = mode;
    info.boot_time            = boot_time;
    struct image m            = image_start(&info);

    memcpy(m.data + HEADER_AT_EVENTS_LOST, &lost, sizeof lost);
    memcpy(m.data + HEADER_AT_BUFFERS_LOST, &buffers_lost, sizeof buffers_lost);
    memcpy(m.data + HEADER_AT_END_TIME, &end, sizeof end);
    image_buffer(&m, 0, 1);
    for (uint32_t n = 0; n < EVENTS; n++)
        image_event(&m, 2000000 + n * 100 + i, n);
    FILE *f = fopen(path[i], "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    image_free(&m);
}

static struct provenance read_back(const char *file, struct etl_logfile_header *header, uint64_t *events)
{
    struct provenance  p = {0};
    struct etl_reader *r;
    struct etl_event   e;
    struct reason      why;

    assert_int_equal(etl_reader_open(file, &r, &why), W_SUCCESS);
    *events = 0;
    while (etl_next(r, &e)) {
        provenance_see(&p, &e);
        ++*events;
    }
    *header = etl_reader_header(r)->raw;
    etl_reader_close(r);
    assert_false(p.failed);
    return p;
}

static bool told(void *ctx, const char *boot_id, uint64_t *change_number, char hash[PROVENANCE_HASH])
{
    snprintf(ctx, 40, "%s", boot_id);
    *change_number = 12;
    snprintf(hash, PROVENANCE_HASH, "0123456789abcdef0123456789abcdef01234567");
    return true;
}

static uint64_t this_boot(void)
{
    struct timespec real, since;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &since);
    return filetime_from_unix_ns((uint64_t)(real.tv_sec - since.tv_sec) * 1000000000u);
}

static void sessions_host_and_configuration(void **state)
{
    const char                *files[]   = {path[0], path[1]};
    char                       asked[40] = "";
    const struct merge_options options   = {
          .provenance = true, .of = MERGED_OF_REHEARSAL, .configuration = told, .configuration_ctx = asked};
    struct merge_counts       c;
    struct etl_logfile_header header;
    struct reason             why;
    struct utsname            u;
    uint64_t                  events, end = BUILD_START_TIME + 50000000;
    (void)state;

    save(0, "web", ETL_MODE_SEQUENTIAL, 2, 1, end, this_boot());
    save(1, "disk and cpu", ETL_MODE_CIRCULAR, 5, 0, 0, this_boot());
    assert_int_equal(merge_files_with(os_linux(), files, 2, target, &options, &c, &why), W_SUCCESS);
    assert_true(c.events_lost == 7 && c.buffers_lost == 1 && c.unfinished == 1 && c.added == 4);
    struct provenance p = read_back(target, &header, &events);
    assert_int_equal(events, c.out);
    assert_int_equal(events, 2 * EVENTS + 1 + 4);
    assert_true(header.events_lost == 7 && header.buffers_lost == 1);
    assert_int_equal(p.sessions, 2);
    const struct provenance_session *a = &p.session[0], *b = &p.session[1];
    assert_string_equal(a->name, "web");
    assert_string_equal(a->file, "0.etl");
    assert_string_equal(a->of, "rehearsal");
    assert_true(a->events == EVENTS && a->events_lost == 2 && a->buffers_lost == 1 && a->finished && a->end == end &&
                a->damage == 0);
    assert_true(a->start == BUILD_START_TIME && a->buffer_size == 8192 && a->buffers == 2 &&
                a->mode == ETL_MODE_SEQUENTIAL);
    assert_string_equal(b->name, "disk and cpu");
    assert_true(b->events == EVENTS && b->events_lost == 5 && !b->finished && b->end == 0);
    assert_int_equal(uname(&u), 0);
    assert_true(p.host_told && p.processors >= 1 && p.memory > 1 << 20);
    assert_string_equal(p.host, u.nodename);
    assert_string_equal(p.release, u.release);
    assert_string_equal(p.architecture, u.machine);
    assert_non_null(strstr(p.program, "autologger "));
    assert_true(p.configuration_told && p.change_number == 12);
    assert_string_equal(p.hash, "0123456789abcdef0123456789abcdef01234567");
    assert_string_equal(p.boot_id, asked);
    assert_int_equal(strlen(asked), 36); /* made from the time of the boot: the files have no boot id */
    provenance_finish(&p);

    /* merged again with a new file: each session is named once */
    save(2, "late", ETL_MODE_SEQUENTIAL, 1, 0, end, this_boot());
    assert_int_equal(merge_files_with(os_linux(), (const char *[]){target, path[2]}, 2, again, &options, &c, &why),
                     W_SUCCESS);
    p = read_back(again, &header, &events);
    assert_int_equal(p.sessions, 3);
    assert_string_equal(p.session[2].name, "late");
    assert_true(c.added == 1 && c.events_lost == 8 && header.events_lost == 8 && events == c.out &&
                events == 3 * EVENTS + 1 + 5);
    provenance_finish(&p);
}

static void another_boots_host_is_not_told(void **state)
{
    const char                *files[] = {path[0]};
    const struct merge_options options = {.provenance = true};
    struct merge_counts        c;
    struct etl_logfile_header  header;
    struct reason              why;
    uint64_t                   events;
    (void)state;

    save(0, "web", ETL_MODE_SEQUENTIAL, 0, 0, BUILD_START_TIME + 1, BUILD_START_TIME - 1000000);
    assert_int_equal(merge_files_with(os_linux(), files, 1, target, &options, &c, &why), W_SUCCESS);
    struct provenance p = read_back(target, &header, &events);
    assert_true(p.sessions == 1 && !p.host_told && !p.configuration_told && c.added == 1);
    provenance_finish(&p);
    /* without the option nothing is added */
    assert_int_equal(merge_files(os_linux(), files, 1, target, &c, &why), W_SUCCESS);
    assert_int_equal(c.added, 0);
}

static void counters_are_summed_truthfully(void **state)
{
    const char         *files[] = {path[1], path[0], path[2]}; /* in any order */
    struct merge_counts c;
    struct reason       why;
    uint64_t            end = BUILD_START_TIME + 1, boot = BUILD_START_TIME - 1000000;
    (void)state;

    save(0, "many", ETL_MODE_NEWFILE, 3, 1, end, boot);
    save(1, "many", ETL_MODE_NEWFILE, 10, 0, end, boot);
    save(2, "other", ETL_MODE_NEWFILE, 4, 2, end, boot);
    assert_int_equal(merge_files(os_linux(), files, 3, target, &c, &why), W_SUCCESS);
    assert_true(c.events_lost == 14 && c.buffers_lost == 3 && c.unfinished == 0);
    /* a sum that 32 bits do not hold */
    save(0, "a", ETL_MODE_SEQUENTIAL, UINT32_MAX - 1, UINT32_MAX, end, boot);
    save(1, "b", ETL_MODE_SEQUENTIAL, 5, 5, end, boot);
    assert_int_equal(merge_files(os_linux(), files, 2, target, &c, &why), W_SUCCESS);
    assert_true(c.events_lost == UINT64_C(0x100000003) && c.buffers_lost == UINT64_C(0x100000004));
    struct etl_logfile_header header;
    uint64_t                  events;
    struct provenance         p = read_back(target, &header, &events);
    assert_true(header.events_lost == UINT32_MAX && header.buffers_lost == UINT32_MAX);
    provenance_finish(&p);
}

/* Events of that name that any program may have written: whatever they hold, nothing is read past them. */
static void cut_events_are_refused(void **state)
{
    static const char traits[] = "\x13\0"
                                 "Autologger-Merge",
                      schema[] = "\x0b\0\0"
                                 "Session";
    struct provenance  p       = {0};
    struct etl_reader *r;
    struct etl_event   e;
    struct reason      why;
    (void)state;

    for (size_t size = 0; size < 60; size++) {
        struct etl_file_info info     = build_info(8192);
        struct image         m        = image_start(&info);
        uint8_t              body[64] = "A\0B\0";
        image_buffer(&m, 0, 1);
        image_tracelogging(&m, 2000000, traits, sizeof traits, schema, sizeof schema, body, size);
        struct guid own = guid_from_name("Autologger-Merge");
        memcpy(image_last(&m) + 72 + offsetof(struct etl_event_header, provider), &own, sizeof own);
        assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
        assert_true(etl_next(r, &e) && etl_next(r, &e));
        assert_true(provenance_see(&p, &e));
        etl_reader_close(r);
        image_free(&m);
    }
    assert_true(p.sessions > 0 && p.sessions < 60 && !p.failed); /* the events that were long enough */
    provenance_finish(&p);
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-provenance-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (unsigned i = 0; i < FILES; i++)
        snprintf(path[i], sizeof path[i], "%s/%u.etl", folder, i);
    snprintf(target, sizeof target, "%s/m.etl", folder);
    snprintf(again, sizeof again, "%s/n.etl", folder);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FILES; i++)
        unlink(path[i]);
    unlink(target);
    unlink(again);
    return rmdir(folder);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {T(sessions_host_and_configuration), T(another_boots_host_is_not_told),
                                       T(counters_are_summed_truthfully), T(cut_events_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
