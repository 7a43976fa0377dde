/* Proves: TLG-06 TLG-07 TLG-08 TLG-12 TLG-13 ENB-15: every field type of TraceLoggingProvider.h, as one value, an array
 * and an array of a constant count, with an out-type and with tags: its metadata and payload equal what an encoder
 * written by the facts' tables makes; packed data, custom fields, groups; the most arguments there can be.
 * D-64: fields with a count take the pointer's text where no name is given. D-68: an option that is nothing. */
#include "autologger/include/Windows.h"
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/provider/tests/fakedaemon.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

TRACELOGGING_DEFINE_PROVIDER(g_provider, "Fields", (0x11111111, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
                             TraceLoggingOptionMicrosoftTelemetry(),
                             TraceLoggingOptionGroup(0xA1A2A3A4, 0xB1B2, 0xC1C2, 1, 2, 3, 4, 5, 6, 7, 8));
TRACELOGGING_DEFINE_PROVIDER_STORAGE(g_storage, "Storage", (0x22222222, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
                                     TraceLoggingOptionMicrosoftTelemetry());

static struct fakedaemon daemon_;

static int setup(void **state)
{
    (void)state;
    fakedaemon_start(&daemon_);
    fakedaemon_session(&daemon_, 0, 65536, 32);
    fakedaemon_enable(&daemon_, 0, (const struct guid *)&g_provider->ProviderId, 0, 0, 0, 0);
    assert_int_equal(TraceLoggingRegister(g_provider), 0);
    for (int i = 0; i < 2000 && !TraceLoggingProviderEnabled(g_provider); i++)
        usleep(1000);
    assert_true(TraceLoggingProviderEnabled(g_provider, 5));
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    TraceLoggingUnregister(g_provider);
    fakedaemon_stop(&daemon_);
    return 0;
}

/* ---- the encoder: facts tracelogging-manifest-tdh 2.2 ---- */
static struct made {
    uint8_t  schema[8192], payload[8192];
    uint32_t schema_size, payload_size;
} made;

static void schema(const void *data, size_t size)
{
    memcpy(made.schema + made.schema_size, data, size);
    made.schema_size += (uint32_t)size;
}
static void schema_byte(unsigned byte)
{
    uint8_t b = (uint8_t)byte;
    schema(&b, 1);
}
static void payload(const void *data, size_t size)
{
    memcpy(made.payload + made.payload_size, data, size);
    made.payload_size += (uint32_t)size;
}
static void payload_u16(uint16_t n) { payload(&n, sizeof n); }
static void begin(const char *name)
{
    memset(&made, 0, sizeof made);
    schema("\0\0\0", 3);
    schema(name, strlen(name) + 1);
}
static void tags(uint32_t tag)
{
    for (int shift = 21; shift >= 0; shift -= 7) {
        bool more = (tag & ((1u << shift) - 1)) != 0;
        schema_byte((tag >> shift & 0x7F) | (more ? 0x80 : 0));
        if (!more)
            return;
    }
}
/* count: elements of an array of constant count */
static void field(const char *name, unsigned in, unsigned out, uint32_t tag, unsigned count)
{
    uint16_t n = (uint16_t)count;
    schema(name, strlen(name) + 1);
    schema_byte(in | (out || tag ? 0x80u : 0));
    if (out || tag)
        schema_byte(out | (tag ? 0x80u : 0));
    if (tag)
        tags(tag);
    if ((in & 0x60) == 0x20)
        schema(&n, sizeof n);
}
/* Checks that the last event has exactly this schema and payload, and the provider's name and group. */
static void expect(const char *what)
{
    /* with C's NUL */
    static const uint8_t        traits[] = "\x1c\0Fields\0\x13\0\1\xa4\xa3\xa2\xa1\xb2\xb1\xc2\xc1\1\2\3\4\5\6\7\x8";
    const struct stream_record *r        = fakedaemon_next(&daemon_, 0);
    uint16_t                    size     = (uint16_t)made.schema_size, item[4];
    size_t                      at       = 80;

    memcpy(made.schema, &size, sizeof size);
    assert_non_null(r);
    memcpy(item, r->data + at, sizeof item);
    assert_int_equal(item[1], 12);
    assert_int_equal(item[3], sizeof traits - 1);
    assert_memory_equal(r->data + at + 8, traits, sizeof traits - 1);
    at += item[0];
    memcpy(item, r->data + at, sizeof item);
    assert_int_equal(item[1], 11);
    if (item[3] != size || memcmp(r->data + at + 8, made.schema, size) != 0)
        fail_msg("%s: the metadata is another one (%u bytes for %u)", what, item[3], size);
    at += item[0];
    if (r->size - at != made.payload_size || memcmp(r->data + at, made.payload, made.payload_size) != 0)
        fail_msg("%s: the payload is another one (%u bytes for %u)", what, (unsigned)(r->size - at), made.payload_size);
    assert_null(fakedaemon_next(&daemon_, 0));
}

/* name, C type, in-type, out-type by their numbers */
/* clang-format off */
#define TYPES(T) \
    T(Int8, INT8, 3, 0) T(UInt8, UINT8, 4, 0) T(Int16, INT16, 5, 0) T(UInt16, UINT16, 6, 0) T(Int32, INT32, 7, 0) T(UInt32, UINT32, 8, 0) \
    T(Int64, INT64, 9, 0) T(UInt64, UINT64, 10, 0) T(HexInt8, INT8, 4, 4) T(HexUInt8, UINT8, 4, 4) T(HexInt16, INT16, 6, 4) \
    T(HexUInt16, UINT16, 6, 4) T(HexInt32, INT32, 20, 0) T(HexUInt32, UINT32, 20, 0) T(HexInt64, INT64, 21, 0) \
    T(HexUInt64, UINT64, 21, 0) T(Long, LONG, 7, 0) T(ULong, ULONG, 8, 0) T(HexLong, LONG, 20, 0) T(HexULong, ULONG, 20, 0) \
    T(IntPtr, INT_PTR, 9, 0) T(UIntPtr, UINT_PTR, 10, 0) T(HexIntPtr, INT_PTR, 21, 0) T(HexUIntPtr, UINT_PTR, 21, 0) \
    T(LongPtr, LONG_PTR, 9, 0) T(ULongPtr, ULONG_PTR, 10, 0) T(HexLongPtr, LONG_PTR, 21, 0) T(HexULongPtr, ULONG_PTR, 21, 0) \
    T(Float32, float, 11, 0) T(Float64, double, 12, 0) T(Boolean, BOOLEAN, 4, 3) T(Bool, INT32, 13, 0) T(Char, char, 4, 2) \
    T(Char16, WCHAR, 6, 2) T(WChar, WCHAR, 6, 2) T(Pointer, const void *, 21, 0) T(CodePointer, const void *, 21, 37) \
    T(Pid, UINT32, 8, 5) T(Tid, UINT32, 8, 6) T(Port, UINT16, 6, 7) T(IPv4Address, UINT32, 8, 8) T(WinError, UINT32, 8, 13) \
    T(NTStatus, INT32, 8, 14) T(HResult, INT32, 7, 15) T(Guid, GUID, 15, 0) T(FileTime, FILETIME, 17, 0) \
    T(FileTimeUtc, FILETIME, 17, 38) T(SystemTime, SYSTEMTIME, 18, 0) T(SystemTimeUtc, SYSTEMTIME, 18, 38)
/* clang-format on */

static void test_every_type(void **state)
{
    union {
        uint8_t bytes[3 * sizeof(GUID)];
        GUID    aligned[3];
    } value;
    unsigned count = 0;
    (void)state;
    for (unsigned i = 0; i < sizeof value.bytes; i++)
        value.bytes[i] = (uint8_t)(i * 7 + 1);
#define T(name, ctype, in, out) \
    { \
        ctype const *v = (ctype const *)(const void *)&value; \
        TraceLoggingWrite( \
            g_provider, #name, TraceLogging##name(v[0], "one"), TraceLogging##name##Array(v, 2, "some", "described"), \
            TraceLogging##name##FixedArray(v, 3, "three"), TraceLogging##name(v[1], "tagged", "", 0x1234567), \
            TraceLogging##name##FixedArray(v, 1, "both", "", 0x0200000), TraceLogging##name(v[2]), \
            TraceLogging##name##Array(v, 2), TraceLogging##name##FixedArray(v, 3)); \
        begin(#name); \
        field("one", in, out, 0, 0), payload(v, sizeof *v); \
        field("some", in | 0x40, out, 0, 0), payload_u16(2), payload(v, 2 * sizeof *v); \
        field("three", in | 0x20, out, 0, 3), payload(v, 3 * sizeof *v); \
        field("tagged", in, out, 0x1234567, 0), payload(v + 1, sizeof *v); \
        field("both", in | 0x20, out, 0x0200000, 1), payload(v, sizeof *v); \
        field("v[2]", in, out, 0, 0), payload(v + 2, sizeof *v); \
        field("v", in | 0x40, out, 0, 0), payload_u16(2), payload(v, 2 * sizeof *v); \
        field("v", in | 0x20, out, 0, 3), payload(v, 3 * sizeof *v); \
        expect(#name); \
        count++; \
    }
    TYPES(T)
#undef T
    assert_int_equal(count, 49);
}

static void test_strings(void **state)
{
    static const BYTE sid[]  = {1, 2, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 2, 0, 0, 0, 99};
    char              text[] = "abc";
    WCHAR             wide[] = u"xyz";
    ANSI_STRING       ansi   = {2, 4, text};
    UNICODE_STRING    uni    = {4, 8, wide};
    (void)state;
    TraceLoggingWrite(g_provider, "S", TraceLoggingString(text, "a"), TraceLoggingUtf8String(text, "b", "", 1),
                      TraceLoggingWideString(wide, "c"), TraceLoggingString16(wide, "d"), TraceLoggingSid(sid, "e"),
                      TraceLoggingUnicodeString(&uni, "f"), TraceLoggingAnsiString(&ansi, "g"));
    begin("S");
    field("a", 2, 0, 0, 0), payload("abc", 4);
    field("b", 2, 35, 1, 0), payload("abc", 4);
    field("c", 1, 0, 0, 0), payload(u"xyz", 8);
    field("d", 1, 0, 0, 0), payload(u"xyz", 8);
    field("e", 19, 0, 0, 0), payload(sid, 16);
    field("f", 22, 0, 0, 0), payload_u16(4), payload(u"xy", 4);
    field("g", 23, 0, 0, 0), payload_u16(2), payload("ab", 2);
    expect("strings");
    TraceLoggingWrite(g_provider, "C", TraceLoggingCountedString(text, 1, "a"),
                      TraceLoggingCountedUtf8String(text, 2, "b"), TraceLoggingCountedWideString(wide, 1, "c"),
                      TraceLoggingCountedString16(wide, 2, "d"), TraceLoggingBinary(text, 3, "e"),
                      TraceLoggingBinaryEx(text, 2, TlgOutPKCS7_WITH_TYPE_INFO, "f"),
                      TraceLoggingCountedBinary(text, 0, "g"), TraceLoggingCountedBinaryEx(text, 1, TlgOutIPV6, "h"),
                      TraceLoggingIPv6Address(sid, "i"), TraceLoggingSocketAddress(sid, 4, "j"));
    begin("C");
    field("a", 23, 0, 0, 0), payload_u16(1), payload("a", 1);
    field("b", 23, 35, 0, 0), payload_u16(2), payload("ab", 2);
    field("c", 22, 0, 0, 0), payload_u16(2), payload(u"x", 2);
    field("d", 22, 0, 0, 0), payload_u16(4), payload(u"xy", 4);
    field("e", 14, 0, 0, 0), payload_u16(3), payload("abc", 3);
    field("f", 14, 36, 0, 0), payload_u16(2), payload("ab", 2);
    field("g", 25, 0, 0, 0), payload_u16(0);
    field("h", 25, 9, 0, 0), payload_u16(1), payload("a", 1);
    field("i", 14, 9, 0, 0), payload_u16(16), payload(sid, 16);
    field("j", 14, 10, 0, 0), payload_u16(4), payload(sid, 4);
    expect("counted");
    TraceLoggingWrite(g_provider, "N", TraceLoggingCountedString(text, 1), TraceLoggingCountedUtf8String(text, 2),
                      TraceLoggingCountedWideString(wide, 1), TraceLoggingCountedString16(wide, 2),
                      TraceLoggingBinary(text, 3), TraceLoggingBinaryEx(text, 2, TlgOutPKCS7_WITH_TYPE_INFO),
                      TraceLoggingCountedBinary(text + 1, 1), TraceLoggingCountedBinaryEx(text, 1, TlgOutIPV6),
                      TraceLoggingIPv6Address(sid), TraceLoggingSocketAddress(sid, 4, "described", "", 5),
                      TraceLoggingPackedField("ab", 3, TlgInANSISTRING),
                      TraceLoggingPackedFieldEx(text, 1, TlgInUINT8, TlgOutHEX));
    begin("N");
    field("text", 23, 0, 0, 0), payload_u16(1), payload("a", 1);
    field("text", 23, 35, 0, 0), payload_u16(2), payload("ab", 2);
    field("wide", 22, 0, 0, 0), payload_u16(2), payload(u"x", 2);
    field("wide", 22, 0, 0, 0), payload_u16(4), payload(u"xy", 4);
    field("text", 14, 0, 0, 0), payload_u16(3), payload("abc", 3);
    field("text", 14, 36, 0, 0), payload_u16(2), payload("ab", 2);
    field("text + 1", 25, 0, 0, 0), payload_u16(1), payload("b", 1);
    field("text", 25, 9, 0, 0), payload_u16(1), payload("a", 1);
    field("sid", 14, 9, 0, 0), payload_u16(16), payload(sid, 16);
    field("described", 14, 10, 5, 0), payload_u16(4), payload(sid, 4);
    field("\"ab\"", 2, 0, 0, 0), payload("ab", 3);
    field("text", 4, 4, 0, 0), payload("a", 1);
    expect("without names");
}

/* Structs in structs, arrays of structs, data that the program has packed, and a field with its own serializer. */
static void test_packed(void **state)
{
    static const uint8_t rows[]    = {2, 0, 1, 0, 0, 0, 5, 2, 0, 0, 0, 6};
    static const UINT16  numbers[] = {3, 10, 20, 30};
    (void)state;
    TraceLoggingWrite(g_provider, "P", TraceLoggingStruct(2, "outer", "two", 0x0200000),
                      TraceLoggingPackedStruct(1, "inner"), TraceLoggingUInt8(7, "x"), TraceLoggingUInt8(8, "y"),
                      TraceLoggingPackedStructArray(2, "rows"), TraceLoggingPackedMetadata(TlgInUINT32, "id"),
                      TraceLoggingPackedMetadataEx(TlgInUINT8, TlgOutHEX, "flags", "", 1),
                      TraceLoggingPackedData(rows, sizeof rows),
                      TraceLoggingPackedField(numbers, sizeof numbers, TlgInUINT16 | TlgInVcount, "n"),
                      TraceLoggingPackedFieldEx(numbers, 2, TlgInUINT16, TlgOutHEX, "m"),
                      TraceLoggingCustom("ab", 2, 9, (0xAA, 0xBB, 0xCC), 3, "custom", "", 2));
    begin("P");
    field("outer", 24, 2, 0x0200000, 0);
    field("inner", 24, 1, 0, 0);
    field("x", 4, 0, 0, 0), payload("\7", 1);
    field("y", 4, 0, 0, 0), payload("\x8", 1);
    field("rows", 24 | 0x40, 2, 0, 0), payload(rows, sizeof rows);
    field("id", 8, 0, 0, 0);
    field("flags", 4, 4, 1, 0);
    field("n", 6 | 0x40, 0, 0, 0), payload(numbers, sizeof numbers);
    field("m", 6, 4, 0, 0), payload(numbers, 2);
    field("custom", 14 | 0x60, 9, 2, 0), schema("\3\0\xAA\xBB\xCC", 5), payload_u16(2), payload("ab", 2);
    expect("packed");
}

#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
static void test_many(void **state)
{
#define F(n) , TraceLoggingUInt8((UINT8)(1##n - 100), "f" #n)
    (void)state;
    TraceLoggingWrite(g_provider, "Many" TEN(F, 0) TEN(F, 1) TEN(F, 2) TEN(F, 3) TEN(F, 4) TEN(F, 5) TEN(F, 6) TEN(F, 7)
                                      TEN(F, 8) F(90) F(91) F(92) F(93) F(94) F(95) F(96) F(97) F(98));
    begin("Many");
    for (unsigned i = 0; i < 99; i++) {
        char    name[8];
        uint8_t value = (uint8_t)i;
        snprintf(name, sizeof name, "f%02u", i);
        field(name, 4, 0, 0, 0), payload(&value, 1);
    }
    expect("99 fields");
}

/* The descriptor: keywords are combined, channel and opcode are set; the same by EventWriteEx, and by a write function
 * of the program's own. */
static ULONG own_calls;
static ULONG own_write(REGHANDLE h, PCEVENT_DESCRIPTOR d, LPCGUID a, LPCGUID r, ULONG n, PEVENT_DATA_DESCRIPTOR data)
{
    own_calls++;
    return EventWriteTransfer(h, d, a, r, n, data);
}
static void test_options(void **state)
{
    static const GUID       id = {1, 2, 3, {4}};
    struct etl_event_header h;
    (void)state;
    TraceLoggingWriteEx(g_provider, "O", 0, 0, &id, NULL, TraceLoggingLevel(3), TraceLoggingKeyword(0x40),
                        TraceLoggingKeyword(0x8000000000000001), TraceLoggingOpcode(2), TraceLoggingChannel(16),
                        TraceLoggingDescription("all"), TraceLoggingCustomAttribute("a", "b"));
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r);
    memcpy(&h, r->data, sizeof h);
    assert_int_equal(h.level, 3);
    assert_int_equal(h.opcode, 2);
    assert_int_equal(h.channel, 16);
    assert_true(h.keyword == 0x8000000000000041);
    assert_memory_equal(&h.activity, &id, 16);
    TraceLoggingWrite_EventWriteTransfer(own_write, g_provider, "Own", TraceLoggingUInt8(1, "x"));
    TraceLoggingWriteActivity_EventWriteTransfer(own_write, g_provider, "Own", &id, NULL);
    TraceLoggingWriteEx_EventWriteEx(EventWriteEx, g_provider, "Own", 0, 0, NULL, NULL);
    assert_int_equal(own_calls, 2);
    assert_int_equal(fakedaemon_count(&daemon_, 0), 3);
}

/* Name and group are in the traits sent to the daemon; a provider without a handle variable works the same. */
static void test_providers(void **state)
{
    uint8_t told[28];
    (void)state;
    pthread_mutex_lock(&daemon_.lock);
    assert_int_equal(daemon_.traits_size, 28);
    memcpy(told, daemon_.traits, sizeof told);
    pthread_mutex_unlock(&daemon_.lock);
    assert_memory_equal(told, g_provider->ProviderMetadataPtr, 28);
    assert_memory_equal(told + 9, "\x13\0\1\xa4\xa3\xa2\xa1", 7);
    assert_int_equal(*g_storage.ProviderMetadataPtr, 2 + sizeof "Storage");
    fakedaemon_enable(&daemon_, 0, (const struct guid *)&g_storage.ProviderId, 0, 0, 0, 0);
    assert_int_equal(TraceLoggingRegister(&g_storage), 0);
    TraceLoggingWrite(&g_storage, "S");
    assert_int_equal(fakedaemon_count(&daemon_, 0), 1);
    BOOLEAN yes = TRUE;
    assert_int_equal(TraceLoggingSetInformation(&g_storage, EventProviderUseDescriptorType, &yes, sizeof yes), 0);
    TraceLoggingUnregister(&g_storage);
}

int main(void)
{
    fakedaemon_init(&daemon_);
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(test_every_type), TEST(test_strings), TEST(test_packed),
                                       TEST(test_many),       TEST(test_options), TEST(test_providers)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
