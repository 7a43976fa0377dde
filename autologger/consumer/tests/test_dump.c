/* Text and JSON lines, filters, text events, undecodable events; the summary of the same file.
 * Proves: CON-12 (time with 9 digits), CON-13 (activity ids), CON-14 (execution attributes), CON-15 (hex + counted). */
#include "autologger/consumer/dump.h"
#include "autologger/consumer/summary.h"
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <yajl/yajl_tree.h>

#include <cmocka.h>

static struct image the_file(void)
{
    struct etl_file_info info          = build_info(4096);
    struct image         m             = image_start(&info);
    uint8_t              stack[24 + 8] = {0};
    uint64_t             at = 2000000, frames[2] = {0xffff000000000010, 0x7f0000000020};

    image_buffer(&m, 0, 1);
    image_kernel(&m, 2000000, 0x0F2E, 2, 0, "\x10\0\0\0\0\0\xFF\xFF\7\0\0\0\1\0\x41\0", 16);
    memcpy(stack, &at, 8);
    memcpy(stack + 16, frames, sizeof frames);
    image_kernel(&m, 2000001, 0x1820, 2, 0, stack, 32);
    at = 2000002; /* no event has that time */
    memcpy(stack, &at, 8);
    image_kernel(&m, 2000003, 0x1820, 2, 0, stack, 24);
    image_kernel(&m, 2000004, 0x0599, 2, 40, "\1\2\3", 3);

    image_buffer(&m, 1, 2);
    static const char schema[] = "\x11\0\0say \"x\"\0a\0\x01n\0\x08";
    image_tracelogging(&m, 3000000, "\x0B\0MySource", 11, schema, 0x11, "t\0\n\0\"\0\0\0\x2A\0\0\0", 12);
    uint8_t  item[64], part[128];
    size_t   n      = build_item(item, ETL_EXT_RELATED_ACTIVITY, true, &build_provider, 16);
    uint64_t ext[2] = {0, 0x1234};
    n += build_item(item + n, ETL_EXT_STACK64, false, ext, 16);
    memcpy(part, item, n);
    memcpy(part + n, "\xDE\xAD", 2);
    struct etl_event_header h = build_event(3000001, n + 2);
    h.flags                   = ETL_EVENT_EXTENDED;
    h.activity                = build_provider;
    h.keyword                 = 0x8000000000000001;
    image_add(&m, &h, sizeof h, part, n + 2);
    h       = build_event(3000002, 6);
    h.flags = ETL_EVENT_STRING_ONLY;
    image_add(&m, &h, sizeof h, "h\0i\0\0\0", 6);
    image_tracelogging(&m, 13000000, "\x0B\0MySource", 11, "\x0A\0\0odd\0v\0\x08", 10, "\1\2", 2);
    return m;
}

static char *run(const struct dump_options *options, struct dump_counts *counts)
{
    struct image       m = the_file();
    struct etl_reader *r;
    struct reason      why;
    char              *text;
    size_t             size;
    FILE              *out = open_memstream(&text, &size);

    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(dump_events(r, options, out, counts, &why), W_SUCCESS);
    fclose(out);
    etl_reader_close(r);
    image_free(&m);
    return text;
}

