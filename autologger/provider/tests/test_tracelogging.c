/* Proves: TLG-02 TLG-03 TLG-04 TLG-05 TLG-06 TLG-07 TLG-08 TLG-11 TLG-12 TLG-13: the bytes that TraceLoggingWrite makes
 * equal the layout of facts tracelogging-manifest-tdh 2.1, 2.2 and 2.5, byte for byte; the macros
 * evaluate nothing while nobody listens. */
#include "autologger/include/TraceLoggingProvider.h"
#include "autologger/provider/tests/fakedaemon.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The GUID is the hash of the name, in tracelogging facts 2.6. */
TRACELOGGING_DEFINE_PROVIDER(g_provider, "MyProvider",
                             (0xb3864c38, 0x4273, 0x58c5, 0x54, 0x5b, 0x8b, 0x36, 0x08, 0x34, 0x34, 0x71));

static struct fakedaemon daemon_;

static int setup(void **state)
{
    (void)state;
    fakedaemon_start(&daemon_);
    fakedaemon_session(&daemon_, 0, 65536, 32);
    fakedaemon_enable(&daemon_, 0, &g_provider->ProviderId, 4, 0x41, 0, 0);
    assert_int_equal(TraceLoggingRegister(g_provider), 0);
    for (int i = 0; i < 2000 && !TraceLoggingProviderEnabled(g_provider, 4, 0x40); i++)
        usleep(1000);
    assert_true(TraceLoggingProviderEnabled(g_provider, 4, 0x40));
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    TraceLoggingUnregister(g_provider);
    fakedaemon_stop(&daemon_);
    return 0;
}

/* The next event must be `items` (traits and schema) and `payload` behind an 80-byte header. */
struct expected {
    const void *schema, *payload;
    uint32_t    schema_size, payload_size;
    uint64_t    keyword;
    uint8_t     level, opcode;
};
static void expect(const struct expected *x)
{
    static const uint8_t        traits[] = "\x0D\x00MyProvider"; /* with its NUL: 13 bytes */
    uint8_t                     want[4096];
    struct etl_event_header     h;
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    size_t                      n = 0;
    assert_non_null(r);
    memcpy(&h, r->data, sizeof h);
    assert_int_equal(h.flags, ETL_EVENT_EXTENDED);
    assert_int_equal(h.id, 0);
    assert_int_equal(h.version, 0);
    assert_int_equal(h.channel, 11);
    assert_int_equal(h.level, x->level);
    assert_int_equal(h.opcode, x->opcode);
    assert_int_equal(h.task, 0);
    assert_int_equal(h.keyword, x->keyword);
    assert_memory_equal(&h.provider, &g_provider->ProviderId, 16);
    memset(want, 0, sizeof want);
    static const uint8_t item_12[] = {0x18, 0, 12, 0, 1, 0, 13, 0};
    memcpy(want, item_12, 8);
    memcpy(want + 8, traits, 13);
    n                   = 24;
    uint16_t item_11[4] = {(uint16_t)(8 + ((x->schema_size + 7) & ~7u)), 11, 0, (uint16_t)x->schema_size};
    memcpy(want + n, item_11, 8);
    memcpy(want + n + 8, x->schema, x->schema_size);
    n += item_11[0];
    memcpy(want + n, x->payload, x->payload_size);
    n += x->payload_size;
    assert_int_equal(r->size, 80 + n);
    assert_memory_equal(r->data + 80, want, n);
    assert_null(fakedaemon_next(&daemon_, 0));
}
#define EXPECT(schema_text, payload_text, lv, kw, op) \
    expect(&(struct expected){schema_text, payload_text, sizeof(schema_text) - 1, sizeof(payload_text) - 1, kw, lv, op})

static void test_plain(void **state)
{
    (void)state;
    TraceLoggingWrite(g_provider, "Bare", TraceLoggingLevel(3));
    EXPECT("\x08\x00\x00"
           "Bare\0",
           "", 3, 0, 0);
    TraceLoggingWrite(g_provider, "One", TraceLoggingInt32(-2, "number"), TraceLoggingLevel(4), TraceLoggingOpcode(1),
                      TraceLoggingKeyword(0x40));
    EXPECT("\x0F\x00\x00"
           "One\0number\0\x07",
           "\xFE\xFF\xFF\xFF", 4, 0x40, 1);
    const char *text = "hi";
    int         n    = 7;
    TraceLoggingWrite(g_provider, "Two", TraceLoggingLevel(0), TraceLoggingInt32(n),
                      TraceLoggingString(text, "text", "a text"));
    EXPECT("\x10\x00\x00"
           "Two\0n\0\x07text\0\x02",
           "\x07\0\0\0hi\0", 0, 0, 0);
}

