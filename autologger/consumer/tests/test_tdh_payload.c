/* Payload filters of tdh.h against a manifest: made, put together, given to EnableTraceEx2's descriptor, freed; every
 * error.
 * Proves: ENB-06 (payload). */
#include "autologger/include/tdh.h"

#include "autologger/wire/payload_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char manifest[] =
    "<instrumentationManifest xmlns='http://schemas.microsoft.com/win/2004/08/events'><instrumentation><events>"
    "<provider name='Payload-Test' guid='{7d5f3a2c-0b1e-4f6a-9c8d-112233445566}' symbol='P' resourceFileName='x' messageFileName='x'>"
    "<templates><template tid='T'><data name='Count' inType='win:UInt16'/><data name='List' inType='win:UInt32' count='Count'/>"
    "<data name='Path' inType='win:UnicodeString'/><struct name='S'><data name='In' inType='win:UInt32'/></struct>"
    "<data name='Size' inType='win:UInt64'/><data name='Id' inType='win:GUID'/><data name='Sid' inType='win:SID'/></template>"
    "<template tid='U'><struct name='Many' count='3'><data name='In' inType='win:UInt32'/></struct><data name='Last' inType='win:UInt32'/></template></templates>"
    "<events><event value='1' symbol='ONE' template='T' level='win:Informational'/><event value='1' version='1' symbol='ONE_V1' template='T' level='win:Informational'/>"
    "<event value='2' symbol='TWO' template='U' level='win:Informational'/></events></provider></events></instrumentation></instrumentationManifest>";
static const GUID provider = {0x7d5f3a2c, 0x0b1e, 0x4f6a, {0x9c, 0x8d, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66}};

static TDHSTATUS create(USHORT id, ULONG count, PAYLOAD_FILTER_PREDICATE *p, PVOID *out)
{
    EVENT_DESCRIPTOR d = {.Id = id};
    return TdhCreatePayloadFilter(&provider, &d, FALSE, count, p, out);
}
static PAYLOAD_FILTER_PREDICATE predicate(const WCHAR *field, USHORT op, const WCHAR *value)
{
    return (PAYLOAD_FILTER_PREDICATE){(LPWSTR)(uintptr_t)field, op, (LPWSTR)(uintptr_t)value};
}

static void errors(void **state)
{
    static WCHAR long_text[600];
    const struct {
        USHORT                   id;
        ULONG                    count;
        PAYLOAD_FILTER_PREDICATE p;
        TDHSTATUS                wanted;
    } rows[] = {{1, 1, predicate(u"Size", PAYLOADFIELD_GE, u"4096"), 0},
                {1, 1, predicate(u"Path", PAYLOADFIELD_CONTAINS, u"/etc"), 0},
                {1, 1, predicate(u"Count", PAYLOADFIELD_BETWEEN, u"1,5"), 0},
                {1, 1, predicate(u"Id", PAYLOADFIELD_IS, u"{00000000-0000-0000-0000-000000000001}"), 0},
                {1, 0, predicate(u"Size", PAYLOADFIELD_GE, u"4096"), 87},
                {1, 9, predicate(u"Size", PAYLOADFIELD_GE, u"4096"), 87},
                {1, 1, predicate(NULL, PAYLOADFIELD_GE, u"4096"), 87},
                {1, 1, predicate(u"Size", PAYLOADFIELD_GE, NULL), 87},
                {1, 1, predicate(u"size", PAYLOADFIELD_GE, u"1"), 87},
                {1, 1, predicate(u"In", PAYLOADFIELD_GE, u"1"), 87}, /* a structure's */
                {1, 1, predicate(u"S", PAYLOADFIELD_GE, u"1"), 87},
                {1, 1, predicate(u"List", PAYLOADFIELD_GE, u"1"), 87}, /* an array */
                {1, 1, predicate(u"Sid", PAYLOADFIELD_IS, u"S-1-5-18"), 87},
                {1, 1, predicate(u"Size", PAYLOADFIELD_GE, u"many"), 87},
                {1, 1, predicate(u"Size", PAYLOADFIELD_CONTAINS, u"1"), 87},
                {1, 1, predicate(u"Path", PAYLOADFIELD_LT, u"1"), 87},
                {1, 1, predicate(u"Size", PAYLOADFIELD_INVALID, u"1"), 87},
                {1, 1, predicate(u"Size", 0x100, u"1"), 87},
                {1, 1, predicate(u"Path", PAYLOADFIELD_IS, long_text), 87},
                {2, 1, predicate(u"Last", PAYLOADFIELD_EQ, u"1"), 50}, /* behind an array of structures */
                {3, 1, predicate(u"Size", PAYLOADFIELD_EQ, u"1"), 1168}};
    PVOID                    out;
    EVENT_DESCRIPTOR         d     = {.Id = 1};
    PAYLOAD_FILTER_PREDICATE p     = predicate(u"Size", PAYLOADFIELD_EQ, u"1");
    const GUID               other = {1, 2, 3, {4}};
    (void)state;
    for (size_t i = 0; i < sizeof long_text / sizeof *long_text - 1; i++)
        long_text[i] = u'x';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PAYLOAD_FILTER_PREDICATE nine[9];
        for (size_t k = 0; k < 9; k++)
            nine[k] = rows[i].p;
        out                = &out;
        const TDHSTATUS st = create(rows[i].id, rows[i].count, nine, &out);
        if (st != rows[i].wanted || (st == 0) != (out != NULL))
            fail_msg("row %zu: %u", i, st);
        if (!st)
            assert_int_equal(TdhDeletePayloadFilter(&out), 0);
        assert_null(out);
    }
    assert_int_equal(TdhCreatePayloadFilter(NULL, &d, FALSE, 1, &p, &out), 87);
    assert_int_equal(TdhCreatePayloadFilter(&provider, NULL, FALSE, 1, &p, &out), 87);
    assert_int_equal(TdhCreatePayloadFilter(&provider, &d, FALSE, 1, NULL, &out), 87);
    assert_int_equal(TdhCreatePayloadFilter(&provider, &d, FALSE, 1, &p, NULL), 87);
    assert_int_equal(TdhCreatePayloadFilter(&other, &d, FALSE, 1, &p, &out), 1168);
    assert_int_equal(TdhDeletePayloadFilter(NULL), 87);
    assert_int_equal(TdhDeletePayloadFilter(&out), 87);
}

