/* The model: what schema_event_finish accepts and refuses, the walk over references, structs and maps, and names of
 * types.
 * Proves: MAN-07 (count and length by reference, arrays, structs), MAN-20 and CON-15 (a payload that does not fit is
 * reported, not read past). */
#include "autologger/schema/schema.h"
#include "autologger/schema/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct guid guid = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 8}};
static char              seen[4096];
static void              see(void *self, const struct field *f)
{
    size_t n = strlen(seen);
    (void)self;
    snprintf(seen + n, sizeof seen - n, "%s%s=%s%s", n ? " " : "", f->path, f->text, f->json == JSON_BARE ? "#" : "");
}

struct row {
    const char *name;
    uint16_t    in, flags, count, length, first, members;
};
static struct schema_event *make(struct schema_provider *p, const struct row *rows, unsigned n, unsigned top)
{
    struct schema_event *e = schema_event_new(p, n, top);
    assert_non_null(e);
    for (unsigned i = 0; i < n; i++) {
        struct schema_field *f = &e->fields[i];
        *f                     = (struct schema_field){.name    = rows[i].name,
                                                       .in      = rows[i].in,
                                                       .flags   = rows[i].flags,
                                                       .count   = rows[i].count ? rows[i].count : 1,
                                                       .length  = rows[i].length,
                                                       .first   = rows[i].first,
                                                       .members = rows[i].members};
        if (f->flags & FIELD_COUNT_OF)
            f->count = rows[i].count;
    }
    return e;
}
static enum decode_result decode(const struct schema_event *e, const char *payload, size_t size, uint32_t *used)
{
    struct field_sink sink = {.emit = see};
    seen[0]                = 0;
    enum decode_result r   = walk_fields(e, payload, size, true, &sink, used);
    field_sink_finish(&sink);
    return r;
}

static void references(void **state)
{
    struct schema_provider *p = schema_provider_new(&guid, "Contoso");
    struct reason           why;
    uint32_t                used;
    static const struct row rows[] = {
        {.name = "n", .in = IN_UINT8},
        {.name = "len", .in = IN_UINT16},
        {.name = "numbers", .in = IN_UINT16, .flags = FIELD_COUNT_OF, .count = 0},
        {.name = "text", .in = IN_UNICODESTRING, .flags = FIELD_LENGTH_OF, .length = 1},
        {.name = "s", .flags = FIELD_STRUCT | FIELD_COUNT_OF, .count = 0, .first = 6, .members = 2},
        {.name   = "fixed",
         .in     = IN_ANSISTRING,
         .flags  = FIELD_FIXED_LENGTH | FIELD_FIXED_COUNT,
         .count  = 2,
         .length = 3},
        {.name = "size", .in = IN_UINT8},
        {.name = "bytes", .in = IN_BINARY, .flags = FIELD_LENGTH_OF, .length = 6},
    };
    (void)state;
    struct schema_event *e = make(p, rows, 8, 6);
    assert_int_equal(schema_event_finish(p, e, &why), W_SUCCESS);
    static const char payload[] = "\2"
                                  "\3\0"
                                  "\1\0\2\0"
                                  "a\0b\0c\0"
                                  "\1\xAA"
                                  "\2\xBB\xCC"
                                  "xy\0"
                                  "zzz";
    assert_int_equal(decode(e, payload, sizeof payload - 1, &used), DECODE_OK);
    assert_string_equal(
        seen,
        "n=2# len=3# numbers[0]=1# numbers[1]=2# text=abc s[0].size=1# s[0].bytes=aa s[1].size=2# s[1].bytes=bbcc "
        "fixed[0]=xy fixed[1]=zzz");
    for (size_t size = sizeof payload - 1; size-- > 0;) { /* cut anywhere: complete fields are given, and no more */
        char *exact = malloc(size ? size : 1);
        memcpy(exact, payload, size);
        assert_int_equal(decode(e, exact, size, &used), DECODE_MISMATCH);
        assert_true(used <= size);
        free(exact);
    }
    char more[sizeof payload] = {0};
    memcpy(more, payload, sizeof payload - 1);
    assert_int_equal(decode(e, more, sizeof more, &used), DECODE_MISMATCH);
    assert_int_equal(used, sizeof more - 1);
    schema_provider_free(p);
}

