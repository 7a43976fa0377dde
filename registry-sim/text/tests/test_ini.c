/* INI in and out. Proves: REG-01, REG-16 (the other dialect), REG-05 (a Guid derived from the name). */
#include "registry-sim/text/tests/trees.h"
#include "registry-sim/text/tests/words.h"
#include "registry-sim/win32/guid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define WMI "HKEY_LOCAL_MACHINE\\SYSTEM\\ControlSet001\\Control\\WMI"

static struct regstore *imported(const char *text, size_t size, const struct ini_vocabulary *with, const char *expected)
{
    struct regstore *s;
    struct textbuf   found = {0};
    struct diag_sink sink  = {findings_add, &found, 0, 0};
    struct reason    why   = {0};
    assert_int_equal(regstore_open_memory(&s, NULL), 0);
    wstatus st = ini_import(s, text, size, "dir/t.ini", with, &sink, &why);
    if (st != W_SUCCESS)
        print_message("%s\n%s\n", why.text, found.data ? found.data : "");
    assert_int_equal(st, 0);
    assert_string_equal(found.data ? found.data : "", expected);
    textbuf_finish(&found);
    return s;
}

static void expect(struct regstore *s, const char *key, const char *name, const char *text)
{
    char *got;
    assert_int_equal(regstore_get_string_dup(s, key, name, &got, NULL), 0);
    assert_string_equal(got, text);
    free(got);
}
static void expect_number(struct regstore *s, const char *key, const char *name, uint32_t number)
{
    uint32_t got = ~number;
    assert_int_equal(regstore_get_dword(s, key, name, &got, NULL), 0);
    assert_int_equal(got, number);
}
static bool has(struct regstore *s, const char *key, const char *name)
{
    struct regvalue v;
    return regstore_get(s, key, name, &v) == W_SUCCESS;
}

static const char whole[] = "\xEF\xBB\xBF; ours\r\n"
                            "[Boot]\r\n"
                            "Once = yes ; every boot\r\n"
                            "[GlobalLogger]\n"
                            "EnableKernelFlags = PROC_THREAD+\\\n"
                            "   LOADER\n"
                            "BufferSize=1024\n"
                            "[Autologger/web]\n"
                            "FileName = %SystemRoot%\\x.etl\n"
                            "[Autologger/web/service]\n"
                            "Unit    = web.service\n"
                            "[ Autologger / web / Contoso-Web ]\n"
                            "MatchAnyKeyword = 0x40\n"
                            "[Autologger/web/disk-sync]\n"
                            "Tracepoint = ext4:ext4_sync_file_*\n"
                            "Enabled = 0\n"
                            "[Autologger/web/Service Control Manager]\n"
                            "Guid = {0063715B-eeda-4007-9429-ad526f62696e}\n"
                            "[autologger/WEB/service control manager/Filters]\n"
                            "Enabled = 1\n"
                            "[Autologger/web/{a6ad76e3-867a-4635-91b3-4904ba6374d7}]\n"
                            "MatchAnyKeyword = hex(b):40,0,0,0,0,0,0,0\n"
                            "[Autologger/XBoot]\n"
                            "Start = 0\n"
                            "GUID = '{1a15901b-0686-4433-955f-2ee7f9c61cfc}'\n"
                            "Note = \"a;b # c\" # comment\n"
                            "Text = \"dword:1\"\n"
                            "Empty = \"\"\n"
                            "Nothing =\n"
                            "@ = default\n"
                            "Gr\xC3\xB6\xC3\x9F"
                            "e = \xC3\xA4\n"
                            "Alias = x\n"
                            "Sp = \"  x \"\n"
                            "[HKLM/SOFTWARE/Contoso]\n"
                            "V=dword:ff\n"
                            "[HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\abs]\n"
                            "Start = -\n"
                            "Guid = -\n";

static void provider_key(char *out, size_t size, const char *session, const char *hashed)
{
    char        text[GUID_TEXT_SIZE];
    struct guid g = guid_from_name(hashed);
    snprintf(out, size, WMI "\\Autologger\\%s\\%s", session, guid_format(&g, text));
}

