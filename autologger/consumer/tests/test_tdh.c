/* tdh.h: descriptions as blocks, properties by name, texts of every in-type with every out-type, as a program sees
 * them.
 * Proves: CON-05 (every type of a template), TLG-08 (all in-types), TLG-12 (arrays, structs), MAN-06 (each inType x
 * outType), CON-15. */
#include "autologger/include/tdh.h"

#include "autologger/consumer/record_view.h"
#include "autologger/consumer/tdh_state.h"
#include "autologger/etl/record.h"
#include "autologger/etl/tests/build.h"
#include "autologger/schema/value.h"
#include "registry-sim/win32/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const char *ascii(const WCHAR *text)
{
    static char out[8][512];
    static int  turn;
    size_t      n = 0;
    while (text[n])
        n++;
    turn = (turn + 1) % 8;
    utf16le_to_utf8(text, 2 * n, out[turn], sizeof out[turn]);
    return out[turn];
}

/* ---- texts ---- */

#define ONE(in, out, bytes, text) \
    { \
        TDH_INTYPE_##in, TDH_OUTTYPE_##out, 0, bytes, sizeof bytes - 1, text \
    }
#define SIZED(in, out, length, bytes, text) \
    { \
        TDH_INTYPE_##in, TDH_OUTTYPE_##out, length, bytes, sizeof bytes - 1, text \
    }
