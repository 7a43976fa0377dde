/* Tracepoints as events: fields of format files, layouts in the raw log, records in and fields out, also damaged ones,
 * and a successor that knows them. Proves: API-17. */
#include "autologger/kernel/source/tracepoints.h"
#include "autologger/kernel/tests/convert_fixture.h"

static int setup(void **state)
{
    (void)state;
    static struct tracepoint_wish wish;
    fixture_begin(&(struct klog_config){
        .mask = {0x10000000}, .clock = {1, CLOCK_READ_RAW, 1000000000}, .tracepoints = &wish, .tracepoint_count = 1});
    maker.log.header->source[SRC_TRACEPOINT].flags = RAW_SOURCE_RAW;
    return 0;
}

static const char format[] = "name: x\nID: 42\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                             "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
                             "\tfield:__rel_loc char[] path;\toffset:28;\tsize:4;\tsigned:0;\n"
                             "\tfield:void * addr;\toffset:32;\tsize:8;\tsigned:0;\n"
                             "\tfield:long args[2];\toffset:40;\tsize:16;\tsigned:1;\n"
                             "\tfield:s8 small;\toffset:56;\tsize:1;\tsigned:1;\n"
                             "\tfield:broken;\toffset:;\tsize:1;\tsigned:1;\n"
                             "\tfield:u64 huge;\toffset:70000;\tsize:8;\tsigned:0;\n"
                             "\tfield:__data_loc cpumask_t mask;\toffset:60;\tsize:4;\tsigned:0;\n"
                             "\nprint fmt: \"%s\", REC->comm\n";

static void fields_of_a_format(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint16_t    offset, size;
        uint8_t     kind;
    } want[] = {{"comm", 8, 16, TP_CHARS},   {"name", 24, 4, TP_TEXT},   {"path", 28, 4, TP_RELATIVE_TEXT},
                {"addr", 32, 8, TP_POINTER}, {"args", 40, 16, TP_BYTES}, {"small", 56, 1, TP_SIGNED},
                {"mask", 60, 4, TP_ARRAY}};
    struct tracepoint_field f;
    const char             *next = NULL;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_true(tracepoint_field_next(format, &next, &f));
        assert_string_equal(f.name, want[i].name);
        assert_true(f.offset == want[i].offset && f.size == want[i].size && f.kind == want[i].kind);
    }
    assert_false(tracepoint_field_next(format, &next, &f));
    next = NULL;
    assert_false(tracepoint_field_next("", &next, &f));
}

static void layout(uint64_t time, const char *fields)
{
    struct raw_tracepoint r = {
        .own = {RAW_TRACEPOINT, 0, 0, time, 0, 0}, .provider = {0x1234, 1, 2, {3}}, .source = SRC_TRACEPOINT};
    char    text[512];
    uint8_t record[1024];
    size_t  n = 0;
    memcpy(text, "Disk\0sync", 10);
    snprintf(text + 10, sizeof text - 10, "%s", fields);
    n          = 10 + strlen(fields) + 1;
    r.own.size = (uint16_t)((sizeof r + n + 7) & ~7u);
    memset(record, 0, sizeof record);
    memcpy(record, &r, sizeof r);
    memcpy(record + sizeof r, text, n);
    maker_put(&maker, record, r.own.size);
    maker.records++;
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
}

static const char fields[] = "comm 8 16 3\nname 24 4 4\naddr 32 8 2\nargs 40 16 6\nsmall 56 1 0\n";
static void       event(uint64_t time, uint32_t size, uint32_t where)
{
    uint8_t raw[80] = {0};
    memcpy(raw + 8, "sixteen-bytes-xx", 16);
    memcpy(raw + 24, &where, 4);
    memset(raw + 32, 0xEE, 8);
    memset(raw + 40, 0x11, 16);
    raw[56] = 0xFF;
    memcpy(raw + 60, "abc", 4);
    maker_sample(&maker, 0, SRC_TRACEPOINT, time, 500, 501, 0x400100, 3, raw, size);
}

