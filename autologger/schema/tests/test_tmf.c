/* Trace message formats: a file as tracepdb makes it, ours with control GUIDs, each type of value, formats of messages,
 * damaged files, and the way into a set and through the binary form.
 * Proves: LEG-01 (the text of a TMF file decodes a message). */
#include "autologger/schema/tmf.h"

#include "autologger/schema/manifest_model.h"
#include "autologger/schema/manifest_pack.h"
#include "autologger/schema/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char told[4096];

static void note(void *ctx, const struct manifest_problem *p)
{
    const size_t n = strlen(told);
    (void)ctx;
    snprintf(told + n, sizeof told - n, "%s%u: %s\n", p->flaw ? "flaw " : "", p->line, p->what);
}

static struct manifest *read_text(const char *text, bool forgiving, wstatus expect)
{
    struct manifest_problems problems = {.tell = note, .forgiving = forgiving};
    struct manifest         *m;
    struct reason            why = {0};
    *told                        = 0;
    assert_int_equal(tmf_read(text, strlen(text), "x.tmf", &problems, &m, &why), expect);
    assert_true(expect == W_SUCCESS ? m != NULL : m == NULL);
    return m;
}

/* The message of event `id` with this payload. */
static void decodes(const struct manifest *m, uint16_t id, const void *payload, size_t size, const char *expected)
{
    struct schema_set *set = schema_set_new();
    struct schema_key  key = {.provider = m->providers.at[0].guid, .id = id, .hook = 0xFFFF, .message = true};
    struct reason      why = {0};
    struct text        out = {0};

    assert_int_equal(manifest_schemas(m, -1, SCHEMA_MANIFEST, set, &why), W_SUCCESS);
    const struct schema_event *e = schema_set_find(set, &key);
    assert_non_null(e);
    assert_true(e->formatted);
    assert_true(message_text(e, payload, size, true, &out));
    assert_string_equal(text_get(&out), expected);
    text_finish(&out);
    schema_set_free(set);
}

static const char driver[] =
    "// PDB:  c:\\src\\driver.pdb\r\n"
    "// PDB:  Last Updated :2003-10-20:22:58:36:935 (UTC) [tracepdb]\r\n"
    "d58c126f-b309-11d1-969e-0000f875a5bc driver // SRC=driver.c MJ= MN=\r\n"
    "#typev driver_c258 11 \"%0%!STDPREFIX! [%!FUNC!] IOCTL = %10!08X! of \"%11!s!\", 50%% %!LINE!\" //   "
    "LEVEL=TRACE_LEVEL_WARNING FLAGS=FLAG_ONE FUNC=Dispatch\r\n"
    "{\r\n"
    "f(a, b), ItemLong -- 10\r\n"
    "\"x, ItemLong -- 3\", ItemString -- 11\r\n"
    "}\r\n"
    "#typev driver_c300 12 \"%0plain\" //   LEVEL=TRACE_LEVEL_NONE\r\n{\r\n}\r\n";

static void windows_file(void **state)
{
    static const uint8_t payload[] = {0xEF, 0xBE, 0, 0, 'd', 'i', 's', 'k', 0};
    struct manifest     *m         = read_text(driver, false, W_SUCCESS);
    char                 word[40];
    (void)state;
    assert_true(tmf_is(driver, strlen(driver)));
    assert_int_equal(m->kind, MANIFEST_MESSAGES);
    assert_int_equal(m->providers.count, 1);
    const struct manifest_provider *p = &m->providers.at[0];
    assert_string_equal(p->name, "driver:driver.c");
    assert_int_equal(p->events.count, 2);
    assert_int_equal(p->events.at[0].item.value, 11);
    assert_int_equal(p->events.at[0].level, 3);
    assert_string_equal(p->events.at[0].item.symbol, "driver_c258");
    assert_string_equal(p->templates.at[0].fields.at[0].name, "f(a, b)");
    assert_string_equal(p->templates.at[0].fields.at[1].name, "\"x, ItemLong -- 3\"");
    tmf_attribute(p->events.at[0].attributes, "FUNC", word, sizeof word);
    assert_string_equal(word, "Dispatch");
    tmf_attribute(p->events.at[0].attributes, "SRC", word, sizeof word);
    assert_string_equal(word, "driver.c");
    tmf_attribute(p->events.at[0].attributes, "FLAG", word, sizeof word);
    assert_string_equal(word, "");
    decodes(m, 11, payload, sizeof payload, " [Dispatch] IOCTL = 0000BEEF of \"disk\", 50% 258");
    decodes(m, 12, payload, 0, "plain");
    manifest_free(m);
}