#define IP6 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define ADDRESS "\2\0\x1F\x90\x7F\0\0\1\0\0\0\0\0\0\0\0"
#define ID "\x78\x56\x34\x12\xBC\x9A\xF0\xDE\x11\x22\x33\x44\x55\x66\x77\x88"
#define DAY "\x00\x80\x3E\xD5\xDE\xB1\x9D\x01"
#define CLOCK "\xEA\7\x0B\0\6\0\x15\0\7\0\x34\0\x23\0\x7B\0"
#define NT "\1\2\0\0\0\0\0\5\x20\0\0\0\x20\2\0\0"
static const struct {
    uint16_t    in, out, length;
    const char *bytes;
    size_t      size;
    const char *text;
} texts[] = {
    ONE(UNICODESTRING, STRING, "h\0i\0\0\0", "hi"),
    ONE(UNICODESTRING, XML, "<\0\0\0", "<"),
    ONE(UNICODESTRING, JSON, "{\0\0\0", "{"),
    SIZED(UNICODESTRING, STRING, 3, "a\0b\0c\0", "abc"),
    SIZED(UNICODESTRING, STRING, 3, "a\0\0\0c\0", "a"),
    ONE(ANSISTRING, STRING, "hi\0", "hi"),
    ONE(ANSISTRING, XML, "<\0", "<"),
    ONE(ANSISTRING, JSON, "{\0", "{"),
    ONE(ANSISTRING, UTF8, "\xC3\xA4\0", "\xC3\xA4"),
    SIZED(ANSISTRING, STRING, 2, "hi", "hi"),
    ONE(INT8, BYTE, "\xFF", "-1"),
    ONE(INT8, STRING, "A", "A"),
    ONE(INT8, UNSIGNEDBYTE, "\xFF", "255"),
    ONE(INT8, BOOLEAN, "\0", "false"),
    ONE(INT8, HEXINT8, "\xFF", "0xFF"),
    ONE(UINT8, UNSIGNEDBYTE, "\xFF", "255"),
    ONE(UINT8, STRING, "A", "A"),
    ONE(UINT8, HEXINT8, "\x1F", "0x1F"),
    ONE(UINT8, BOOLEAN, "\2", "true"),
    ONE(UINT8, BYTE, "\xFE", "-2"),
    ONE(INT16, SHORT, "\xFE\xFF", "-2"),
    ONE(INT16, UNSIGNEDSHORT, "\xFE\xFF", "65534"),
    ONE(INT16, HEXINT16, "\xFE\xFF", "0xFFFE"),
    ONE(INT16, STRING, "\xE4\0", "\xC3\xA4"),
    ONE(UINT16, UNSIGNEDSHORT, "\xFE\xFF", "65534"),
    ONE(UINT16, PORT, "\x1F\x90", "8080"),
    ONE(UINT16, HEXINT16, "\xAB\1", "0x1AB"),
    ONE(UINT16, STRING, "\xE4\0", "\xC3\xA4"),
    ONE(UINT16, SHORT, "\xFE\xFF", "-2"),
    ONE(INT32, INT, "\0\0\0\x80", "-2147483648"),
    ONE(INT32, HRESULT, "\5\0\7\x80", "0x80070005"),
    ONE(INT32, UNSIGNEDINT, "\0\0\0\x80", "2147483648"),
    ONE(INT32, BOOLEAN, "\1\0\0\0", "true"),
    ONE(INT32, HEXINT32, "\xFF\0\0\0", "0xFF"),
    ONE(INT32, NTSTATUS, "\x22\0\0\xC0", "0xC0000022"),
    ONE(UINT32, UNSIGNEDINT, "\0\0\0\x80", "2147483648"),
    ONE(UINT32, PID, "\x0A\0\0\0", "10"),
    ONE(UINT32, TID, "\x0B\0\0\0", "11"),
    ONE(UINT32, IPV4, "\x7F\0\0\1", "127.0.0.1"),
    ONE(UINT32, ETWTIME, "\1\0\0\0", "1970-01-01T00:00:01.000000000Z"),
    ONE(UINT32, ERRORCODE, "\5\0\0\0", "0x5"),
    ONE(UINT32, WIN32ERROR, "\5\0\0\0", "5"),
    ONE(UINT32, NTSTATUS, "\x22\0\0\xC0", "0xC0000022"),
    ONE(UINT32, HEXINT32, "\xFF\0\0\0", "0xFF"),
    ONE(UINT32, CODE_POINTER, "\xFF\0\0\0", "0xFF"),
    ONE(UINT32, INT, "\xFF\xFF\xFF\xFF", "-1"),
    ONE(UINT32, BOOLEAN, "\0\0\0\0", "false"),
    ONE(INT64, LONG, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "-1"),
    ONE(INT64, UNSIGNEDLONG, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "18446744073709551615"),
    ONE(INT64, HEXINT64, "\x1A\0\0\0\0\0\0\0", "0x1A"),
    ONE(INT64, DATETIME, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(INT64, DATETIME_UTC, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(UINT64, UNSIGNEDLONG, "\1\0\0\0\0\0\0\0", "1"),
    ONE(UINT64, ETWTIME, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(UINT64, HEXINT64, "\x1A\0\0\0\0\0\0\0", "0x1A"),
    ONE(UINT64, CODE_POINTER, "\x1A\0\0\0\0\0\xFF\xFF", "0xFFFF00000000001A"),
    ONE(UINT64, LONG, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "-1"),
    ONE(UINT64, DATETIME, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(UINT64, DATETIME_UTC, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(FLOAT, FLOAT, "\0\0\xC0\x3F", "1.5"),
    ONE(DOUBLE, DOUBLE, "\0\0\0\0\0\0\xF8\x3F", "1.5"),
    ONE(BOOLEAN, BOOLEAN, "\2\0\0\0", "true"),
    SIZED(BINARY, HEXBINARY, 3, "\1\2\xAB", "0102ab"),
    SIZED(BINARY, IPV6, 16, IP6, "::1"),
    SIZED(BINARY, SOCKETADDRESS, 16, ADDRESS, "127.0.0.1:8080"),
    SIZED(BINARY, PKCS7_WITH_TYPE_INFO, 2, "\1\2", "0102"),
    SIZED(BINARY, IPV6, 3, "\1\2\3", "010203"),
    SIZED(BINARY, SOCKETADDRESS, 2, "\1\2", "0102"),
    ONE(GUID, GUID, ID, "{12345678-9abc-def0-1122-334455667788}"),
    ONE(POINTER, HEXINT64, "\x1A\0\0\0\0\0\0\0", "0x1A"),
    ONE(POINTER, CODE_POINTER, "\x1A\0\0\0\0\0\0\0", "0x1A"),
    ONE(POINTER, UNSIGNEDLONG, "\x1A\0\0\0\0\0\0\0", "26"),
    ONE(FILETIME, DATETIME, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(FILETIME, CULTURE_INSENSITIVE_DATETIME, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(FILETIME, DATETIME_UTC, DAY, "1970-01-01T00:00:00.000000000Z"),
    ONE(SYSTEMTIME, DATETIME, CLOCK, "2026-11-21T07:52:35.123"),
    ONE(SYSTEMTIME, CULTURE_INSENSITIVE_DATETIME, CLOCK, "2026-11-21T07:52:35.123"),
    ONE(SYSTEMTIME, DATETIME_UTC, CLOCK, "2026-11-21T07:52:35.123"),
    ONE(SID, STRING, NT, "S-1-5-32-544"),
    ONE(HEXINT32, HEXINT32, "\xFF\0\0\0", "0xFF"),
    ONE(HEXINT32, ERRORCODE, "\xFF\0\0\0", "0xFF"),
    ONE(HEXINT32, WIN32ERROR, "\xFF\0\0\0", "0xFF"),
    ONE(HEXINT32, NTSTATUS, "\xFF\0\0\xC0", "0xC00000FF"),
    ONE(HEXINT32, HRESULT, "\xFF\0\0\x80", "0x800000FF"),
    ONE(HEXINT32, BOOLEAN, "\1\0\0\0", "true"),
    ONE(HEXINT32, CODE_POINTER, "\xFF\0\0\0", "0xFF"),
    ONE(HEXINT64, HEXINT64, "\xFF\0\0\0\0\0\0\0", "0xFF"),
    ONE(HEXINT64, CODE_POINTER, "\xFF\0\0\0\0\0\0\0", "0xFF"),
    ONE(MANIFEST_COUNTEDSTRING, STRING, "\4\0h\0i\0", "hi"),
    ONE(MANIFEST_COUNTEDSTRING, XML, "\2\0<\0", "<"),
    ONE(MANIFEST_COUNTEDSTRING, JSON, "\2\0{\0", "{"),
    ONE(MANIFEST_COUNTEDANSISTRING, STRING, "\2\0hi", "hi"),
    ONE(MANIFEST_COUNTEDANSISTRING, XML, "\1\0<", "<"),
    ONE(MANIFEST_COUNTEDANSISTRING, JSON, "\1\0{", "{"),
    ONE(MANIFEST_COUNTEDANSISTRING, UTF8, "\2\0\xC3\xA4", "\xC3\xA4"),
    ONE(MANIFEST_COUNTEDBINARY, HEXBINARY, "\2\0\xAB\xCD", "abcd"),
    ONE(MANIFEST_COUNTEDBINARY, IPV6, "\x10\0" IP6, "::1"),
    ONE(MANIFEST_COUNTEDBINARY, SOCKETADDRESS, "\x10\0" ADDRESS, "127.0.0.1:8080"),
    ONE(MANIFEST_COUNTEDBINARY, PKCS7_WITH_TYPE_INFO, "\1\0\xAB", "ab"),
    ONE(COUNTEDSTRING, STRING, "\2\0h\0", "h"),
    ONE(COUNTEDANSISTRING, STRING, "\1\0h", "h"),
    ONE(REVERSEDCOUNTEDSTRING, STRING, "\0\2h\0", "h"),
    ONE(REVERSEDCOUNTEDANSISTRING, STRING, "\0\1h", "h"),
    ONE(NONNULLTERMINATEDSTRING, STRING, "h\0i\0", "hi"),
    ONE(NONNULLTERMINATEDANSISTRING, STRING, "hi", "hi"),
    ONE(UNICODECHAR, STRING, "\xE4\0", "\xC3\xA4"),
    ONE(ANSICHAR, STRING, "h", "h"),
    ONE(SIZET, HEXINT64, "\x1A\0\0\0\0\0\0\0", "0x1A"),
    ONE(HEXDUMP, HEXBINARY, "\2\0\0\0\xAB\xCD", "abcd"),
    ONE(WBEMSID, STRING, "\0\0\0\0", ""),
    ONE(WBEMSID, STRING, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" NT, "S-1-5-32-544"),
};
enum { TEXTS = sizeof texts / sizeof *texts };

static void every_in_type_with_every_out_type(void **state)
{
    static const struct {
        uint16_t in, out;
    } rows[] = {
#define M(in, out, kind) {IN_##in, OUT_##out},
#define T M
#include "autologger/schema/shown.def"
#undef T
#undef M
    };
    WCHAR  text[128];
    USHORT used;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) { /* every pair of types has a row */
        unsigned j = 0;
        while (j < TEXTS && (texts[j].in != rows[i].in || texts[j].out != rows[i].out))
            j++;
        if (j == TEXTS)
            fail_msg("in-type %u with out-type %u has no row", rows[i].in, rows[i].out);
    }
    for (unsigned i = 0; i < TEXTS; i++) {
        ULONG size = sizeof text, need = 0;
        BYTE *data = malloc(texts[i].size);
        memcpy(data, texts[i].bytes, texts[i].size);
        TDHSTATUS st = TdhFormatProperty(NULL, NULL, 8, texts[i].in, texts[i].out, texts[i].length,
                                         (USHORT)texts[i].size, data, &size, text, &used);
        if (st || used != texts[i].size || strcmp(ascii(text), texts[i].text) != 0)
            fail_msg("in %u out %u: %u, %u bytes, '%s', not '%s'", texts[i].in, texts[i].out, st, used,
                     st ? "" : ascii(text), texts[i].text);
        assert_int_equal(TdhFormatProperty(NULL, NULL, 8, texts[i].in, texts[i].out, texts[i].length,
                                           (USHORT)texts[i].size, data, &need, text, &used),
                         ERROR_INSUFFICIENT_BUFFER);
        assert_int_equal(need, size);
        bool to_end =
            texts[i].in == TDH_INTYPE_NONNULLTERMINATEDSTRING || texts[i].in == TDH_INTYPE_NONNULLTERMINATEDANSISTRING;
        bool to_nul =
            !texts[i].length && (texts[i].in == TDH_INTYPE_UNICODESTRING || texts[i].in == TDH_INTYPE_ANSISTRING);
        size_t most = to_nul ? 1 : texts[i].size; /* D-73: it may end with the payload instead of its NUL */
        if (to_nul) {
            const size_t nul = texts[i].in == TDH_INTYPE_UNICODESTRING ? 2 : 1;
            size             = sizeof text;
            assert_int_equal(TdhFormatProperty(NULL, NULL, 8, texts[i].in, texts[i].out, 0,
                                               (USHORT)(texts[i].size - nul), data, &size, text, &used),
                             0);
            assert_int_equal(used, texts[i].size - nul);
            assert_string_equal(ascii(text), texts[i].text);
        }
        for (size_t n = 0; !to_end && n < most; n++) { /* cut anywhere, and exactly there */
            BYTE *exact = malloc(n ? n : 1);
            memcpy(exact, data, n);
            size = sizeof text;
            assert_int_equal(TdhFormatProperty(NULL, NULL, 8, texts[i].in, texts[i].out, texts[i].length, (USHORT)n,
                                               exact, &size, text, &used),
                             ERROR_EVT_INVALID_EVENT_DATA);
            free(exact);
        }
        free(data);
    }
    ULONG size = sizeof text;
    assert_int_equal(TdhFormatProperty(NULL, NULL, 4, TDH_INTYPE_POINTER, TDH_OUTTYPE_NULL, 0, 4, (PBYTE) "\x1A\0\0\0",
                                       &size, text, &used),
                     0);
    assert_int_equal(used, 4);
    assert_int_equal(TdhFormatProperty(NULL, NULL, 5, TDH_INTYPE_POINTER, TDH_OUTTYPE_NULL, 0, 4, (PBYTE) "\x1A\0\0\0",
                                       &size, text, &used),
                     ERROR_INVALID_PARAMETER);
    assert_int_equal(TdhFormatProperty(NULL, NULL, 8, 26, 0, 0, 4, (PBYTE) "\x1A\0\0\0", &size, text, &used),
                     ERROR_INVALID_PARAMETER);
}

/* ---- events ---- */

struct made {
    uint8_t            bytes[2048];
    struct etl_event   e;
    struct record_view view;
};
static PEVENT_RECORD record(struct made *m, const void *schema, size_t schema_size, const void *payload,
                            size_t payload_size)
{
    uint8_t item[512] = {(uint8_t)(schema_size + 3), (uint8_t)((schema_size + 3) >> 8), 0};
    size_t  n         = sizeof(struct etl_event_header);
    memcpy(item + 3, schema, schema_size);
    n += build_item(m->bytes + n, ETL_EXT_PROV_TRAITS, true, "\x0B\0MySource", 11);
    n += build_item(m->bytes + n, ETL_EXT_SCHEMA_TL, false, item, (uint16_t)(schema_size + 3));
    memcpy(m->bytes + n, payload, payload_size);
    n += payload_size;
    struct etl_event_header h = build_event(1, n - sizeof h);
    h.flags                   = ETL_EVENT_EXTENDED;
    h.keyword                 = UINT64_C(1) << 48;
    memcpy(m->bytes, &h, sizeof h);
    assert_true(etl_record_decode(m->bytes, (uint32_t)n, 0, &m->e));
    record_view_set(&m->view, &m->e, false, NULL);
    return &m->view.record;
}

static const char schema[]  = "Read\0"
                              "path\0\1"
                              "sizes\0\x46"
                              "parts\0\xD8\x02"
                              "at\0\x8A\x04"
                              "bytes\0\x0E";
static const char payload[] = "a\0\0\0"
                              "\2\0\5\0\6\0"
                              "\2\0"
                              "\1\0\0\0\0\0\0\0\1\0\xAA"
                              "\2\0\0\0\0\0\0\0\2\0\xBB\xCC";

static void an_event(void **state)
{
    struct made   m;
    PEVENT_RECORD r    = record(&m, schema, sizeof schema - 1, payload, sizeof payload - 1);
    ULONG         size = 0, need;
    (void)state;
    assert_int_equal(TdhGetEventInformation(r, 0, NULL, NULL, &size), ERROR_INSUFFICIENT_BUFFER);
    need                    = size;
    BYTE             *exact = malloc(size); /* ASan sees any byte past it */
    PTRACE_EVENT_INFO info  = (PTRACE_EVENT_INFO)exact;
    size--;
    assert_int_equal(TdhGetEventInformation(r, 0, NULL, info, &size), ERROR_INSUFFICIENT_BUFFER);
    assert_int_equal(size, need);
    assert_int_equal(TdhGetEventInformation(r, 0, NULL, info, &size), 0);
    assert_int_equal(info->DecodingSource, DecodingSourceTlg);
    assert_memory_equal(&info->ProviderGuid, &build_provider, sizeof build_provider);
    assert_string_equal(ascii(TEI_PROVIDER_NAME(info)), "MySource");
    assert_string_equal(ascii(TEI_EVENT_NAME(info)), "Read");
    assert_string_equal(ascii(TEI_LEVEL_NAME(info)), "win:Informational");
    assert_string_equal(ascii(TEI_KEYWORDS_NAME(info)), "win:ResponseTime");
    assert_null(TEI_TASK_NAME(info));
    assert_null(TEI_EVENT_MESSAGE(info));
    assert_int_equal(info->EventDescriptor.Id, 7);
    /* path, sizes.Count, sizes, parts.Count, parts; at, bytes.Length, bytes */
    assert_int_equal(info->TopLevelPropertyCount, 5);
    assert_int_equal(info->PropertyCount, 8);
    PEVENT_PROPERTY_INFO p = info->EventPropertyInfoArray;
    assert_string_equal(ascii(TEI_PROPERTY_NAME(info, &p[0])), "path");
    assert_int_equal(p[0].nonStructType.InType, TDH_INTYPE_UNICODESTRING);
    assert_string_equal(ascii(TEI_PROPERTY_NAME(info, &p[1])), "sizes.Count");
    assert_int_equal(p[2].Flags, PropertyParamCount);
    assert_int_equal(p[2].countPropertyIndex, 1);
    assert_int_equal(p[2].nonStructType.InType, TDH_INTYPE_UINT16);
    assert_int_equal(p[2].length, 2);
    assert_int_equal(p[4].Flags, PropertyStruct | PropertyParamCount);
    assert_int_equal(p[4].structType.StructStartIndex, 5);
    assert_int_equal(p[4].structType.NumOfStructMembers, 3);
    assert_int_equal(p[5].nonStructType.OutType, TDH_OUTTYPE_HEXINT64);
    assert_int_equal(p[7].Flags, PropertyParamLength);
    assert_int_equal(p[7].lengthPropertyIndex, 6);
    assert_int_equal(TdhGetEventInformation(NULL, 0, NULL, info, &size), ERROR_INVALID_PARAMETER);
    free(exact);
}

static TDHSTATUS get(PEVENT_RECORD r, const WCHAR *a, ULONG ai, const WCHAR *b, ULONG bi, BYTE *out, ULONG *size)
{
    PROPERTY_DATA_DESCRIPTOR d[2] = {{(ULONGLONG)(uintptr_t)a, ai, 0}, {(ULONGLONG)(uintptr_t)b, bi, 0}};
    ULONG                    n = b ? 2 : 1, room = *size;
    TDHSTATUS                st = TdhGetPropertySize(r, 0, NULL, n, d, size);
    assert_int_equal(TdhGetProperty(r, 0, NULL, n, d, room, out), st             ? st
                                                                  : *size > room ? ERROR_INSUFFICIENT_BUFFER
                                                                                 : 0);
    return st;
}

static void properties(void **state)
{
    enum { ALL = 0xFFFFFFFF };
    static const struct {
        const WCHAR *a;
        ULONG        ai;
        const WCHAR *b;
        ULONG        bi;
        TDHSTATUS    st;
        const char  *bytes;
        ULONG        size;
    } rows[] = {
        {u"path", ALL, NULL, 0, 0, "a\0\0\0", 4},
        {u"sizes", ALL, NULL, 0, 0, "\5\0\6\0", 4},
        {u"sizes", 1, NULL, 0, 0, "\6\0", 2},
        {u"sizes", 2, NULL, 0, ERROR_NOT_FOUND, "", 0},
        {u"sizes.Count", ALL, NULL, 0, 0, "\2\0", 2},
        {u"parts", 0, u"at", ALL, 0, "\1\0\0\0\0\0\0\0", 8},
        {u"parts", 1, u"bytes", ALL, 0, "\xBB\xCC", 2},
        {u"parts", 1, u"nothing", ALL, ERROR_NOT_FOUND, "", 0},
        {u"nothing", ALL, NULL, 0, ERROR_NOT_FOUND, "", 0},
        {u"path", ALL, u"at", ALL, ERROR_NOT_FOUND, "", 0},
        {u"parts", 0, NULL, 0, 0, "\1\0\0\0\0\0\0\0\1\0\xAA", 11},
        {u"path", 0, NULL, 0, 0, "a\0\0\0", 4},
    };
    struct made   m;
    BYTE          out[64];
    PEVENT_RECORD r = record(&m, schema, sizeof schema - 1, payload, sizeof payload - 1);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ULONG     size = sizeof out;
        TDHSTATUS st   = get(r, rows[i].a, rows[i].ai, rows[i].b, rows[i].bi, out, &size);
        if (st != rows[i].st || (!st && (size != rows[i].size || memcmp(out, rows[i].bytes, size))))
            fail_msg("row %zu: %u, %u bytes", i, st, size);
        size = 1;
        if (!rows[i].st)
            assert_int_equal(get(r, rows[i].a, rows[i].ai, rows[i].b, rows[i].bi, out, &size), 0);
    }
    ULONG size = sizeof out;
    r          = record(&m, schema, sizeof schema - 1, payload, 7); /* cut in the second size */
    assert_int_equal(get(r, u"path", ALL, NULL, 0, out, &size), 0);
    size = sizeof out;
    assert_int_equal(get(r, u"parts", ALL, NULL, 0, out, &size), ERROR_EVT_INVALID_EVENT_DATA);
    size = sizeof out;
    r    = record(&m, schema, sizeof schema - 1, "a\0\0\0\0\0\0\0", 8); /* arrays of nothing */
    assert_int_equal(get(r, u"sizes", ALL, NULL, 0, out, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(TdhGetPropertySize(r, 0, NULL, 0, NULL, &size), ERROR_INVALID_PARAMETER);
}

/* Events without a description, text events, and kernel events. */
static void other_kinds(void **state)
{
    struct record_view view;
    struct etl_event   e = {.kind         = ETL_KIND_EVENT,
                            .provider     = build_provider,
                            .id           = 9,
                            .is_64bit     = true,
                            .payload      = (const uint8_t *)"h\0i\0\0\0",
                            .payload_size = 6};
    BYTE               block[4096], out[16];
    PTRACE_EVENT_INFO  info = (PTRACE_EVENT_INFO)block;
    ULONG              size = sizeof block;
    (void)state;
    record_view_set(&view, &e, false, NULL);
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), ERROR_NOT_FOUND);
    assert_int_equal(view.record.UserDataLength, 6); /* never dropped */
    e.flags = ETL_EVENT_STRING_ONLY;
    record_view_set(&view, &e, false, NULL);
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), 0);
    assert_string_equal(ascii(TEI_PROPERTY_NAME(info, &info->EventPropertyInfoArray[0])), "Message");
    size = sizeof out;
    assert_int_equal(get(&view.record, u"Message", 0xFFFFFFFF, NULL, 0, out, &size), 0);
    assert_string_equal(ascii((WCHAR *)out), "hi");
    static const uint8_t stack[] = "\1\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0"
                                   "\4\0\0\0\0\0\0\0"
                                   "\5\0\0\0\0\0\0\0";
    e                            = (struct etl_event){.kind         = ETL_KIND_PERFINFO,
                                                      .hook         = 0x1820,
                                                      .opcode       = 32,
                                                      .version      = 2,
                                                      .provider     = etl_group_guid(0x1820),
                                                      .is_64bit     = true,
                                                      .payload      = stack,
                                                      .payload_size = 32};
    record_view_set(&view, &e, false, NULL);
    size = sizeof block;
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), 0);
    assert_int_equal(info->DecodingSource, DecodingSourceWbem);
    assert_memory_equal(&info->EventGuid, &e.provider, 16);
    assert_string_equal(ascii(TEI_PROVIDER_NAME(info)), "StackWalk");
    assert_int_equal(info->EventPropertyInfoArray[3].count, 2); /* as many as are there */
    size = sizeof out;
    assert_int_equal(get(&view.record, u"Stack", 0xFFFFFFFF, NULL, 0, out, &size), 0);
    assert_int_equal(size, 16);
    e = (struct etl_event){.kind = ETL_KIND_MESSAGE, .provider = build_provider, .id = 9};
    record_view_set(&view, &e, false, NULL);
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), ERROR_NOT_FOUND);
}

