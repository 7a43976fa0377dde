/* The messages of sources: where they are found and where not, functions and lines, each conversion and type, the
 * configuration, and every mistake with its line. What is made is read back as a TMF file.
 * Proves: LEG-01 (DoTraceMessage and the functions of a configuration). */
#include "autologger/wpp/wpp.h"

#include "autologger/schema/tmf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char told[4096];

static void note(void *ctx, const struct manifest_problem *p)
{
    const size_t n = strlen(told);
    (void)ctx;
    snprintf(told + n, sizeof told - n, "%s%s:%u: %s\n", p->error ? "" : "warning ", p->file, p->line, p->what);
}

#define CONFIG \
    "// begin_wpp config\n" \
    "// FUNC TraceEvents(LEVEL, FLAGS, MSG, ...);\n" \
    "// FUNC Enter{LEVEL=TRACE_LEVEL_VERBOSE}(FLAGS);\n" \
    "// USEPREFIX(Enter, \"%!STDPREFIX! --> %!FUNC!\");\n" \
    "// FUNC Leave{LEVEL=4}(FLAGS, STATUS);\n" \
    "// USEPREFIX (Leave, \"<-- %!FUNC!\");\n" \
    "// USESUFFIX (Leave, \" %!STATUS!\", STATUS);\n" \
    "// CUSTOM_TYPE(color, ItemListLong(Red,\n" \
    "//     Green));\n" \
    "// end_wpp\n"

/* What a source gives; the header must have a macro for each message. */
static struct wpp_made make(const char *text, wstatus expect)
{
    struct manifest_problems problems = {.tell = note};
    struct wpp_config       *c        = wpp_config_new();
    struct wpp_made          made;
    struct reason            why = {0};

    *told = 0;
    assert_int_equal(wpp_config_scan(c, CONFIG, strlen(CONFIG), "trace.h", &problems, &why), W_SUCCESS);
    const wstatus st = wpp_make(c, "prog", "src/a-b.c", text, strlen(text), &problems, &made, &why);
    if (st != expect)
        print_error("%s\n%s", text, told);
    assert_int_equal(st, expect);
    wpp_config_free(c);
    return made;
}

/* The lines "#typev" of a source, without what is the same in all: "LINE NUMBER TEXT / LEVEL.. | value, ..". */
static void gives(const char *text, const char *expected)
{
    char            source[4096], got[4096] = "";
    struct wpp_made made;
    snprintf(source, sizeof source, "#include \"a-b.tmh\"\n%s", text);
    made = make(source, W_SUCCESS);
    assert_string_equal(told, "");
    for (const char *p = strstr(text_get(&made.format), "#typev a_b_c"); p; p = strstr(p, "#typev a_b_c")) {
        p += 12;
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%.*s", (int)strcspn(p, "\n"), p);
        p = strchr(p, '{') + 2;
        for (; *p != '}'; p = strchr(p, '\n') + 1) {
            n = strlen(got);
            snprintf(got + n, sizeof got - n, " | %.*s", (int)(strcspn(p, "\n")), p);
        }
        strcat(got, "\n");
    }
    assert_string_equal(got, expected);
    struct manifest_problems problems = {.tell = note};
    struct manifest         *m;
    struct reason            why = {0};
    assert_int_equal(tmf_read(text_get(&made.format), made.format.length, "x", &problems, &m, &why), W_SUCCESS);
    assert_int_equal(m->providers.at[0].events.count, made.messages);
    assert_true(guid_equal(&m->providers.at[0].guid, &made.guid));
    manifest_free(m);
    wpp_made_finish(&made);
}

