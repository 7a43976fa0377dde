/* Proves: ENB-06: blocks of filters: made, checked by the limits of each type, described; what is damaged, cut or
 * doubled is refused. */
#include "autologger/wire/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8192 };

static void limits(void **state)
{
    static const uint8_t ids_in[] = {1, 0, 1, 0, 7, 0}, ids_none[] = {1, 0, 0, 0}, ids_two[] = {0, 0, 2, 0, 7, 0},
                         ids_neither[] = {2, 0, 1, 0, 7, 0};
    static const struct {
        const char *what;
        uint32_t    type;
        const void *data;
        size_t      size;
        wstatus     status;
    } rows[] = {
        {"no pid", FILTER_PID, "", 0, 87},
        {"one pid", FILTER_PID, "\1\0\0\0", 4, 0},
        {"half a pid", FILTER_PID, "\1\0\0\0\1\0", 6, 87},
        {"ids", FILTER_EVENT_ID, ids_in, 6, 0},
        {"stacks", FILTER_STACK_ID, ids_in, 6, 0},
        {"no ids", FILTER_EVENT_ID, ids_none, 4, 87},
        {"fewer ids than told", FILTER_EVENT_ID, ids_two, 6, 87},
        {"neither in nor out", FILTER_EVENT_ID, ids_neither, 6, 87},
        {"a name", FILTER_EXECUTABLE, "a", 2, 0},
        {"an empty name", FILTER_EXECUTABLE, "", 1, 87},
        {"a name without its end", FILTER_EXECUTABLE, "ab", 2, 87},
        {"a name with two ends", FILTER_EXECUTABLE, "a\0b", 4, 87},
        {"a name with a line's end", FILTER_PACKAGE, "a\nb", 4, 87},
        {"names", FILTER_EVENT_NAME, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\0a\0b", 24, 0},
        {"names, one too many", FILTER_EVENT_NAME, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\1\0a\0b", 24, 87},
        {"names, one missing", FILTER_EVENT_NAME, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\3\0a\0b", 24, 87},
        {"no names", FILTER_EVENT_NAME, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0", 20, 87},
        {"level and keywords", FILTER_STACK_LEVEL_KEYWORD, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\1\0\0\0\0\0", 24, 0},
        {"level and keywords, cut", FILTER_STACK_LEVEL_KEYWORD, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\1\0\0\0\0\0", 18,
         87},
        {"the provider's own", FILTER_SCHEMATIZED, "x", 1, 0},
        {"of a type of its own", 17, "x", 1, 0},
        {"of no type", 0, "x", 1, 50},
        {"of the system", 0x80000001, "x", 1, 50},
        {"of a later type", 0x80010000, "x", 1, 50},
    };
    static uint8_t many[MOST];
    struct reason  why;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wstatus st = filter_part_check(rows[i].type, rows[i].data, rows[i].size, &why);
        if (st != rows[i].status)
            fail_msg("%s: %u, expected %u: %s", rows[i].what, st, rows[i].status, st ? why.text : "");
    }
    static const struct {
        uint32_t type;
        size_t   most;
    } sizes[] = {
        {FILTER_PID, 32}, {FILTER_EXECUTABLE, FILTER_TEXT_UTF8}, {FILTER_SCHEMATIZED, 1024}, {FILTER_EVENT_ID, 132}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(many, 'x', sizeof many);
        many[0] = sizes[i].type == FILTER_EVENT_ID ? 1 : 'x';
        memcpy(many + 2, "\x40", 2); /* 64 ids */
        if (sizes[i].type != FILTER_EVENT_ID)
            many[2] = many[3] = 'x';
        many[sizes[i].most - 1] = 0;
        assert_int_equal(filter_part_check(sizes[i].type, many, sizes[i].most, &why), 0);
        assert_int_equal(filter_part_check(sizes[i].type, many, sizes[i].most + 4, &why), W_INVALID_PARAMETER);
    }
}

static struct filter_block *some(void)
{
    struct filter_block *b = NULL;
    struct reason        why;
    assert_int_equal(filter_add(&b, FILTER_EXECUTABLE, "web;db", 7, &why), 0);
    assert_int_equal(filter_add(&b, FILTER_PID, "\1\0\0\0\2\0\0\0", 8, &why), 0);
    assert_int_equal(filter_add(&b, FILTER_EVENT_ID, "\0\0\2\0\7\0d\0", 8, &why), 0);
    return b;
}

static void whole_blocks(void **state)
{
    struct filter_block *b = some();
    struct reason        why;
    char                 text[256], cut[9];
    uint32_t             size;
    (void)state;
    b->property = PROPERTY_SID;
    assert_int_equal(filter_check(b, b->size, &why), 0);
    filter_describe(b, text, sizeof text);
    assert_string_equal(text, "pids 1, 2; programs web;db; event ids not 7, 100");
    filter_describe(b, cut, sizeof cut);
    assert_string_equal(cut, "pids 1, ");
    assert_int_equal(filter_add(&b, FILTER_PID, "\1\0\0\0", 4, &why), W_INVALID_PARAMETER); /* one of a type */
    assert_non_null(filter_part(b, FILTER_EVENT_ID, &size));
    assert_int_equal(size, 8);
    assert_null(filter_part(b, FILTER_CONTAINER, &size));
    assert_true(filter_needed(b) && !filter_needed(NULL));
    free(b);
    struct filter_block none = {.size = sizeof none, .property = PROPERTY_IGNORE_KEYWORD_0};
    assert_false(filter_needed(&none));
    assert_int_equal(filter_check(&none, sizeof none, &why), 0);
}

/* A cut or changed block is refused, or still keeps every limit; reading never leaves it. */
static void damaged_blocks(void **state)
{
    struct filter_block *b = some();
    struct reason        why;
    char                 text[64];
    uint8_t             *copy    = malloc(b->size);
    unsigned             refused = 0, sound = 0;
    (void)state;
    for (uint32_t n = 0; n < b->size; n++)
        assert_int_not_equal(filter_check(b, n, &why), 0);
    for (uint32_t i = 0; i < b->size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint32_t size;
            memcpy(copy, b, b->size);
            copy[i] ^= (uint8_t)(1u << bit);
            const bool valid = filter_check(copy, b->size, &why) == 0;
            sound += valid;
            refused += !valid;
            if (valid) {
                filter_describe((const void *)copy, text, sizeof text);
                filter_part((const void *)copy, FILTER_CONTAINER, &size);
            }
        }
    print_message("%u refused, %u mean something else\n", refused, sound);
    assert_true(refused > 100 && sound > 10);
    /* one type twice */
    const uint32_t one = (uint32_t)sizeof *b;
    memcpy(copy, b, b->size);
    const uint32_t type = FILTER_SCHEMATIZED;
    memcpy(copy + one, &type, 4);
    memcpy(copy + one + 16, &type, 4);
    assert_int_equal(filter_check(copy, b->size, &why), W_INVALID_PARAMETER);
    free(copy);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits), cmocka_unit_test(whole_blocks),
                                       cmocka_unit_test(damaged_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
