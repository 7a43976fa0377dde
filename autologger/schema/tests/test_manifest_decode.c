/* Payloads by a manifest: every in-type with every out-type, arrays and structs by reference, maps, cultures, payloads
 * that do not fit.
 * Proves: MAN-06, MAN-07, MAN-08, MAN-09, MAN-11, MAN-12, MAN-20. */
#include "autologger/schema/tests/manifest_text.h"

#include "autologger/schema/manifest_model.h"
#include "autologger/schema/message.h"
#include "autologger/schema/walk.h"

static char seen[4096];
static void see(void *self, const struct field *f)
{
    size_t n = strlen(seen);
    (void)self;
    snprintf(seen + n, sizeof seen - n, "%s%s=%s", n ? " " : "", f->path, f->text);
}

static struct schema_set *set_of(const struct manifest *m, const char *locale)
{
    struct schema_set *set = schema_set_new();
    struct reason      why = {0};
    assert_non_null(set);
    if (manifest_schemas(m, manifest_culture_find(m, locale), SCHEMA_MANIFEST, set, &why))
        fail_msg("%s", why.text);
    return set;
}

/* The fields of event `id` over a payload of just that size: a sanitizer sees any byte that is read past it. */
static enum decode_result decode(struct schema_set *set, const struct manifest *m, uint16_t id, uint8_t version,
                                 const void *payload, size_t size)
{
    struct schema_key key = {.provider = m->providers.at[0].guid, .id = id, .version = version, .hook = 0xFFFF};
    const struct schema_event *event = schema_set_find(set, &key);
    struct field_sink          sink  = {.emit = see};
    uint32_t                   used;
    uint8_t                   *exact = malloc(size ? size : 1);

    seen[0] = 0;
    if (!event) {
        free(exact);
        return DECODE_UNKNOWN;
    }
    if (size)
        memcpy(exact, payload, size);
    enum decode_result r = walk_fields(event, exact, size, true, &sink, &used);
    assert_true(used <= size);
    field_sink_finish(&sink);
    free(exact);
    return r;
}

