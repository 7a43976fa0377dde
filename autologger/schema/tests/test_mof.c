/* MOF: a provider with two versions of a class, each type of mof_types.def, strings of each kind, arrays and maps; wrong
 * files. Proves: LEG-03 (a class of a user's own). */
#include "autologger/schema/mof.h"

#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char told[4096], seen[4096];

static void note(void *ctx, const struct manifest_problem *p)
{
    const size_t n = strlen(told);
    (void)ctx;
    snprintf(told + n, sizeof told - n, "%u: %s\n", p->line, p->what);
}

static struct manifest *read_text(const char *text, wstatus expect)
{
    struct manifest_problems problems = {.tell = note, .forgiving = true};
    struct manifest         *m;
    struct reason            why = {0};
    *told                        = 0;
    assert_int_equal(mof_read(text, strlen(text), "x.mof", &problems, &m, &why), expect);
    return m;
}

static void take(void *self, const struct field *f)
{
    const size_t n = strlen(seen);
    (void)self;
    snprintf(seen + n, sizeof seen - n, "%s=%s ", f->path, f->text);
}

/* "Class/Event field=value ..." of a payload; "none": it has no description. */
static const char *decoded(const struct manifest *m, const char *class_guid, uint8_t opcode, uint8_t version,
                           const void *payload, size_t size)
{
    struct schema_set *set  = schema_set_new();
    struct schema_key  key  = {.opcode = opcode, .version = version, .hook = 0xFFFF, .classic = true};
    struct reason      why  = {0};
    struct field_sink  sink = {.emit = take};
    uint32_t           used;

    assert_true(guid_parse(class_guid, &key.provider));
    assert_int_equal(manifest_schemas(m, -1, SCHEMA_MANIFEST, set, &why), W_SUCCESS);
    const struct schema_event *e = schema_set_find(set, &key);
    snprintf(seen, sizeof seen, "none");
    if (e) {
        snprintf(seen, sizeof seen, "%s/%s ", e->provider->name, e->name);
        if (walk_fields(e, payload, size, true, &sink, &used) != DECODE_OK)
            strcat(seen, "(mismatch)");
    }
    field_sink_finish(&sink);
    schema_set_free(set);
    return seen;
}

#define CLASS_GUID "{3d6fa8d1-0001-11d0-9dda-00c04fd7ba7c}"
static const char shop[] =
    "#pragma classflags(\"forceupdate\")\n"
    "#pragma namespace (\"\\\\\\\\.\\\\Root\\\\WMI\")\n"
    "/* the provider */\n"
    "[Dynamic : ToInstance, Description(\"A shop\") : Amended, Guid(\"{5ea7c0de-0020-4a5b-8c6d-111111111111}\"), locale(1033)]\n"
    "class ShopTrace : EventTrace\n{\n"
    "  [Description(\"Enable Flags\"), ValueMap{\"0x1\", \"0x10\"}, DefineValues{\"SHOP_ORDERS\", \"SHOP_STOCK\"}] uint32 Flags;\n"
    "  [Description(\"Levels\"), ValueMap{\"0x1\", \"4\"}, Values{\"SHOP_FATAL\", \"SHOP_NOTE\"}] uint32 Level = 5;\n};\n"
    "[Dynamic, Guid(\"" CLASS_GUID "\"), EventVersion(1)] class Order_V1 : ShopTrace {};\n"
    "[EventType{1, 2}, EventTypeName{\"Start\", \"End\"}] class Order_V1_Types : Order_V1\n{\n"
    "  [WmiDataId(1), read] uint32 Number;\n};\n"
    "[Dynamic, Guid(\"" CLASS_GUID "\"), DisplayName(\"Order\")] class Order : ShopTrace {};\n"
    "[EventType{1, 2}, EventTypeName{\"Start\", \"End\"}] class Order_Types : Order\n{\n"
    "  [WmiDataId(3), StringTermination(\"NullTerminated\"), Format(\"w\"), read] string Customer;\n"
    "  [WmiDataId(1), Format(\"x\")] uint32 Number;\n"
    "  [WmiDataId(2), ValueMap{\"0\", \"7\"}, Values{\"Web\", \"Phone\"}] uint16 Way;\n"
    "  void Method([in] uint32 X);\n};\n"
    "[EventType(9)] class Order_Cancel : Order { };\n"
    "instance of ShopTrace { Flags = {1, 2}; };\n"
    "class Unrelated : Something { uint32 X; };\n";