/* Through the binary form the kind stays, so installed formats still decode. */
static void packed(void **state)
{
    static const uint8_t payload[] = {1, 0, 0, 0, 'a', 0};
    struct manifest     *m         = read_text(driver, false, W_SUCCESS), *back;
    struct text          out       = {0};
    struct reason        why       = {0};
    size_t               used;
    (void)state;
    assert_true(manifest_pack_all(m, &out));
    assert_int_equal(manifest_unpack(out.data, out.length, "x", &used, &back, &why), W_SUCCESS);
    assert_int_equal(back->kind, MANIFEST_MESSAGES);
    decodes(back, 11, payload, sizeof payload, " [Dispatch] IOCTL = 00000001 of \"a\", 50% 258");
    manifest_free(back);
    manifest_free(m);
    text_finish(&out);
}

static void controls(void **state)
{
    static const char text[] = "#control CtlGuid 5ea7c0de-0016-4a5b-8c6d-111111111111\n#flag INIT\n#flag IO\n\0\0"
                               "#control CtlGuid (5ea7c0de,0016,4a5b,8c6d,111111111111)\n#flag INIT\n#flag IO\n";
    struct manifest_problems problems = {0};
    struct manifest         *m;
    struct reason            why = {0};
    char                     guid[GUID_TEXT_SIZE];
    (void)state;
    assert_true(tmf_is(text, sizeof text - 1));
    assert_int_equal(tmf_read(text, sizeof text - 1, "x", &problems, &m, &why), W_SUCCESS);
    assert_int_equal(m->providers.count, 1);
    assert_string_equal(m->providers.at[0].name, "CtlGuid");
    assert_string_equal(guid_format(&m->providers.at[0].guid, guid), "{5ea7c0de-0016-4a5b-8c6d-111111111111}");
    assert_int_equal(m->providers.at[0].keywords.count, 2);
    assert_string_equal(m->providers.at[0].keywords.at[1].name, "IO");
    assert_int_equal(m->providers.at[0].keywords.at[1].value, 2);
    manifest_free(m);
}

/* Each type of tmf_items.def is one value, of a payload of zeros (texts: empty). */
static void every_type(void **state)
{
    static const char *const items[] = {
#define T(name, in, out, hex, unsigned_out) name,
#include "autologger/schema/tmf_items.def"
#undef T
    };
    static const char *const letters[] = {"s", "d", "u", "x", "c"};
    static const uint8_t     payload[64];
    (void)state;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        for (size_t k = 0; k < sizeof letters / sizeof *letters; k++) {
            char text[400];
            snprintf(
                text, sizeof text,
                "d58c126f-b309-11d1-969e-0000f875a5bc d // SRC=d.c\n#typev d_c1 10 \"%%0[%%10!%s!]%%11!u!\"\n{\nv, "
                "%s(A, B) -- 10\nw, ItemLong -- 11\n}\n",
                letters[k], items[i]);
            struct manifest   *m   = read_text(text, false, W_SUCCESS);
            struct schema_set *set = schema_set_new();
            struct schema_key  key = {.provider = m->providers.at[0].guid, .id = 10, .hook = 0xFFFF, .message = true};
            struct reason      why = {0};
            struct text        out = {0};
            assert_string_equal(told, "");
            assert_int_equal(manifest_schemas(m, -1, SCHEMA_MANIFEST, set, &why), W_SUCCESS);
            const struct schema_event *e = schema_set_find(set, &key);
            assert_non_null(e);
            assert_int_equal(e->field_count, 2);
            assert_false(e->cut);
            assert_true(message_text(e, payload, sizeof payload, true, &out));
            assert_true(out.length >= 3 && out.data[0] == '[' && memcmp(out.data + out.length - 2, "]0", 2) == 0);
            text_finish(&out);
            schema_set_free(set);
            manifest_free(m);
        }
}