/* A provider with a map, as a manifest would bring it. */
static void maps_and_providers(void **state)
{
    static const struct schema_map_row rows[] = {{1, "one"}, {2, "two"}};
    static const struct schema_map     map    = {.name = "Numbers", .count = 2, .rows = rows},
                                   bits       = {.name = "Bits", .bits = true, .count = 2, .rows = rows};
    struct schema_provider *p                 = schema_provider_new(&build_provider, "Contoso-Disk");
    struct schema_event    *d                 = schema_event_new(p, 2, 2);
    struct record_view      view;
    struct etl_event        e = {.kind         = ETL_KIND_EVENT,
                                 .provider     = build_provider,
                                 .id           = 9,
                                 .is_64bit     = true,
                                 .payload      = (const uint8_t *)"\2\3",
                                 .payload_size = 2};
    _Alignas(8) BYTE        block[8192], map_block[512];
    PTRACE_EVENT_INFO       info = (PTRACE_EVENT_INFO)block;
    PEVENT_MAP_INFO         m    = (PEVENT_MAP_INFO)map_block;
    ULONG                   size = sizeof block, map_size = 0;
    WCHAR                   text[64];
    USHORT                  used;
    (void)state;
    d->id        = 9;
    p->origin    = "/contoso.man";
    d->fields[0] = (struct schema_field){.name = "n", .in = IN_UINT8, .count = 1, .map = &map};
    d->fields[1] = (struct schema_field){.name = "b", .in = IN_UINT8, .count = 1, .map = &bits};
    assert_int_equal(schema_event_finish(p, d, NULL), W_SUCCESS);
    assert_int_equal(schema_set_add(tdh_lock(), SCHEMA_MANIFEST, p), W_SUCCESS);
    tdh_unlock();
    record_view_set(&view, &e, false, NULL);
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), 0);
    assert_int_equal(info->DecodingSource, DecodingSourceXMLFile);
    PWSTR name = TEI_MAP_NAME(info, &info->EventPropertyInfoArray[0]);
    assert_string_equal(ascii(name), "Numbers");
    assert_int_equal(TdhGetEventMapInformation(&view.record, name, NULL, &map_size), ERROR_INSUFFICIENT_BUFFER);
    assert_int_equal(TdhGetEventMapInformation(&view.record, name, m, &map_size), 0);
    assert_int_equal(m->EntryCount, 2);
    assert_string_equal(ascii(EMI_MAP_OUTPUT(m, &m->MapEntryArray[1])), "two");
    size = sizeof text;
    assert_int_equal(TdhFormatProperty(info, m, 8, TDH_INTYPE_UINT8, 0, 0, 1, (PBYTE) "\2", &size, text, &used), 0);
    assert_string_equal(ascii(text), "two");
    size = sizeof text;
    assert_int_equal(TdhFormatProperty(info, m, 8, TDH_INTYPE_UINT8, 0, 0, 1, (PBYTE) "\7", &size, text, &used), 0);
    assert_string_equal(ascii(text), "7");
    map_size = sizeof map_block;
    assert_int_equal(
        TdhGetEventMapInformation(&view.record, TEI_MAP_NAME(info, &info->EventPropertyInfoArray[1]), m, &map_size), 0);
    size = sizeof text;
    assert_int_equal(TdhFormatProperty(info, m, 8, TDH_INTYPE_UINT8, 0, 0, 1, (PBYTE) "\7", &size, text, &used), 0);
    assert_string_equal(ascii(text), "one|two|0x4");
    assert_int_equal(TdhGetEventMapInformation(&view.record, (PWSTR)u"None", m, &map_size), ERROR_NOT_FOUND);

    PPROVIDER_ENUMERATION_INFO all = (PPROVIDER_ENUMERATION_INFO)block;
    size                           = 0;
    assert_int_equal(TdhEnumerateProviders(all, &size), ERROR_INSUFFICIENT_BUFFER);
    assert_true(size < sizeof block);
    assert_int_equal(TdhEnumerateProviders(all, &size), 0);
    unsigned found = 0, classes = 0;
    for (ULONG i = 0; i < all->NumberOfProviders; i++) {
        found += strcmp(ascii((PWSTR)(block + all->TraceProviderInfoArray[i].ProviderNameOffset)), "Contoso-Disk") == 0;
        classes += all->TraceProviderInfoArray[i].SchemaSource == 1;
    }
    assert_int_equal(found, 1);
    assert_true(classes > 15);
    assert_int_equal(TdhUnloadManifest((PWSTR)u"/contoso.man"), 0);
    assert_int_equal(TdhUnloadManifest((PWSTR)u"/contoso.man"), ERROR_NOT_FOUND);
    size = sizeof block;
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, info, &size), ERROR_NOT_FOUND);
}