/* Hostile or mistaken descriptions that must be refused. */
static void refused(void **state)
{
    static const struct {
        const char *what;
        struct row  rows[4];
        unsigned    n, top;
    } bad[] = {
        {"itself", {{.name = "a", .in = IN_UINT8, .flags = FIELD_COUNT_OF, .count = 0}}, 1, 1},
        {"later",
         {{.name = "a", .in = IN_UINT8, .flags = FIELD_COUNT_OF, .count = 1}, {.name = "b", .in = IN_UINT8}},
         2,
         2},
        {"outside", {{.name = "a", .in = IN_BINARY, .flags = FIELD_LENGTH_OF, .length = 9}}, 1, 1},
        {"a text",
         {{.name = "a", .in = IN_ANSISTRING}, {.name = "b", .in = IN_UINT8, .flags = FIELD_COUNT_OF, .count = 0}},
         2,
         2},
        {"an array",
         {{.name = "a", .in = IN_UINT8, .flags = FIELD_FIXED_COUNT, .count = 2},
          {.name = "b", .in = IN_UINT8, .flags = FIELD_COUNT_OF}},
         2,
         2},
        {"no type", {{.name = "a", .in = 26}}, 1, 1},
        {"null", {{.name = "a", .in = IN_NULL}}, 1, 1},
        {"no length", {{.name = "a", .in = IN_BINARY}}, 1, 1},
        {"no members", {{.name = "a", .flags = FIELD_STRUCT, .first = 1}, {.name = "b", .in = IN_UINT8}}, 2, 1},
        {"itself within", {{.name = "a", .flags = FIELD_STRUCT, .first = 0, .members = 1}}, 1, 1},
        {"beyond",
         {{.name = "a", .flags = FIELD_STRUCT, .first = 1, .members = 2}, {.name = "b", .in = IN_UINT8}},
         2,
         1},
        {"twice",
         {{.name = "a", .flags = FIELD_STRUCT, .first = 2, .members = 1},
          {.name = "b", .flags = FIELD_STRUCT, .first = 2, .members = 1},
          {.name = "c", .in = IN_UINT8}},
         3,
         2},
        {"nowhere", {{.name = "a", .in = IN_UINT8}, {.name = "b", .in = IN_UINT8}}, 2, 1},
        {"another struct's",
         {{.name = "a", .flags = FIELD_STRUCT, .first = 2, .members = 1},
          {.name = "b", .in = IN_UINT8, .flags = FIELD_COUNT_OF, .count = 2},
          {.name = "c", .in = IN_UINT8}},
         3,
         2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct schema_provider *p = schema_provider_new(&guid, "Contoso");
        struct reason           why;
        if (schema_event_finish(p, make(p, bad[i].rows, bad[i].n, bad[i].top), &why) != W_INVALID_DATA)
            fail_msg("%s is let in", bad[i].what);
        assert_int_equal(p->event_count, 0);
        schema_provider_free(p);
    }
}

static void maps(void **state)
{
    static const struct schema_map_row rows[] = {{1, "one"}, {2, "two"}, {4, "four"}};
    static const struct schema_map     values = {.name = "v", .count = 3, .rows = rows},
                                   bits       = {.name = "b", .bits = true, .count = 3, .rows = rows};
    static const struct row fields[]          = {{.name = "v", .in = IN_UINT32}, {.name = "b", .in = IN_UINT8}};
    static const struct {
        const char *payload, *text;
    } cases[]                 = {{"\2\0\0\0\5", "v=two b=one|four"},
                                 {"\3\0\0\0\x0A", "v=3 b=two|0x8"},
                                 {"\1\0\0\0\0", "v=one b=0x0"},
                                 {"\4\0\0\0\x10", "v=four b=0x10"}};
    struct schema_provider *p = schema_provider_new(&guid, "Contoso");
    struct schema_event    *e = make(p, fields, 2, 2);
    uint32_t                used;
    (void)state;
    e->fields[0].map = &values;
    e->fields[1].map = &bits;
    assert_int_equal(schema_event_finish(p, e, NULL), W_SUCCESS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(decode(e, cases[i].payload, 5, &used), DECODE_OK);
        assert_string_equal(seen, cases[i].text);
    }
    schema_provider_free(p);
}

static void words(void **state)
{
    uint16_t number;
    (void)state;
    assert_true(schema_in_find("win:UnicodeString", &number) && number == 1);
    assert_true(schema_out_find("win:HexInt32", &number) && number == 18);
    assert_false(schema_in_find("", &number));
    assert_false(schema_in_find("win:Nothing", &number));
    assert_string_equal(schema_in_word(IN_POINTER), "win:Pointer");
    assert_string_equal(schema_out_word(OUT_JSON), "win:Json");
    assert_string_equal(schema_in_word(999), "");
    assert_int_equal(schema_out_default(IN_UINT32), OUT_UNSIGNEDINT);
    assert_true(schema_out_fits(IN_UINT32, OUT_IPV4));
    assert_false(schema_out_fits(IN_UINT8, OUT_IPV4));
    assert_false(schema_out_fits(IN_INT8, OUT_BOOLEAN)); /* for TraceLogging only */
}

static void many(void **state)
{
    struct schema_provider *p     = schema_provider_new(&guid, "Contoso");
    static const struct row one[] = {{.name = "a", .in = IN_UINT8}};
    struct reason           why;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        struct schema_event *e = make(p, one, 1, 1);
        e->id                  = (uint16_t)i;
        assert_int_equal(schema_event_finish(p, e, &why), W_SUCCESS);
    }
    assert_int_equal(p->event_count, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(p->events[i]->id, i);
    assert_string_equal(schema_text(p, "a\xFF", 2), "a\xEF\xBF\xBD");
    assert_string_equal(schema_text_utf16(p, "a\0\xE4\0", 4), "a\xC3\xA4");
    schema_provider_free(p);
    schema_provider_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references), cmocka_unit_test(refused), cmocka_unit_test(maps),
                                       cmocka_unit_test(words), cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
