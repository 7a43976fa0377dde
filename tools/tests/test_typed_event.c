/* Proves: TLG-06: the metadata and payload of events that are put together at run time. */
#include "tools/live/typed_event.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static struct typed_event event;

struct row {
    const char *assignment;
    uint8_t     types[2];
    unsigned    type_count;
    const char *payload;
    size_t      payload_size;
};
static const struct row rows[] = {
    {"n=80", {9}, 1, "\x50\0\0\0\0\0\0\0", 8},
    {"n=-1", {9}, 1, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8},
    {"n=0x1F", {21}, 1, "\x1F\0\0\0\0\0\0\0", 8},
    {"n=0xffffffffffffffff", {21}, 1, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8},
    {"n=0.5", {12}, 1, "\0\0\0\0\0\0\xE0\x3F", 8},
    {"n=5e-1", {12}, 1, "\0\0\0\0\0\0\xE0\x3F", 8},
    {"n=true", {13}, 1, "\1\0\0\0", 4},
    {"n=false", {13}, 1, "\0\0\0\0", 4},
    {"n=", {0x82, 35}, 2, "", 1},
    {"n=1a", {0x82, 35}, 2, "1a", 3},
    {"n=0x", {0x82, 35}, 2, "0x", 3},
    {"n=-", {0x82, 35}, 2, "-", 2},
    {"n=e", {0x82, 35}, 2, "e", 2},
    {"n='80", {0x82, 35}, 2, "80", 3},
    {"n=a=b", {0x82, 35}, 2, "a=b", 4},
    {"n=99999999999999999999", {0x82, 35}, 2, "99999999999999999999", 21},
    {"n=gr\xC3\xBC\xC3\x9F", {0x82, 35}, 2, "gr\xC3\xBC\xC3\x9F", 7},
};

static void test_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r    = &rows[i];
        struct reason     why  = {0};
        size_t            size = 2 + 1 + 3 + 2 + r->type_count;
        uint16_t          announced;
        assert_int_equal(typed_event_init(&event, "Ev", &why), W_SUCCESS);
        assert_int_equal(typed_event_add(&event, r->assignment, &why), W_SUCCESS);
        memcpy(&announced, event.metadata, sizeof announced);
        assert_int_equal(event.metadata_size, size);
        assert_int_equal(announced, size);
        assert_memory_equal(event.metadata + 2, "\0Ev\0n\0", 6);
        assert_memory_equal(event.metadata + 8, r->types, r->type_count);
        assert_int_equal(event.payload_size, r->payload_size);
        assert_memory_equal(event.payload, r->payload, r->payload_size);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct reason why  = {0};
    char         *huge = malloc(TYPED_EVENT_PAYLOAD + 16);
    assert_non_null(huge);
    memset(huge, 'x', TYPED_EVENT_PAYLOAD + 15);
    huge[TYPED_EVENT_PAYLOAD + 15] = 0;
    assert_int_equal(typed_event_init(&event, "", &why), W_INVALID_PARAMETER);
    assert_int_equal(typed_event_init(&event, "Ev", &why), W_SUCCESS);
    assert_int_equal(typed_event_add(&event, "port", &why), W_INVALID_PARAMETER);
    assert_int_equal(typed_event_add(&event, "=80", &why), W_INVALID_PARAMETER);
    assert_int_equal(typed_event_add_text(&event, "n", huge, &why), W_ARITHMETIC_OVERFLOW);
    huge[TYPED_EVENT_METADATA] = 0;
    assert_int_equal(typed_event_init(&event, huge, &why), W_INVALID_PARAMETER);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
