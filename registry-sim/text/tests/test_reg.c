/* .reg in and out. Proves: REG-01, REG-13, REG-16. */
#include "registry-sim/text/tests/trees.h"
#include "registry-sim/win32/utf16.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAD "Windows Registry Editor Version 5.00\n\n"
#define WMI "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI"

static struct regstore *imported(const void *data, size_t size, unsigned flags)
{
    struct regstore *s;
    struct textbuf   found = {0};
    struct diag_sink sink  = {findings_add, &found, 0, 0};
    struct reason    why   = {0};
    assert_int_equal(regstore_open_memory(&s, NULL), 0);
    wstatus st = reg_import(s, data, size, "t.reg", flags, &sink, &why);
    if (st != W_SUCCESS)
        print_message("%s\n%s", why.text, found.data ? found.data : "");
    assert_int_equal(st, 0);
    textbuf_finish(&found);
    return s;
}

static void expect_tree(struct regstore *s, const char *expected)
{
    char *tree = tree_dup(s);
    assert_string_equal(tree, expected);
    free(tree);
}

static void every_form_of_data(void **state)
{
    static const char text[] = HEAD "; a comment\n"
                                    "[HKLM\\A] ; another\n"
                                    "@=\"default\"\n"
                                    "  \"s\\\\\\\"q\"  =  \"C:\\\\x\\\"y\" ; comment with \"quotes\"\n"
                                    "\"a=b\"=dword:1 ;x\n"
                                    "\"D\"=DWORD:0000012C\n"
                                    "\"bin\"=hex:2e,0F , 00,\\\n  00,\\  \n 5\n"
                                    "\"none\"=hex(0):\n"
                                    "\"empty\"=hex:\n"
                                    "\"q\"=hex(b):40,0,0,0,0,0,0,80\n"
                                    "\"q2\"=qword:8000000000000040\n"
                                    "\"short\"=hex(0b):01\n"
                                    "\"be\"=hex(5):00,00,00,01\n"
                                    "\"odd\"=hex(ffff1234):01,02,03\n"
                                    "\"lines\"=\"one\r\ntwo;three\n\n[four]\"\n"
                                    "\"\xC3\x84\"=\"\xC3\xB6\"\n"
                                    "[HKLM\\A\\b]c]\n"
                                    "\"x\"=dword:1\n"
                                    "[HKLM\\a]\n"
                                    "\"d\"=dword:2\n"
                                    "\"gone\"=dword:2\n"
                                    "\"GONE\"=-\n"
                                    "\"never there\"=-\n"
                                    "[HKLM\\Z\\Y]\n"
                                    "[-HKLM\\Z]\n"
                                    "[-HKLM\\neither]";
    struct regstore  *s      = imported(text, sizeof text - 1, 0);
    (void)state;
    expect_tree(s, "HKEY_LOCAL_MACHINE\\A\n"
                   "HKEY_LOCAL_MACHINE\\A||1|640065006600610075006c0074000000\n"
                   "HKEY_LOCAL_MACHINE\\A|a=b|4|01000000\n"
                   "HKEY_LOCAL_MACHINE\\A|be|5|00000001\n"
                   "HKEY_LOCAL_MACHINE\\A|bin|3|2e0f000005\n"
                   "HKEY_LOCAL_MACHINE\\A|D|4|02000000\n"
                   "HKEY_LOCAL_MACHINE\\A|empty|3|\n"
                   "HKEY_LOCAL_MACHINE\\A|lines|1|"
                   "6f006e0065000d000a00740077006f003b00740068007200650065000a000a005b0066006f00750072005d000000\n"
                   "HKEY_LOCAL_MACHINE\\A|none|0|\n"
                   "HKEY_LOCAL_MACHINE\\A|odd|4294906420|010203\n"
                   "HKEY_LOCAL_MACHINE\\A|q|11|4000000000000080\n"
                   "HKEY_LOCAL_MACHINE\\A|q2|11|4000000000000080\n"
                   "HKEY_LOCAL_MACHINE\\A|short|11|01\n"
                   "HKEY_LOCAL_MACHINE\\A|s\\\"q|1|43003a005c0078002200790000"
                   "00\n"
                   "HKEY_LOCAL_MACHINE\\A|\xC3\x84|1|f6000000\n"
                   "HKEY_LOCAL_MACHINE\\A\\b]c\n"
                   "HKEY_LOCAL_MACHINE\\A\\b]c|x|4|01000000\n");
    struct regvalue v;
    assert_int_equal(regstore_get(s, "HKLM\\A", "D", &v), 0);
    assert_string_equal(v.source_file, "t.reg");
    assert_int_equal(v.source_line, 27);
    regstore_close(s);
}