/* printf's own text for the same value, for each format. */
static void formats(void **state)
{
    static const char *const specs[]  = {"d", "5d",  "-5d", "05d", "+d",   "u",  "x",  "#x", "08X",
                                         "o", ".3d", "i",   "ld",  "I32d", "hd", " d", " 5d"};
    const int32_t            values[] = {0, 1, -1, 255, -32768, INT32_MAX, INT32_MIN};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            char text[300], expected[64], plain[16] = "%";
            /* the sizes of Windows mean nothing to a value of 32 bits */
            for (const char *p = specs[i]; *p; p++)
                if (!strchr("lhI32", *p) || (*p == '3' && p > specs[i] && p[-1] == '.'))
                    strncat(plain, p, 1);
            snprintf(
                text, sizeof text,
                "d58c126f-b309-11d1-969e-0000f875a5bc d // SRC=d.c\n#typev d_c1 10 \"%%0%%10!%s!\"\n{\nv, ItemLong -- "
                "10\n}\n",
                specs[i]);
            struct manifest *m = read_text(text, false, W_SUCCESS);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(expected, sizeof expected, plain, values[v]);
#pragma GCC diagnostic pop
            decodes(m, 10, &values[v], sizeof values[v], expected);
            manifest_free(m);
        }
}

/* A pointer has one prefix. A value without a name in its map has the form of its type. */
static void texts(void **state)
{
    static const struct {
        const char *format, *item;
        uint64_t    value;
        const char *expected;
    } rows[] = {
        {"0x%10!p!", "ItemPtr", 0x1000, "0x1000"},
        {"at 0X%10!p!", "ItemPtr", 0x1000, "at 0X1000"},
        {"%10!p!", "ItemPtr", 0x1000, "0x1000"},
        {"0y%10!p!", "ItemPtr", 0x1000, "0y0x1000"},
        {"%10!s!", "ItemListLong(Low, High)", 1, "High"},
        {"%10!s!", "ItemListLong(Low, High)", 7, "7"},
        {"%10!d!", "ItemEnum(_COLOUR)", (uint32_t)-2, "-2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "d58c126f-b309-11d1-969e-0000f875a5bc d // SRC=d.c\n#typev d_c1 10 \"%%0%s\"\n{\nv, %s -- 10\n}\n",
                 rows[i].format, rows[i].item);
        struct manifest *m = read_text(text, false, W_SUCCESS);
        decodes(m, 10, &rows[i].value, sizeof rows[i].value, rows[i].expected);
        manifest_free(m);
    }
}

/* Two sources take turns and include the same header: each message and map stands once, in its own provider. */
static void turns(void **state)
{
    enum { TURNS = 200 };
    struct text        text = {0};
    struct schema_set *set  = schema_set_new();
    struct reason      why  = {0};
    (void)state;
    for (unsigned i = 0; i < TURNS; i++) {
        char line[300];
        int  n = snprintf(line, sizeof line,
                          "d58c126f-b309-11d1-969e-0000f875a5b%u d%u // SRC=d%u.c\n#typev d_c1 %u \"%%0turn %u: "
                           "%%10!s!\"\n{\nv, ItemListLong(Low%u, High) -- 10\n}\n",
                          i % 2, i % 2, i % 2, 10 + i / 4, i, i % 2);
        text_add(&text, line, (size_t)n);
    }
    struct manifest *m = read_text(text_get(&text), false, W_SUCCESS);
    assert_string_equal(told, "");
    assert_int_equal(m->providers.count, 2);
    assert_int_equal(manifest_schemas(m, -1, SCHEMA_MANIFEST, set, &why), W_SUCCESS);
    for (unsigned k = 0; k < 2; k++) {
        const struct manifest_provider *p = &m->providers.at[k];
        assert_int_equal(p->events.count, TURNS / 4);
        assert_int_equal(p->maps.count, 1);
        for (unsigned i = 0; i < TURNS / 4; i++) {
            static const uint8_t payload[4];
            struct schema_key    key = {.provider = p->guid, .id = (uint16_t)(10 + i), .hook = 0xFFFF, .message = true};
            const struct schema_event *e   = schema_set_find(set, &key);
            struct text                out = {0};
            char                       expected[40];
            assert_int_equal(p->events.at[i].item.value, 10 + i);
            assert_non_null(e);
            assert_true(message_text(e, payload, sizeof payload, true, &out));
            snprintf(expected, sizeof expected, "turn %u: Low%u", 4 * i + k, k);
            assert_string_equal(text_get(&out), expected);
            text_finish(&out);
        }
    }
    schema_set_free(set);
    manifest_free(m);
    text_finish(&text);
}