static void a_provider(void **state)
{
    static const uint8_t payload[] = {0x2A, 0, 0, 0, 7, 0, 'A', 0, 0xE4, 0, 0, 0};
    struct manifest     *m         = read_text(shop, W_SUCCESS);
    (void)state;
    assert_true(mof_is(shop, strlen(shop)));
    assert_string_equal(told, "");
    assert_int_equal(m->kind, MANIFEST_CLASSES);
    assert_int_equal(m->providers.count, 2);
    assert_string_equal(m->providers.at[0].name, "ShopTrace");
    assert_int_equal(m->providers.at[0].keywords.count, 2);
    assert_string_equal(m->providers.at[0].keywords.at[1].name, "SHOP_STOCK");
    assert_int_equal(m->providers.at[0].keywords.at[1].value, 0x10);
    assert_int_equal(m->providers.at[0].levels.count, 2);
    assert_string_equal(m->providers.at[0].levels.at[1].name, "SHOP_NOTE");
    assert_int_equal(m->providers.at[0].levels.at[1].value, 4);
    assert_string_equal(decoded(m, CLASS_GUID, 1, 1, payload, 4), "Order/Start Number=42 ");
    assert_string_equal(decoded(m, CLASS_GUID, 2, 0, payload, sizeof payload),
                        "Order/End Number=0x2a Way=Phone Customer=A\303\244 ");
    assert_string_equal(decoded(m, CLASS_GUID, 1, 4, payload, sizeof payload),
                        "Order/Start Number=0x2a Way=Phone Customer=A\303\244 ");
    assert_string_equal(decoded(m, CLASS_GUID, 9, 2, payload, 0), "Order/Order_Cancel ");
    assert_string_equal(decoded(m, CLASS_GUID, 3, 0, payload, 0), "none");
    manifest_free(m);
}

static void packed(void **state)
{
    static const uint8_t payload[] = {1, 0, 0, 0};
    struct manifest     *m         = read_text(shop, W_SUCCESS), *back;
    struct text          out       = {0};
    struct reason        why       = {0};
    size_t               used;
    (void)state;
    assert_true(manifest_pack_all(m, &out));
    assert_int_equal(manifest_unpack(out.data, out.length, "x", &used, &back, &why), W_SUCCESS);
    assert_string_equal(decoded(back, CLASS_GUID, 1, 1, payload, 4), "Order/Start Number=1 ");
    manifest_free(back);
    manifest_free(m);
    text_finish(&out);
}

