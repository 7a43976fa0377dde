/* The hidden characters of a text, and what is shown for each. Names of others do not move a terminal's cursor. */
#include "registry-sim/win32/visible.h"
#include "registry-sim/win32/wstatus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sample {
    const char *text, *shown;
} samples[] = {
    {"", ""},
    {"plain name", "plain name"},
    {"C:\\Windows\\x.etl", "C:\\Windows\\x.etl"},
    {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F"},
    {"\xE6\x97\xA5\xE6\x9C\xAC", "\xE6\x97\xA5\xE6\x9C\xAC"},
    {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
    {"a\xE2\x80\x8D"
     "b",
     "a\xE2\x80\x8D"
     "b"}, /* U+200D joins letters of several scripts */
    {"\x1B[31m", "\\u001b[31m"},
    {"a\x07"
     "b",
     "a\\u0007b"},
    {"a\nb\rc\td", "a\\nb\\rc\\td"},
    {"\x7F", "\\u007f"},
    {"\x01\x1F", "\\u0001\\u001f"},
    {"\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", "\\u0080\\u009b\\u009f\xC2\xA0"},
    {"\xD8\x9C", "\\u061c"},
    {"\xE2\x80\x8E\xE2\x80\x8F", "\\u200e\\u200f"},
    {"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE\xE2\x80\xAF", "\\u2028\\u2029\\u202a\\u202e\xE2\x80\xAF"},
    {"\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAF", "\\u2066\\u2069\\u206f"},
    {"\xEF\xBF\xB9", "\\ufff9"},
    {"\x9B"
     "31m",
     "\\x9b31m"},
    {"\xC3", "\\xc3"},
    {"\xC0\x80", "\\xc0\\x80"},
    {"\xE0\x9B\x9B", "\\xe0\\x9b\\x9b"},
    {"\xED\xA0\x80", "\\xed\\xa0\\x80"},
    {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    {"\xF8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
    {"\xE2\x80", "\\xe2\\x80"},
};

static void hidden_characters_are_escaped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char  out[64];
        char *copy = visible_dup(samples[i].text);
        assert_int_equal(visible_escape(samples[i].text, strlen(samples[i].text), out, sizeof out),
                         strlen(samples[i].shown));
        assert_string_equal(out, samples[i].shown);
        assert_string_equal(copy, samples[i].shown);
        assert_int_equal(visible_is(samples[i].text), strcmp(samples[i].text, samples[i].shown) == 0);
        assert_true(visible_is(out)); /* visible text is not escaped again */
        free(copy);
    }
}

static void nul_in_the_middle_is_escaped(void **state)
{
    char out[16];
    (void)state;
    assert_int_equal(visible_escape("a\0b", 3, out, sizeof out), 8);
    assert_string_equal(out, "a\\u0000b");
}

/* A character or an escape is never cut, whatever the room. */
static void no_room_cuts_between_characters(void **state)
{
    static const char   text[] = "a\xC3\xBC\x1B\xE6\x97\xA5z", shown[] = "a\xC3\xBC\\u001b\xE6\x97\xA5z";
    static const size_t ends[] = {0, 1, 1, 3, 3, 3, 3, 3, 3, 9, 9, 9, 12, 13, 13};
    (void)state;
    for (size_t capacity = 1; capacity <= sizeof ends / sizeof *ends; capacity++) {
        char out[32];
        memset(out, '#', sizeof out);
        assert_int_equal(visible_escape(text, sizeof text - 1, out, capacity), sizeof shown - 1);
        assert_int_equal(strlen(out), ends[capacity - 1]);
        assert_memory_equal(out, shown, ends[capacity - 1]);
        assert_int_equal(out[capacity], '#');
    }
    assert_int_equal(visible_escape(text, sizeof text - 1, NULL, 0), sizeof shown - 1);
}

/* Each code point by itself, against the ranges as the standard names them. */
static void every_code_point(void **state)
{
    unsigned hidden = 0;
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char     text[5];
        size_t   n = 0;
        uint32_t code;
        bool     valid;
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        if (c < 0x80)
            text[n++] = (char)c;
        else if (c < 0x800)
            text[n++] = (char)(0xC0 | c >> 6);
        else if (c < 0x10000)
            text[n++] = (char)(0xE0 | c >> 12), text[n++] = (char)(0x80 | (c >> 6 & 63));
        else
            text[n++] = (char)(0xF0 | c >> 18), text[n++] = (char)(0x80 | (c >> 12 & 63)),
            text[n++] = (char)(0x80 | (c >> 6 & 63));
        if (c >= 0x80)
            text[n++] = (char)(0x80 | (c & 63));
        assert_int_equal(visible_character(text, n, &code, &valid), n);
        assert_true(valid && code == c);
        hidden += visible_length(text, n) == 0;
    }
    assert_int_equal(hidden, 32 + 1 + 32 + 1 + 2 + 7 + 10 + 3);
}

static void reasons_are_escaped(void **state)
{
    struct reason why;
    char          longer[2000];
    (void)state;
    assert_int_equal(reason_set(&why, W_INVALID_NAME, "no session \"%s\"", "x\n\x1B[2J\xE2\x80\xAE"), W_INVALID_NAME);
    assert_string_equal(why.text, "no session \"x\\n\\u001b[2J\\u202e\"");
    for (size_t i = 0; i + 3 < sizeof longer; i += 3)
        memcpy(longer + i, "\xE6\x97\xA5", 4);
    for (int ahead = 0; ahead < 4; ahead++) {
        reason_set(&why, W_INVALID_NAME, "%.*s%s", ahead, "abcd", longer);
        assert_true(visible_is(why.text) && strlen(why.text) > sizeof why.text - 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_characters_are_escaped),
        cmocka_unit_test(nul_in_the_middle_is_escaped),
        cmocka_unit_test(no_room_cuts_between_characters),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(reasons_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
