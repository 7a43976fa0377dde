/* Descriptions as blocks of bytes, there and back, in a file's EventMetadata events, damaged in every bit; names and
 * messages.
 * Proves: CON-05 (what a merge puts into a file describes its events), MAN-11 (messages with values). */
#include "autologger/schema/classic.h"
#include "autologger/schema/event_info.h"
#include "autologger/schema/message.h"
#include "autologger/schema/names.h"
#include "autologger/schema/set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct guid guid = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 8}};

static struct schema_provider *contoso(void)
{
    static const struct schema_map_row rows[]     = {{1, "one"}, {2, "two"}};
    static struct schema_map           map        = {.name = "Numbers", .count = 2, .rows = rows};
    static const char *const           keywords[] = {"Disk", "Net", NULL};
    struct schema_provider            *p          = schema_provider_new(&guid, "Contoso");
    struct schema_event               *e          = schema_event_new(p, 6, 4);
    p->message                                    = "The provider";
    e->id                                         = 7;
    e->version                                    = 2;
    e->channel                                    = 16;
    e->level                                      = 3;
    e->opcode                                     = 1;
    e->task                                       = 5;
    e->keyword                                    = 3;
    e->channel_name                               = "Contoso/Operational";
    e->task_name                                  = "Read";
    e->keyword_names                              = keywords;
    e->message                                    = "%1 of %3!s! bytes, %2: %4 and %5%%; %9%n%0not this";
    e->name                                       = "DISK_READ";
    e->tags                                       = 0x1234567;
    e->fields[0] = (struct schema_field){.name = "Path", .in = IN_UNICODESTRING, .out = OUT_STRING, .count = 1};
    e->fields[1] =
        (struct schema_field){.name = "How", .in = IN_UINT32, .out = OUT_UNSIGNEDINT, .count = 1, .map = &map};
    e->fields[2] = (struct schema_field){
        .name = "Size", .in = IN_UINT16, .out = OUT_HEXINT16, .count = 1, .tags = 3, .flags = FIELD_TAGS};
    e->fields[3] = (struct schema_field){
        .name = "Parts", .flags = FIELD_STRUCT | FIELD_FIXED_COUNT, .count = 2, .first = 4, .members = 2};
    e->fields[4] = (struct schema_field){.name = "At", .in = IN_UINT8, .out = OUT_UNSIGNEDBYTE, .count = 1};
    e->fields[5] = (struct schema_field){
        .name = "Bytes", .in = IN_BINARY, .out = OUT_HEXBINARY, .count = 1, .length = 4, .flags = FIELD_LENGTH_OF};
    assert_int_equal(schema_event_finish(p, e, NULL), W_SUCCESS);
    return p;
}
static const char payload[] = "a\0\0\0"
                              "\2\0\0\0"
                              "\x10\1"
                              "\1\xAA"
                              "\2\xBB\xCC";

static char seen[2048];
static void see(void *self, const struct field *f)
{
    size_t n = strlen(seen);
    (void)self;
    snprintf(seen + n, sizeof seen - n, " %s=%s", f->path, f->text);
}
static enum decode_result decode(const struct schema_event *e, const void *bytes, size_t size)
{
    struct field_sink sink = {.emit = see};
    uint32_t          used;
    seen[0]              = 0;
    enum decode_result r = walk_fields(e, bytes, size, true, &sink, &used);
    field_sink_finish(&sink);
    return r;
}

static void there_and_back(void **state)
{
    struct schema_provider *p = contoso(), *back = schema_provider_new(&guid, "");
    struct text             block = {0}, map = {0}, again = {0};
    struct reason           why;
    (void)state;
    assert_true(event_info_build(p->events[0], NULL, &block));
    assert_true(map_info_build(p->events[0]->fields[1].map, &map));
    assert_int_equal(event_info_read(back, block.data, block.length, &why), W_SUCCESS);
    assert_int_equal(map_info_read(back, map.data, map.length, &why), W_SUCCESS); /* after the event with that map */
    const struct schema_event *e = back->events[0];
    assert_string_equal(back->name, "Contoso");
    assert_string_equal(back->message, "The provider");
    assert_string_equal(e->name, "DISK_READ");
    assert_string_equal(e->task_name, "Read");
    assert_string_equal(e->opcode_name, "win:Start");
    assert_string_equal(e->level_name, "win:Warning");
    assert_string_equal(e->keyword_names[0], "Disk");
    assert_string_equal(e->keyword_names[1], "Net");
    assert_null(e->keyword_names[2]);
    assert_int_equal(e->tags, 0x1234567);
    assert_int_equal(decode(e, payload, sizeof payload - 1), DECODE_OK);
    assert_string_equal(seen,
                        " Path=a How=two Size=0x110 Parts[0].At=1 Parts[0].Bytes=aa Parts[1].At=2 Parts[1].Bytes=bbcc");
    struct text message = {0};
    assert_true(message_text(e, payload, sizeof payload - 1, true, &message));
    assert_string_equal(text_get(&message), "a of 0x110 bytes, two: 1 and aa%; %9\n");
    assert_true(event_info_build(e, NULL, &again));
    assert_int_equal(block.length, again.length);
    assert_memory_equal(block.data, again.data, block.length);
    text_finish(&message);
    text_finish(&block);
    text_finish(&again);
    text_finish(&map);
    schema_provider_free(p);
    schema_provider_free(back);
}