/* A manifest of the tests: loaded, found in the list, its event described with its message, and forgotten. */
static void a_manifest(void **state)
{
    static const char          path[]    = AL_SOURCE_DIR "/autologger/schema/tests/shop.man";
    WCHAR                      wide[512] = {0};
    static BYTE                block[65536];
    PPROVIDER_ENUMERATION_INFO all       = (PPROVIDER_ENUMERATION_INFO)block;
    ULONG                      size      = sizeof block;
    unsigned                   manifests = 0;
    (void)state;
    utf8_to_utf16le(path, strlen(path), wide, sizeof wide - 2);
    assert_int_equal(TdhLoadManifest(wide), 0);
    assert_int_equal(TdhLoadManifest(wide), 0); /* a second time changes nothing */
    assert_int_equal(TdhEnumerateProviders(all, &size), 0);
    for (ULONG i = 0; i < all->NumberOfProviders; i++)
        manifests += all->TraceProviderInfoArray[i].SchemaSource == 0;
    assert_true(manifests >= 1);
    const struct schema_provider *p;
    enum schema_source            source;
    struct schema_set            *set    = tdh_lock();
    unsigned                      events = 0;
    for (size_t i = 0; (p = schema_set_provider(set, i, &source)); i++)
        for (unsigned e = 0; e < p->event_count; e++, events++) {
            const struct schema_event *d = p->events[e];
            struct etl_event           x = {
                          .kind = ETL_KIND_EVENT, .provider = p->guid, .id = d->id, .version = d->version, .is_64bit = true};
            struct record_view view;
            BYTE               out[16384];
            ULONG              bytes = sizeof out;
            tdh_unlock();
            record_view_set(&view, &x, false, NULL);
            assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, (PTRACE_EVENT_INFO)out, &bytes), 0);
            assert_int_equal(((PTRACE_EVENT_INFO)out)->PropertyCount, d->field_count);
            tdh_lock();
        }
    tdh_unlock();
    assert_true(events > 0);
    assert_int_equal(TdhUnloadManifest(wide), 0);
    assert_int_equal(TdhUnloadManifest(wide), ERROR_NOT_FOUND);
    assert_int_equal(TdhLoadManifest((PWSTR)u"/nowhere.man"), ERROR_FILE_NOT_FOUND);
    assert_int_equal(TdhLoadManifestFromMemory("<a/>", 4), ERROR_INVALID_DATA);
}