static void eight_bit_files(void **state)
{
    static const char four[] =
        "REGEDIT4\r\n[HKLM\\\xC4]\r\n\"e\"=hex(2):80,61,00\r\n\"s\"=\"\xFC\"\r\n\"b\"=hex:80\r\n";
    static const char bom[] = "\xEF\xBB\xBF" HEAD "[HKLM\\\xC3\x84]\n\"s\"=\"\xC3\xBC\"";
    struct regstore  *s     = imported(four, sizeof four - 1, 0);
    (void)state;
    expect_tree(s, "HKEY_LOCAL_MACHINE\\\xC3\x84\nHKEY_LOCAL_MACHINE\\\xC3\x84|b|3|80\n"
                   "HKEY_LOCAL_MACHINE\\\xC3\x84|e|2|ac2061000000\nHKEY_LOCAL_MACHINE\\\xC3\x84|s|1|fc000000\n");
    regstore_close(s);
    s = imported(bom, sizeof bom - 1, 0);
    expect_tree(s, "HKEY_LOCAL_MACHINE\\\xC3\x84\nHKEY_LOCAL_MACHINE\\\xC3\x84|s|1|fc000000\n");
    regstore_close(s);
}

static void typographic_quotes_need_leniency(void **state)
{
    static const char text[] = "[HKLM\\A]\n\xE2\x80\x9CStart\xE2\x80\x9D=dword:00000001\n"
                               "\xE2\x80\x9C"
                               "F\xE2\x80\xB3=\xE2\x80\x9D"
                               "c:\\\\x\xE2\x80\x9D\n\"plain\"=\"\xE2\x80\x9C\"\n";
    struct regstore  *s      = imported(text, sizeof text - 1, REG_IMPORT_LENIENT);
    struct textbuf    found  = {0};
    struct diag_sink  sink   = {findings_add, &found, 0, 0};
    (void)state;
    expect_tree(s, "HKEY_LOCAL_MACHINE\\A\nHKEY_LOCAL_MACHINE\\A|F|1|63003a005c0078000000\n"
                   "HKEY_LOCAL_MACHINE\\A|plain|1|1c200000\nHKEY_LOCAL_MACHINE\\A|Start|4|01000000\n");
    regstore_close(s);
    regstore_open_memory(&s, NULL);
    assert_int_equal(reg_import(s, text, sizeof text - 1, "t", 0, &sink, NULL), W_INVALID_DATA);
    assert_int_equal(sink.errors, 3);
    textbuf_finish(&found);
    assert_int_equal(reg_import(s, text, sizeof text - 1, "t", REG_IMPORT_LENIENT, &sink, NULL), 0);
    assert_int_equal(sink.warnings, 2);
    textbuf_finish(&found);
    regstore_close(s);
}

/* Exports, imports again and compares, both ways of writing. */
static void round_trip(struct regstore *s)
{
    char *tree = tree_dup(s);
    for (int utf16 = 0; utf16 < 2; utf16++) {
        void  *text;
        size_t size;
        assert_int_equal(reg_export(s, "HKLM", utf16, &text, &size, NULL), 0);
        struct regstore *again = imported(text, size, 0);
        expect_tree(again, tree);
        regstore_close(again);
        free(text);
    }
    free(tree);
}

