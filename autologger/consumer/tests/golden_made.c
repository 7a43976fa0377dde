/* The traces of tools/dev/make_traces.c through dump, summary and merge: nothing dropped, values as they were written,
 * order holds.
 * Proves: CON-15 (undecodable events shown as hex and counted), MRG-09 (merged file in time order), CON-12 (9 digits).
 * D-50: from a clone alone. */
#include "autologger/consumer/tests/whole_files.h"

static const struct row rows[] = {
    {"small.etl", 4, 0, 0},
    {"programs.etl", 121, 18, 0}, /* events of a manifest and classic ones */
    {"compressed.etl", 201, 0, 0},
    {"kernel.etl", 930, 0, 0},
};
enum { FILES = sizeof rows / sizeof *rows };

static void every_event_is_dumped(void **state)
{
    (void)state;
    all_is_dumped(rows, FILES);
}

static void has(const char *name, const struct dump_options *options, unsigned written, const char *const *lines)
{
    char          path[5000];
    struct dumped d = dump(file(name, path), options);
    assert_int_equal(d.counts.written, written);
    for (; *lines; lines++)
        if (!strstr(d.text, *lines))
            fail_msg("%s: no %s in\n%.4000s", name, *lines, d.text);
    free(d.text);
}

static void values_are_those_that_were_written(void **state)
{
    (void)state;
    has("small.etl", &(struct dump_options){.iso = true}, 4,
        (const char *[]){
            "2024-01-17T21:20:00.000010000Z cpu 0 pid 100 tid 101 Contoso-Made/Request Number=1 Path=/index.html\n",
            "2024-01-17T21:20:00.000020000Z cpu 1 pid 200 tid 201 Contoso-Made/Request Number=2 Path=/\xc3\xa9t\xc3\xa9\n",
            " cpu 1 pid 200 tid 202 Contoso-Made/Request Number=3 Path=\"\"\n", NULL});
    has("programs.etl", &(struct dump_options){0}, 121,
        (const char *[]){
            "Contoso-Made/Kinds i8=-5 u8=5 i16=-305 u16=60005 i32=-70005 u32=4000000005 i64=-5000000005 u64=18000000000000000005 float=9 "
            "double=-1.5 bool=true hex32=0xbeef0005 hex64=0xffff800000000005 wide=\xc3\xa9t\xc3\xa9 utf8=\xe2\x82\xac array[0]=5 "
            "array[1]=25 array[2]=7 struct.x=-1 struct.y=5\n",
            "{a5a5a5a5-0001-4002-8001-020304050607}/11 userSid=S-1-5-18 stack=0x7f0000001000,0x7f0000002003 payload=03000000640065007300",
            "{c1a551c0-0001-4003-8001-020304050607}/0 payload=000102030405060708090a0b", NULL});
    has("kernel.etl", &(struct dump_options){.providers = {{.name = "Process"}}, .limit = 2}, 2,
        (const char *[]){
            "Process/DCStart UniqueProcessKey=0xffff888000000040 ProcessId=1 ParentId=0 SessionId=0 ExitStatus=259 DirectoryTableBase=0x1000 "
            "Flags=0x0 UserSID=S-1-5-18 ImageFileName=init CommandLine=\"/usr/sbin/init --flag 3\" ",
            " ProcessId=2 ParentId=1 SessionId=0 ExitStatus=259 DirectoryTableBase=0x2000 Flags=0x0 UserSID=\"\" ImageFileName=daemon-2 ",
            NULL});
    has("kernel.etl", &(struct dump_options){.providers = {{.name = "DiskIo"}}, .limit = 4}, 4,
        (const char *[]){
            "DiskIo/WriteInit Irp=0xffff888100000000 IssuingThreadId=1\n",
            "DiskIo/Write DiskNumber=0 IrpFlags=0x60a00 TransferSize=4096 Reserved=0 ByteOffset=0 FileObject=0xf11e0000 Irp=0xffff888100000000 "
            "HighResResponseTime=205000 IssuingThreadId=1\n",
            "DiskIo/Read DiskNumber=0 IrpFlags=0x60043 TransferSize=20480 Reserved=0 ByteOffset=4194304 FileObject=0xf11e0004 ",
            NULL});
}

static void summary_of_a_kernel_session(void **state)
{
    char               path[5000];
    struct etl_reader *r;
    struct summary    *s;
    struct reason      why;
    (void)state;
    assert_int_equal(etl_reader_open(file("kernel.etl", path), &r, &why), W_SUCCESS);
    assert_int_equal(summary_create(r, &s, &why), W_SUCCESS);
    assert_int_equal(s->events, 930);
    assert_int_equal(s->inversions, 0);
    assert_int_equal(s->damage_count, 0);
    assert_int_equal(s->undecoded, 0);
    assert_int_equal(summary_count(s, "EventTrace/Header"), 1);
    assert_int_equal(summary_count(s, "Process/DCStart"), 12);
    assert_int_equal(summary_count(s, "Process/End"), 22);
    assert_int_equal(summary_count(s, "Thread/CSwitch"), 150);
    assert_int_equal(summary_count(s, "StackWalk/Stack"), 300);
    uint64_t sum = 0;
    for (size_t i = 0; i < s->row_count; i++)
        sum += s->rows[i].count;
    assert_int_equal(sum, s->events);
    summary_destroy(s);
    etl_reader_close(r);
}

/* A session of programs and a kernel session of one boot: all events of both in one order of time. A session of another
 * boot is refused, by name. */
static void files_of_one_boot_merge(void **state)
{
    char                a[5000], b[5000], target[] = "/tmp/al-merge-XXXXXX", out[64];
    struct merge_counts counts;
    struct reason       why;
    struct etl_reader  *r;
    struct etl_event    e;
    int64_t             last   = INT64_MIN;
    unsigned            events = 0;
    (void)state;
    assert_non_null(mkdtemp(target));
    snprintf(out, sizeof out, "%s/m.etl", target);
    assert_int_equal(merge_files(os_linux(), (const char *[]){file("kernel.etl", a), file("programs.etl", b)}, 2, out,
                                 &counts, &why),
                     W_SUCCESS);
    assert_int_equal(counts.in, 930 + 121);
    assert_int_equal(etl_reader_open(out, &r, &why), W_SUCCESS);
    for (; etl_next(r, &e); events++) {
        assert_true(e.raw_time >= last);
        last = e.raw_time;
    }
    etl_reader_close(r);
    assert_int_equal(events, counts.out);
    assert_int_equal(unlink(out), 0);
    assert_int_equal(
        merge_files(os_linux(), (const char *[]){file("small.etl", a), file("other.etl", b)}, 2, out, &counts, &why),
        W_INVALID_PARAMETER);
    assert_true(strstr(why.text, "small.etl") && strstr(why.text, "other.etl"));
    assert_int_equal(rmdir(target), 0); /* nothing left behind */
}

static void a_merge_of_one_is_the_same(void **state)
{
    (void)state;
    merged_alone(rows, FILES);
}

int main(void)
{
    snprintf(whole_folder, sizeof whole_folder, "%s", AL_BINARY_DIR "/made");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_dumped), cmocka_unit_test(values_are_those_that_were_written),
        cmocka_unit_test(summary_of_a_kernel_session), cmocka_unit_test(files_of_one_boot_merge),
        cmocka_unit_test(a_merge_of_one_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
