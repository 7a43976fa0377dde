/* Proves: ENB-06: payload predicates in the program that writes: every operator over every type, whatever pieces the
 * payload comes in; fields behind texts, arrays, lengths and structures; TraceLogging by its own description; several
 * entries for one event; damaged filters and descriptions never read past their end, and what a description does not
 * find it does not say. */
#include "autologger/provider/payload.h"
#include "autologger/wire/payload_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ID = 7, STEP_MAX = 8, PIECES = 128 };
static const EVENT_DESCRIPTOR descriptor = {.Id = ID, .Version = 2, .Level = 4};

/* A filter of one field of that type, at the payload's beginning. */
static wstatus make(struct payload_bytes *b, uint8_t in, uint8_t op, const char *text, struct reason *why)
{
    struct payload_clause c = {.event = "E", .id = ID, .version = 2, .predicates = 1, .steps = 1};
    c.step[0]               = (struct payload_step){.in = in, .slot = PAYLOAD_NO_SLOT};
    c.predicate[0]          = (struct payload_asked){"f", text, 0, op};
    b->size                 = 0;
    return payload_add(b, &c, why);
}

static bool passes_pieces(const struct payload_bytes *b, EVENT_DATA_DESCRIPTOR *d, ULONG count)
{
    const struct filter_event e = {.d = &descriptor, .data = d, .count = count};
    return payload_passes(b->at, (uint32_t)b->size, &e);
}
static EVENT_DATA_DESCRIPTOR piece(const void *data, size_t size)
{
    EVENT_DATA_DESCRIPTOR d;
    EventDataDescCreate(&d, data, (ULONG)size);
    return d;
}
/* As one piece, cut at each place, with an empty piece there, and byte by byte: always the same result. */
static bool passes(const struct payload_bytes *b, const char *payload, size_t size)
{
    EVENT_DATA_DESCRIPTOR d[PIECES];
    d[0]             = piece(payload, size);
    const bool whole = passes_pieces(b, d, 1);
    for (size_t cut = 0; cut <= size; cut++) {
        d[0] = piece(payload, cut);
        d[1] = piece(NULL, 0);
        d[2] = piece(payload + cut, size - cut);
        if (passes_pieces(b, d, 3) != whole)
            fail_msg("cut at %zu", cut);
    }
    for (size_t i = 0; i < size; i++)
        d[i] = piece(payload + i, 1);
    assert_int_equal(passes_pieces(b, d, (ULONG)size), whole);
    return whole;
}

#define ROW(in, op, text, bytes, yes) \
    { \
        in, op, text, bytes, sizeof bytes - 1, yes \
    }
