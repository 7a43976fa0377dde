/* TraceLogging metadata to fields: every type, arrays, structs, hostile schemas.
 * D-73: a last string without its NUL is as described.
 * Proves: TLG-01 and TLG-13 (decoded without a manifest), TLG-08 (all types), TLG-12 (arrays, structs), CON-05, CON-15
 * (mismatch reported). */
#include "autologger/schema/set.h"
#include "autologger/schema/tracelogging.h"
#include "autologger/schema/walk.h"
#include "autologger/etl/record.h"
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

struct bytes {
    uint8_t data[8192];
    size_t  size;
};
static void add(struct bytes *b, const void *p, size_t n)
{
    assert_true(b->size + n <= sizeof b->data);
    memcpy(b->data + b->size, p, n);
    b->size += n;
}
#define ADD(b, literal) add(b, literal, sizeof(literal) - 1)

static char seen[4096];
static void see(void *self, const struct field *f)
{
    (void)self;
    size_t n = strlen(seen);
    assert_string_equal(f->path + strlen(f->path) - strlen(f->name), f->name);
    snprintf(seen + n, sizeof seen - n, "%s%s=%s%s", n ? " " : "", f->path, f->text, f->json == JSON_BARE ? "#" : "");
}

/* Decodes an event with this schema body (behind size and tags) and payload. */
static enum decode_result decode(const struct bytes *schema, const struct bytes *payload, uint32_t *used)
{
    static uint8_t    record[32768];
    struct bytes      s    = {{0}, 3};
    struct field_sink sink = {.emit = see};
    struct etl_event  e;

    add(&s, schema->data, schema->size);
    s.data[0] = (uint8_t)s.size;
    s.data[1] = (uint8_t)(s.size >> 8);
    size_t n  = 80;
    n += build_item(record + n, ETL_EXT_PROV_TRAITS, true, "\x0B\0MySource", 11);
    n += build_item(record + n, ETL_EXT_SCHEMA_TL, false, s.data, (uint16_t)s.size);
    memcpy(record + n, payload->data, payload->size);
    n += payload->size;
    struct etl_event_header h = build_event(1, n - 80);
    h.flags                   = ETL_EVENT_EXTENDED;
    memcpy(record, &h, sizeof h);
    assert_int_equal(etl_record_size(record, n), n);
    assert_true(etl_record_decode(record, (uint32_t)n, 0, &e));
    seen[0] = 0;
    struct schema_key  key;
    struct schema_set *set = schema_set_new();
    schema_key_of(&e, &key);
    const struct schema_event *found  = schema_set_find(set, &key);
    enum decode_result         result = DECODE_UNKNOWN;
    if (found) {
        assert_int_equal(found->source, SCHEMA_SELF);
        result = walk_fields(found, e.payload, e.payload_size, e.is_64bit, &sink, used);
    }
    schema_set_free(set);
    field_sink_finish(&sink);
    return result;
}

static void the_sample_event(void **state)
{
    struct bytes schema = {{0}, 0}, payload = {{0}, 0};
    uint32_t     used;
    (void)state;
    ADD(&schema, "TestEvent\0a\0\x98\x02"
                 "b\0\x01"
                 "c\0\x01");
    ADD(&payload, "H\0e\0l\0l\0o\0\0\0W\0!\0\0\0");
    assert_int_equal(decode(&schema, &payload, &used), DECODE_OK);
    assert_string_equal(seen, "a.b=Hello a.c=W!");
    assert_int_equal(used, payload.size);
    payload.size -= 2; /* the last string ends with the payload */
    assert_int_equal(decode(&schema, &payload, &used), DECODE_OK);
    assert_string_equal(seen, "a.b=Hello a.c=W!");
    assert_int_equal(used, payload.size);
    payload.size--; /* in the middle of a character */
    assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
    assert_string_equal(seen, "a.b=Hello a.c=W");
    payload.size -= 3; /* no byte of it is there */
    assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
    assert_string_equal(seen, "a.b=Hello");
    payload.size += 6;
    ADD(&payload, "xyz"); /* surplus bytes */
    assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
    assert_int_equal(payload.size - used, 3);
}

