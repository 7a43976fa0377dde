/* The order in which descriptions are searched, which one wins, and what is found after a provider was removed.
 * Proves: API-19, TLG-04 and TLG-04 (provider, id and version find it; an event that describes itself needs none),
 * CON-05, CON-15. */
#include "autologger/schema/classic.h"
#include "autologger/schema/set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct guid guid = {0x12345678, 0x9abc, 0xdef0, {1, 2, 3, 4, 5, 6, 7, 8}};

static struct schema_provider *provider(const struct guid *g, const char *origin, uint16_t id, uint8_t version,
                                        const char *name)
{
    struct schema_provider *p = schema_provider_new(g, "Contoso");
    struct schema_event    *e = schema_event_new(p, 0, 0);
    e->id                     = id;
    e->version                = version;
    e->name                   = name;
    p->origin                 = origin;
    assert_int_equal(schema_event_finish(p, e, NULL), W_SUCCESS);
    return p;
}
static const char *found(struct schema_set *s, const struct schema_key *k)
{
    const struct schema_event *e = schema_set_find(s, k);
    return e ? e->name : "nothing";
}

static void the_order(void **state)
{
    struct schema_set *s = schema_set_new();
    struct schema_key  k = {.provider = guid, .id = 7, .hook = CLASSIC_NONE};
    (void)state;
    assert_string_equal(found(s, &k), "nothing");
    k.string_only = true;
    assert_string_equal(found(s, &k), "String");
    assert_int_equal(schema_set_add(s, SCHEMA_EMBEDDED, provider(&guid, "f", 7, 0, "embedded")), W_SUCCESS);
    assert_string_equal(found(s, &k), "embedded");
    assert_int_equal(schema_set_add(s, SCHEMA_MANIFEST, provider(&guid, "m1", 7, 0, "first")), W_SUCCESS);
    assert_int_equal(schema_set_add(s, SCHEMA_MANIFEST, provider(&guid, "m2", 7, 0, "second")), W_SUCCESS);
    assert_int_equal(schema_set_add(s, SCHEMA_EMBEDDED, provider(&guid, "f", 7, 0, "too late")), W_SUCCESS);
    assert_string_equal(found(s, &k), "second"); /* the last manifest; and a manifest wins over the file's own */
    k.metadata      = "\x0B\0\0Itself\0";        /* the size says 11 bytes, but 10 are there: it describes nothing */
    k.metadata_size = 10;
    assert_string_equal(found(s, &k), "second");
    k.metadata = "\x0A\0\0Itself\0";
    assert_string_equal(found(s, &k), "Itself");
    k.metadata_size = 0;
    k.version       = 1; /* another version is not used instead */
    k.string_only   = false;
    assert_string_equal(found(s, &k), "nothing");
    k.version = 0;
    assert_int_equal(schema_set_remove(s, SCHEMA_MANIFEST, "m2"), 1);
    assert_string_equal(found(s, &k), "first");
    assert_int_equal(schema_set_remove(s, SCHEMA_MANIFEST, "m2"), 0);
    assert_int_equal(schema_set_remove(s, SCHEMA_MANIFEST, "m1"), 1);
    assert_string_equal(found(s, &k), "too late");
    assert_int_equal(schema_set_remove(s, SCHEMA_EMBEDDED, "f"), 2);
    assert_string_equal(found(s, &k), "nothing");
    schema_set_free(s);
}

static void kernel_classes_come_last(void **state)
{
    struct schema_set      *s = schema_set_new();
    struct guid             g = classic_guid(0x0301);
    struct schema_key       k = {.provider = g, .hook = 0x0301, .opcode = 1, .version = 4, .classic = true};
    struct schema_provider *p = schema_provider_new(&g, "Process");
    struct schema_event    *e = schema_event_new(p, 0, 0);
    (void)state;
    assert_int_equal(schema_set_find(s, &k)->source, SCHEMA_CLASSIC);
    e->class_guid = g;
    e->opcode     = 1;
    e->version    = 4;
    e->name       = "described by the file";
    assert_int_equal(schema_event_finish(p, e, NULL), W_SUCCESS);
    assert_int_equal(schema_set_add(s, SCHEMA_EMBEDDED, p), W_SUCCESS);
    assert_string_equal(found(s, &k), "described by the file");
    k.opcode = 2;
    k.hook   = 0x0302;
    assert_int_equal(schema_set_find(s, &k)->source, SCHEMA_CLASSIC);
    k.message = true;
    assert_null(schema_set_find(s, &k));
    schema_set_free(s);
}