static void the_dialect(void **state)
{
    struct regstore *s = imported(whole, sizeof whole - 1, &words, "");
    char             key[200], text[GUID_TEXT_SIZE];
    struct guid      guid = guid_from_name("web");
    struct regvalue  v;
    (void)state;
    expect(s, WMI "\\Autologger", "Once", "yes");
    expect(s, WMI "\\GlobalLogger", "EnableKernelFlags", "PROC_THREAD+   LOADER");
    expect_number(s, WMI "\\GlobalLogger", "Start", 1);
    assert_false(has(s, WMI "\\GlobalLogger", "Guid"));
    expect_number(s, WMI "\\Autologger\\web", "start", 1);
    expect(s, WMI "\\Autologger\\web", "Guid", guid_format(&guid, text));
    expect(s, WMI "\\Autologger\\web", "FileName", "%SystemRoot%\\x.etl");
    provider_key(key, sizeof key, "web", "web/service");
    expect(s, key, "Unit", "web.service");
    expect(s, key, "ProviderFriendlyName", "service");
    expect_number(s, key, "Enabled", 1);
    provider_key(key, sizeof key, "web", "Contoso-Web");
    assert_int_equal(regstore_get(s, key, "MatchAnyKeyword", &v), 0);
    assert_int_equal(v.type, REG_TYPE_QWORD);
    assert_int_equal(v.source_line, 13);
    assert_string_equal(v.source_file, "dir/t.ini");
    provider_key(key, sizeof key, "web", "web/disk-sync");
    expect_number(s, key, "Enabled", 0);
    snprintf(key, sizeof key, WMI "\\Autologger\\web\\{0063715B-eeda-4007-9429-ad526f62696e}");
    expect(s, key, "ProviderFriendlyName", "Service Control Manager");
    assert_false(has(s, key, "Guid"));
    strcat(key, "\\Filters");
    expect_number(s, key, "Enabled", 1);
    snprintf(key, sizeof key, WMI "\\Autologger\\web\\{a6ad76e3-867a-4635-91b3-4904ba6374d7}");
    expect_number(s, key, "Enabled", 1);
    assert_false(has(s, key, "ProviderFriendlyName"));
    snprintf(key, sizeof key, WMI "\\Autologger\\XBoot");
    expect_number(s, key, "Start", 0);
    expect(s, key, "Guid", "{1a15901b-0686-4433-955f-2ee7f9c61cfc}");
    expect(s, key, "Note", "a;b # c");
    expect(s, key, "Text", "dword:1");
    expect(s, key, "Empty", "");
    expect(s, key, "Nothing", "");
    expect(s, key, "", "default");
    expect(s, key,
           "GR\xC3\x96\xC3\x9F"
           "E",
           "\xC3\xA4");
    expect(s, key, "Canonical", "x");
    expect(s, key, "Sp", "  x ");
    expect_number(s, "HKLM\\SOFTWARE\\Contoso", "V", 255);
    assert_true(regstore_key_exists(s, WMI "\\Autologger\\abs"));
    assert_false(has(s, WMI "\\Autologger\\abs", "Start") || has(s, WMI "\\Autologger\\abs", "Guid"));
    regstore_close(s);
}

static void round_trip(struct regstore *s, const struct ini_vocabulary *with)
{
    char         *tree = tree_dup(s), *text;
    size_t        size;
    struct reason why;
    wstatus       st = ini_export(s, "HKLM", with, &text, &size, &why);
    if (st != W_SUCCESS)
        print_message("%s\n", why.text);
    assert_int_equal(st, 0);
    struct regstore *again;
    regstore_open_memory(&again, NULL);
    assert_int_equal(ini_import(again, text, size, "again", with, NULL, &why), 0);
    char *back = tree_dup(again);
    assert_string_equal(back, tree);
    regstore_close(again);
    free(back);
    free(text);
    free(tree);
}