#define W1 "a\0b\0c\0\0\0"
#define GUID_TEXT "{12345678-9abc-def0-1122-334455667788}"
#define GUID_BYTES "\x78\x56\x34\x12\xBC\x9A\xF0\xDE\x11\x22\x33\x44\x55\x66\x77\x88"
static void operators_over_types(void **state)
{
    static const struct {
        uint8_t     in, op;
        const char *text, *bytes;
        size_t      size;
        bool        yes;
    } rows[] = {
        ROW(8, PAYLOAD_EQ, "5", "\5\0\0\0", true),
        ROW(8, PAYLOAD_EQ, "0x5", "\5\0\0\0", true),
        ROW(8, PAYLOAD_EQ, "6", "\5\0\0\0", false),
        ROW(8, PAYLOAD_NE, "6", "\5\0\0\0", true),
        ROW(8, PAYLOAD_IS, "5", "\5\0\0\0", true),
        ROW(8, PAYLOAD_IS_NOT, "5", "\5\0\0\0", false),
        ROW(8, PAYLOAD_LE, "5", "\5\0\0\0", true),
        ROW(8, PAYLOAD_LT, "5", "\5\0\0\0", false),
        ROW(8, PAYLOAD_GT, "4", "\5\0\0\0", true),
        ROW(8, PAYLOAD_GE, "6", "\5\0\0\0", false),
        ROW(8, PAYLOAD_GT, "-1", "\5\0\0\0", true),
        ROW(8, PAYLOAD_LT, "0x100000000", "\xFF\xFF\xFF\xFF", true),
        ROW(8, PAYLOAD_BETWEEN, "5,7", "\5\0\0\0", true),
        ROW(8, PAYLOAD_BETWEEN, "5, 7", "\7\0\0\0", true),
        ROW(8, PAYLOAD_BETWEEN, "5,7", "\10\0\0\0", false),
        ROW(8, PAYLOAD_NOT_BETWEEN, "5,7", "\6\0\0\0", false),
        ROW(8, PAYLOAD_NOT_BETWEEN, "5,7", "\4\0\0\0", true),
        ROW(8, PAYLOAD_MODULO, "3", "\6\0\0\0", true),
        ROW(8, PAYLOAD_MODULO, "3", "\7\0\0\0", false),
        ROW(8, PAYLOAD_MODULO, "3", "\0\0\0\0", true),
        ROW(7, PAYLOAD_LT, "0", "\xFF\xFF\xFF\xFF", true),
        ROW(7, PAYLOAD_BETWEEN, "-3,-1", "\xFE\xFF\xFF\xFF", true),
        ROW(7, PAYLOAD_BETWEEN, "-3,1", "\5\0\0\0", false),
        ROW(7, PAYLOAD_MODULO, "-2", "\xFE\xFF\xFF\xFF", true),
        ROW(7, PAYLOAD_EQ, "4294967295", "\xFF\xFF\xFF\xFF", false),
        ROW(3, PAYLOAD_EQ, "-1", "\xFF", true),
        ROW(4, PAYLOAD_EQ, "255", "\xFF", true),
        ROW(5, PAYLOAD_EQ, "-2", "\xFE\xFF", true),
        ROW(6, PAYLOAD_EQ, "65534", "\xFE\xFF", true),
        ROW(9, PAYLOAD_EQ, "-9223372036854775808", "\0\0\0\0\0\0\0\x80", true),
        ROW(10, PAYLOAD_EQ, "18446744073709551615", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", true),
        ROW(10, PAYLOAD_GT, "9223372036854775807", "\0\0\0\0\0\0\0\x80", true),
        ROW(13, PAYLOAD_IS, "true", "\xFF\xFF\xFF\xFF", true),
        ROW(13, PAYLOAD_IS, "FALSE", "\1\0\0\0", false),
        ROW(20, PAYLOAD_EQ, "0xC0000022", "\x22\0\0\xC0", true),
        ROW(21, PAYLOAD_NE, "1", "\1\0\0\0\0\0\0\0", false),
        ROW(17, PAYLOAD_GT, "1", "\2\0\0\0\0\0\0\0", true),
        ROW(11, PAYLOAD_EQ, "1.5", "\0\0\xC0\x3F", true),
        ROW(11, PAYLOAD_GT, "1", "\0\0\xC0\x3F", true),
        ROW(12, PAYLOAD_LT, "-1e3", "\0\0\0\0\0\x88\xB3\xC0", true),
        /* NaN is not unequal, either */
        ROW(12, PAYLOAD_NOT_BETWEEN, "0.5,2", "\0\0\0\0\0\0\xF8\x3F", false),
        ROW(12, PAYLOAD_NE, "1", "\0\0\0\0\0\0\xF8\x7F", false),
        ROW(15, PAYLOAD_IS, GUID_TEXT, GUID_BYTES, true),
        ROW(15, PAYLOAD_IS_NOT, GUID_TEXT, GUID_BYTES, false),
        ROW(15, PAYLOAD_EQ, "{00000000-0000-0000-0000-000000000000}", GUID_BYTES, false),
        ROW(1, PAYLOAD_IS, "abc", W1, true),
        ROW(1, PAYLOAD_IS, "ab", W1, false),
        ROW(1, PAYLOAD_IS, "abcd", W1, false),
        ROW(1, PAYLOAD_IS, "Abc", W1, false),
        ROW(1, PAYLOAD_IS_NOT, "abd", W1, true),
        ROW(1, PAYLOAD_CONTAINS, "bc", W1, true),
        ROW(1, PAYLOAD_CONTAINS, "abc", W1, true),
        ROW(1, PAYLOAD_CONTAINS, "", W1, true),
        ROW(1, PAYLOAD_CONTAINS, "abcd", W1, false),
        ROW(1, PAYLOAD_NOT_CONTAINS, "b", W1, false),
        ROW(1, PAYLOAD_NOT_CONTAINS, "x", W1, true),
        ROW(1, PAYLOAD_CONTAINS, "\xC4\x81", "\x01\x00\x01\x00\0\0", false), /* U+0101 at an odd offset: none */
        /* without its NUL */
        ROW(1, PAYLOAD_IS, "\xC3\xA4", "\xE4\0\0\0", true),
        ROW(1, PAYLOAD_IS, "abc", "a\0b\0c\0", true),
        ROW(1, PAYLOAD_IS, "", "\0\0", true),
        ROW(2, PAYLOAD_IS, "", "\0", true),
        ROW(2, PAYLOAD_EQ, "abc", "abc\0", true),
        ROW(2, PAYLOAD_CONTAINS, "bb", "abbc\0", true),
        ROW(2, PAYLOAD_CONTAINS, "bbb", "abbc\0", false),
        ROW(2, PAYLOAD_CONTAINS, "aab", "aaab\0", true),
        ROW(22, PAYLOAD_IS, "ab", "\4\0a\0b\0", true),
        ROW(23, PAYLOAD_CONTAINS, "b", "\2\0ab", true),
        ROW(23, PAYLOAD_NOT_CONTAINS, "b", "\2\0ab", false),
        /* cut: without the field no condition holds */
        ROW(8, PAYLOAD_NE, "6", "\5\0\0", false),
        ROW(15, PAYLOAD_IS_NOT, GUID_TEXT, "\0\0\0", false),
        ROW(22, PAYLOAD_IS_NOT, "x", "\4\0a\0", false),
        ROW(10, PAYLOAD_NE, "6", "", false),
    };
    struct payload_bytes b;
    struct reason        why;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (make(&b, rows[i].in, rows[i].op, rows[i].text, &why))
            fail_msg("row %zu: %s", i, why.text);
        assert_int_equal(payload_check(b.at, b.size, &why), 0);
        if (passes(&b, rows[i].bytes, rows[i].size) != rows[i].yes)
            fail_msg("row %zu: type %u %s '%s' is %d", i, rows[i].in, payload_operator_word(rows[i].op), rows[i].text,
                     !rows[i].yes);
    }
}