/* One property, and 16 bytes of payload: 1, 2, 3, ... */
static void every_type(void **state)
{
    static const struct {
        const char *property, *bytes;
        size_t      size;
        const char *value;
    } rows[] = {
        {"boolean V", "\1", 1, "V=true "},
        {"sint8 V", "\xFE", 1, "V=-2 "},
        {"uint8 V", "\xFE", 1, "V=254 "},
        {"sint16 V", "\xFE\xFF", 2, "V=-2 "},
        {"uint16 V", "\xFE\xFF", 2, "V=65534 "},
        {"sint32 V", "\xFE\xFF\xFF\xFF", 4, "V=-2 "},
        {"uint32 V", "\1\2\0\0", 4, "V=513 "},
        {"[Format(\"x\")] uint32 V", "\1\2\0\0", 4, "V=0x201 "},
        {"sint64 V", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, "V=-2 "},
        {"uint64 V", "\1\0\0\0\1\0\0\0", 8, "V=4294967297 "},
        {"real32 V", "\0\0\x80\x3F", 4, "V=1 "},
        {"real64 V", "\0\0\0\0\0\0\xF0\x3F", 8, "V=1 "},
        {"char16 V", "A\0", 2, "V=A "},
        {"[Format(\"c\")] uint8 V", "A", 1, "V=A "},
        {"[Pointer] uint32 V", "\1\0\0\0\0\0\0\0", 8, "V=0x1 "},
        {"[PointerType] object V", "\1\0\0\0\0\0\0\0", 8, "V=0x1 "},
        {"[Extension(\"SizeT\")] object V", "\1\0\0\0\0\0\0\0", 8, "V=0x1 "},
        {"[Extension(\"Port\")] object V", "\0\x50", 2, "V=80 "},
        {"[Extension(\"IPAddr\")] object V", "\x7F\0\0\1", 4, "V=127.0.0.1 "},
        {"[Extension(\"IPAddrV4\")] uint32 V", "\x7F\0\0\1", 4, "V=127.0.0.1 "},
        {"[Extension(\"IPAddrV6\")] object V", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, "V=::1 "},
        {"[Extension(\"Guid\")] object V", "\1\0\0\0\2\0\3\0\4\5\6\7\10\11\12\13", 16,
         "V={00000001-0002-0003-0405-060708090a0b} "},
        {"[Extension(\"WmiTime\")] uint64 V", "\0\x80\x3E\xD5\xDE\xB1\x9D\1", 8, "V=1970-01-01T00:00:00.000000000Z "},
        {"[Extension(\"Sid\")] object V", "\0\0\0\0\0\0\0\0", 4, "V= "},
        {"[Extension(\"RString\")] object V", "ab\0", 3, "V=ab "},
        {"[Extension(\"RWString\")] object V", "a\0b\0\0\0", 6, "V=ab "},
        {"[Extension(\"NoPrint\")] uint8 V", "\7", 1, ""},
        {"[Extension(\"NoPrint\")] uint32 H; uint8 V", "\7\0\0\0\5", 5, "V=5 "},
        {"[Extension(\"Variant\")] object V; uint8 W", "\2\0\0\0\xAB\xCD\5", 7, "V=abcd W=5 "},
        {"string V", "ab\0", 3, "V=ab "},
        {"[Format(\"w\")] string V", "a\0b\0\0\0", 6, "V=ab "},
        {"[StringTermination(\"Counted\")] string V", "\2\0ab", 4, "V=ab "},
        {"[StringTermination(\"Counted\"), Format(\"w\")] string V", "\4\0a\0b\0", 6, "V=ab "},
        {"[StringTermination(\"ReverseCounted\")] string V", "\0\2ab", 4, "V=ab "},
        {"[StringTermination(\"ReverseCounted\"), Format(\"w\")] string V", "\0\4a\0b\0", 6, "V=ab "},
        {"[StringTermination(\"NotCounted\")] string V", "ab", 2, "V=ab "},
        {"[StringTermination(\"NotCounted\"), Format(\"w\")] string V", "a\0b\0", 4, "V=ab "},
        {"uint8 V[3]", "\1\2\3", 3, "V[0]=1 V[1]=2 V[2]=3 "},
        {"[Format(\"s\")] uint8 V[4]; uint8 W", "ab\0\0\5", 5, "V=ab W=5 "},
        {"[Format(\"s\")] char16 V[3]; uint8 W", "a\0b\0\0\0\5", 7, "V=ab W=5 "},
        {"[Format(\"s\"), Max(2)] uint8 V[]; uint8 W", "ab\5", 3, "V=ab W=5 "},
        {"[Format(\"s\")] uint8 V[]; uint8 W", "ab\0\5", 4, "V=ab W=5 "},
        {"uint32 N; [Format(\"s\"), WmiSizeIs(\"N\")] uint8 V[]; uint8 W", "\2\0\0\0ab\5", 7, "N=2 V=ab W=5 "},
        {"[Max(2)] uint16 V[]", "\1\0\2\0", 4, "V[0]=1 V[1]=2 "},
        {"uint16 V[]", "\1\0\2\0\3\0", 6, "V=010002000300 "},
        {"uint32 N; [WmiSizeIs(\"N\")] uint8 V[]", "\2\0\0\0\5\6", 6, "N=2 V[0]=5 V[1]=6 "},
        {"[BitMap{\"0\", \"3\"}, BitValues{\"Read\", \"Write\"}] uint32 V", "\x9\0\0\0", 4, "V=Read|Write "},
        {"[ValueMap{\"1\", \"2\", \"0x30\"}, Values{\"R\", \"W\", \"Both\"}, ValueType(\"flag\")] uint32 V",
         "\x32\0\0\0", 4, "V=W|Both "},
        {"[ValueMap{\"-1\", \"1\"}, Values{\"Lost\", \"Found\"}] sint8 V", "\xFF", 1, "V=Lost "},
        {"[ValueMap{\"-1\", \"1\"}, Values{\"Lost\", \"Found\"}] sint16 V", "\xFF\xFF", 2, "V=Lost "},
        {"[ValueMap{\"-1\", \"1\"}, Values{\"Lost\", \"Found\"}] sint32 V", "\xFF\xFF\xFF\xFF", 4, "V=Lost "},
        {"[ValueMap{\"-1\", \"1\"}, Values{\"Lost\", \"Found\"}] sint16 V", "\xFE\xFF", 2, "V=-2 "},
        {"[ValueMap{\"5\"}, Values{\"Five\", \"Nameless\"}] uint8 V", "\1", 1, "V=1 "},
        {"[Values{\"No\", \"Yes\"}] uint32 V", "\1\0\0\0", 4, "V=Yes "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[800], expected[200];
        snprintf(text, sizeof text,
                 "[Guid(\"{5ea7c0de-0020-4a5b-8c6d-111111111111}\")] class P : EventTrace {};\n[Guid(\"" CLASS_GUID
                 "\")] class C : P {};\n[EventType(1), EventTypeName(\"E\")] class E : C { %s; };\n",
                 rows[i].property);
        snprintf(expected, sizeof expected, "C/E %s", rows[i].value);
        struct manifest *m = read_text(text, W_SUCCESS);
        assert_string_equal(told, "");
        assert_string_equal(decoded(m, CLASS_GUID, 1, 0, rows[i].bytes, rows[i].size), expected);
        manifest_free(m);
    }
}

static void wrong(void **state)
{
    static const struct {
        const char *text, *told;
        wstatus     status;
    } rows[] = {
        {"class X : EventTrace {", "1: type and name of a property is missing before \"\"\n", W_INVALID_DATA},
        {"class X : EventTrace {};", "1: class X has no readable Guid\n", W_INVALID_DATA},
        {"[Guid(\"{5ea7c0de-0020-4a5b-8c6d-111111111111}\") class X",
         "1: the end \"]\" of qualifiers is missing before \"\"\n", W_INVALID_DATA},
        {"[Guid(\"abc\n\")] class X {};", "2: the end of a qualifier's values is missing before \"\")] class X {};\"\n",
         W_INVALID_DATA},
        {"class Y : Z { uint32 A; };\n", "", W_INVALID_DATA},
        {"[EventType(1)] class Y : Z { uint32 A; };\n",
         "1: class Y has an EventType, and its parents up to EventTrace are not in the file: it is left out\n",
         W_INVALID_DATA},
        {"class A : B {}; class B : A {};\n", "", W_INVALID_DATA},
        {"[Guid(\"{5ea7c0de-0020-4a5b-8c6d-111111111111}\")] class P : EventTrace {};\n[Guid(\"" CLASS_GUID
         "\")] class C : P {};\n[EventType(300)] class E : C {};\n",
         "3: an EventType of class E is no number of 8 bits\n", W_INVALID_DATA},
        {"[Guid(\"{5ea7c0de-0020-4a5b-8c6d-111111111111}\")] class P : EventTrace {};\n[Guid(\"" CLASS_GUID
         "\")] class C : P {};\nclass E : C {};\n",
         "3: class E has no EventType\n", W_SUCCESS},
        {"[Guid(\"{5ea7c0de-0020-4a5b-8c6d-111111111111}\")] class P : EventTrace {};\n[Guid(\"" CLASS_GUID
         "\")] class C : P {};\n[EventType(1)] class E : C {\n datetime When; uint32 N; };\n",
         "4: E.When: how the type datetime is stored is not known: it and what follows stay bytes\n", W_SUCCESS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct manifest *m = read_text(rows[i].text, rows[i].status);
        assert_string_equal(told, rows[i].told);
        if (m)
            manifest_free(m);
    }
    assert_false(mof_is("<?xml", 5));
    assert_false(mof_is("// a comment", 12));
    assert_false(mof_is("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_provider), cmocka_unit_test(packed),
                                       cmocka_unit_test(every_type), cmocka_unit_test(wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