static const struct {
    const char *in, *out, *bytes;
    size_t      size;
    const char *text;
} types[] = {
#define B(text) text, sizeof(text) - 1
    {"UnicodeString", "xs:string", B("h\0i\0\0\0"), "hi"},
    {"UnicodeString", "win:Xml", B("<\0\0\0"), "<"},
    {"UnicodeString", "win:Json", B("[\0]\0\0\0"), "[]"},
    {"AnsiString", "xs:string", B("hi\0"), "hi"},
    {"AnsiString", "win:Utf8", B("\xC3\xA4\0"), "\xC3\xA4"},
    {"AnsiString", "win:Xml", B("<a/>\0"), "<a/>"},
    {"AnsiString", "win:Json", B("{}\0"), "{}"},
    {"Int8", "xs:byte", B("\xFF"), "-1"},
    {"Int8", "xs:string", B("A"), "A"},
    {"UInt8", "xs:unsignedByte", B("\xFF"), "255"},
    {"UInt8", "win:HexInt8", B("\xFF"), "0xff"},
    {"UInt8", "xs:string", B("A"), "A"},
    {"UInt8", "xs:boolean", B("\1"), "true"},
    {"Int16", "xs:short", B("\xFE\xFF"), "-2"},
    {"UInt16", "xs:unsignedShort", B("\xFE\xFF"), "65534"},
    {"UInt16", "win:Port", B("\0\x50"), "80"},
    {"UInt16", "win:HexInt16", B("\xCD\xAB"), "0xabcd"},
    {"Int32", "xs:int", B("\xFF\xFF\xFF\xFF"), "-1"},
    {"Int32", "win:HResult", B("\5\0\7\x80"), "0x80070005"},
    {"UInt32", "xs:unsignedInt", B("\xFF\xFF\xFF\xFF"), "4294967295"},
    {"UInt32", "win:PID", B("\4\0\0\0"), "4"},
    {"UInt32", "win:TID", B("\4\0\0\0"), "4"},
    {"UInt32", "win:IPv4", B("\x7F\0\0\1"), "127.0.0.1"},
    {"UInt32", "win:Win32Error", B("\5\0\0\0"), "5"},
    {"UInt32", "win:NTSTATUS", B("\x22\0\0\xC0"), "0xc0000022"},
    {"UInt32", "win:HexInt32", B("\xCD\xAB\0\0"), "0xabcd"},
    {"UInt32", "win:CodePointer", B("\xCD\xAB\0\0"), "0xabcd"},
    {"UInt32", "win:ErrorCode", B("\2\0\0\0"), "0x2"},
    {"Int64", "xs:long", B("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "-1"},
    {"UInt64", "xs:unsignedLong", B("\0\0\0\0\1\0\0\0"), "4294967296"},
    {"UInt64", "win:HexInt64", B("\0\0\0\0\1\0\0\0"), "0x100000000"},
    {"UInt64", "win:CodePointer", B("\0\0\0\0\1\0\0\0"), "0x100000000"},
    {"Float", "xs:float", B("\0\0\x20\x40"), "2.5"},
    {"Double", "xs:double", B("\0\0\0\0\0\0\x04\x40"), "2.5"},
    {"Boolean", "xs:boolean", B("\1\0\0\0"), "true"},
    {"GUID", "xs:GUID", B("\x04\x03\x02\x01\x06\x05\x08\x07\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"),
     "{01020304-0506-0708-090a-0b0c0d0e0f10}"},
    {"Pointer", "win:HexInt64", B("\0\0\0\0\1\0\0\0"), "0x100000000"},
    {"FILETIME", "xs:dateTime", B("\0\x80\x3E\xD5\xDE\xB1\x9D\1"), "1970-01-01T00:00:00.000000000Z"},
    {"FILETIME", "win:DateTimeCultureInsensitive", B("\0\x80\x3E\xD5\xDE\xB1\x9D\1"), "1970-01-01T00:00:00.000000000Z"},
    {"FILETIME", "win:DateTimeUtc", B("\0\x80\x3E\xD5\xDE\xB1\x9D\1"), "1970-01-01T00:00:00.000000000Z"},
    {"SYSTEMTIME", "xs:dateTime", B("\xEA\7\x0B\0\0\0\x16\0\1\0\2\0\3\0\4\0"), "2026-11-22T01:02:03.004"},
    {"SID", "xs:string", B("\1\1\0\0\0\0\0\5\x12\0\0\0"), "S-1-5-18"},
    {"HexInt32", "win:HexInt32", B("\xCD\xAB\0\0"), "0xabcd"},
    {"HexInt32", "win:Win32Error", B("\5\0\0\0"), "0x5"},
    {"HexInt32", "win:NTSTATUS", B("\5\0\0\0"), "0x5"},
    {"HexInt64", "win:HexInt64", B("\xCD\xAB\0\0\0\0\0\0"), "0xabcd"},
    {"CountedUnicodeString", "xs:string", B("\4\0h\0i\0"), "hi"},
    {"CountedAnsiString", "xs:string", B("\2\0hi"), "hi"},
    {"CountedBinary", "xs:hexBinary", B("\2\0\xAB\xCD"), "abcd"},
};

static void every_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "<templates><template tid='t'><data name='v' inType='win:%s' outType='%s'/></template></templates>"
                 "<events><event value='1' template='t'/></events>",
                 types[i].in, types[i].out);
        struct manifest   *m   = read_parts(text, "", W_SUCCESS);
        struct schema_set *set = set_of(m, NULL);
        assert_string_equal(told, ""); /* the pair gives no warning */
        enum decode_result r = decode(set, m, 1, 0, types[i].bytes, types[i].size);
        if (r != DECODE_OK || strncmp(seen, "v=", 2) != 0 || strcasecmp(seen + 2, types[i].text) != 0)
            fail_msg("%s as %s: %s, not v=%s (%d)", types[i].in, types[i].out, seen, types[i].text, r);
        /* a byte less or more is a mismatch, and nothing is read past the payload. A string may end with the payload */
        bool string = strstr(types[i].in, "String") && !strstr(types[i].in, "Counted");
        r           = decode(set, m, 1, 0, types[i].bytes, types[i].size - 1);
        if (!string && r != DECODE_MISMATCH)
            fail_msg("%s as %s, cut: %d", types[i].in, types[i].out, r);
        uint8_t more[64] = {0};
        memcpy(more, types[i].bytes, types[i].size);
        assert_int_equal(decode(set, m, 1, 0, more, types[i].size + 1), DECODE_MISMATCH);
        schema_set_free(set);
        manifest_free(m);
    }
}

/* order: id 7, customer "Bob", state 2 */
static const uint8_t order[] = "\7\0\0\0B\0o\0b\0\0\0\2\0\0";
/* count 2: "ab" 1.0, "c" -2.0; length 3; blob; three 1 2 3; rights 3 */
static const uint8_t items[] = "\2\0ab\0\0\0\0\0\0\0\xF0\x3F"
                               "c\0\0\0\0\0\0\0\0\xC0"
                               "\3\0\0\0\xAA\xBB\xCC"
                               "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
                               "\3";

