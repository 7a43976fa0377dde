/* Printing of names that others chose: as printf where nothing is hidden, one line a line where something is. */
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct printed {
    FILE  *to;
    char  *text;
    size_t size;
} printed;

static FILE *begin(void)
{
    printed    = (struct printed){0};
    printed.to = open_memstream(&printed.text, &printed.size);
    assert_non_null(printed.to);
    return printed.to;
}

static void ends_as(const char *expected)
{
    fclose(printed.to);
    assert_string_equal(printed.text, expected);
    free(printed.text);
}

#define SAME_AS_PRINTF(...) \
    do { \
        char      expected_[512]; \
        const int length_ = snprintf(expected_, sizeof expected_, __VA_ARGS__); \
        assert_int_equal(visible_printf(begin(), __VA_ARGS__), length_); \
        ends_as(expected_); \
    } while (0)

static void ordinary_formats_are_printfs(void **state)
{
    (void)state;
    SAME_AS_PRINTF("no conversion, 100 %% of it\n");
    SAME_AS_PRINTF("%s|%10s|%-10s|%.2s|%*s|%-*s|%.*s|%*.*s", "a", "b", "c", "defg", 6, "h", 6, "i", 1, "jk", 5, 2,
                   "lmn");
    SAME_AS_PRINTF("%*s|", -6, "left");
    SAME_AS_PRINTF("%d %i %u %x %X %o %c", -1, INT32_MIN, UINT32_MAX, 0xbeefu, 0xBEEFu, 8u, 'z');
    SAME_AS_PRINTF("%5d|%-5d|%05d|%+d|% d|%#x|%.3d|%8.3d|%*d|%-*d", 1, 2, 3, 4, 5, 6u, 7, 8, 4, 9, 4, 10);
    SAME_AS_PRINTF("%hhd %hd %hhu %hu", (signed char)-3, (short)-300, (unsigned char)250, (unsigned short)65000);
    SAME_AS_PRINTF("%ld %lu %lld %llu %zu %zd %td %jd %ju", -1L, ~0UL, INT64_C(-1) + 0LL, ~0ULL, (size_t)-1,
                   (ssize_t)-5, (ptrdiff_t)-6, INTMAX_MIN, UINTMAX_MAX);
    SAME_AS_PRINTF("%" PRIu64 " %" PRIx64 " %" PRId64 " %" PRIu32, UINT64_MAX, UINT64_MAX, INT64_MIN, UINT32_MAX);
    SAME_AS_PRINTF("%f %.1f %8.3f %-8.3f| %+10.3f %e %g %.4g %.0f %*.*f", 1.5, 2.25, 3.125, 4.0, 5.5, 6.0, 7.0,
                   1234567.0, 0.5, 9, 2, 3.14159);
    SAME_AS_PRINTF("%p", (void *)&printed);
}

static void what_is_put_in_is_escaped(void **state)
{
    (void)state;
    visible_printf(begin(), "a\n%s\n%c\n", "x\n\x1B[2J\xC2\x9B\x9B", '\x1B');
    ends_as("a\nx\\n\\u001b[2J\\u009b\\x9b\n\\u001b\n");
    visible_printf(begin(), "%-10s|%10s|", "\x1B", "\n");
    ends_as("\\u001b    |        \\n|");
    visible_printf(begin(), "%-4s|", "\xC3\xBC"); /* a width counts characters */
    ends_as("\xC3\xBC   |");
}

/* A precision cuts between characters, and the bytes behind it are not read. */
static void a_precision_cuts_no_character(void **state)
{
    char *text = malloc(4); /* a sanitizer sees one byte more */
    (void)state;
    memcpy(text, "a\xE6\x97\xA5", 4);
    for (int precision = 0; precision <= 4; precision++) {
        visible_printf(begin(), "%.*s", precision, text);
        ends_as(precision == 4 ? "a\xE6\x97\xA5" : precision ? "a" : "");
    }
    free(text);
}

static void a_line_is_one(void **state)
{
    char longer[5000];
    (void)state;
    visible_line(begin(), "autologgerd: session %s: %u", "x\nautologgerd: all is well\x1B[1A", 7u);
    ends_as("autologgerd: session x\\nautologgerd: all is well\\u001b[1A: 7\n");
    memset(longer, 0x1B, sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    visible_line(begin(), "%s", longer);
    fclose(printed.to);
    assert_true(printed.size > 3000 && printed.size < 4100);
    assert_ptr_equal(strchr(printed.text, '\n'), printed.text + printed.size - 1);
    assert_null(strchr(printed.text, 0x1B));
    free(printed.text);
}

static void json_stays_json(void **state)
{
    static const char in[] = "{\n  \"a\": \"x\\n\x7F\xC2\x9B\xE2\x80\xAE\xE6\x97\xA5\"\n}\n";
    (void)state;
    visible_json(begin(), in, sizeof in - 1);
    ends_as("{\n  \"a\": \"x\\n\\u007f\\u009b\\u202e\xE6\x97\xA5\"\n}\n");
    visible_json(begin(), "\"\x9B\"", 3);
    ends_as("\"\\ufffd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_formats_are_printfs),
        cmocka_unit_test(what_is_put_in_is_escaped),
        cmocka_unit_test(a_precision_cuts_no_character),
        cmocka_unit_test(a_line_is_one),
        cmocka_unit_test(json_stays_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