/* D-63: a manifest that no compiler accepts, as programs make them from metadata: its readable part is used. */
static void a_flawed_manifest(void **state)
{
    static const char text[] =
        "<provider name='Contoso Flawed' symbol='Contoso Flawed' guid='{6a1f6d53-4f2e-4b0e-9d53-0c7f3f1a2b01}'>"
        "<tasks><task name='None' value='0'/></tasks>"
        "<templates><template tid='T'><data name='n' inType='win:UInt32'/><data name='Odd' inType='win:Odd'/><data name='m' inType='win:UInt32'/></template>"
        "</templates><events><event value='9' symbol='Odd event' level='win:Always' task='None' template='T'/></events></provider>";
    static const BYTE body[] = {42, 0, 0, 0, 1, 2, 3};
    struct etl_event  x      = {.kind         = ETL_KIND_EVENT,
                                .id           = 9,
                                .is_64bit     = true,
                                .payload      = body,
                                .payload_size = sizeof body,
                                .provider = {0x6a1f6d53, 0x4f2e, 0x4b0e, {0x9d, 0x53, 0x0c, 0x7f, 0x3f, 0x1a, 0x2b, 0x01}}};
    union {
        TRACE_EVENT_INFO info;
        BYTE             bytes[2048];
    } block;
    WCHAR                    n[] = {'n', 0}, m[] = {'m', 0};
    PROPERTY_DATA_DESCRIPTOR d = {.PropertyName = (ULONGLONG)(uintptr_t)n, .ArrayIndex = 0xFFFFFFFF};
    struct record_view       view;
    ULONG                    size = sizeof block, value = 0;
    (void)state;
    assert_int_equal(TdhLoadManifestFromMemory(text, sizeof text - 1), ERROR_SUCCESS);
    record_view_set(&view, &x, false, NULL);
    assert_int_equal(TdhGetEventInformation(&view.record, 0, NULL, &block.info, &size), ERROR_SUCCESS);
    assert_string_equal(ascii(TEI_PROVIDER_NAME(&block.info)), "Contoso Flawed");
    assert_string_equal(ascii(TEI_EVENT_NAME(&block.info)), "Odd event");
    assert_string_equal(ascii(TEI_TASK_NAME(&block.info)), "None");
    assert_int_equal(block.info.TopLevelPropertyCount, 1); /* the position of all fields behind it is unknown */
    assert_int_equal(TdhGetProperty(&view.record, 0, NULL, 1, &d, sizeof value, (PBYTE)&value), ERROR_SUCCESS);
    assert_int_equal(value, 42);
    d.PropertyName = (ULONGLONG)(uintptr_t)m;
    assert_int_equal(TdhGetProperty(&view.record, 0, NULL, 1, &d, sizeof value, (PBYTE)&value), ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_in_type_with_every_out_type),
                                       cmocka_unit_test(an_event),
                                       cmocka_unit_test(properties),
                                       cmocka_unit_test(other_kinds),
                                       cmocka_unit_test(maps_and_providers),
                                       cmocka_unit_test(a_manifest),
                                       cmocka_unit_test(a_flawed_manifest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
