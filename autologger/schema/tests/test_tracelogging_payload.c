/* D-60: which payloads of Channel 11 begin with TraceLogging metadata. No length is trusted: every cut of a sound one
 * is refused or decodes within its bytes. Proves: TLG-01. */
#include "autologger/schema/set.h"
#include "autologger/schema/tracelogging.h"
#include "autologger/schema/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NAME "\x0B\0MySource\0"
#define EVENT "\x0A\0\0Run\0n\0\x08"
#define GROUP \
    "\x13\0\1" \
    "0123456789abcdef"

static void recognised_or_not(void **state)
{
    static const struct {
        const char *what, *bytes;
        size_t      size;
        bool        is;
        unsigned    traits, metadata;
    } rows[] = {
#define R(what, bytes, is, traits, metadata) {what, bytes, sizeof(bytes) - 1, is, traits, metadata}
        R("both, and a field", NAME EVENT "\1\0\0\0", true, 11, 10),
        R("both, and nothing", NAME EVENT, true, 11, 10),
        R("with a group", "\x1E\0MySource\0" GROUP EVENT, true, 30, 10),
        R("a trait of an unknown type", "\x0F\0MySource\0\x04\0\x80x" EVENT, true, 15, 10),
        R("an event without fields", NAME "\x07\0\0Run\0", true, 11, 7),
        R("tags of two bytes", NAME "\x08\0\x81\1Run\0", true, 11, 8),
        R("names beyond ASCII", "\x06\0\xC3\xA4\xC3\0" EVENT, false, 0, 0),
        R("names in UTF-8", "\x05\0\xC3\xA4\0" EVENT, true, 5, 10),
        R("an unknown type of a field", NAME "\x0A\0\0Run\0n\0\x1F", true, 11, 10), /* field types are not checked */
        R("empty", "", false, 0, 0),
        R("one byte", "\x0B", false, 0, 0),
        R("the name alone", NAME, false, 0, 0),
        R("no name", "\x03\0\0" EVENT, false, 0, 0),
        R("a size below the least", "\2\0" EVENT, false, 0, 0),
        R("a size of 0", "\0\0\0\0\0\0\0\0", false, 0, 0),
        R("a size beyond the end", "\xFF\xFFMySource\0" EVENT, false, 0, 0),
        R("no NUL in the block", "\x0A\0MySource" EVENT, false, 0, 0),
        R("a control character", "\x04\0\n\0" EVENT, false, 0, 0),
        R("no trait behind the name", "\x0D\0MySource\0xx" EVENT, false, 0, 0),
        R("a trait too long", "\x0E\0MySource\0\x04\0\x01" EVENT, false, 0, 0),
        R("a trait too short", "\x0E\0MySource\0\x02\0\x01" EVENT, false, 0, 0),
        R("an event too long", NAME "\xFF\xFF\0Run\0n\0\x08", false, 0, 0),
        R("an event without a name", NAME "\x04\0\0\0", false, 0, 0),
        R("an event's name without its NUL", NAME "\x06\0\0Run", false, 0, 0),
        R("tags without an end", NAME "\x05\0\x80\x80\x80", false, 0, 0),
        R("a text of 16 bits", "a\0b\0c\0\0\0", false, 0, 0),
#undef R
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tracelogging_prefix p     = {0, 0};
        uint8_t                   *exact = malloc(rows[i].size ? rows[i].size : 1); /* ASan sees any byte past it */
        memcpy(exact, rows[i].bytes, rows[i].size);
        bool is = tracelogging_in_payload(exact, rows[i].size, &p);
        if (is != rows[i].is || p.traits != rows[i].traits || p.metadata != rows[i].metadata)
            fail_msg("%s: %d %u %u", rows[i].what, is, p.traits, p.metadata);
        free(exact);
    }
    assert_false(tracelogging_in_payload(NULL, 0, &(struct tracelogging_prefix){0, 0}));
}

static unsigned seen;
static void     see(void *self, const struct field *f)
{
    (void)self;
    (void)f;
    seen++;
}

static struct etl_event event_of(const uint8_t *payload, size_t size)
{
    return (struct etl_event){.kind         = ETL_KIND_EVENT,
                              .channel      = TRACELOGGING_CHANNEL,
                              .is_64bit     = true,
                              .payload      = payload,
                              .payload_size = (uint32_t)size};
}

static void cut_anywhere(void **state)
{
    static const char  whole[] = "\x1E\0MySource\0" GROUP "\x10\0\0Run\0n\0\x08s\0\x02"
                                 "b\0\x0E"
                                 "\1\0\0\0hi\0\2\0xy";
    struct field_sink  sink    = {.emit = see};
    struct schema_set *set     = schema_set_new();
    (void)state;
    for (size_t n = 0; n < sizeof whole; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        uint32_t used  = 0;
        memcpy(exact, whole, n);
        struct etl_event           e     = event_of(exact, n);
        const struct schema_event *found = schema_set_describe(set, &e);
        assert_int_equal(found != NULL, n >= 30 + 0x10);
        if (found) {
            assert_int_equal(found->prefix, 30 + 0x10);
            enum decode_result r = walk_fields(found, e.payload, e.payload_size, true, &sink, &used);
            assert_true(used <= n && used >= found->prefix);
            if (r == DECODE_OK)
                assert_int_equal(used, n);
        }
        free(exact);
    }
    field_sink_finish(&sink);
    schema_set_free(set);
}

/* One description for each place of the metadata: fields must not be read at the other place's offsets. */
static void the_same_bytes_as_items(void **state)
{
    static const uint8_t payload[] = NAME EVENT "\7\0\0\0", value[] = {7, 0, 0, 0};
    struct schema_set                    *set    = schema_set_new();
    struct field_sink                     sink   = {.emit = see};
    struct etl_event                      inside = event_of(payload, sizeof payload - 1);
    struct etl_event                      items  = event_of(value, sizeof value);
    uint32_t                              used;
    (void)state;
    items.traits        = payload;
    items.traits_size   = 11;
    items.metadata      = payload + 11;
    items.metadata_size = 10;
    for (int i = 0; i < 4; i++) {
        struct etl_event *e = i & 1 ? &inside : &items;
        seen                = 0;
        assert_int_equal(walk_fields(schema_set_describe(set, e), e->payload, e->payload_size, true, &sink, &used),
                         DECODE_OK);
        assert_int_equal(used, e->payload_size);
        assert_int_equal(seen, 1);
    }
    struct tracelogging_names names;
    tracelogging_names(&inside, &names);
    assert_string_equal(names.provider, "MySource");
    assert_string_equal(names.event, "Run");
    field_sink_finish(&sink);
    schema_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recognised_or_not), cmocka_unit_test(cut_anywhere),
                                       cmocka_unit_test(the_same_bytes_as_items)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