static void text_lines(void **state)
{
    struct dump_counts counts;
    char              *text = run(&(struct dump_options){0}, &counts), *first = strchr(text, '\n');
    (void)state;
    *first++ = 0;
    assert_int_equal(strncmp(text, "0.0000000 cpu 0 pid 4 tid 4 EventTrace/Header BufferSize=4096 ", 61), 0);
    assert_string_equal(
        first,
        "0.1000000 cpu 0 pid - tid - PerfInfo/SampledProfile InstructionPointer=0xffff000000000010 ThreadId=7 Count=1 "
        "Flags=0x41 Rank=0\n"
        "0.1000001 cpu 0 pid - tid - StackWalk/Stack EventTimeStamp=2000000 StackProcess=0 StackThread=0 "
        "Stack=0xffff000000000010,0x7f0000000020\n"
        "0.1000003 cpu 0 pid - tid - StackWalk/Stack EventTimeStamp=2000002 StackProcess=0 StackThread=0 "
        "Stack=0xffff000000000010\n"
        "0.1000004 cpu 0 pid 40 tid 41 Thread/153 payload=010203 (3 bytes not decoded)\n"
        "0.2000000 cpu 1 pid 5678 tid 1234 MySource/say_\"x\" a=\"t\\n\\\"\" n=42\n"
        "0.2000001 cpu 1 pid 5678 tid 1234 {12345678-9abc-def0-1122-334455667788}/7 stack=0x1234 payload=dead (2 bytes "
        "not decoded)\n"
        "0.2000002 cpu 1 pid 5678 tid 1234 {12345678-9abc-def0-1122-334455667788}/String Message=hi\n"
        "1.2000000 cpu 1 pid 5678 tid 1234 MySource/odd payload=0102 (2 bytes not decoded)\n");
    assert_true(counts.read == 9 && counts.written == 9 && counts.unknown == 2 && counts.mismatch == 1);
    free(text);
    text = run(&(struct dump_options){.iso = true, .limit = 1}, &counts);
    assert_int_equal(strncmp(text, "2020-02-22T06:04:42.447603400Z cpu 0 ", 37), 0);
    free(text);
}

static yajl_val get(yajl_val v, const char *a, const char *b)
{
    const char *path[] = {a, b, NULL};
    return yajl_tree_get(v, path, yajl_t_any);
}

static void json_lines(void **state)
{
    struct dump_counts counts;
    char              *text = run(&(struct dump_options){.format = DUMP_JSON}, &counts), *line = text;
    yajl_val           v[9];
    (void)state;
    for (int i = 0; i < 9; i++) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = 0;
        v[i] = yajl_tree_parse(line, NULL, 0);
        assert_non_null(v[i]);
        line = end + 1;
    }
    assert_int_equal(*line, 0);
    assert_string_equal(YAJL_GET_STRING(get(v[0], "time", NULL)), "2020-02-22T06:04:42.447603400Z");
    assert_true(YAJL_IS_NULL(get(v[1], "pid", NULL)));
    assert_string_equal(YAJL_GET_STRING(get(v[1], "provider", "name")), "PerfInfo");
    assert_string_equal(YAJL_GET_STRING(get(v[1], "event", NULL)), "SampledProfile");
    assert_int_equal(YAJL_GET_INTEGER(get(v[1], "fields", "ThreadId")), 7);
    assert_int_equal(YAJL_GET_ARRAY(get(v[2], "fields", "Stack"))->len, 2);
    assert_string_equal(YAJL_GET_STRING(YAJL_GET_ARRAY(get(v[2], "fields", "Stack"))->values[1]), "0x7f0000000020");
    assert_string_equal(YAJL_GET_STRING(get(v[4], "payload", NULL)), "010203");
    assert_string_equal(YAJL_GET_STRING(get(v[4], "decoded", NULL)), "unknown");
    assert_string_equal(YAJL_GET_STRING(get(v[5], "fields", "a")), "t\n\"");
    assert_int_equal(YAJL_GET_INTEGER(get(v[5], "fields", "n")), 42);
    assert_string_equal(YAJL_GET_STRING(get(v[5], "event", NULL)), "say \"x\"");
    assert_int_equal(YAJL_GET_INTEGER(get(v[5], "channel", NULL)), 11);
    assert_null(get(v[5], "activity", NULL));
    assert_null(get(v[5], "payload", NULL));
    assert_string_equal(YAJL_GET_STRING(get(v[6], "activity", NULL)), "{12345678-9abc-def0-1122-334455667788}");
    assert_string_equal(YAJL_GET_STRING(get(v[6], "relatedActivity", NULL)), "{12345678-9abc-def0-1122-334455667788}");
    assert_string_equal(YAJL_GET_STRING(get(v[6], "keyword", NULL)), "0x8000000000000001");
    assert_int_equal(YAJL_GET_ARRAY(get(v[6], "stack", NULL))->len, 1);
    assert_int_equal(YAJL_GET_INTEGER(get(v[6], "cpu", NULL)), 1);
    assert_int_equal(YAJL_GET_INTEGER(get(v[6], "raw", NULL)), 3000001);
    assert_string_equal(YAJL_GET_STRING(get(v[7], "fields", "Message")), "hi");
    assert_string_equal(YAJL_GET_STRING(get(v[8], "decoded", NULL)), "mismatch");
    for (int i = 0; i < 9; i++)
        yajl_tree_free(v[i]);
    free(text);
}

