/* D-60: events whose TraceLogging metadata stand at the beginning of the payload (Channel 11, no extended items) in
 * dump and tdh.h. The same event with items is the oracle: both must be shown alike, and give the same properties.
 * Proves: TLG-01, CON-05, CON-15. */
#include "autologger/consumer/dump.h"
#include "autologger/consumer/record_view.h"
#include "autologger/consumer/tdh_state.h"
#include "autologger/etl/record.h"
#include "autologger/etl/tests/build.h"
#include "autologger/include/tdh.h"
#include "registry-sim/win32/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define TRAITS "\x1E\0MySource\0\x13\0\1\x78\x56\x34\x12\xBC\x9A\xF0\xDE\x11\x22\x33\x44\x55\x66\x77\x88"
#define SCHEMA "\x1A\0\0Sorted\0path\0\1n\0\x08sizes\0\x46"
#define BODY "a\0b\0\0\0\x2A\0\0\0\2\0\5\0\6\0"
enum { TRAITS_SIZE = sizeof TRAITS - 1, SCHEMA_SIZE = sizeof SCHEMA - 1, BODY_SIZE = sizeof BODY - 1 };
_Static_assert(TRAITS_SIZE == 0x1E && SCHEMA_SIZE == 0x1A, "the sizes in the blocks");

static void add_event(struct image *m, uint8_t channel, const void *payload, size_t size)
{
    struct etl_event_header h = build_event(2000000, size);
    h.id                      = 0;
    h.channel                 = channel;
    image_add(m, &h, sizeof h, payload, size);
}
static void in_items(struct image *m)
{
    image_tracelogging(m, 2000000, TRAITS, TRAITS_SIZE, SCHEMA, SCHEMA_SIZE, BODY, BODY_SIZE);
}
static void in_payload(struct image *m) { add_event(m, 11, TRAITS SCHEMA BODY, TRAITS_SIZE + SCHEMA_SIZE + BODY_SIZE); }
static void of_another_channel(struct image *m)
{
    add_event(m, 16, TRAITS SCHEMA BODY, TRAITS_SIZE + SCHEMA_SIZE + BODY_SIZE);
}
static void cut_in_the_fields(struct image *m)
{
    add_event(m, 11, TRAITS SCHEMA BODY, TRAITS_SIZE + SCHEMA_SIZE + BODY_SIZE - 1);
}

/* The second event's line or element; `counts` are of both. */
static char *dumped(enum dump_format format, void (*event)(struct image *m), struct dump_counts *counts)
{
    struct etl_file_info info = build_info(4096);
    struct image         m    = image_start(&info);
    struct etl_reader   *r;
    struct reason        why;
    char                *text;
    size_t               size;
    FILE                *out = open_memstream(&text, &size);

    image_buffer(&m, 0, 1);
    event(&m);
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(dump_events(r, &(struct dump_options){.format = format}, out, counts, &why), W_SUCCESS);
    fclose(out);
    etl_reader_close(r);
    image_free(&m);
    return text;
}

static void all_formats_show_it_as_with_items(void **state)
{
    struct dump_counts counts;
    (void)state;
    for (enum dump_format f = 0; f < DUMP_FORMATS; f++) {
        char *expected = dumped(f, in_items, &counts), *text = dumped(f, in_payload, &counts);
        assert_string_equal(text, expected);
        assert_int_equal(counts.unknown + counts.mismatch, 0);
        free(expected);
        free(text);
    }
    char *line = dumped(DUMP_TEXT, in_payload, &counts);
    assert_non_null(strstr(line, " MySource/Sorted path=ab n=42 sizes[0]=5 sizes[1]=6\n"));
    free(line);
}

static void only_of_channel_11(void **state)
{
    struct dump_counts counts;
    char              *line = dumped(DUMP_TEXT, of_another_channel, &counts);
    (void)state;
    assert_int_equal(counts.unknown, 1);
    assert_non_null(strstr(line, "}/0 payload=1e004d79"));
    free(line);
}

static void what_is_cut_is_said(void **state)
{
    struct dump_counts counts;
    char              *line = dumped(DUMP_TEXT, cut_in_the_fields, &counts);
    (void)state;
    assert_int_equal(counts.mismatch, 1);
    assert_non_null(strstr(line, " MySource/Sorted path=ab n=42 sizes[0]=5 payload=06 (1 bytes not decoded)\n"));
    free(line);
}

/* ---- tdh.h ---- */

struct made {
    uint8_t            bytes[512];
    struct etl_event   e;
    struct record_view view;
};
/* The record as ProcessTrace gives it. */
static PEVENT_RECORD record(struct made *m)
{
    struct etl_event_header h = build_event(1, TRAITS_SIZE + SCHEMA_SIZE + BODY_SIZE);
    h.channel                 = 11;
    memcpy(m->bytes, &h, sizeof h);
    memcpy(m->bytes + sizeof h, TRAITS SCHEMA BODY, h.size - sizeof h);
    assert_true(etl_record_decode(m->bytes, h.size, 0, &m->e));
    record_view_set(&m->view, &m->e, false, NULL);
    return &m->view.record;
}