/* A mistake costs its message; the others stay. */
static void damaged(void **state)
{
    static const char head[] = "d58c126f-b309-11d1-969e-0000f875a5bc d // SRC=d.c\n";
    static const struct {
        const char *text, *told;
        unsigned    events;
    } rows[] = {
        {"#typev d_c1 10 \"a\"\n{\n}\n#typev d_c2 eleven \"b\"\n", "5: a message is not readable\n", 1},
        {"#typev d_c1 10 \"a\n", "2: a message is not readable\n", 0},
        {"#typev d_c1 99999 \"a\"\n", "2: a message is not readable\n", 0},
        {"#typev d_c1 10 \"a %10!d!\"\n{\nno type -- 10\n}\n", "4: a value of a message is not readable\n", 1},
        {"#typev d_c1 10 \"a %10!d!\"\n{\nx, ItemMartian -- 10\ny, ItemLong -- 11\n}\n",
         "4: type ItemMartian is not known: this value and those behind it stay bytes\n", 1},
        {"#typev d_c1 10 \"a\"\n{\nx, ItemLong -- 10\n", "4: the last message has no end\n", 0},
        {"what is this\n", "2: this is no line of a TMF file\n", 0},
        {"#control X 5ea7c0de\n", "2: a control GUID is not readable\n", 0},
    };
    struct manifest *m;
    char             text[600], flaw[300];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "%s%s", head, rows[i].text);
        snprintf(flaw, sizeof flaw, "flaw %s", rows[i].told);
        read_text(text, false, W_INVALID_DATA);
        assert_string_equal(told, rows[i].told);
        m = read_text(text, true, W_SUCCESS);
        assert_string_equal(told, flaw);
        assert_int_equal(m->providers.at[0].events.count, rows[i].events);
        manifest_free(m);
    }
    m = read_text("#typev d_c1 10 \"a\"\n", true, W_INVALID_DATA);
    assert_null(m);
    assert_false(tmf_is("", 0));
    assert_false(tmf_is("// only\n", 8));
    assert_false(tmf_is("<?xml", 5));
}

/* Values that are cut, and formats that do not fit the type, are shown as far as they are there. */
static void odd_payloads(void **state)
{
    static const char text[]      = "d58c126f-b309-11d1-969e-0000f875a5bc d // SRC=d.c\n"
                                    "#typev d_c1 10 \"%0%10!d! %11!s!|%12!7.2f!|%13!3.1s!|%14!s! %3!d! %99!s! %!NOT!%\"\n{\n"
                                    "a, ItemString -- 10\nb, ItemSetByte(R, W) -- 11\nc, ItemDouble -- 12\nd, ItemPWString "
                                    "-- 13\ne, ItemListLong(zero, one) -- 14\n}\n";
    uint8_t           payload[32] = {'x', 0, 3};
    const double      number      = 1.005;
    (void)state;
    struct manifest *m = read_text(text, false, W_SUCCESS);
    memcpy(payload + 3, &number, 8);
    memcpy(payload + 11, "\4\0\344\0y\0\1\0\0\0", 10);
    decodes(m, 10, payload, 21, "x R|W|   1.00|  \303\244|one %3!d! %99!s! %!NOT!%");
    decodes(m, 10, payload, 6, "x R|W|%3|%4|%5 %3!d! %99!s! %!NOT!%");
    manifest_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_file), cmocka_unit_test(packed),  cmocka_unit_test(controls),
        cmocka_unit_test(every_type),   cmocka_unit_test(formats), cmocka_unit_test(damaged),
        cmocka_unit_test(odd_payloads), cmocka_unit_test(turns),   cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