static unsigned asked, searched;
static void     ask(void *ctx, struct schema_set *s, const struct guid *g)
{
    asked++;
    assert_ptr_equal(ctx, &asked);
    if (guid_equal(g, &guid))
        assert_int_equal(schema_set_add(s, SCHEMA_MANIFEST, provider(g, "installed", 7, 0, "installed")), W_SUCCESS);
}
static void search(void *ctx, struct schema_set *s)
{
    struct guid other = guid;
    (void)ctx;
    other.data1++;
    searched++;
    assert_int_equal(schema_set_add(s, SCHEMA_EMBEDDED, provider(&other, "file", 7, 0, "in the file")), W_SUCCESS);
}

static void asked_once(void **state)
{
    struct schema_set *s = schema_set_new();
    struct schema_key  k = {.provider = guid, .id = 7, .hook = CLASSIC_NONE};
    (void)state;
    schema_set_ask(s, ask, &asked);
    schema_set_search(s, search, NULL);
    for (int i = 0; i < 3; i++)
        assert_string_equal(found(s, &k), "installed");
    assert_int_equal(asked, 1);
    assert_int_equal(searched, 0);
    k.id = 8;
    assert_string_equal(found(s, &k), "nothing");
    k.id = 7;
    k.provider.data1++;
    for (int i = 0; i < 3; i++)
        assert_string_equal(found(s, &k), "in the file");
    assert_int_equal(asked, 2);
    assert_int_equal(searched, 1);
    schema_set_free(s);
}

/* More descriptions than are kept: none is confused with another, and memory is bounded. */
static void many_that_describe_themselves(void **state)
{
    struct schema_set *s = schema_set_new();
    (void)state;
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < 5000; i++) {
            char              metadata[32] = {0}, name[16];
            int               n            = snprintf(name, sizeof name, "E%u", i);
            struct schema_key k            = {
                           .provider = guid, .hook = CLASSIC_NONE, .metadata = metadata, .metadata_size = (uint32_t)n + 4};
            metadata[0] = (char)k.metadata_size;
            memcpy(metadata + 3, name, (size_t)n + 1);
            assert_string_equal(found(s, &k), name);
            assert_string_equal(found(s, &k), name);
        }
    schema_set_free(s);
}

static void decoded_by_another_provider(void **state)
{
    struct schema_set *s = schema_set_new();
    struct schema_key  k = {.id          = 7,
                            .hook        = CLASSIC_NONE,
                            .traits      = "\x18\0A\0\x13\0\2\x78\x56\x34\x12\xBC\x9A\xF0\xDE\1\2\3\4\5\6\7\x08",
                            .traits_size = 23};
    (void)state;
    assert_int_equal(schema_set_add(s, SCHEMA_MANIFEST, provider(&guid, "m", 7, 0, "of the decode GUID")), W_SUCCESS);
    assert_string_equal(found(s, &k), "nothing"); /* cut */
    k.traits = "\x17\0A\0\x13\0\2\x78\x56\x34\x12\xBC\x9A\xF0\xDE\1\2\3\4\5\6\7\x08";
    assert_string_equal(found(s, &k), "of the decode GUID");
    schema_set_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_order), cmocka_unit_test(kernel_classes_come_last),
                                       cmocka_unit_test(asked_once), cmocka_unit_test(many_that_describe_themselves),
                                       cmocka_unit_test(decoded_by_another_provider)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