static void what_goes_out_comes_back(void **state)
{
    static const uint8_t  bytes[] = {'a',  0,   0, 0,    'b', 0,  0, 0,  0xFF, 0xD8, 1,
                                     0xDC, '"', 0, '\\', 0,   13, 0, 10, 0,    0,    0};
    static const uint32_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x100, 0xFFFFFFFF};
    static const char *names[] = {"", "plain", "\xC3\x84\xF0\x9F\x9A\x80", "\\\"=@;[]-\n x\r\n", " ; ", "\xED\xA0\x80"};
    struct regstore   *s;
    char               key[64], name[64];
    (void)state;

    regstore_open_memory(&s, NULL);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t from = 0; from < sizeof bytes; from++)
            for (uint32_t size = 0; size <= sizeof bytes - from && size < 12; size++) {
                snprintf(key, sizeof key, "HKLM\\k\\%u", types[t]);
                snprintf(name, sizeof name, "%u-%u", from, size);
                struct regvalue v = {.name = name, .type = types[t], .data = bytes + from, .size = size};
                regstore_begin(s, NULL);
                assert_int_equal(regstore_set(s, key, &v, NULL), 0);
                regstore_commit(s, NULL);
            }
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        assert_int_equal(regstore_set_string(s, "HKLM\\names", names[n], names[n], NULL), 0);
    assert_int_equal(regstore_create_key(s, "HKLM\\]a] ;b]\\-x\\/y\\ z \\\xC3\xA4", NULL, 0, NULL), 0);
    round_trip(s);
    regstore_close(s);
}

static void lines_wrap_as_in_regedit(void **state)
{
    uint8_t          bytes[60] = {0};
    struct regstore *s;
    char            *text;
    size_t           size;
    struct regvalue  v = {.name = "EnableKernelFlags", .type = REG_TYPE_BINARY, .data = bytes, .size = sizeof bytes};
    (void)state;
    regstore_open_memory(&s, NULL);
    regstore_set(s, WMI "\\GlobalLogger", &v, NULL);
    assert_int_equal(reg_export(s, "HKLM/SYSTEM/CurrentControlSet/control/wmi", false, (void **)&text, &size, NULL), 0);
    assert_string_equal(text,
                        HEAD "[" WMI "]\n\n[" WMI "\\GlobalLogger]\n"
                             "\"EnableKernelFlags\"=hex:00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,\\\n"
                             "  00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,\\\n"
                             "  00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00\n\n");
    free(text);
    assert_int_equal(reg_export(s, "HKLM\\SYSTEM", true, (void **)&text, &size, NULL), 0);
    assert_memory_equal(text, "\xFF\xFEW\0i\0", 6);
    assert_memory_equal(text + size - 8, "\r\0\n\0\r\0\n\0", 8);
    free(text);
    struct reason why;
    assert_int_equal(reg_export(s, "HKLM\\none", true, (void **)&text, &size, &why), W_FILE_NOT_FOUND);
    regstore_create_key(s, "HKLM\\a\nb", NULL, 0, NULL);
    assert_int_equal(reg_export(s, "HKLM", true, (void **)&text, &size, &why), W_NOT_SUPPORTED);
    regstore_close(s);
}

static void a_windows_configuration(void **state)
{
    static const struct {
        const char *name;
        unsigned    flags;
    } files[]   = {{"boot.reg", 0}, {"boot-utf8.reg", 0}, {"boot-quoted.txt", REG_IMPORT_LENIENT}};
    char *first = NULL;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        char  *data = made_dup(files[i].name, &size);
        assert_non_null(data);
        struct regstore *s    = imported(data, size, files[i].flags);
        char            *tree = tree_dup(s);
        struct regvalue  v;
        uint64_t         any;
        if (first)
            assert_string_equal(tree, first);
        assert_int_equal(regstore_get(s, WMI "\\GlobalLogger", "EnableKernelFlags", &v), 0);
        assert_int_equal(v.size, 32);
        assert_memory_equal(v.data, "\7\7\0\0\x86\2\0\0", 8);
        assert_int_equal(regstore_get_qword(s, WMI "\\Autologger\\BootTrace\\{A6AD76E3-867A-4635-91B3-4904BA6374D7}",
                                            "MatchAnyKeyword", &any, NULL),
                         0);
        assert_int_equal(any, 0x40);
        round_trip(s);
        free(first);
        first = tree;
        regstore_close(s);
        free(data);
    }
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_data),
        cmocka_unit_test(eight_bit_files),
        cmocka_unit_test(typographic_quotes_need_leniency),
        cmocka_unit_test(what_goes_out_comes_back),
        cmocka_unit_test(lines_wrap_as_in_regedit),
        cmocka_unit_test(a_windows_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