/* Operators that a type does not have and operands of another type are refused when the filter is made. */
static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        uint8_t     in, op;
        const char *text, *said;
    } rows[] = {{8, PAYLOAD_CONTAINS, "5", "does not go with 'contains'"},
                {1, PAYLOAD_GE, "5", "does not go with '>='"},
                {15, PAYLOAD_LT, GUID_TEXT, "does not go"},
                {12, PAYLOAD_MODULO, "2", "does not go with 'modulo'"},
                {8, PAYLOAD_EQ, "five", "is no whole number"},
                {8, PAYLOAD_EQ, "1.5", "is no whole number"},
                {8, PAYLOAD_EQ, "18446744073709551616", "is no whole number"},
                {8, PAYLOAD_EQ, "5x", "is no whole number"},
                {8, PAYLOAD_EQ, "", "is no whole number"},
                {8, PAYLOAD_EQ, " 5", "is no whole number"},
                {12, PAYLOAD_EQ, "nan", "is no number"},
                {12, PAYLOAD_EQ, "inf", "is no number"},
                {15, PAYLOAD_IS, "x", "is no GUID"},
                {8, PAYLOAD_BETWEEN, "5", "two numbers"},
                {8, PAYLOAD_BETWEEN, "5,x", "two numbers"},
                {8, PAYLOAD_BETWEEN, "5,1.5", "is no whole number"},
                {8, PAYLOAD_MODULO, "0", "by 0"},
                {14, PAYLOAD_IS, "x", "not compared"},
                {19, PAYLOAD_IS, "x", "not compared"},
                {18, PAYLOAD_IS, "x", "not compared"},
                {8, 9, "1", "no operator 9"},
                {8, 32, "1", "no operator 32"}};
    struct payload_bytes b;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reason why = {0};
        assert_int_equal(make(&b, rows[i].in, rows[i].op, rows[i].text, &why), 87);
        if (!strstr(why.text, rows[i].said))
            fail_msg("row %zu: %s", i, why.text);
    }
}