static void every_type(void **state)
{
    static const struct {
        uint8_t     in, out;
        const char *bytes;
        size_t      size;
        const char *text;
    } rows[] = {
#define R(in, out, bytes, text) {in, out, bytes, sizeof(bytes) - 1, text}
        R(1, 0, "\x2A\x26\0\0", "v=\xE2\x98\xAA"),
        R(2, 0, "ab\0", "v=ab"),
        R(2, 35, "\xC3\xA4\0", "v=\xC3\xA4"),
        R(2, 0, "\xE4\0", "v=\xEF\xBF\xBD"),
        R(3, 0, "\xFF", "v=-1#"),
        R(4, 0, "\xFF", "v=255#"),
        R(3, 2, "A", "v=A"),
        R(4, 3, "\1", "v=true#"),
        R(4, 4, "\x1F", "v=0x1f"),
        R(5, 0, "\xFE\xFF", "v=-2#"),
        R(6, 0, "\xFE\xFF", "v=65534#"),
        R(6, 2, "\xE4\0", "v=\xC3\xA4"),
        R(6, 7, "\x1F\x90", "v=8080#"),
        R(7, 0, "\0\0\0\x80", "v=-2147483648#"),
        R(7, 15, "\x05\0\x07\x80", "v=0x80070005"),
        R(8, 0, "\0\0\0\x80", "v=2147483648#"),
        R(8, 8, "\x7F\0\0\1", "v=127.0.0.1"),
        R(8, 13, "\5\0\0\0", "v=5#"),
        R(8, 14, "\x22\0\0\xC0", "v=0xc0000022"),
        R(9, 0, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "v=-1#"),
        R(10, 0, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "v=18446744073709551615#"),
        R(10, 37, "\x10\0\0\0\0\0\xFF\xFF", "v=0xffff000000000010"),
        R(11, 0, "\0\0\xC0\x3F", "v=1.5#"),
        R(11, 0, "\0\0\xC0\x7F", "v=nan"),
        R(12, 0, "\0\0\0\0\0\0\xF8\x3F", "v=1.5#"),
        R(13, 0, "\2\0\0\0", "v=true#"),
        R(14, 0, "\3\0\1\2\3", "v=010203"),
        R(14, 9, "\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "v=::1"),
        R(14, 10, "\x10\0\2\0\x1F\x90\x7F\0\0\1\0\0\0\0\0\0\0\0", "v=127.0.0.1:8080"),
        R(15, 0, "\x78\x56\x34\x12\xBC\x9A\xF0\xDE\x11\x22\x33\x44\x55\x66\x77\x88",
          "v={12345678-9abc-def0-1122-334455667788}"),
        R(17, 0, "\x00\x80\x3E\xD5\xDE\xB1\x9D\x01", "v=1970-01-01T00:00:00.000000000Z"),
        R(18, 0, "\xEA\7\x0B\0\6\0\x15\0\7\0\x34\0\x23\0\x7B\0", "v=2026-11-21T07:52:35.123"),
        R(19, 0, "\1\2\0\0\0\0\0\5\x20\0\0\0\x20\2\0\0", "v=S-1-5-32-544"),
        R(20, 0, "\xFF\0\0\0", "v=0xff"),
        R(21, 0, "\xFF\0\0\0\0\0\0\1", "v=0x1000000000000ff"),
        R(22, 0, "\4\0h\0i\0", "v=hi"),
        R(23, 0, "\2\0hi", "v=hi"),
        R(25, 0, "\2\0\xAB\xCD", "v=abcd"),
#undef R
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes schema = {{0}, 0}, payload = {{0}, 0};
        uint32_t     used;
        uint8_t      type[2] = {(uint8_t)(rows[i].in | 0x80), rows[i].out};
        ADD(&schema, "E\0v\0");
        add(&schema, type, 2);
        add(&payload, rows[i].bytes, rows[i].size);
        if (decode(&schema, &payload, &used) != DECODE_OK || strcmp(seen, rows[i].text) != 0)
            fail_msg("in %u out %u: '%s', not '%s'", rows[i].in, rows[i].out, seen, rows[i].text);
        /* cut anywhere: a mismatch, and no invented value; strings have tests of their own */
        for (; payload.size > 0 && rows[i].in > 2;) {
            payload.size--;
            assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
            assert_string_equal(seen, "");
        }
    }
}

/* D-73: a payload may end where the NUL of its last string would stand. */
static void a_last_string_without_its_nul(void **state)
{
    static const struct {
        const char        *type, *payload;
        size_t             size;
        enum decode_result result;
        const char        *text;
        unsigned           left;
    } rows[] = {
        {"\1", "h\0i\0\0\0", 6, DECODE_OK, "n=7# v=hi", 0},
        {"\1", "h\0i\0", 4, DECODE_OK, "n=7# v=hi", 0},
        {"\1", "h\0i\0\0", 5, DECODE_MISMATCH, "n=7# v=hi", 1},
        {"\1", "h", 1, DECODE_MISMATCH, "n=7#", 1},
        {"\1", "", 0, DECODE_MISMATCH, "n=7#", 0},
        {"\2", "hi\0", 3, DECODE_OK, "n=7# v=hi", 0},
        {"\2", "hi", 2, DECODE_OK, "n=7# v=hi", 0},
        {"\2", "", 0, DECODE_MISMATCH, "n=7#", 0},
        {"\2", "\0", 1, DECODE_OK, "n=7# v=", 0},
        {"\x42", "\2\0a\0b", 5, DECODE_OK, "n=7# v[0]=a v[1]=b", 0},
        {"\x42", "\2\0ab", 4, DECODE_MISMATCH, "n=7# v[0]=ab", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes schema = {{0}, 0}, payload = {{0}, 0};
        uint32_t     used;
        ADD(&schema, "E\0n\0\4v\0");
        add(&schema, rows[i].type, 1);
        ADD(&payload, "\7");
        add(&payload, rows[i].payload, rows[i].size);
        enum decode_result result = decode(&schema, &payload, &used);
        if (result != rows[i].result || strcmp(seen, rows[i].text) != 0 || payload.size - used != rows[i].left)
            fail_msg("row %zu: %d '%s', %zu left", i, result, seen, payload.size - used);
    }
}

static void arrays_and_structs(void **state)
{
    struct bytes schema = {{0}, 0}, payload = {{0}, 0};
    uint32_t     used;
    (void)state;
    ADD(&schema, "E\0"
                 "c\0\x24\2\0"); /* two u8 */
    ADD(&schema, "v\0\x42");     /* any number of ANSI strings */
    ADD(&schema, "s\0\xD8\x02"
                 "x\0\4"
                 "n\0\x98\x01"
                 "y\0\4"); /* any number of {x, n {y}} */
    ADD(&schema, "none\0\xD8\x01"
                 "z\0\4");
    ADD(&schema, "t\0\x88\x84\x81\x01"); /* u32 hex with tags */
    ADD(&schema, "k\0\x64\1\0?");        /* custom */
    ADD(&payload, "\1\2"
                  "\2\0a\0b\0"
                  "\2\0\3\4\5\6"
                  "\0\0"
                  "\x10\0\0\0"
                  "\2\0\xAA\xBB");
    enum decode_result result = decode(&schema, &payload, &used);
    assert_string_equal(seen,
                        "c[0]=1# c[1]=2# v[0]=a v[1]=b s[0].x=3# s[0].n.y=4# s[1].x=5# s[1].n.y=6# t=0x10 k=aabb");
    assert_int_equal(result, DECODE_OK);
}

static void hostile_schemas_end(void **state)
{
    struct bytes schema = {{0}, 0}, payload = {{0}, 0};
    uint32_t     used;
    (void)state;

    ADD(&schema, "E\0"); /* 65,535 to the power of 40, without a byte of payload */
    for (int i = 0; i < 40; i++)
        ADD(&schema, "s\0\xB8\x01\xFF\xFF");
    ADD(&schema, "z\0\x24\0\0");
    assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
    schema.size = 0;
    ADD(&schema, "E\0"); /* the same within the allowed depth */
    for (int i = 0; i < 10; i++)
        ADD(&schema, "s\0\xB8\x01\xFF\xFF");
    ADD(&schema, "z\0\x24\0\0");
    assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
    static const struct {
        const char *schema;
        size_t      size;
    } rows[]     = {{"E\0v\0\0", 5}, {"E\0v\0\x1A", 5}, {"E\0v\0\x98\0", 6}, {"E\0v\0\x98\x02z\0\4", 9},
                    {"E\0v", 3},     {"E\0v\0\x84", 5}, {"E\0v\0\x24", 5}};
    payload.size = 0;
    ADD(&payload, "12345678");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        schema.size = 0;
        add(&schema, rows[i].schema, rows[i].size);
        assert_int_equal(decode(&schema, &payload, &used), DECODE_MISMATCH);
        assert_true(used <= payload.size);
    }
    schema.size = 0;
    ADD(&schema, "no end");
    assert_int_equal(decode(&schema, &payload, &used), DECODE_UNKNOWN);
}

static void names_and_group(void **state)
{
    uint8_t                   part[256];
    struct tracelogging_names names;
    static const uint8_t      traits[] =
        "\x1E\0MySource\0\x13\0\1\x78\x56\x34\x12\xBC\x9A\xF0\xDE\x11\x22\x33\x44\x55\x66\x77\x88";
    (void)state;
    for (size_t cut = 0; cut <= 30; cut++) {
        size_t           n = build_item(part, ETL_EXT_PROV_TRAITS, false, traits, (uint16_t)(30 - cut));
        struct etl_event e = {.kind = ETL_KIND_EVENT, .ext = part, .ext_size = (uint32_t)n};
        tracelogging_names(&e, &names);
        assert_null(names.event);
        if (cut == 0) {
            assert_string_equal(names.provider, "MySource");
            assert_true(names.has_group && guid_equal(&names.group, &build_provider));
        } else {
            assert_false(names.has_group);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_event),    cmocka_unit_test(every_type),
        cmocka_unit_test(arrays_and_structs),  cmocka_unit_test(a_last_string_without_its_nul),
        cmocka_unit_test(hostile_schemas_end), cmocka_unit_test(names_and_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
