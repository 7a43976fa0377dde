/* Every mistake of a .reg file: its line, its words, and that nothing is imported. Proves: REG-16. */
#include "registry-sim/text/tests/trees.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAD "Windows Registry Editor Version 5.00\n"
#define KEY HEAD "[HKLM\\A]\n"

static const struct {
    const char *text;
    size_t      size;  /* 0: strlen */
    const char *found; /* one line per finding, up to the advice */
} cases[] = {
    {"", 0, "1: the file does not start with the header line of a .reg file\n"},
    {"[HKLM\\A]\n\"x\"=dword:1\n", 0, "1: the file does not start with the header line of a .reg file\n"},
    {HEAD "\"x\"=dword:1\n\"y\"=dword:1\n", 0, "2: a value before the first key\n"},
    {HEAD "[HKLM\\A\n\"x\"=dword:1\n", 0, "2: the key is not closed by ']'\n"},
    {HEAD "[HKXX\\A]\n", 0, "2: 'HKXX' is not a root key such as HKEY_LOCAL_MACHINE\n"},
    {HEAD "[HKLM\\\\A]\n", 0, "2: a part of the key's path is empty\n"},
    {HEAD "[]\n", 0, "2: a part of the key's path is empty\n"},
    {KEY "[-HKLM]\n", 0, "3: a root key can't be deleted\n"},
    {KEY "x=dword:1\n", 0, "3: this is no key, no value and no comment\n"},
    {KEY "\"x\" dword:1\n", 0, "3: the name is not followed by '='\n"},
    {KEY "@ x\n", 0, "3: '@' is not followed by '='\n"},
    {KEY "\"x\"=dword:\n\"y\"=dword:123456789\n\"z\"=dword:0x1\n", 0,
     "3: dword: is not followed by 1 to 8 hex digits\n4: dword: is not followed by 1 to 8 hex digits\n"
     "5: dword: is not followed by 1 to 8 hex digits\n"},
    {KEY "\"x\"=qword:g\n", 0, "3: qword: is not followed by 1 to 16 hex digits\n"},
    {KEY "\"x\"=hex:01,,02\n\"y\"=hex:01,\n\"z\"=hex:0 1\n\"v\"=hex:xy\n\"w\"=hex:012\n", 0,
     "3: a byte is missing between two commas\n4: a byte is missing after the last comma\n"
     "5: a comma is missing between two bytes\n6: this is no hex digit\n7: a comma is missing between two bytes\n"},
    {KEY "\"x\"=hex(b):01,02\n", 0, "3: a QWORD, hex(b):, has fewer than 8 bytes\n"},
    {KEY "\"x\"=hex(z):01\n\"y\"=hex(1:01\n\"z\"=hex():01\n", 0,
     "3: the type of hex(...): is not a hex number\n4: the type of hex(...): is not a hex number\n"
     "5: the type of hex(...): is not a hex number\n"},
    {KEY "\"x\"=hex:01,\\\n\n\"y\"=hex:01,\\\n[HKLM\\B]\n\"z\"=hex:01,\\", 0,
     "3: the line ends in '\\', but no data follows\n5: the line ends in '\\', but no data follows\n"
     "7: the line ends in '\\', but no data follows\n"},
    {KEY "\"x\"=12\n\"y\"=\n", 0, "3: the data has no known form\n4: the data has no known form\n"},
    {KEY "\"x\"=\"abc\n\"y\"=dword:1\n", 0, "3: the string is not closed\n"},
    {KEY "\"x=dword:1\n", 0, "3: the string is not closed\n"},
    {KEY "\"x\"=\"c:\\temp\"\n", 0, "3: a single backslash in a string\n"},
    {KEY "\"x\"=\"a\" b\n", 0, "3: there is text after the string\n"},
    {KEY "\"x\"=\"a\0b\"\n", sizeof KEY "\"x\"=\"a\0b\"\n" - 1, "3: a NUL character in a string\n"},
    {KEY "\xE2\x80\x9Cx\xE2\x80\x9D=dword:1\n\"y\"=\xE2\x80\x9C"
         "a\xE2\x80\x9D\n",
     0, "3: a typographic quote\n4: a typographic quote\n"},
    {"\xFE\xFF\0W", 4, "0: the file is big-endian UTF-16\n"},
};

static void every_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct regstore *s;
        struct textbuf   found = {0}, bare = {0};
        struct diag_sink sink = {findings_add, &found, 0, 0};
        struct reason    why  = {0};
        regstore_open_memory(&s, NULL);
        size_t  size = cases[i].size ? cases[i].size : strlen(cases[i].text);
        wstatus st   = reg_import(s, cases[i].text, size, "f.reg", 0, &sink, &why);
        if (st != W_INVALID_DATA)
            print_message("case %zu: %s\n", i, cases[i].text);
        assert_int_equal(st, W_INVALID_DATA);
        for (char *line = found.data; line && *line; line = strchr(line, '\n') + 1) {
            char *advice = strstr(line, ". Do: ");
            assert_non_null(advice); /* each says what to do */
            assert_true(strlen(advice) > 12);
            textbuf_put(&bare, line, (size_t)(advice - line));
            textbuf_puts(&bare, "\n");
        }
        assert_string_equal(bare.data, cases[i].found);
        char *tree = tree_dup(s);
        assert_string_equal(tree, ""); /* nothing by half */
        free(tree);
        textbuf_finish(&found);
        textbuf_finish(&bare);
        regstore_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mistake_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