static void filters(void **state)
{
    static const struct guid perfinfo = {0xce1dbfb4, 0x137e, 0x4da6, {0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc}};
    const struct {
        struct dump_options options;
        unsigned            written;
    } rows[] = {
        {{.providers = {{.guid = &perfinfo}}}, 1},
        {{.providers = {{.guid = &build_provider}}}, 4},
        {{.providers = {{.name = "mysource"}}}, 2},
        {{.providers = {{.name = "StackWalk"}}}, 2},
        {{.providers = {{.name = "nobody"}}}, 0},
        {{.by_process = true, .process_id = 5678}, 4},
        {{.providers = {{.name = "StackWalk"}, {.guid = &perfinfo}, {.name = "nobody"}}}, 3}, /* any of them */
        {{.by_process = true, .process_id = 0}, 2},                                           /* StackProcess */
        {{.from = BUILD_START_TIME + 2000000}, 4},
        {{.to = BUILD_START_TIME + 2000000}, 6},
        {{.from = BUILD_START_TIME + 2000000, .to = BUILD_START_TIME + 2000000}, 1},
        {{.limit = 3}, 3},
        {{.providers = {{.name = "MySource"}}, .limit = 1}, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dump_counts counts;
        char              *text  = run(&rows[i].options, &counts);
        unsigned           lines = 0;
        for (char *p = text; (p = strchr(p, '\n')); p++)
            lines++;
        if (lines != rows[i].written || counts.written != lines)
            fail_msg("row %zu: %u lines", i, lines);
        free(text);
    }
}

/* Events with the process in their header, in a field, or by one of its threads so far; not after an id belongs to
 * another process. */
static void events_of_a_process(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct image         m    = image_start(&info);
    struct etl_reader   *r;
    struct dump_counts   counts;
    struct reason        why;
    char                *text;
    size_t               size;
    uint32_t             thread[2] = {700, 71}, other[2] = {800, 71}, swap[6] = {71, 0}, back[6] = {0, 71},
             sample[4] = {0, 0, 71, 1}, issue[3] = {0, 0, 71};
    (void)state;

    image_buffer(&m, 0, 1);
    image_kernel(&m, 2000000, 0x0524, 2, 0, swap, sizeof swap);     /* not ours yet */
    image_kernel(&m, 2000001, 0x0501, 2, 4, thread, sizeof thread); /* 1: thread 71 begins; cut, but that is enough */
    image_kernel(&m, 2000002, 0x0524, 2, 0, swap, sizeof swap);     /* 2 */
    image_kernel(&m, 2000003, 0x0524, 2, 0, back, sizeof back);     /* 3: switched away */
    image_kernel(&m, 2000004, 0x0F2E, 2, 0, sample, sizeof sample); /* 4 */
    image_kernel(&m, 2000005, 0x010C, 3, 0, issue, sizeof issue);   /* 5: a disk read is issued */
    image_kernel(&m, 2000006, 0x030B, 2, 700, issue, sizeof issue); /* 6: by its header */
    image_kernel(&m, 2000007, 0x0501, 2, 4, other, sizeof other);   /* the id is another process's now */
    image_kernel(&m, 2000008, 0x0524, 2, 0, swap, sizeof swap);
    for (unsigned pass = 0; pass < 2; pass++) {
        FILE               *out     = open_memstream(&text, &size);
        struct dump_options options = {.by_process = true, .process_id = pass ? 800 : 700};
        assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
        assert_int_equal(dump_events(r, &options, out, &counts, &why), W_SUCCESS);
        fclose(out);
        etl_reader_close(r);
        if (counts.written != (pass ? 2 : 6))
            fail_msg("%s", text);
        free(text);
    }
    image_free(&m);
}

static void a_full_disk_is_reported(void **state)
{
    struct image       m = the_file();
    struct etl_reader *r;
    struct reason      why;
    struct dump_counts counts;
    FILE              *out = fopen("/dev/full", "w");
    (void)state;
    if (!out)
        skip();
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(dump_events(r, &(struct dump_options){0}, out, &counts, &why), W_DISK_FULL);
    fclose(out);
    etl_reader_close(r);
    image_free(&m);
}

static void summary_of_what_was_before_the_session(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct image         m    = image_start(&info);
    struct etl_reader   *r;
    struct summary      *s;
    (void)state;
    image_buffer(&m, 0, 2); /* a merged file has its events in one stream with the header */
    image_event(&m, 500000, 1);
    image_event(&m, 2000000, 2);
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, NULL), W_SUCCESS);
    assert_int_equal(summary_create(r, &s, NULL), W_SUCCESS);
    assert_true(s->events == 3 && s->inversions == 0 && s->first_time == BUILD_START_TIME - 500000);
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
}