static void in_a_file(void **state)
{
    struct schema_provider *p     = contoso();
    struct schema_set      *set   = schema_set_new();
    struct text             block = {0}, map = {0};
    struct schema_key k = {.provider = guid, .id = 7, .version = 2, .hook = CLASSIC_NONE}, about = {.classic = true};
    (void)state;
    assert_true(event_info_build(p->events[0], NULL, &block));
    text_add(&map, &guid, sizeof guid);
    assert_true(map_info_build(p->events[0]->fields[1].map, &map));
    about.hook = CLASSIC_EVENT_METADATA | EVENT_METADATA_EVENT;
    assert_true(schema_set_learn(set, &about, block.data, block.length));
    assert_true(schema_set_learn(set, &about, block.data, block.length)); /* a second time changes nothing */
    about.hook = CLASSIC_EVENT_METADATA | EVENT_METADATA_MAP;
    assert_true(schema_set_learn(set, &about, map.data, map.length));
    about.hook = 0x0301;
    assert_false(schema_set_learn(set, &about, map.data, map.length));
    const struct schema_event *e = schema_set_find(set, &k);
    assert_non_null(e);
    assert_int_equal(e->source, SCHEMA_EMBEDDED);
    assert_int_equal(decode(e, payload, sizeof payload - 1), DECODE_OK);
    assert_non_null(strstr(seen, "How=two"));
    enum schema_source source;
    assert_int_equal(schema_set_provider(set, 0, &source)->event_count, 1);
    assert_null(schema_set_provider(set, 1, &source));
    schema_set_free(set);
    text_finish(&block);
    text_finish(&map);
    schema_provider_free(p);
}

/* Each flipped bit of both blocks, and each length: nothing is read outside (ASan), an accepted block can be walked. */
static void every_bit(void **state)
{
    struct schema_provider *p     = contoso();
    struct text             block = {0}, map = {0};
    unsigned                let_in = 0;
    (void)state;
    assert_true(event_info_build(p->events[0], NULL, &block));
    text_add(&map, &guid, sizeof guid);
    assert_true(map_info_build(p->events[0]->fields[1].map, &map));
    for (int kind = 0; kind < 2; kind++) {
        struct text *t = kind ? &map : &block;
        for (size_t i = 0; i < t->length * 9; i++) {
            struct schema_set *set   = schema_set_new();
            struct schema_key  about = {
                 .classic = true, .hook = CLASSIC_EVENT_METADATA | (kind ? EVENT_METADATA_MAP : EVENT_METADATA_EVENT)};
            enum schema_source source;
            size_t             size = i < t->length * 8 ? t->length : i - t->length * 8;
            char              *copy = malloc(size ? size : 1);
            memcpy(copy, t->data, size);
            if (i < t->length * 8)
                copy[i / 8] ^= (char)(1 << i % 8);
            schema_set_learn(set, &about, copy, size);
            const struct schema_provider *q = schema_set_provider(set, 0, &source);
            for (unsigned e = 0; q && e < q->event_count; e++, let_in++)
                decode(q->events[e], payload, sizeof payload - 1);
            free(copy);
            schema_set_free(set);
        }
    }
    assert_true(let_in > 100);
    text_finish(&block);
    text_finish(&map);
    schema_provider_free(p);
}

static void kernel_classes_as_blocks(void **state)
{
    unsigned n, all = 0;
    (void)state;
    const struct schema_provider *const *classes = classic_providers(&n);
    for (unsigned i = 0; i < n; i++)
        for (unsigned e = 0; classes[i] && e < classes[i]->event_count; e++, all++) {
            struct text block = {0};
            assert_true(event_info_build(classes[i]->events[e], NULL, &block));
            assert_true(block.length >= 112 + 24ul * classes[i]->events[e]->field_count);
            text_finish(&block);
        }
    assert_true(all > 150);
}

static void everybodys_names(void **state)
{
    uint64_t value;
    (void)state;
    assert_string_equal(predefined_name(PREDEFINED_LEVEL, 2), "win:Error");
    assert_string_equal(predefined_name(PREDEFINED_OPCODE, 240), "win:Receive");
    assert_string_equal(predefined_name(PREDEFINED_CHANNEL, 11), "TraceLogging");
    assert_null(predefined_name(PREDEFINED_LEVEL, 16));
    assert_string_equal(predefined_at(PREDEFINED_KEYWORD, 0, &value), "win:ResponseTime");
    assert_true(value == UINT64_C(1) << 48);
    assert_null(predefined_at(PREDEFINED_LEVEL, 6, &value));
}

static void messages(void **state)
{
    static const struct row {
        const char *message, *text;
    } rows[]                  = {{"%1", "1, 2, 3"},
                                 {"%2%3", "%2%3"},
                                 {"%%", "%"},
                                 {"100%", "100%"},
                                 {"%t%b%r%.%!%n", "\t \r.!\n"},
                                 {"%%12", "%%12"},
                                 {"%1!s!x", "1, 2, 3x"},
                                 {"%1!08x!", "1, 2, 3"},
                                 {"%1! x %1!", "1, 2, 3! x 1, 2, 3!"},
                                 {"a%0b", "a"},
                                 {"%q", "%q"},
                                 {"", ""},
                                 {"%100%0", "%100"}};
    struct schema_provider *p = schema_provider_new(&guid, "Contoso");
    struct schema_event    *e = schema_event_new(p, 1, 1);
    (void)state;
    e->fields[0] = (struct schema_field){.name = "a", .in = IN_UINT8, .count = 3, .flags = FIELD_FIXED_COUNT};
    assert_int_equal(schema_event_finish(p, e, NULL), W_SUCCESS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text out = {0};
        e->message      = rows[i].message;
        assert_true(message_text(e, "\1\2\3", 3, true, &out));
        assert_string_equal(text_get(&out), rows[i].text);
        text_finish(&out);
    }
    schema_provider_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back),   cmocka_unit_test(in_a_file),
                                       cmocka_unit_test(every_bit),        cmocka_unit_test(kernel_classes_as_blocks),
                                       cmocka_unit_test(everybodys_names), cmocka_unit_test(messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