static void shared_template(void **state)
{
    struct manifest   *m   = read_file("shop.man");
    struct schema_set *set = set_of(m, NULL), *german = set_of(m, "de_DE.UTF-8");
    (void)state;
    for (uint16_t id = 1; id <= 2; id++) {
        assert_int_equal(decode(set, m, id, 0, order, sizeof order), DECODE_OK);
        assert_string_equal(seen, "id=7 customer=Bob state=paid");
        assert_int_equal(decode(german, m, id, 0, order, sizeof order), DECODE_OK);
        assert_string_equal(seen, "id=7 customer=Bob state=bezahlt");
    }
    assert_int_equal(decode(set, m, 1, 1, order, sizeof order), DECODE_UNKNOWN); /* no other version is used */
    schema_set_free(set);
    schema_set_free(german);
    manifest_free(m);
}

/* MAN-11: the message of the article's event, with its own fields' values inserted. */
static void message_of_the_figure(void **state)
{
    struct manifest   *m         = read_file("figure5.man");
    struct schema_set *set       = set_of(m, NULL);
    struct schema_key  key       = {.provider = m->providers.at[0].guid, .id = 1, .hook = 0xFFFF};
    struct text        out       = {0};
    static const char  payload[] = "\1\0\0\0\0\0\0\0"
                                   "\2\0\0\0\0\0\0\0"
                                   "\x34\0\0\xC0"
                                   "\1\0\0\0"
                                   "B\0\0\0"
                                   "N\0e\0w\0\0\0";
    (void)state;
    assert_int_equal(decode(set, m, 1, 0, payload, sizeof payload - 1), DECODE_OK);
    assert_string_equal(seen,
                        "BaseObject=0x1 KeyObject=0x2 Status=0xc0000034 Disposition=1 BaseName=B RelativeName=New");
    assert_true(message_text(schema_set_find(set, &key), payload, sizeof payload - 1, true, &out));
    assert_string_equal(text_get(&out), "Registry key New was created with status 0xc0000034.");
    text_finish(&out);
    schema_set_free(set);
    manifest_free(m);
}

static void by_reference(void **state)
{
    struct manifest   *m   = read_file("shop.man");
    struct schema_set *set = set_of(m, NULL);
    (void)state;
    assert_int_equal(decode(set, m, 3, 1, items, sizeof items - 1), DECODE_OK);
    assert_string_equal(
        seen,
        "count=2 items[0].name=ab items[0].price=1 items[1].name=c items[1].price=-2 length=3 blob=aabbcc three[0]=1 three[1]=2 "
        "three[2]=3 rights=read|write");
    /* a count beyond the payload; every shorter payload */
    uint8_t wrong[sizeof items];
    memcpy(wrong, items, sizeof items);
    wrong[0] = wrong[1] = 0xFF;
    assert_int_equal(decode(set, m, 3, 1, wrong, sizeof items - 1), DECODE_MISMATCH);
    for (size_t n = 0; n < sizeof items - 1; n++)
        assert_int_equal(decode(set, m, 3, 1, items, n), DECODE_MISMATCH);
    schema_set_free(set);
    manifest_free(m);
}

/* MAN-09: without a template there is no payload; an unexpected one is reported. */
static void no_template(void **state)
{
    struct manifest   *m   = read_file("shop.man");
    struct schema_set *set = set_of(m, NULL);
    (void)state;
    assert_int_equal(decode(set, m, 4, 0, "", 0), DECODE_OK);
    assert_int_equal(decode(set, m, 4, 0, "x", 1), DECODE_MISMATCH);
    schema_set_free(set);
    manifest_free(m);
}

/* The XML of a template's UserData, with values that must be escaped. */
static void user_data(void **state)
{
    struct manifest *m = read_parts(
        "<templates><template tid='t'><data name='a' inType='win:AnsiString'/><data name='b' inType='win:UInt8'/><UserData>\n"
        "<E xmlns='x'><A>%1</A><B at='%2'>100%%</B></E></UserData></template></templates><events><event value='1' template='t'/></events>",
        "", W_SUCCESS);
    struct schema_set *set       = set_of(m, NULL);
    struct schema_key  key       = {.provider = m->providers.at[0].guid, .id = 1, .hook = 0xFFFF};
    struct text        out       = {0};
    static const char  payload[] = "<&\"'>\0\7";
    (void)state;
    assert_true(message_user_data(schema_set_find(set, &key), payload, 7, true, &out));
    assert_string_equal(text_get(&out), "\n<E xmlns='x'><A>&#60;&#38;&#34;&#39;&#62;</A><B at='7'>100%</B></E>");
    text_finish(&out);
    schema_set_free(set);
    manifest_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_type),   cmocka_unit_test(shared_template),
                                       cmocka_unit_test(by_reference), cmocka_unit_test(no_template),
                                       cmocka_unit_test(user_data),    cmocka_unit_test(message_of_the_figure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