/* A field behind text, counted array, bytes with a length field, SID, pointer and port. */
static void behind_other_fields(void **state)
{
    static const struct payload_step steps[] = {
        {.in = 1, .slot = PAYLOAD_NO_SLOT},
        {.in = 6, .slot = 0},
        {.in = 7, .how = PAYLOAD_COUNT_SLOT, .count = 0, .slot = PAYLOAD_NO_SLOT},
        {.in = 14, .how = PAYLOAD_LENGTH_SLOT, .length = 0, .slot = PAYLOAD_NO_SLOT},
        {.in = 2, .how = PAYLOAD_FIXED_COUNT, .count = 2, .slot = PAYLOAD_NO_SLOT},
        {.in = 19, .slot = PAYLOAD_NO_SLOT},
        {.in = 1, .how = PAYLOAD_FIXED_LENGTH, .length = 3, .slot = PAYLOAD_NO_SLOT},
        {.in = 6, .how = PAYLOAD_BIG_ENDIAN, .slot = PAYLOAD_NO_SLOT},
    };
    static const char payload[] = "h\0i\0\0\0"
                                  "\2\0"
                                  "\1\0\0\0\2\0\0\0"
                                  "xy"
                                  "one\0\0"
                                  "\1\1\0\0\0\0\0\5\7\0\0\0"
                                  "a\0b\0\0\0"
                                  "\x1F\x90";
    static const struct {
        uint16_t    step;
        uint8_t     op;
        const char *text;
        bool        yes;
    } rows[] = {{0, PAYLOAD_IS, "hi", true},   {1, PAYLOAD_EQ, "2", true},    {6, PAYLOAD_IS, "ab", true},
                {6, PAYLOAD_IS, "abc", false}, {7, PAYLOAD_EQ, "8080", true}, {7, PAYLOAD_EQ, "36895", false}};
    struct payload_bytes  b;
    struct payload_clause c;
    struct reason         why;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&c, 0, sizeof c);
        c.event = "E", c.id = ID, c.version = 2, c.steps = STEP_MAX, c.predicates = 1;
        memcpy(c.step, steps, sizeof steps);
        c.predicate[0] = (struct payload_asked){"f", rows[i].text, rows[i].step, rows[i].op};
        b.size         = 0;
        assert_int_equal(payload_add(&b, &c, &why), 0);
        assert_int_equal(payload_check(b.at, b.size, &why), 0);
        if (passes(&b, payload, sizeof payload - 1) != rows[i].yes)
            fail_msg("row %zu", i);
        assert_false(passes(&b, payload, rows[i].step ? 3 : 0)); /* ends before the field */
    }
}

static void clause(struct payload_bytes *b, uint8_t flags, uint8_t version, unsigned count,
                   const struct payload_asked *asked)
{
    struct payload_clause c = {
        .event = "E", .id = ID, .version = version, .flags = flags, .predicates = count, .steps = 2};
    struct reason why;
    c.step[0] = c.step[1] = (struct payload_step){.in = 8, .slot = PAYLOAD_NO_SLOT};
    memcpy(c.predicate, asked, count * sizeof *asked);
    assert_int_equal(payload_add(b, &c, &why), 0);
}
static bool two(const struct payload_bytes *b, uint32_t first, uint32_t second)
{
    const uint32_t v[2] = {first, second};
    return passes(b, (const char *)v, sizeof v);
}

