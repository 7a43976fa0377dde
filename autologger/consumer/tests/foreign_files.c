/* Files of Windows through dump, summary and merge: nothing dropped, known events decode, order holds. */
#include "autologger/consumer/tests/whole_files.h"
#include "tools/dev/foreign.h"

static const struct row rows[] = {
    {"lxcore_kernel.etl", 4, 0, 0},
    {"krabsetw_powershell.etl", 114, 110, 0},             /* manifest events; two of them have no payload */
    {"perfview_SelfDescribingSingleEvent.etl", 23, 4, 0}, /* compressed XML of WinSat, SystemConfigEx/37 */
    {"ShutdownPerfDiagLogger.etl", 17078, 0, 0},
};
enum { FILES = sizeof rows / sizeof *rows };

static void every_event_is_dumped(void **state)
{
    (void)state;
    all_is_dumped(rows, FILES);
}

static void known_events_decode(void **state)
{
    char          path[5000];
    struct dumped d;
    (void)state;

    d = dump(file("perfview_SelfDescribingSingleEvent.etl", path),
             &(struct dump_options){.providers = {{.name = "MySource"}}});
    assert_int_equal(d.counts.written, 1);
    assert_non_null(strstr(d.text, " MySource/TestEvent a.b=Hello a.c=World!\n"));
    free(d.text);
    d = dump(file("ShutdownPerfDiagLogger.etl", path),
             &(struct dump_options){.providers = {{.name = "Process"}}, .limit = 1, .iso = true});
    assert_int_equal(d.counts.written, 1);
    assert_non_null(
        strstr(d.text, "0Z cpu 0 pid - tid - Process/DCStart UniqueProcessKey=0xfffff80242a399c0 ProcessId=0 "));
    assert_non_null(strstr(d.text, " UserSID=S-1-5-18 ImageFileName=Idle CommandLine=\"\" "));
    free(d.text);
}

static void summary_of_a_kernel_session(void **state)
{
    char               path[5000];
    struct etl_reader *r;
    struct summary    *s;
    struct reason      why;
    (void)state;
    assert_int_equal(etl_reader_open(file("ShutdownPerfDiagLogger.etl", path), &r, &why), W_SUCCESS);
    assert_int_equal(summary_create(r, &s, &why), W_SUCCESS);
    assert_int_equal(s->events, 17078);
    assert_int_equal(s->inversions, 0);
    assert_int_equal(s->damage_count, 0);
    assert_int_equal(s->undecoded, 0);
    assert_int_equal(summary_count(s, "EventTrace/Header"), 1);
    assert_true(summary_count(s, "Image/DCEnd") > 1000);
    uint64_t sum = 0;
    for (size_t i = 0; i < s->row_count; i++)
        sum += s->rows[i].count;
    assert_int_equal(sum, s->events);
    summary_destroy(s);
    etl_reader_close(r);
}

static void files_of_other_boots_do_not_merge(void **state)
{
    char                a[5000], b[5000], target[] = "/tmp/al-merge-XXXXXX";
    struct merge_counts counts;
    struct reason       why;
    (void)state;
    const char *files[] = {file("lxcore_kernel.etl", a), file("perfview_SelfDescribingSingleEvent.etl", b)};
    assert_non_null(mkdtemp(target));
    char out[64];
    snprintf(out, sizeof out, "%s/m.etl", target);
    assert_int_equal(merge_files(os_linux(), files, 2, out, &counts, &why), W_INVALID_PARAMETER);
    assert_true(strstr(why.text, "lxcore") && strstr(why.text, "SelfDescribing"));
    assert_int_equal(rmdir(target), 0); /* nothing left behind */
}

static void a_merge_of_one_is_the_same(void **state)
{
    (void)state;
    merged_alone(rows, FILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_event_is_dumped), cmocka_unit_test(known_events_decode),
                                       cmocka_unit_test(summary_of_a_kernel_session),
                                       cmocka_unit_test(files_of_other_boots_do_not_merge),
                                       cmocka_unit_test(a_merge_of_one_is_the_same)};
    return foreign_path("etl", whole_folder, sizeof whole_folder) ? cmocka_run_group_tests(tests, NULL, NULL)
                                                                  : FOREIGN_SKIPPED;
}