static void what_goes_out_comes_back(void **state)
{
    static const uint8_t  bytes[] = {'a',  0,   0, 0,    'b', 0,  0, 0,  0xFF, 0xD8, 1,
                                     0xDC, '"', 0, '\\', 0,   13, 0, 10, 0,    0,    0};
    static const uint32_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xFFFFFFFF};
    static const char    *texts[] = {"",      " ",   "-",    "a;b",  "'\";#", "\\", "C:\\x\\", "c:\\a;b",      "hex:0",
                                     "dword", "[x]", "=",    "%s%n", "\"q\"", "'",  "a\"b",    "\xED\xA0\x80", "\xC3\x84",
                                     "1",     "0x1", "a\nb", "@x"};
    struct regstore      *s       = imported(whole, sizeof whole - 1, &words, "");
    char                  name[64];
    (void)state;
    round_trip(s, &words);
    round_trip(s, NULL);
    regstore_close(s);
    regstore_open_memory(&s, NULL);
    regstore_begin(s, NULL);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t from = 0; from < sizeof bytes; from += 1)
            for (uint32_t size = 0; size <= sizeof bytes - from && size < 10; size++) {
                snprintf(name, sizeof name, "%u-%u-%u", types[t], from, size);
                struct regvalue v = {.name = name, .type = types[t], .data = bytes + from, .size = size};
                assert_int_equal(regstore_set(s, "HKLM\\k", &v, NULL), 0);
            }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(name, sizeof name, "t%zu", i);
        assert_int_equal(regstore_set_string(s, WMI "\\Autologger\\s", name, texts[i], NULL), 0);
    }
    /* two providers of one friendly name, spellings that differ from ours, keys without values */
    regstore_set_string(s, WMI "\\Autologger\\s\\{a6ad76e3-867a-4635-91b3-4904ba6374d7}", "ProviderFriendlyName", "P",
                        NULL);
    regstore_set_string(s, WMI "\\Autologger\\s\\{A6ad76e3-867a-4635-91b3-4904ba6374d8}", "ProviderFriendlyName", "p",
                        NULL);
    regstore_set_string(s, WMI "\\Autologger\\s\\{A6ad76e3-867a-4635-91b3-4904ba6374d9}", "Guid", "p", NULL);
    regstore_set_string(s, WMI "\\Autologger\\s\\{A6ad76e3-867a-4635-91b3-4904ba6374d9}\\Filters\\x", "Enabled", "p",
                        NULL);
    regstore_set_string(s, WMI "\\Autologger\\s\\{A6ad76e3-867a-4635-91b3-4904ba6374da}", "PROVIDERFriendlyName", "z",
                        NULL);
    regstore_create_key(s, WMI "\\Autologger\\empty", NULL, 0, NULL);
    regstore_create_key(s, WMI "\\Boot", NULL, 0, NULL);
    regstore_create_key(s, "HKLM\\Empty\\a:b", NULL, 0, NULL);
    regstore_commit(s, NULL);
    round_trip(s, &words);
    round_trip(s, NULL);
    regstore_close(s);
}

static void what_it_cannot_say_is_refused(void **state)
{
    static const struct {
        const char *key, *name, *what;
    } rows[] = {
        {"HKLM\\a]b", "x", "the key name 'a]b'"},
        {"HKLM\\a/b", "x", "the key name 'a/b'"},
        {"HKLM\\ a", "x", "the key name ' a'"},
        {"HKLM\\a", "b=c", "the value name 'b=c'"},
        {"HKLM\\a", "b:c", "the value name 'b:c'"},
        {"HKLM\\a", ";c", "the value name ';c'"},
        {"HKLM\\a", "@", "the value name '@'"},
        {"HKLM\\a", "a\nb", "the value name 'a\\nb'"},
        {"HKCU\\a", "x", "the root key 'HKEY_CURRENT_USER'"},
        {WMI "\\Autologger\\s\\noguid", "x", "the provider key, which is no {GUID}, 'noguid'"},
        {WMI "\\HKLM\\x", "x", "'"},
    };
    struct reason why;
    char         *text, big[1100];
    size_t        size;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regstore *s;
        regstore_open_memory(&s, NULL);
        assert_int_equal(regstore_set_dword(s, rows[i].key, rows[i].name, 1, NULL), 0);
        assert_int_equal(ini_export(s, i == 8 ? "HKCU" : "HKLM", NULL, &text, &size, &why), W_NOT_SUPPORTED);
        assert_non_null(strstr(why.text, rows[i].what));
        assert_non_null(strstr(why.text, ".reg"));
        regstore_close(s);
    }
    struct regstore *s;
    regstore_open_memory(&s, NULL);
    memset(big, 'x', sizeof big);
    big[1100 - 1] = 0;
    regstore_set_string(s, "HKLM\\a", "long", big, NULL);
    assert_int_equal(ini_export(s, "HKLM", NULL, &text, &size, &why), W_NOT_SUPPORTED);
    assert_non_null(strstr(why.text, "1,022"));
    big[1022 - strlen("long = ")] = 0;
    regstore_set_string(s, "HKLM\\a", "long", big, NULL);
    round_trip(s, NULL);
    assert_int_equal(ini_export(s, "HKLM\\none", NULL, &text, &size, &why), W_FILE_NOT_FOUND);
    regstore_close(s);
}