static void places(void **state)
{
    (void)state;
    gives("void f(void) { DoTraceMessage(A, \"x\"); }", "2 10 \"%0x\" //   LEVEL=A FUNC=f\n");
    gives("/* DoTraceMessage(A, \"x\"); */ // DoTraceMessage(A, \"y\");\nchar *s = \"DoTraceMessage(A, 1)\";", "");
    gives("#if 0\nint DoTraceMessages(int);\n#endif\nint x = DoTraceMessage;\n", "");
    gives("int f(int a)\n{\n  if (a) { g(a); }\n  DoTraceMessage(A,\n    \"one \" /* c */ \"%d\\n\",\n  a\n);\n}\n",
          "5 10 \"%0one %10!d!%n\" //   LEVEL=A FUNC=f | a, ItemLong -- 10\n");
    gives(
        "struct s { int a; } x = { 1 };\nstatic int v[] = { f(1), 2 };\nnamespace n { class C { C() : a(1), b{2} { DoTraceMessage(A, \"c\"); }\n"
        "int m() const noexcept { DoTraceMessage(A, \"m\"); } }; }\nvoid n::C::out(int x) { DoTraceMessage(A, \"o\"); }\n"
        "__attribute__((noinline)) static void g(void) { { { } DoTraceMessage(A, \"g\"); } }\n",
        "4 10 \"%0c\" //   LEVEL=A FUNC=C\n5 11 \"%0m\" //   LEVEL=A FUNC=m\n6 12 \"%0o\" //   LEVEL=A FUNC=n::C::out\n"
        "7 13 \"%0g\" //   LEVEL=A FUNC=g\n");
    gives(
        "#line 100 \"gen.y\"\nvoid f(void) { DoTraceMessage(A, \"x\"); }\n# 7\nvoid g(void) { DoTraceMessage(A, \"y\"); }",
        "100 10 \"%0x\" //   LEVEL=A FUNC=f\n7 11 \"%0y\" //   LEVEL=A FUNC=g\n");
    gives(
        "template <typename T = int> T tf(T t) { DoTraceMessage(A, \"t\"); }\nbool operator==(A a, B b) { DoTraceMessage(A, \"q\"); }\n"
        "_IRQL_requires_max_(DISPATCH_LEVEL) static void sal(void) { DoTraceMessage(A, \"s\"); }\n[[deprecated(\"no\")]] void d() { DoTraceMessage(A, \"d\"); }\n"
        "#if X\nvoid b1(void) {\n#else\nvoid b2(int a) {\n#endif\n}\nvoid after(void) { DoTraceMessage(A, \"a\"); }\n",
        "2 10 \"%0t\" //   LEVEL=A FUNC=tf\n3 11 \"%0q\" //   LEVEL=A FUNC=operator\n4 12 \"%0s\" //   LEVEL=A FUNC=sal\n"
        "5 13 \"%0d\" //   LEVEL=A FUNC=d\n12 14 \"%0a\" //   LEVEL=A FUNC=after\n");
    gives(
        "void DoTraceMessage(int, const char *text, ...);\nvoid f(void) { DoTraceMessage(A /* flag */, \"c %d %s %d\", // text\n a, // first\n"
        " \"two\" // second\n , c\n ); DoTraceMessage(A, \"caf\\u00e9 \\U0001F600\"); }",
        "3 10 \"%0c %10!d! %11!s! %12!d!\" //   LEVEL=A FUNC=f | a, ItemLong -- 10 | \"two\", ItemString -- 11 | c, ItemLong -- 12\n"
        "7 11 \"%0caf\303\251 \360\237\230\200\" //   LEVEL=A FUNC=f\n");
    gives("void f(void) {\r\nDoTraceMessage(A, \"one \\\r\ntwo %d\",\r\n 7); }\r\n",
          "3 10 \"%0one two %10!d!\" //   LEVEL=A FUNC=f | 7, ItemLong -- 10\n");
    gives("void f(void) { \\\nDoTraceMessage(A, R\"q(a\"b)q\" u8\"\\x41\\101\\\\\"); char c = '\"'; int n = 1'000; }",
          "3 10 \"%0a\"bAA\\\" //   LEVEL=A FUNC=f\n");
}

/* A message inside a macro's arguments has a macro for each line that a compiler may count. */
static void inside_macros(void **state)
{
    (void)state;
    struct wpp_made made =
        make("#include \"a-b.tmh\"\nvoid f(void) {\n  CHECK(1,\n    DoTraceMessage(A, \"x\"),\n  2);\n}\n", W_SUCCESS);
    assert_non_null(strstr(text_get(&made.header), "#define WPP_CALL_a_b_c_4(LEVEL, MSG)"));
    assert_non_null(strstr(text_get(&made.header), "#define WPP_CALL_a_b_c_3 WPP_CALL_a_b_c_4\n"));
    assert_non_null(strstr(text_get(&made.header), "#define WPP_CALL_a_b_c_5 WPP_CALL_a_b_c_4\n"));
    wpp_made_finish(&made);
}