static void predicates_and_entries_together(void **state)
{
    static const struct payload_asked ab[] = {{"a", "1", 0, PAYLOAD_EQ}, {"b", "2", 1, PAYLOAD_EQ}},
                                      c9[] = {{"a", "9", 0, PAYLOAD_EQ}};
    struct payload_bytes b                 = {.size = 0};
    (void)state;
    clause(&b, 0, 2, 2, ab); /* and */
    assert_true(two(&b, 1, 2) && !two(&b, 1, 3) && !two(&b, 0, 2));
    b.size = 0;
    clause(&b, PAYLOAD_ANY, 2, 2, ab); /* or */
    assert_true(two(&b, 1, 3) && two(&b, 0, 2) && !two(&b, 0, 0));
    clause(&b, 0, 2, 1, c9); /* a second entry: one of the two */
    assert_true(two(&b, 9, 0) && two(&b, 1, 0) && !two(&b, 0, 0));
    clause(&b, PAYLOAD_ALL, 2, 1, &ab[1]); /* a third, which must hold as well */
    assert_true(!two(&b, 9, 0) && two(&b, 9, 2) && !two(&b, 0, 3));
    b.size = 0;
    clause(&b, 0, 3, 1, c9); /* for another version: this event has no entry, so it passes */
    assert_true(two(&b, 0, 0));
    const EVENT_DESCRIPTOR    other = {.Id = ID + 1, .Version = 2};
    const struct filter_event e     = {.d = &other};
    b.size                          = 0;
    clause(&b, 0, 2, 1, c9);
    assert_true(payload_passes(b.at, (uint32_t)b.size, &e));
}

/* ---- TraceLogging ---- */

static const char meta[] = "\0\0"
                           "\0"
                           "Ev\0" /* u16 size, tags, name */
                           "first\0\x08"
                           "s\0\x98\x02"
                           "inner\0\x01"
                           "v\0\x08"
                           "list\0\x48"
                           "bytes\0\x0E"
                           "fix\0\x26\x02\0"
                           "port\0\x86\x07"
                           "v\0\x02"
                           "tagged\0\x88\x84\x81\x01"
                           "g\0\x0F";
static const char body[] = "\5\0\0\0"
                           "x\0\0\0"
                           "\7\0\0\0"
                           "\2\0\1\0\0\0\2\0\0\0"
                           "\3\0abc"
                           "\1\0\2\0"
                           "\x1F\x90"
                           "deep\0"
                           "\x2A\0\0\0" GUID_BYTES;

static bool tlg(const char *event, const char *field, uint8_t op, const char *text, size_t meta_size, size_t body_size)
{
    struct payload_clause c = {.event = event, .flags = PAYLOAD_NAMED, .predicates = 1};
    struct payload_bytes  b = {.size = 0};
    struct reason         why;
    c.predicate[0] = (struct payload_asked){field, text, PAYLOAD_BY_NAME, op};
    assert_int_equal(payload_add(&b, &c, &why), 0);
    assert_int_equal(payload_check(b.at, b.size, &why), 0);
    /* nothing behind them */
    uint8_t              *m = malloc(meta_size ? meta_size : 1), *p = malloc(body_size ? body_size : 1);
    EVENT_DATA_DESCRIPTOR d[3] = {piece(m, meta_size), piece(p, body_size / 2),
                                  piece(p + body_size / 2, body_size - body_size / 2)};
    assert_true(m && p);
    memcpy(m, meta, meta_size);
    memcpy(p, body, body_size);
    d[0].Type                        = EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA;
    const struct filter_event e      = {.d             = &descriptor,
                                        .name          = "Ev",
                                        .data          = d,
                                        .count         = 3,
                                        .metadata      = m,
                                        .metadata_size = (uint32_t)meta_size,
                                        .typed         = true};
    const bool                passed = payload_passes(b.at, (uint32_t)b.size, &e);
    free(m);
    free(p);
    return passed;
}