static void a_windows_configuration(void **state)
{
    size_t size;
    char  *data = made_dup("boot.reg", &size), *text;
    (void)state;
    assert_non_null(data);
    struct regstore *s;
    regstore_open_memory(&s, NULL);
    assert_int_equal(reg_import(s, data, size, "x", 0, NULL, NULL), 0);
    round_trip(s, &words);
    assert_int_equal(ini_export(s, WMI, &words, &text, &size, NULL), 0);
    assert_non_null(strstr(text, "[Autologger/BootTrace/ReadyBoost]\nGuid = {a6ad76e3-867a-4635-91b3-4904ba6374d7}\n"));
    assert_non_null(strstr(text, "\nGUID = {7e57b007-0001-4004-8001-0123456789ab}\n"));
    free(text);
    free(data);
    regstore_close(s);
}

static void warnings_do_not_stop(void **state)
{
    static const char text[] = "[Autolooger/web]\nx=1\n[Autologger/none/p]\n";
    (void)state;
    regstore_close(imported(
        text, sizeof text - 1, NULL,
        "~1: nothing reads the key of [Autolooger/web], did you mean [Autologger/web]?. Do: use [Boot], [GlobalLogger], [Autologger/session] or "
        "[Autologger/session/provider]\n"
        "~3: the session none of this provider is not declared. Do: add its section, [Autologger/session]\n"));
    regstore_close(imported(NULL, 0, NULL, ""));
}

static void files_are_told_apart(void **state)
{
    static const struct {
        const char *text, *name;
        wstatus     status;
    } rows[] = {
        {"[HKLM/a]\nx = 1\n", "x", 0},
        {"Windows Registry Editor Version 5.00\n[HKLM\\a]\n\"x\"=\"1\"\n", "x", 0},
        {"\n; c\nREGEDIT4\n[HKLM\\a]\n\"x\"=\"1\"\n", "x", 0},
        {"; c\n[HKEY_LOCAL_MACHINE\\a]\n\"x\"=\"1\"\n", "x", 0},
        {"[HKEY_LOCAL_MACHINE/a]\nx=1\n", "x", 0},
    };
    char          folder[] = "/tmp/al-text-XXXXXX", path[64];
    struct reason why;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/f", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct regstore *s;
        FILE            *f = fopen(path, "w");
        assert_non_null(f);
        fputs(rows[i].text, f);
        fclose(f);
        regstore_open_memory(&s, NULL);
        assert_int_equal(dialect_import_file(s, path, REG_IMPORT_LENIENT, NULL, NULL, &why), rows[i].status);
        expect(s, "HKLM\\a", rows[i].name, "1");
        regstore_close(s);
    }
    unlink(path);
    struct regstore *s;
    regstore_open_memory(&s, NULL);
    assert_int_equal(dialect_import_file(s, path, 0, NULL, NULL, &why), W_FILE_NOT_FOUND);
    assert_int_equal(dialect_import_file(s, folder, 0, NULL, NULL, &why), W_BAD_PATHNAME);
    regstore_close(s);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dialect),
        cmocka_unit_test(what_goes_out_comes_back),
        cmocka_unit_test(what_it_cannot_say_is_refused),
        cmocka_unit_test(a_windows_configuration),
        cmocka_unit_test(warnings_do_not_stop),
        cmocka_unit_test(files_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