static void summary(void **state)
{
    struct image       m = the_file();
    struct etl_reader *r;
    struct reason      why;
    struct summary    *s;
    char              *text;
    size_t             size;
    uint32_t           lost = 3, broken = 0;
    (void)state;

    memcpy(m.data + HEADER_AT_EVENTS_LOST, &lost, 4);
    image_buffer(&m, 1, 3); /* goes back in time, and is damaged */
    image_event(&m, 2500000, 1);
    image_add(&m, &broken, 4, NULL, 0);
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(summary_create(r, &s, &why), W_SUCCESS);
    assert_true(s->events == 10 && s->inversions == 1 && s->damage_count == 1);
    assert_true(s->stacks == 2 && s->stacks_matched == 1 && s->stacks_extended == 1 && s->frames == 4);
    assert_int_equal(s->undecoded, 4);
    assert_int_equal(summary_count(s, "StackWalk"), 2);
    assert_int_equal(summary_count(s, "PerfInfo/SampledProfile"), 1);
    assert_int_equal(summary_count(s, "MySource"), 2);
    assert_int_equal(summary_count(s, "MySource/odd"), 1);
    assert_int_equal(summary_count(s, "My"), 0);

    FILE *out = open_memstream(&text, &size);
    summary_print(s, out);
    fclose(out);
    assert_non_null(strstr(text, "logger          demo\n"));
    assert_non_null(strstr(text, "clock           performance counter, 10000000 Hz\n"));
    assert_non_null(strstr(text, "not finalised"));
    assert_non_null(strstr(text, "lost            3 events, 0 buffers\n"));
    assert_non_null(strstr(text, "buffers         4 of 4096 bytes; the header says 1\n"));
    assert_non_null(strstr(text, "time inversions 1\n"));
    assert_non_null(strstr(text, "damage          1\n  offset "));
    assert_non_null(strstr(text, "\nStackWalk {def2fe46-7bd6-4b80-bd94-f57fe20d0ce3}\n           2  Stack\n"));
    free(text);

    out = open_memstream(&text, &size);
    assert_int_equal(summary_print_json(s, out), W_SUCCESS);
    fclose(out);
    yajl_val v = yajl_tree_parse(text, NULL, 0);
    assert_non_null(v);
    assert_int_equal(YAJL_GET_INTEGER(get(v, "events", NULL)), 10);
    assert_int_equal(YAJL_GET_INTEGER(get(v, "inversions", NULL)), 1);
    assert_int_equal(YAJL_GET_INTEGER(get(v, "stacks", "matched")), 1);
    assert_int_equal(YAJL_GET_INTEGER(get(v, "header", "eventsLost")), 3);
    assert_true(YAJL_IS_NULL(get(v, "header", "end")));
    assert_int_equal(YAJL_GET_ARRAY(get(v, "damage", NULL))->len, 1);
    assert_int_equal(YAJL_GET_ARRAY(get(v, "counts", NULL))->len, s->row_count);
    yajl_tree_free(v);
    free(text);
    summary_destroy(s);
    etl_reader_close(r);
    image_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_lines),
                                       cmocka_unit_test(json_lines),
                                       cmocka_unit_test(filters),
                                       cmocka_unit_test(events_of_a_process),
                                       cmocka_unit_test(a_full_disk_is_reported),
                                       cmocka_unit_test(summary),
                                       cmocka_unit_test(summary_of_what_was_before_the_session)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
