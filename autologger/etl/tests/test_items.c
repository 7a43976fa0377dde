/* The cache of extended items finds equal items by comparing them, and a file reads the same through a mapping: each
 * event equals the one decoded by itself, field by field. Kinds that share a place of the cache, items of other
 * lengths, cut records.
 * Proves: COR-09 (what is read is what was written), issue 5 "memory bounded by open buffers". */
#include "autologger/etl/record_usual.h"
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { KINDS = 200, ROUNDS = 20 };

/* Kinds differ in the provider's name, the event's name or fields, or have another item between. */
static void add_kind(struct image *m, unsigned kind, int64_t time, uint32_t value)
{
    char     traits[64], schema[64], part[512];
    uint16_t traits_size = (uint16_t)(3 + snprintf(traits + 2, sizeof traits - 2, "Provider%u", kind % 7));
    schema[2]            = 0;
    uint16_t schema_size = (uint16_t)(4 + snprintf(schema + 3, sizeof schema - 3, "event%u", kind / 7));
    schema_size += (uint16_t)(1 + snprintf(schema + schema_size, sizeof schema - schema_size, "f%u", kind));
    schema[schema_size++] = 8;
    memcpy(traits, &traits_size, 2);
    memcpy(schema, &schema_size, 2);
    struct guid related = {kind, 1, 2, {3}};
    size_t      n       = build_item((uint8_t *)part, ETL_EXT_PROV_TRAITS, true, traits, traits_size);
    if (kind % 5 == 0)
        n += build_item((uint8_t *)part + n, ETL_EXT_RELATED_ACTIVITY, true, &related, sizeof related);
    n += build_item((uint8_t *)part + n, ETL_EXT_SCHEMA_TL, false, schema, schema_size);
    if (kind % 11 != 0) { /* every 11th kind has no payload */
        memcpy(part + n, &value, sizeof value);
        n += sizeof value;
    }
    struct etl_event_header h = build_event(time, n);
    h.flags                   = ETL_EVENT_EXTENDED;
    h.id                      = 0;
    h.activity                = related;
    h.kernel_time             = kind;
    h.provider.data1          = kind % 7;
    if (m->pos + h.size + 8 > m->buffer)
        image_buffer(m, (uint16_t)(kind % 2), (int64_t)(m->size / m->buffer));
    image_add(m, &h, sizeof h, part, n);
}

/* A reader decodes an event as the record alone decodes. */
static void same(const struct etl_event *e)
{
    struct etl_event one;

    assert_true(etl_record_decode(e->record, e->record_size, 0, &one));
    assert_true(one.kind == e->kind && one.is_64bit == e->is_64bit && one.thread_id == e->thread_id &&
                one.process_id == e->process_id);
    assert_true(one.raw_time == e->raw_time && one.id == e->id && one.version == e->version &&
                one.channel == e->channel && one.level == e->level);
    assert_true(one.opcode == e->opcode && one.task == e->task && one.keyword == e->keyword && one.flags == e->flags &&
                one.hook == e->hook);
    assert_true(one.kernel_time == e->kernel_time && one.user_time == e->user_time && one.instance == e->instance);
    assert_memory_equal(&one.provider, &e->provider, sizeof one.provider);
    assert_memory_equal(&one.activity, &e->activity, sizeof one.activity);
    assert_true(one.ext == e->ext && one.ext_size == e->ext_size && one.ext_lacks == e->ext_lacks);
    assert_true(one.traits == e->traits && one.traits_size == e->traits_size && one.metadata == e->metadata &&
                one.metadata_size == e->metadata_size);
    assert_true(one.payload == e->payload && one.payload_size == e->payload_size && one.record == e->record &&
                one.record_size == e->record_size);
}

/* Events with equal `items` numbers have the same items. */
static void numbered(const struct etl_event *e, uint64_t number[KINDS], unsigned kind)
{
    if (kind % 5 == 0) {
        assert_int_equal(e->items, 0); /* an item that differs each time has no number */
        return;
    }
    for (unsigned i = 0; i < KINDS; i++)
        assert_true(i == kind || !number[i] || number[i] != e->items);
    number[kind] = e->items; /* another number when the cache had dropped it */
}

static unsigned read_all(struct etl_reader *r)
{
    uint64_t         number[KINDS] = {0};
    struct etl_event e;
    unsigned         n = 0;

    assert_true(etl_next(r, &e)); /* the header */
    for (; etl_next(r, &e); n++) {
        same(&e);
        numbered(&e, number, e.kernel_time);
        if (e.kernel_time % 11)
            assert_memory_equal(e.payload, &n, sizeof n);
        else
            assert_int_equal(e.payload_size, 0);
    }
    return n;
}

static struct image made(void)
{
    struct etl_file_info info = build_info(8192);
    struct image         m    = image_start(&info);
    uint32_t             n    = 0;

    image_buffer(&m, 0, 1);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned kind = 0; kind < KINDS; kind++, n++)
            add_kind(&m, kind, 2000000 + n * 10, n);
    return m;
}

static void many_kinds(void **state)
{
    struct image       m = made();
    struct etl_reader *r;
    struct reason      why;
    (void)state;
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_int_equal(read_all(r), KINDS * ROUNDS);
    etl_reader_close(r);
    image_free(&m);
}

static void through_a_mapping(void **state)
{
    char               path[] = "/tmp/al-items-XXXXXX";
    struct image       m      = made();
    int                fd     = mkstemp(path);
    struct etl_reader *r;
    struct reason      why;
    (void)state;
    assert_int_equal(write(fd, m.data, m.size), (ssize_t)m.size);
    close(fd);
    for (int mapped = 0; mapped < 2; mapped++) {
        assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
        if (mapped)
            etl_reader_map(r);
        assert_int_equal(read_all(r), KINDS * ROUNDS);
        etl_reader_close(r);
    }
    unlink(path);
    image_free(&m);
}

/* A record cut to each length, after a whole one of its kind: only the items that are there. */
static void cut_short(void **state)
{
    struct items_cache *cache = calloc(1, sizeof *cache);
    struct image        m     = made();
    (void)state;
    for (unsigned at = 0, kind = 0; kind < 50; kind++) {
        const uint8_t   *p = m.data + 8192 + 72 + at;
        uint16_t         size;
        struct etl_event whole, one, two;
        memcpy(&size, p, sizeof size);
        assert_true(etl_record_decode_usual(p, size, cache, &whole));
        for (uint32_t less = sizeof(struct etl_event_header); less <= size; less++) {
            uint8_t *copy = malloc(less); /* exact size: a sanitizer finds a read behind it */
            memcpy(copy, p, less);
            bool a = etl_record_decode(copy, less, 0, &one), b = etl_record_decode_usual(copy, less, cache, &two);
            assert_int_equal(a, b);
            assert_true(one.ext == two.ext && one.ext_size == two.ext_size && one.payload == two.payload &&
                        one.payload_size == two.payload_size);
            assert_true(one.metadata == two.metadata && one.metadata_size == two.metadata_size &&
                        one.traits == two.traits && one.ext_lacks == two.ext_lacks);
            free(copy);
        }
        at += (size + 7u) & ~7u;
        if (at + 512 > 8192 - 72)
            break;
    }
    free(cache);
    image_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_kinds), cmocka_unit_test(through_a_mapping),
                                       cmocka_unit_test(cut_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