static void conversions(void **state)
{
    static const struct {
        const char *conversion, *text, *item;
    } rows[] = {{"%d", "d", "ItemLong"},
                {"%i", "i", "ItemLong"},
                {"%5u", "5u", "ItemULong"},
                {"%#x", "#x", "ItemULong"},
                {"%08X", "08X", "ItemULong"},
                {"%o", "o", "ItemULong"},
                {"%hd", "d", "ItemShort"},
                {"%hhu", "u", "ItemUChar"},
                {"%hhd", "d", "ItemChar"},
                {"%hx", "x", "ItemUShort"},
                {"%ld", "I64d", "ItemLongLong"},
                {"%lu", "I64u", "ItemULongLong"},
                {"%lld", "I64d", "ItemLongLong"},
                {"%I64x", "I64x", "ItemULongLong"},
                {"%I32u", "u", "ItemULong"},
                {"%zu", "I64u", "ItemULongLong"},
                {"%Iu", "I64u", "ItemULongLong"},
                {"%jd", "I64d", "ItemLongLong"},
                {"%td", "I64d", "ItemLongLong"},
                {"%s", "s", "ItemString"},
                {"%-8.3s", "-8.3s", "ItemString"},
                {"%hs", "s", "ItemString"},
                {"%ls", "s", "ItemWString"},
                {"%ws", "s", "ItemWString"},
                {"%S", "s", "ItemWString"},
                {"%hS", "s", "ItemString"},
                {"%Z", "s", "ItemPString"},
                {"%wZ", "s", "ItemPWString"},
                {"%c", "c", "ItemChar"},
                {"%wc", "c", "ItemWChar"},
                {"%C", "c", "ItemWChar"},
                {"%p", "p", "ItemPtr"},
                {"%f", "f", "ItemDouble"},
                {"%.2e", ".2e", "ItemDouble"},
                {"%G", "G", "ItemDouble"},
                {"%!STATUS!", "s", "ItemNTSTATUS"},
                {"%!GUID!", "s", "ItemGuid"},
                {"%-9!bool!", "-9s", "ItemListLong(FALSE, TRUE)"},
                {"%!color!", "s", "ItemListLong(Red, Green)"},
                {"%!HEXDUMP!", "s", "ItemHEXDump"},
                {"%!XQUAD!", "016x", "ItemLongLongX"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200], expected[300];
        snprintf(text, sizeof text, "void f(void) { DoTraceMessage(A, \"%s\", v + 1); }", rows[i].conversion);
        snprintf(expected, sizeof expected, "2 10 \"%%0%%10!%s!\" //   LEVEL=A FUNC=f | v + 1, %s -- 10\n",
                 rows[i].text, rows[i].item);
        gives(text, expected);
    }
    gives(
        "void f(void) { DoTraceMessage(A, \"%\" PRIx64 \"|%\" PRId32 \"%%\", g(a, b), h[1,\n 2]); }",
        "2 10 \"%0%10!I64x!|%11!d!%%\" //   LEVEL=A FUNC=f | g(a, b), ItemULongLong -- 10 | h[1, 2], ItemLong -- 11\n");
}

static void configured(void **state)
{
    (void)state;
    gives("void f(void) { TraceEvents(TRACE_LEVEL_ERROR, IO | PNP, \"n %d\", 3); }",
          "2 10 \"%0n %10!d!\" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=IO_|_PNP FUNC=f | 3, ItemLong -- 10\n");
    gives("int f(void) {\nEnter(IO);\nLeave(IO, status); }",
          "3 10 \"%0%!STDPREFIX! --> %!FUNC!\" //   LEVEL=TRACE_LEVEL_VERBOSE FLAGS=IO FUNC=f\n"
          "4 11 \"%0<-- %!FUNC! %10!s!\" //   LEVEL=4 FLAGS=IO FUNC=f | status, ItemNTSTATUS -- 10\n");
    struct wpp_made made = make("#include \"a-b.tmh\"\nint f(void) {\nLeave(IO, s(1)); }\n", W_SUCCESS);
    assert_non_null(strstr(text_get(&made.header), "#define WPP_CALL_a_b_c_3(FLAGS, STATUS) \\\n"));
    assert_non_null(strstr(text_get(&made.header), "&WPP_GUID_a_b_c, (STATUS))"));
    assert_non_null(strstr(text_get(&made.header), "WPP_LEVEL_FLAGS_STATUS_ENABLED(4, FLAGS, STATUS)"));
    wpp_made_finish(&made);
}