static void together(void **state)
{
    PAYLOAD_FILTER_PREDICATE p[8];
    PVOID                    f[3];
    EVENT_FILTER_DESCRIPTOR  d     = {0};
    BOOLEAN                  all[] = {FALSE, TRUE, TRUE};
    struct reason            why;
    char                     said[600];
    WCHAR                    text[450];
    (void)state;
    for (size_t i = 0; i < 8; i++)
        p[i] = predicate(u"Size", PAYLOADFIELD_NE, u"1");
    p[1] = predicate(u"Path", PAYLOADFIELD_CONTAINS, u"a b");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(create(1, 2, p, &f[i]), 0);
    assert_int_equal(TdhAggregatePayloadFilters(2, f, all, &d), 0);
    assert_int_equal(d.Type, EVENT_FILTER_TYPE_PAYLOAD);
    assert_int_equal(payload_check((const void *)(uintptr_t)d.Ptr, d.Size, &why), 0);
    payload_describe((const void *)(uintptr_t)d.Ptr, d.Size, said, sizeof said);
    assert_string_equal(said, "ONE: Size != 1 and Path contains 'a b'");
    assert_int_equal(TdhCleanupPayloadEventFilterDescriptor(&d), 0);
    assert_int_equal(d.Ptr | d.Size | d.Type, 0);
    assert_int_equal(TdhCleanupPayloadEventFilterDescriptor(&d), 0); /* again: nothing */
    assert_int_equal(TdhCleanupPayloadEventFilterDescriptor(NULL), 87);
    assert_int_equal(TdhAggregatePayloadFilters(0, f, all, &d), 87);
    assert_int_equal(TdhAggregatePayloadFilters(1, NULL, all, &d), 87);
    assert_int_equal(TdhAggregatePayloadFilters(1, f, all, NULL), 87);
    PVOID gone = f[2];
    f[2]       = NULL;
    assert_int_equal(TdhAggregatePayloadFilters(3, f, NULL, &d), 87);
    assert_int_equal(d.Ptr, 0);
    f[2] = gone;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(TdhDeletePayloadFilter(&f[i]), 0);
    /* over 4096 bytes: one fits, two do not */
    for (size_t i = 0; i < 449; i++)
        text[i] = u'x';
    text[449] = 0;
    p[0] = p[1] = predicate(u"Path", PAYLOADFIELD_IS, text);
    assert_int_equal(create(1, 2, p, &f[0]), 0);
    f[1] = f[0];
    assert_int_equal(TdhAggregatePayloadFilters(1, f, NULL, &d), 0);
    assert_uint_in_range(d.Size, 2048, 4096);
    assert_int_equal(TdhCleanupPayloadEventFilterDescriptor(&d), 0);
    assert_int_equal(TdhAggregatePayloadFilters(2, f, NULL, &d), 87);
    assert_int_equal(TdhDeletePayloadFilter(&f[0]), 0);
}

static int setup(void **state)
{
    (void)state;
    return (int)TdhLoadManifestFromMemory(manifest, sizeof manifest - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors), cmocka_unit_test(together)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
