/* Every mistake of an INI file: its line, its words, and that nothing is imported; each trap of iniparser among them.
 * Proves: REG-16. */
#include "registry-sim/text/tests/trees.h"
#include "registry-sim/text/tests/words.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define S "[Autologger/a]\n"
#define TEN(x) x x x x x x x x x x
#define HUNDRED(x) TEN(TEN(x))

static const struct {
    const char *text;
    size_t      size;  /* 0: strlen */
    const char *found; /* one line per finding, up to the advice */
} cases[] = {
    /* lines */
    {"x = 1\n[a]\n", 0, "1: a value before the first section\n~2: nothing reads the key of [a]\n"},
    {S "just words\n", 0, "2: the line has no '='\n"},
    {S "x = 1\nz", 0, "3: the line has no '='\n"},
    {S "= 1\n", 0, "2: there is no name before '='\n"},
    {S "\"x\" = 1\n", 0, "2: the name is in quotes\n"},
    {S "b:x = 1\n", 0, "2: a ':' in the name of a value\n"},
    {S "x = \1\n", 0, "2: there is a control character in the line\n"},
    {S "x = a\rb\n", 0, "2: there is a control character in the line\n"},
    {S "x = a\0b\n", sizeof S "x = a\0b\n" - 1, "2: there is a control character in the line\n"},
    {S "x = \xFF\n", 0, "2: the line is not UTF-8\n"},
    {"\xFF\xFE[\0", 4, "0: the file is UTF-16\n"},
    /* sections */
    {"[Autologger/a] ; comment\nx=1\n", 0, "1: there is text after the section's ']'\n"},
    {"[a]b]\n", 0, "1: there is text after the section's ']'\n"},
    {"[Autologger/a\nx=1\n", 0, "1: the section is not closed by ']'\n"},
    {"[]\nx=1\n", 0, "1: the section has no name\n"},
    {"[Autologger//a]\nx=1\n", 0, "1: a part of the key's path is empty\n"},
    {"[HKLM]\n[HKEY_LOCAL_MACHINE/]\n[/x]\n", 0, "3: a part of the key's path is empty\n"},
    {"[Autologger/a]\nx=1\n[Autologger/a:b]\n", 0, ""},
    {"[a]\nb=1\n[A:B]\n", 0,
     "~1: nothing reads the key of [a]\n~3: nothing reads the key of [A:B]\n"
     "2: iniparser reads b as '(nothing)', not as '1'\n"},
    /* comments and quotes */
    {S "x = a#b\n", 0, "2: the value would end at ';' or '#'\n"},
    {S "x = a;b\n", 0, "2: the value would end at ';' or '#'\n"},
    {S "x = 'it''s'\n", 0, "2: there is text after the quoted value\n"},
    {S "x = \"a\" b\n", 0, "2: there is text after the quoted value\n"},
    {S "x = \"a\n", 0, "2: the quoted value is not closed\n"},
    {S "x = \"C:\\\\x\"\n", 0, "2: a backslash in a quoted value\n"},
    {S "x = a \"b ;c\"\n", 0, "2: a ';' or '#' behind a quote inside the value\n"},
    /* continuation */
    {S "Dir = C:\\logs\\\nStart = 1\n", 0, "2: the line ends in '\\' and would swallow the next one\n"},
    {S "Dir = C:\\logs\\", 0, "2: the line ends in '\\' and would swallow the next one\n"},
    {S "; C:\\logs\\\nStart = wrong\n", 0,
     "2: the line ends in '\\' and would swallow the next one\n3: Start: 'wrong' is unknown, did you mean 'right'?\n"},
    {S "; C:\\logs\\\n  Start = 1\n", 0, "2: the comment would swallow the next line\n"},
    /* twice */
    {S "Start = 1\nSTART = 0\n", 0, "3: START was given already, in line 2\n"},
    {S "Start = 1\n[autologger/A]\nstart = 0\n", 0, "4: start was given already, in line 2\n"},
    {S "\xC3\xA4 = 1\n\xC3\x84 = 0\n", 0, "3: \xC3\x84 was given already, in line 2\n"},
    {"[Autologger/a]\n[Autologger/a/p]\nGuid={0063715b-eeda-4007-9429-ad526f62696e}\n[Autologger/a/"
     "{0063715B-eeda-4007-9429-ad526f62696e}]\n",
     0, "4: the session has this provider already, in line 2\n"},
    /* long */
    {S "x = " HUNDRED("0123456789") "012345678901234567\n", 0, ""},
    {S "x = " HUNDRED("0123456789") "0123456789012345678\n", 0, "2: the line has 1023 bytes, more than 1022\n"},
    {S "x = " TEN("0123456789") "\\\n " HUNDRED("0123456789") "\ny = wrong\n", 0,
     "2: the line has 1105 bytes, more than 1022\n4: y: 'wrong' is unknown, did you mean 'right'?\n"},
    {S HUNDRED("0123456789") " = 1\n", 0, "2: section and name together have more than 1,000 bytes\n"},
    /* values */
    {S "x = wrong\ny = wrong too\n", 0,
     "2: x: 'wrong' is unknown, did you mean 'right'?\n3: y: 'wrong too' is unknown, did you mean 'right'?\n"},
    {S "x = dword:xyz\ny = hex(b):1\n", 0,
     "2: dword: is not followed by 1 to 8 hex digits\n3: a QWORD, hex(b):, has fewer than 8 bytes\n"},
    {S "[Autologger/a/p]\nGuid = 12\n", 0, "3: Guid is not a GUID\n"},
    {S "[Autologger/a/{0063715b-eeda-4007-9429-ad526f62696e}]\nGuid = {1063715b-eeda-4007-9429-ad526f62696e}\n", 0,
     "3: the section names another GUID\n"},
};

static void check(size_t i)
{
    struct regstore *s;
    struct textbuf   found = {0}, bare = {0};
    struct diag_sink sink = {findings_add, &found, 0, 0};
    struct reason    why  = {0};
    size_t           size = cases[i].size ? cases[i].size : strlen(cases[i].text);

    regstore_open_memory(&s, NULL);
    wstatus st = ini_import(s, cases[i].text, size, "f.ini", &words, &sink, &why);
    textbuf_puts(&bare, "");
    for (char *line = found.data; line && *line; line = strchr(line, '\n') + 1) {
        char *advice = strstr(line, ". Do: ");
        assert_non_null(advice); /* each says what to do */
        assert_true(strcspn(advice, "\n") > 12);
        textbuf_put(&bare, line, (size_t)(advice - line));
        textbuf_puts(&bare, "\n");
    }
    if (strcmp(bare.data, cases[i].found) != 0)
        print_message("case %zu: %s\n", i, cases[i].text);
    assert_string_equal(bare.data, cases[i].found);
    assert_int_equal(st, sink.errors ? W_INVALID_DATA : 0);
    char *tree = tree_dup(s);
    assert_int_equal(*tree == 0, sink.errors != 0); /* nothing by half */
    free(tree);
    textbuf_finish(&found);
    textbuf_finish(&bare);
    regstore_close(s);
}

static void every_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mistake_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