/* The GUID follows the texts. */
static void identity(void **state)
{
    const char *a = "#include \"a-b.tmh\"\nvoid f(void) { DoTraceMessage(A, \"x\"); }",
               *b = "#include \"a-b.tmh\"\nvoid f(void) { DoTraceMessage(A, \"y\"); }";
    (void)state;
    struct wpp_made first = make(a, W_SUCCESS), again = make(a, W_SUCCESS), other = make(b, W_SUCCESS);
    assert_true(guid_equal(&first.guid, &again.guid));
    assert_string_equal(text_get(&first.header), text_get(&again.header));
    assert_false(guid_equal(&first.guid, &other.guid));
    wpp_made_finish(&first);
    wpp_made_finish(&again);
    wpp_made_finish(&other);
}

static void mistakes(void **state)
{
    static const struct {
        const char *text, *told;
    } rows[] = {
        {"void f(void) {\nDoTraceMessage(A, text); }",
         "src/a-b.c:3: DoTraceMessage: the text is no string literal: \"text\"\n"},
        {"DoTraceMessage(A, \"%d\");",
         "src/a-b.c:2: DoTraceMessage: the text has more conversions than there are values: \"d\"\n"},
        {"DoTraceMessage(A, \"x\", 1);",
         "src/a-b.c:2: DoTraceMessage: there are more values than conversions: \"x\"\n"},
        {"DoTraceMessage(A);", "src/a-b.c:2: DoTraceMessage has 1 argument, its declaration has 2 or more\n"},
        {"Enter(A, 2);", "src/a-b.c:2: Enter has 2 arguments, its declaration has 1\n"},
        {"DoTraceMessage(A, \"%*d\", 1, 2);",
         "src/a-b.c:2: DoTraceMessage: a width cannot come from a value: \"*d\"\n"},
        {"DoTraceMessage(A, \"%k\", 1);", "src/a-b.c:2: DoTraceMessage: this conversion is not known: \"k\"\n"},
        {"DoTraceMessage(A, \"%!martian!\", 1);", "src/a-b.c:2: DoTraceMessage: this type is not known: \"martian\"\n"},
        {"DoTraceMessage(A, \"%!open\", 1);", "src/a-b.c:2: DoTraceMessage: a name has no end: \"open\"\n"},
        {"DoTraceMessage(A, \"%\");", "src/a-b.c:2: DoTraceMessage: this conversion is not known: \"\"\n"},
        {"\nDoTraceMessage(A, \"x\"", "src/a-b.c:3: DoTraceMessage has no end\n"},
        {"f() { DoTraceMessage(A, \"x\"); DoTraceMessage(A, \"y\"); }", "src/a-b.c:2: two messages are on one line\n"},
        {"#define LOG(x) \\\n  DoTraceMessage(A, \"%d\", x)\n", "src/a-b.c:2: DoTraceMessage stands in a macro\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char source[400];
        snprintf(source, sizeof source, "#include \"a-b.tmh\"\n%s", rows[i].text);
        struct wpp_made made = make(source, W_INVALID_DATA);
        assert_string_equal(told, rows[i].told);
        wpp_made_finish(&made);
    }
    struct wpp_made made = make("void f(void) { DoTraceMessage(A, \"x\"); }", W_SUCCESS);
    assert_string_equal(told, "warning src/a-b.c:1: the source has messages and includes no .tmh\n");
    wpp_made_finish(&made);
}

static void wrong_configurations(void **state)
{
    static const struct {
        const char *text, *told;
        wstatus     status;
    } rows[] = {
        {"// begin_wpp config\n// FUNC Bad(LEVEL, MSG, ...;\n// end_wpp\n",
         "t.h:2: a function for messages is not readable: Bad(LEVEL, MSG, ...\n", W_INVALID_DATA},
        {"/* begin_wpp config\nFUNC A(MSG, LEVEL);\nend_wpp */\n",
         "t.h:2: a function for messages is not readable: A(MSG, LEVEL)\n", W_INVALID_DATA},
        {"// begin_wpp config\n// FUNC A((MSG, ...));\n// end_wpp\n",
         "t.h:2: the form with two parentheses is not known: A((MSG, ...))\n", W_INVALID_DATA},
        {"// begin_wpp config\n// FUNC A(LEVEL, MSG, ...);\nvoid f(void);\n",
         "warning t.h:3: a configuration has no end_wpp\n", W_SUCCESS},
        {"// begin_wpp config\n// CUSTOM_TYPE(ms, ItemULong);\n// FUNC A(...);\n// end_wpp\n", "", W_SUCCESS},
        {"// begin_wpp config\n// USEPREFIX(Nobody, \"x\");\n", "t.h:2: USEPREFIX is not readable: (Nobody, \"x\")\n",
         W_INVALID_DATA},
        {"// begin_wpp config\n// CUSTOM_TYPE(a, ItemMartian);\n", "t.h:2: a type is not readable: (a, ItemMartian)\n",
         W_INVALID_DATA},
        {"// begin_wpp config\n\n// DEFINE_FLAVOR(x);\n// end_wpp\n",
         "warning t.h:3: DEFINE_FLAVOR of a WPP configuration is not known here, and left out\n", W_SUCCESS},
        {"// FUNC Outside(;\n", "", W_SUCCESS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct manifest_problems problems = {.tell = note};
        struct wpp_config       *c        = wpp_config_new();
        struct reason            why      = {0};
        *told                             = 0;
        assert_int_equal(wpp_config_scan(c, rows[i].text, strlen(rows[i].text), "t.h", &problems, &why),
                         rows[i].status);
        assert_string_equal(told, rows[i].told);
        wpp_config_free(c);
    }
    struct manifest_problems problems = {.tell = note};
    struct wpp_config       *c        = wpp_config_new();
    struct reason            why      = {0};
    assert_int_equal(wpp_config_function(c, "Own(LEVEL, MSG, ...)", &problems, &why), W_SUCCESS);
    assert_int_equal(wpp_config_function(c, "Own", &problems, &why), W_INVALID_PARAMETER);
    wpp_config_free(c);
}

/* A statement of any length, and the control GUIDs of a source. */
static void long_lists(void **state)
{
    struct manifest_problems problems = {.tell = note};
    struct wpp_config       *c        = wpp_config_new();
    struct wpp_made          made;
    struct reason            why  = {0};
    struct text              text = {0};
    (void)state;
    *told = 0;
    text_printf(&text, "// begin_wpp config\n// CUSTOM_TYPE(big, ItemListLong(\n");
    for (unsigned i = 0; i < 2000; i++)
        text_printf(&text, "//   NAME_%u,\n", i);
    text_printf(
        &text,
        "//   LAST));\n// end_wpp\n#define WPP_CONTROL_GUIDS \\\n  WPP_DEFINE_CONTROL_GUID(Ctl, (5ea7c0de,0016,4a5b,8c6d, 111111111111), "
        "\\\n WPP_DEFINE_BIT(IO) WPP_DEFINE_BIT(PNP))\n#include \"a.tmh\"\nvoid f(void) { DoTraceMessage(IO, \"%%!big!\", 3u); }\n");
    assert_int_equal(wpp_config_scan(c, text_get(&text), text.length, "t.c", &problems, &why), W_SUCCESS);
    assert_string_equal(told, "");
    assert_string_equal(wpp_config_controls(c),
                        "#control Ctl 5ea7c0de-0016-4a5b-8c6d-111111111111\n#flag IO\n#flag PNP\n");
    assert_int_equal(wpp_make(c, "prog", "t.c", text_get(&text), text.length, &problems, &made, &why), W_SUCCESS);
    assert_int_equal(made.values, 1);
    wpp_made_finish(&made);
    wpp_config_free(c);
    text_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places),
                                       cmocka_unit_test(inside_macros),
                                       cmocka_unit_test(conversions),
                                       cmocka_unit_test(configured),
                                       cmocka_unit_test(identity),
                                       cmocka_unit_test(mistakes),
                                       cmocka_unit_test(wrong_configurations),
                                       cmocka_unit_test(long_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