static void test_scalars(void **state)
{
    GUID     id = {1, 2, 3, {4}};
    FILETIME ft = {5, 6};
    (void)state;
    TraceLoggingWrite(g_provider, "S", TraceLoggingLevel(1), TraceLoggingInt8(1, "a"), TraceLoggingUInt8(2, "b"),
                      TraceLoggingInt16(3, "c"), TraceLoggingUInt16(4, "d"), TraceLoggingUInt32(5, "e"),
                      TraceLoggingInt64(6, "f"), TraceLoggingUInt64(7, "g"), TraceLoggingHexUInt32(8, "h"),
                      TraceLoggingHexUInt64(9, "i"), TraceLoggingHexUInt8(10, "j"));
    EXPECT("\x24\x00\x00"
           "S\0a\0\x03"
           "b\0\x04"
           "c\0\x05"
           "d\0\x06"
           "e\0\x08"
           "f\0\x09"
           "g\0\x0A"
           "h\0\x14"
           "i\0\x15"
           "j\0\x84\x04",
           "\1\2\3\0\4\0\5\0\0\0\6\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\x8\0\0\0\x9\0\0\0\0\0\0\0\xA", 1, 0, 0);
    TraceLoggingWrite(g_provider, "S", TraceLoggingLevel(1), TraceLoggingFloat32(1.0f, "a"),
                      TraceLoggingFloat64(2.0, "b"), TraceLoggingBool(1, "c"), TraceLoggingBoolean(1, "d"),
                      TraceLoggingGuid(id, "e"), TraceLoggingFileTime(ft, "f"),
                      TraceLoggingPointer((void *)0x1122, "g"), TraceLoggingPid(3, "h"), TraceLoggingWinError(5, "i"));
    EXPECT("\x23\x00\x00"
           "S\0a\0\x0B"
           "b\0\x0C"
           "c\0\x0D"
           "d\0\x84\x03"
           "e\0\x0F"
           "f\0\x11"
           "g\0\x15"
           "h\0\x88\x05"
           "i\0\x88\x0D",
           "\0\0\x80\x3F\0\0\0\0\0\0\0\x40\1\0\0\0\1"
           "\1\0\0\0\2\0\3\0\4\0\0\0\0\0\0\0"
           "\5\0\0\0\6\0\0\0"
           "\x22\x11\0\0\0\0\0\0\3\0\0\0\5\0\0\0",
           1, 0, 0);
}

static void test_strings(void **state)
{
    (void)state;
    TraceLoggingWrite(g_provider, "S", TraceLoggingLevel(1), TraceLoggingString(NULL, "a"),
                      TraceLoggingUtf8String("x", "b"), TraceLoggingWideString(u"y", "c"),
                      TraceLoggingWideString(NULL, "d"), TraceLoggingCountedString("abc", 2, "e"),
                      TraceLoggingCountedWideString(u"pq", 1, "f"), TraceLoggingBinary("\1\2\3", 3, "g"));
    EXPECT("\x1B\x00\x00"
           "S\0a\0\x02"
           "b\0\x82\x23"
           "c\0\x01"
           "d\0\x01"
           "e\0\x17"
           "f\0\x16"
           "g\0\x0E",
           "\0x\0y\0\0\0\0\0\2\0ab\2\0p\0\3\0\1\2\3", 1, 0, 0);
    static const INT16 numbers[] = {1, 2, 3};
    TraceLoggingWrite(g_provider, "A", TraceLoggingLevel(1), TraceLoggingInt16Array(numbers, 2, "v"),
                      TraceLoggingInt16FixedArray(numbers, 3, "c"), TraceLoggingStruct(2, "s"),
                      TraceLoggingUInt8(7, "x"), TraceLoggingUInt8(8, "y"));
    EXPECT("\x17\x00\x00"
           "A\0v\0\x45"
           "c\0\x25\x03\x00"
           "s\0\x98\x02"
           "x\0\x04"
           "y\0\x04",
           "\2\0\1\0\2\0\1\0\2\0\3\0\7\x8", 1, 0, 0);
}

static void test_tags(void **state)
{
    (void)state;
    TraceLoggingWrite(g_provider, "T", TraceLoggingLevel(1), TraceLoggingEventTag(0x0000001));
    EXPECT("\x08\x00\x80\x80\x80\x01T\0", "", 1, 0, 0);
    TraceLoggingWrite(g_provider, "T", TraceLoggingLevel(1), TraceLoggingEventTag(0x0200000));
    EXPECT("\x05\x00\x01T\0", "", 1, 0, 0);
    TraceLoggingWrite(g_provider, "T", TraceLoggingLevel(1), TraceLoggingEventTag(0xFFFFFFF));
    EXPECT("\x08\x00\xFF\xFF\xFF\x7FT\0", "", 1, 0, 0);
    TraceLoggingWrite(g_provider, "T", TraceLoggingLevel(1), TraceLoggingUInt8(1, "a", "described", 0x0204000),
                      TraceLoggingHexUInt8(2, "b", "", 0x0200000));
    EXPECT("\x10\x00\x00T\0a\0\x84\x80\x81\x01"
           "b\0\x84\x84\x01",
           "\1\2", 1, 0, 0);
}