static void check_information(PEVENT_RECORD r)
{
    static const struct {
        const char *name;
        USHORT      in;
    } fields[] = {{"path", TDH_INTYPE_UNICODESTRING},
                  {"n", TDH_INTYPE_UINT32},
                  {"sizes.Count", TDH_INTYPE_UINT16},
                  {"sizes", TDH_INTYPE_UINT16}};
    union {
        TRACE_EVENT_INFO info;
        BYTE             bytes[2048];
    } block;
    ULONG size = sizeof block;
    char  text[64];

    assert_int_equal(TdhGetEventInformation(r, 0, NULL, &block.info, &size), ERROR_SUCCESS);
    assert_int_equal(block.info.DecodingSource, DecodingSourceTlg);
    assert_int_equal(block.info.TopLevelPropertyCount, 4);
    for (unsigned i = 0; i < 4; i++) {
        PEVENT_PROPERTY_INFO p    = &block.info.EventPropertyInfoArray[i];
        const WCHAR         *name = TEI_PROPERTY_NAME(&block.info, p);
        size_t               n    = 0;
        while (name[n])
            n++;
        utf16le_to_utf8(name, 2 * n, text, sizeof text);
        assert_string_equal(text, fields[i].name);
        assert_int_equal(p->nonStructType.InType, fields[i].in);
    }
}

static void check_property(PEVENT_RECORD r)
{
    WCHAR                    name[] = {'n', 0};
    PROPERTY_DATA_DESCRIPTOR d      = {.PropertyName = (ULONGLONG)(uintptr_t)name, .ArrayIndex = 0xFFFFFFFF};
    ULONG                    value = 0, size = 0;
    assert_int_equal(TdhGetPropertySize(r, 0, NULL, 1, &d, &size), ERROR_SUCCESS);
    assert_int_equal(size, 4);
    assert_int_equal(TdhGetProperty(r, 0, NULL, 1, &d, sizeof value, (PBYTE)&value), ERROR_SUCCESS);
    assert_int_equal(value, 42);
}

static void process_trace_gives_items_and_fields(void **state)
{
    struct made   m;
    PEVENT_RECORD r = record(&m);
    WCHAR         text[16];
    ULONG         size = sizeof text;
    USHORT        used;
    (void)state;
    assert_int_equal(r->ExtendedDataCount, 2);
    assert_true(r->EventHeader.Flags & EVENT_HEADER_FLAG_EXTENDED_INFO);
    assert_true(r->ExtendedData[0].ExtType == EVENT_HEADER_EXT_TYPE_PROV_TRAITS &&
                r->ExtendedData[0].DataSize == TRAITS_SIZE && r->ExtendedData[0].Linkage == 1);
    assert_true(r->ExtendedData[1].ExtType == EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL &&
                r->ExtendedData[1].DataSize == SCHEMA_SIZE && r->ExtendedData[1].Linkage == 0);
    assert_memory_equal((void *)(uintptr_t)r->ExtendedData[1].DataPtr, SCHEMA, SCHEMA_SIZE);
    assert_int_equal(r->UserDataLength, BODY_SIZE);
    check_information(r);
    check_property(r);
    /* a program walks UserData from its start */
    assert_int_equal(TdhFormatProperty(NULL, NULL, 8, TDH_INTYPE_UNICODESTRING, TDH_OUTTYPE_STRING, 0,
                                       r->UserDataLength, r->UserData, &size, text, &used),
                     0);
    assert_int_equal(used, 6);
    assert_true(text[0] == 'a' && text[1] == 'b' && text[2] == 0);
}

static void a_record_with_the_blocks_in_user_data(void **state)
{
    BYTE data[]       = TRAITS SCHEMA BODY;
    EVENT_RECORD r    = {.EventHeader    = {.Flags = EVENT_HEADER_FLAG_64_BIT_HEADER, .EventDescriptor = {.Channel = 11}},
                         .UserData       = data,
                         .UserDataLength = sizeof data - 1};
    ULONG        size = 0;
    (void)state;
    memcpy(&r.EventHeader.ProviderId, &build_provider, sizeof build_provider);
    check_information(&r);
    check_property(&r);
    r.EventHeader.EventDescriptor.Channel = 16;
    assert_int_equal(TdhGetEventInformation(&r, 0, NULL, NULL, &size), ERROR_NOT_FOUND);
}

/* Too large for two more items in a record of 64 KB: the record keeps its form, and decodes nevertheless. */
static void the_largest_keeps_its_form(void **state)
{
    static uint8_t          bytes[UINT16_MAX];
    struct etl_event_header h = build_event(1, sizeof bytes - sizeof h);
    struct record_view      view;
    struct etl_event        e;
    (void)state;
    h.channel = 11;
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, TRAITS SCHEMA BODY, TRAITS_SIZE + SCHEMA_SIZE + BODY_SIZE);
    assert_true(etl_record_decode(bytes, h.size, 0, &e));
    record_view_set(&view, &e, false, NULL);
    assert_int_equal(view.record.ExtendedDataCount, 0);
    assert_int_equal(view.record.UserDataLength, sizeof bytes - sizeof h);
    check_information(&view.record);
    check_property(&view.record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_formats_show_it_as_with_items),
                                       cmocka_unit_test(only_of_channel_11),
                                       cmocka_unit_test(what_is_cut_is_said),
                                       cmocka_unit_test(process_trace_gives_items_and_fields),
                                       cmocka_unit_test(a_record_with_the_blocks_in_user_data),
                                       cmocka_unit_test(the_largest_keeps_its_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