/* The payload of the n-th event, behind its items. */
static const uint8_t *body(unsigned n, size_t *size)
{
    for (size_t i = 0; i < out.count; i++) {
        const struct one   *e    = &out.event[i];
        struct etl_ext_item item = {.linkage = 1};
        const uint8_t      *p    = e->payload;
        if (e->type != ETL_EVENT64 || n-- > 0)
            continue;
        while (item.linkage & 1) {
            memcpy(&item, p, sizeof item);
            p += item.total;
        }
        *size = (size_t)(e->payload + e->size - p);
        return p;
    }
    return NULL;
}

static void records_become_events(void **state)
{
    (void)state;
    layout(500, fields);
    event(1000, 64, 60 | 4u << 16);
    event(1100, 64, 60 | 400u << 16); /* a text beyond the record */
    event(1200, 36, 0);               /* a record that ends early */
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    size_t         size;
    const uint8_t *p = body(0, &size);
    assert_non_null(p);
    assert_int_equal(size, 17 + 4 + 8 + 2 + 16 + 1);
    assert_true(strcmp((const char *)p, "sixteen-bytes-xx") == 0 && strcmp((const char *)p + 17, "abc") == 0 &&
                p[21] == 0xEE);
    assert_true(p[29] == 16 && p[30] == 0 && p[31] == 0x11 && p[47] == 0xFF);
    p = body(1, &size);
    assert_true(p && size == 17 + 1 + 8 + 2 + 16 + 1 && p[17] == 0);
    p = body(2, &size);
    assert_true(p && size == 17 + 1 + 8 + 2 + 1 && p[18] == 0 && p[26] == 0 && p[28] == 0);
}

/* The only event names the source, the CPU and the count. */
static void lost_is_told(void)
{
    static const char told[] = "\0\0\0\0conversion\0tracepoint\0\1\0\0\0\0\0\0";
    size_t            size;
    const uint8_t    *p = body(0, &size);
    assert_true(out.count == 1 && p && size > sizeof told && memcmp(p, told, sizeof told) == 0);
}

static void without_a_layout_it_is_lost(void **state)
{
    (void)state;
    struct convert c;
    event(1000, 64, 0);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_true(c.lost == 1 && c.converted == 0);
    lost_is_told();
    convert_finish(&c);
}

static void what_is_too_long_is_lost(void **state)
{
    (void)state;
    struct convert c;
    static uint8_t raw[40008];
    layout(500, "big 8 40000 6\n");
    maker_sample(&maker, 0, SRC_TRACEPOINT, 1000, 500, 501, 0x400100, 3, raw, sizeof raw);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_true(c.lost == 1 && c.converted == 0);
    lost_is_told();
    convert_finish(&c);
}

static void hostile_layouts(void **state)
{
    (void)state;
    static const char *const texts[] = {"",          "x",           "x 1",      "x 1 2",     "x 99999 2 1\n",
                                        "x 1 3 1\n", "x 1 4 200\n", " 1 4 1\n", "x -1 4 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        layout(500 + i, texts[i]);
    char many[400] = "";
    for (int i = 0; i < 40; i++)
        strcat(many, "a 8 4 1\n");
    layout(600, many);
    event(1000, 64, 0);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    run();
    size_t size;
    assert_non_null(body(0, &size));
    assert_int_equal(size, 40 * 4);
}

static void a_successor_knows_it(void **state)
{
    (void)state;
    struct convert c, d;
    int            fd = memfd_create("snapshot", MFD_CLOEXEC);
    layout(500, fields);
    event(1000, 64, 60 | 4u << 16);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, 5000);
    assert_int_equal(convert_init(&c, &config, &maker.log, NULL), 0);
    take_all(&c);
    assert_int_equal(out.count, 1);
    uint64_t needed = convert_needed(&c);
    assert_int_equal(convert_snapshot_write(&c, needed, fd, NULL), 0);
    event(6000, 64, 60 | 4u << 16);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    out.count = 0;
    assert_int_equal(convert_init(&d, &config, &maker.log, NULL), 0);
    struct reason why = {0};
    if (convert_snapshot_read(&d, fd, &why))
        fail_msg("%s", why.text);
    take_all(&d);
    size_t size;
    assert_true(out.count == 1 && body(0, &size) && out.event[0].time == 6000);
    convert_finish(&c);
    convert_finish(&d);
    close(fd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_format), T(records_become_events), T(without_a_layout_it_is_lost),
        T(what_is_too_long_is_lost),          T(hostile_layouts),       T(a_successor_knows_it)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