static unsigned evaluated;
static int      count_it(void) { return (int)++evaluated; }
static void     test_disabled(void **state)
{
    (void)state;
    TraceLoggingWrite(g_provider, "No", TraceLoggingLevel(5), TraceLoggingInt32(count_it(), "a"));
    TraceLoggingWrite(g_provider, "No", TraceLoggingInt32(count_it(), "a")); /* 5 is the default */
    TraceLoggingWrite(g_provider, "No", TraceLoggingLevel(4), TraceLoggingKeyword(2),
                      TraceLoggingInt32(count_it(), "a"));
    assert_int_equal(evaluated, 0);
    assert_null(fakedaemon_next(&daemon_, 0));
    TraceLoggingWrite(g_provider, "Yes", TraceLoggingLevel(4), TraceLoggingKeyword(3),
                      TraceLoggingInt32(count_it(), "a"));
    assert_int_equal(evaluated, 1);
    EXPECT("\x0A\x00\x00"
           "Yes\0a\0\x07",
           "\1\0\0\0", 4, 3, 0);
    fakedaemon_disable(&daemon_, 0, &g_provider->ProviderId);
    TraceLoggingWrite(g_provider, "No", TraceLoggingLevel(1), TraceLoggingInt32(count_it(), "a"));
    assert_int_equal(evaluated, 1);
    assert_int_equal(g_provider->LevelPlus1, 0);
}

static void test_activity(void **state)
{
    GUID id = {1, 1, 1, {1}}, related = {2, 2, 2, {2}};
    (void)state;
    TraceLoggingWriteActivity(g_provider, "Act", &id, &related, TraceLoggingLevel(2), TraceLoggingUInt8(9, "a"));
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r);
    assert_memory_equal(r->data + 0x40, &id, 16);
    static const uint8_t item_1[] = {24, 0, 1, 0, 1, 0, 16, 0};
    assert_memory_equal(r->data + 80, item_1, 8);
    assert_memory_equal(r->data + 88, &related, 16);
    assert_int_equal(r->data[104 + 2], 12);
    assert_int_equal(r->data[128 + 2], 11);
    assert_int_equal(r->size, 80 + 24 + 24 + 8 + 16 + 1);
}

/* The daemon was told the provider's name. */
static void test_traits(void **state)
{
    (void)state;
    pthread_mutex_lock(&daemon_.lock);
    uint32_t size = daemon_.traits_size;
    uint8_t  told[13];
    memcpy(told, daemon_.traits, sizeof told);
    pthread_mutex_unlock(&daemon_.lock);
    assert_int_equal(size, 13);
    assert_memory_equal(told, "\x0D\x00MyProvider", 13);
    struct guid by_name = guid_from_name("MyProvider");
    assert_memory_equal(&by_name, &g_provider->ProviderId, 16);
}

/* A manifest provider may have traits too. */
static void test_set_traits(void **state)
{
    static const GUID id       = {9, 9, 9, {9}};
    static uint8_t    traits[] = "\x06\x00xyz";
    BOOLEAN           yes      = 1;
    REGHANDLE         h;
    EVENT_DESCRIPTOR  d = {.Id = 3, .Level = 2};
    (void)state;
    assert_int_equal(EventRegister(&id, NULL, NULL, &h), 0);
    fakedaemon_enable(&daemon_, 0, &id, 0, 0, 0, 0);
    assert_int_equal(EventSetInformation(h, EventProviderSetTraits, traits, 5), ERROR_INVALID_PARAMETER);
    assert_int_equal(EventSetInformation(h, EventProviderUseDescriptorType, &yes, 1), 0);
    assert_int_equal(EventSetInformation(h, EventProviderBinaryTrackInfo, &yes, 1), ERROR_NOT_SUPPORTED);
    assert_int_equal(EventSetInformation(h + 8, EventProviderUseDescriptorType, &yes, 1), ERROR_INVALID_HANDLE);
    assert_int_equal(EventSetInformation(h, EventProviderSetTraits, traits, 6), 0);
    /* the daemon gets the name, once, and enables nothing again */
    assert_true(fakedaemon_wait(&daemon_, &daemon_.traits_told, 1));
    assert_memory_equal(daemon_.traits, traits, 6);
    assert_int_equal(daemon_.traits_told, 1);
    assert_int_equal(EventWrite(h, &d, 0, NULL), 0);
    const struct stream_record *r = fakedaemon_next(&daemon_, 0);
    assert_non_null(r);
    assert_int_equal(r->size, 80 + 16);
    assert_memory_equal(r->data + 80, "\x10\0\x0C\0\0\0\6\0\6\0xyz", 14);
    assert_int_equal(EventUnregister(h), 0);
}

int main(void)
{
    fakedaemon_init(&daemon_);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_plain),    T(test_scalars),  T(test_strings), T(test_tags),
                                       T(test_disabled), T(test_activity), T(test_traits),  T(test_set_traits)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    fakedaemon_finish(&daemon_);
    return failed;
}