static void tracelogging_by_its_own_description(void **state)
{
    static const struct {
        const char *field;
        uint8_t     op;
        const char *text;
        bool        yes;
    } rows[] = {{"first", PAYLOAD_EQ, "5", true},
                {"first", PAYLOAD_GT, "5", false},
                {"port", PAYLOAD_EQ, "8080", true},
                {"tagged", PAYLOAD_BETWEEN, "40,50", true},
                {"g", PAYLOAD_IS, GUID_TEXT, true},
                {"v", PAYLOAD_IS, "deep", true}, /* the outer v, not the structure's */
                /* can't be compared */
                {"v", PAYLOAD_EQ, "7", false},
                {"inner", PAYLOAD_IS, "x", false},
                {"list", PAYLOAD_EQ, "1", false},
                {"bytes", PAYLOAD_IS, "abc", false},
                {"first", PAYLOAD_IS, "x", false},
                {"first", PAYLOAD_CONTAINS, "5", false},
                {"nothing", PAYLOAD_NE, "5", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tlg("Ev", rows[i].field, rows[i].op, rows[i].text, sizeof meta, sizeof body - 1) != rows[i].yes)
            fail_msg("row %zu", i);
        for (size_t n = 0; n <= sizeof meta; n++)
            if (tlg("Ev", rows[i].field, rows[i].op, rows[i].text, n, sizeof body - 1))
                assert_true(rows[i].yes);
        for (size_t n = 0; n < sizeof body; n++)
            if (tlg("Ev", rows[i].field, rows[i].op, rows[i].text, sizeof meta, n))
                assert_true(rows[i].yes);
    }
    assert_true(tlg("Other", "first", PAYLOAD_EQ, "6", sizeof meta, sizeof body - 1)); /* no entry for this event */
    assert_true(tlg("E", "first", PAYLOAD_EQ, "6", sizeof meta, sizeof body - 1));
}

/* Any bytes in the filter's memory give an answer, and nothing is read behind it (with a sanitizer). */
static void damaged_filters_do_no_harm(void **state)
{
    static const struct payload_asked ab[] = {{"a", "1", 0, PAYLOAD_EQ}, {"b", "text", 1, PAYLOAD_EQ}};
    const EVENT_DATA_DESCRIPTOR       d    = piece("\1\0\0\0t\0", 6);
    const struct filter_event         e    = {.d = &descriptor, .data = &d, .count = 1};
    struct payload_clause             c    = {.event = "E", .id = ID, .version = 2, .predicates = 2, .steps = 2};
    struct payload_bytes              b    = {.size = 0};
    struct reason                     why;
    unsigned                          sound = 0;
    (void)state;
    c.step[0] = (struct payload_step){.in = 8, .slot = 0};
    c.step[1] = (struct payload_step){.in = 2, .how = PAYLOAD_LENGTH_SLOT, .slot = PAYLOAD_NO_SLOT};
    memcpy(c.predicate, ab, sizeof ab);
    assert_int_equal(payload_add(&b, &c, &why), 0);
    uint8_t *copy = malloc(b.size);
    assert_non_null(copy);
    for (size_t i = 0; i < b.size; i++)
        for (unsigned value = 0; value < 256; value += i < 48 ? 1 : 51) {
            memcpy(copy, b.at, b.size);
            copy[i] = (uint8_t)value;
            payload_passes(copy, (uint32_t)b.size, &e);
            sound += payload_check(copy, b.size, NULL) == 0;
        }
    free(copy);
    for (uint32_t n = 0; n < b.size; n++) {
        assert_non_null(copy = malloc(n + 1));
        memcpy(copy, b.at, n);
        payload_passes(copy, n, &e);
        assert_int_not_equal(payload_check(copy, n, NULL), 0);
        free(copy);
    }
    assert_uint_in_range(sound, 1, 48 * 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_over_types),
                                       cmocka_unit_test(what_does_not_fit_is_refused),
                                       cmocka_unit_test(behind_other_fields),
                                       cmocka_unit_test(predicates_and_entries_together),
                                       cmocka_unit_test(tracelogging_by_its_own_description),
                                       cmocka_unit_test(damaged_filters_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
