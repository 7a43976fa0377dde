/* Every single bit of an 8 KB buffer flipped, one at a time: 65,536 files, each read to its end, every event described,
 * walked, told as a record. Nothing is read outside (ASan), none takes a second, memory stays below 256 MB.
 * Proves: issue 5 "every-bit flips of an 8 KB buffer". */
// timeout: 120
#include "autologger/consumer/decoded.h"
#include "autologger/consumer/record_view.h"
#include "autologger/etl/tests/build.h"
#include "autologger/schema/event_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

enum { BUFFER = 8192 };

static void take(void *self, const struct field *f)
{
    size_t *sum = self;
    *sum += strlen(f->path) + f->length;
}

static void add_metadata(struct image *m, int64_t time)
{
    struct schema_provider *p     = schema_provider_new(&build_provider, "Contoso");
    struct schema_event    *e     = schema_event_new(p, 2, 2);
    struct text             block = {0};
    e->id                         = 7;
    e->fields[0]                  = (struct schema_field){.name = "a", .in = IN_UINT16, .count = 1};
    e->fields[1] = (struct schema_field){.name = "b", .in = IN_UINT8, .count = 2, .flags = FIELD_FIXED_COUNT};
    assert_int_equal(schema_event_finish(p, e, NULL), W_SUCCESS);
    assert_true(event_info_build(e, NULL, &block));
    struct etl_full_header h = {.size        = (uint16_t)(sizeof h + block.length),
                                .header_type = ETL_FULL64,
                                .marker      = ETL_MARKER,
                                .type        = EVENT_METADATA_EVENT,
                                .time        = time,
                                .guid = {0xbbccf6c1, 0x6cd1, 0x48c4, {0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71}}};
    image_add(m, &h, sizeof h, block.data, block.length);
    text_finish(&block);
    schema_provider_free(p);
}

static void add_round(struct image *m, int64_t time, uint32_t number)
{
    static const char      schema[] = "\x44\0\0E\0n\0\x08"
                                      "w\0\1"
                                      "z\0\2"
                                      "c\0\x24\2\0"
                                      "v\0\x42"
                                      "s\0\xD8\x02"
                                      "x\0\4"
                                      "q\0\x98\1y\0\4"
                                      "b\0\x0E"
                                      "g\0\x0F"
                                      "t\0\x11"
                                      "u\0\x13"
                                      "k\0\x64\1\0?";
    static const uint8_t   body[]   = "\1\0\0\0w\0\0\0z\0\1\2\2\0a\0b\0\2\0\3\4\5\6\3\0\1\2\3"
                                      "0123456789abcdef"
                                      "12345678"
                                      "\1\1\0\0\0\0\0\5\1\0\0\0"
                                      "\2\0kk";
    uint8_t                sized[sizeof schema + 2];
    uint16_t               size      = sizeof schema - 1;
    static const uint8_t   stack[64] = {1}, process[100] = {0}, zeros[64] = {0};
    struct etl_full_header full = {.size        = sizeof full + 24 + 8,
                                   .header_type = ETL_INSTANCE64,
                                   .marker      = ETL_MARKER,
                                   .type        = 1,
                                   .version     = 2,
                                   .time        = time};
    /* then time, thread, process, 8 bytes */
    uint8_t message[52] = "\x34\0\0\x90\5\0\x2B\0\1\0\0\0"
                          "0123456789abcdef";
    memcpy(sized, schema, size);
    memcpy(sized, &size, 2);
    image_tracelogging(m, time, "\x0B\0MySource", 11, sized, size, body, sizeof body - 1);
    image_event(m, time + 1, number);
    image_kernel(m, time + 2, 0x1820, 2, 0, stack, sizeof stack);
    image_kernel(m, time + 3, 0x0301, 4, 9, process, sizeof process);
    image_kernel(m, time + 4, 0x0524, 2, 0, zeros, 24);
    image_add(m, &full, sizeof full, zeros, 32);
    time += 5;
    memcpy(message + 28, &time, sizeof time);
    image_add(m, message, sizeof message, NULL, 0);
}

/* Returns the number of events, after each was put to every use. */
static unsigned read_all(const struct image *m, size_t *sum)
{
    struct schema_set *set  = schema_set_new();
    struct field_sink  sink = {.emit = take, .self = sum};
    struct etl_reader *r;
    struct etl_event   e;
    struct decoded     names;
    struct record_view view;
    struct schema_key  key;
    uint32_t           used;
    unsigned           n = 0;

    if (etl_reader_open_memory(m->data, m->size, &r, NULL) == W_SUCCESS) {
        for (; etl_next(r, &e); n++) {
            schema_key_of(&e, &key);
            schema_set_learn(set, &key, e.payload, e.payload_size);
            decoded_names(set, &e, &names);
            decoded_fields(&e, &names, &sink, &used);
            assert_true(used <= e.payload_size && names.event);
            record_view_set(&view, &e, false, NULL);
        }
        etl_reader_close(r);
    }
    field_sink_finish(&sink);
    schema_set_free(set);
    return n;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void every_bit(void **state)
{
    struct etl_file_info info  = build_info(BUFFER);
    struct image         m     = image_start(&info);
    size_t               sum   = 0;
    double               most  = 0;
    unsigned             other = 0;
    (void)state;
    image_buffer(&m, 0, 1);
    add_metadata(&m, 2000000);
    for (uint32_t i = 0; m.pos + 1024 < BUFFER; i++)
        add_round(&m, 2000010 + i * 100, i);
    unsigned all = read_all(&m, &sum);
    assert_true(all > 50);
#ifdef NDEBUG
    uint32_t step = 1;
#else
    uint32_t step = getenv("AL_FULL") ? 1 : 11; /* with a sanitizer each takes ten times as long: then one in eleven */
#endif
    for (uint32_t bit = 0; bit < BUFFER * 8; bit += step) {
        double   start = now();
        uint8_t *at    = m.data + BUFFER + bit / 8;
        *at ^= (uint8_t)(1u << bit % 8);
        other += read_all(&m, &sum) != all;
        *at ^= (uint8_t)(1u << bit % 8);
        most = now() - start > most ? now() - start : most;
    }
    assert_int_equal(read_all(&m, &sum), all);
    assert_true(other > 10); /* some damage is noticed */
    assert_true(most < 1);   /* CPU time: the machine's load does not count */
    image_free(&m);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
#ifdef NDEBUG /* as released: a sanitizer has memory of its own */
    assert_true(used.ru_maxrss < 256 * 1024);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
