/* Manifests that a provider writes into its own trace, as .NET's EventSource does: in pieces, of several programs at
 * once, before and behind the events that need them; pieces that are missing, repeated, out of order, or invalid.
 * D-74: manifests with flaws (those that programs make from a registered provider's metadata), and pieces of several
 * threads at once.
 * Proves: CON-05, and issue 5 "embedded event metadata". */
#include "autologger/schema/chunks.h"

#include "autologger/etl/tests/build.h"
#include "autologger/schema/learn.h"
#include "autologger/schema/manifest_model.h"
#include "autologger/schema/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* As EventSource makes it: empty file names, tasks counted down, a message for each event. */
static const char source[] =
    "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
    " <instrumentation xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
    " xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\">\n"
    "  <events xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
    "<provider name=\"Contoso-Net\" guid=\"{12345678-9abc-def0-1122-334455667788}\" resourceFileName=\"\" messageFileName=\"\" symbol=\"ContosoNet\" >\n"
    " <tasks>\n  <task name=\"Load\" message=\"$(string.task_Load)\" value=\"65533\"/>\n"
    "  <task name=\"EventSourceMessage\" message=\"$(string.task_EventSourceMessage)\" value=\"65534\"/>\n </tasks>\n"
    " <opcodes>\n </opcodes>\n <keywords>\n  <keyword name=\"Loader\"  message=\"$(string.keyword_Loader)\" mask=\"0x1\"/>\n </keywords>\n <events>\n"
    "  <event value=\"0\" version=\"0\" level=\"win:LogAlways\" symbol=\"EventSourceMessage\" task=\"EventSourceMessage\" template=\"EventSourceMessageArgs\"/>\n"
    "  <event value=\"7\" version=\"0\" level=\"win:Informational\" keywords=\"Loader\" symbol=\"Load\" message=\"$(string.event_Load)\" task=\"Load\""
    " template=\"LoadArgs\"/>\n </events>\n <templates>\n"
    "  <template tid=\"EventSourceMessageArgs\">\n   <data name=\"message\" inType=\"win:UnicodeString\"/>\n  </template>\n"
    "  <template tid=\"LoadArgs\">\n   <data name=\"base\" inType=\"win:UInt32\"/>\n  </template>\n </templates>\n</provider>\n</events>\n</instrumentation>\n"
    "<localization>\n <resources culture=\"en-US\">\n  <stringTable>\n   <string id=\"event_Load\" value=\"Loaded at %1.\"/>\n"
    "   <string id=\"keyword_Loader\" value=\"Loader\"/>\n   <string id=\"task_EventSourceMessage\" value=\"EventSourceMessage\"/>\n"
    "   <string id=\"task_Load\" value=\"Load\"/>\n  </stringTable>\n </resources>\n</localization>\n</instrumentationManifest>\n";
enum { ALL = sizeof source - 1 };

/* The same event, in a manifest made from a registered provider's metadata. */
static const char flawed[] =
    "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
    " <instrumentation xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\"><events>\n"
    "<provider name=\"Contoso-Net\" guid=\"{12345678-9abc-def0-1122-334455667788}\" resourceFileName=\"Contoso-Net\" symbol=\"Contoso Net\" source=\"Xml\">\n"
    " <keywords><keyword name=\"Contoso-Net/Debug\" mask=\"0x8000000000000000\"/><keyword name=\"Net Load\" mask=\"0x1\"/></keywords>\n"
    " <tasks><task name=\"task_0\" message=\"$(string.task_task_0)\" value=\"0\"/></tasks>\n"
    " <events>\n"
    "  <event value=\"7\" symbol=\"task_0 (7)\" version=\"0\" task=\"task_0\" level=\"win:Always\" keywords=\"Net Load\" message=\"$(string.event_Load)\""
    " template=\"LoadArgs\"/>\n"
    "  <event value=\"8\" symbol=\"Data\" version=\"0\" level=\"win:Always\" template=\"DataArgs\"/>\n </events>\n"
    " <templates>\n  <template tid=\"LoadArgs\"><data name=\"base\" inType=\"win:UInt32\"/></template>\n"
    "  <template tid=\"DataArgs\"><data name=\"raw\" inType=\"win:Binary\"/><data name=\"n\" inType=\"win:UInt32\"/></template>\n </templates>\n"
    "</provider></events></instrumentation>\n"
    "<localization><resources culture=\"en-US\"><stringTable><string id=\"event_Load\" value=\"Loaded at %1.\"/>\n"
    "<string id=\"task_task_0\" value=\"\"/><string id=\"task_task_0\" value=\"\"/></stringTable></resources></localization></instrumentationManifest>\n";

/* A piece of `text`, as an event of the provider in that process. */
static struct etl_event piece(uint8_t payload[2048], const char *text, size_t size, uint16_t total, uint16_t number,
                              uint32_t process)
{
    const uint8_t head[8] = {
        1, 1, 0, 0x5B, (uint8_t)total, (uint8_t)(total >> 8), (uint8_t)number, (uint8_t)(number >> 8)};
    memcpy(payload, head, sizeof head);
    memcpy(payload + sizeof head, text, size);
    return (struct etl_event){.kind         = ETL_KIND_EVENT,
                              .id           = CHUNKS_EVENT,
                              .opcode       = 0xFE,
                              .provider     = build_provider,
                              .process_id   = process,
                              .payload      = payload,
                              .payload_size = (uint32_t)(size + sizeof head)};
}

static bool see(struct chunks *c, const char *text, size_t size, uint16_t total, uint16_t number, uint32_t process)
{
    uint8_t          payload[2048];
    struct etl_event e = piece(payload, text, size, total, number, process);
    return chunks_see(c, &e);
}

static void pieces(void **state)
{
    struct chunks *c = calloc(1, sizeof *c);
    (void)state;
    /* two programs at once */
    assert_false(see(c, "ab", 2, 3, 0, 1));
    assert_false(see(c, "AB", 2, 3, 0, 2));
    assert_false(see(c, "cd", 2, 3, 1, 1));
    assert_false(see(c, "CD", 2, 3, 1, 2));
    assert_true(see(c, "ef", 2, 3, 2, 1));
    assert_string_equal(text_get(&c->whole), "abcdef");
    assert_true(see(c, "EF", 2, 3, 2, 2));
    assert_string_equal(text_get(&c->whole), "ABCDEF");
    /* the same manifest again is not new */
    assert_false(see(c, "abcdef", 6, 1, 0, 3));
    assert_true(see(c, "abcdefg", 7, 1, 0, 3));
    /* one piece is missing; then it begins anew */
    assert_false(see(c, "x", 1, 3, 0, 1));
    assert_false(see(c, "z", 1, 3, 2, 1));
    assert_false(see(c, "y", 1, 3, 1, 1));
    assert_false(see(c, "1", 1, 2, 0, 1));
    assert_false(see(c, "1", 1, 2, 0, 1)); /* the first piece again */
    assert_true(see(c, "2", 1, 2, 1, 1));
    assert_string_equal(text_get(&c->whole), "12");
    /* two threads at once */
    assert_false(see(c, "thr", 3, 3, 0, 1));
    assert_false(see(c, "thr", 3, 3, 0, 1));
    assert_false(see(c, "ea", 2, 3, 1, 1));
    assert_false(see(c, "ea", 2, 3, 1, 1));
    assert_true(see(c, "ds", 2, 3, 2, 1));
    assert_string_equal(text_get(&c->whole), "threads");
    assert_false(see(c, "ds", 2, 3, 2, 1));
    /* invalid pieces */
    assert_false(see(c, "q", 1, 0, 0, 1));
    assert_false(see(c, "q", 1, 1, 1, 1));
    uint8_t          payload[2048];
    struct etl_event e = piece(payload, "q", 1, 1, 0, 1);
    payload[3]         = 0x5C;
    assert_false(chunks_see(c, &e));
    payload[3]     = 0x5B;
    e.payload_size = 7;
    assert_false(chunks_see(c, &e));
    e.payload_size = 8; /* an empty piece */
    assert_true(chunks_see(c, &e));
    e.id = 1;
    assert_false(chunks_see(c, &e));
    chunks_finish(c);
    free(c);
}

/* More programs at a time than fit, and more bytes: only the last ones are lost. */
static void bounds(void **state)
{
    struct chunks *c    = calloc(1, sizeof *c);
    char          *much = malloc(60000);
    (void)state;
    memset(much, 'm', 60000);
    for (uint32_t process = 1; process <= CHUNKS_OPEN + 5; process++)
        see(c, "a", 1, 2, 0, process);
    unsigned whole = 0;
    for (uint32_t process = 1; process <= CHUNKS_OPEN + 5; process++) {
        char text[16];
        snprintf(text, sizeof text, "%u", process);
        whole += see(c, text, strlen(text), 2, 1, process);
    }
    assert_true(whole >= CHUNKS_OPEN - 1 && whole <= CHUNKS_OPEN);
    uint8_t *payload = malloc(60008);
    size_t   largest = 0;
    for (uint16_t i = 0; i < 400; i++) { /* 24 MB */
        const uint8_t head[8] = {1, 1, 0, 0x5B, 400 & 255, 400 >> 8, (uint8_t)i, (uint8_t)(i >> 8)};
        memcpy(payload, head, 8);
        memcpy(payload + 8, much, 60000);
        struct etl_event e = {.kind         = ETL_KIND_EVENT,
                              .id           = CHUNKS_EVENT,
                              .provider     = build_provider,
                              .process_id   = 9,
                              .payload      = payload,
                              .payload_size = 60008};
        assert_false(chunks_see(c, &e));
        for (unsigned k = 0; k < CHUNKS_OPEN; k++)
            largest = c->open[k].xml.capacity > largest ? c->open[k].xml.capacity : largest;
    }
    assert_true(largest <= 2 * (16 * 1024 * 1024 + 60008) + 4);
    chunks_finish(c);
    free(payload);
    free(much);
    free(c);
}

struct read {
    char   text[256];
    char  *at;
    size_t fields;
};
static void take(void *self, const struct field *f)
{
    struct read *r = self;
    r->fields++;
    r->at += snprintf(r->at, (size_t)(r->text + sizeof r->text - r->at), "%s=%s ", f->name, f->text);
}

/* A file whose manifest stands in pieces of `size` bytes, before or behind the event that it describes. */
static void file_with(const char *path, const char *manifest, size_t all, size_t size, bool before)
{
    struct etl_file_info info  = build_info(8192);
    struct image         m     = image_start(&info);
    const uint16_t       total = (uint16_t)((all + size - 1) / size);

    image_buffer(&m, 0, 1);
    if (!before)
        image_event(&m, 2000000, 77);
    for (uint16_t i = 0; i < total; i++) {
        uint8_t                 payload[2048];
        const size_t            left = all - i * size;
        struct etl_event        e    = piece(payload, manifest + i * size, left < size ? left : size, total, i, 5678);
        struct etl_event_header h    = build_event(2000010 + i, e.payload_size);
        h.id                         = CHUNKS_EVENT;
        image_add(&m, &h, sizeof h, payload, e.payload_size);
    }
    if (before)
        image_event(&m, 3000000, 77);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    image_free(&m);
}

static void trace_of(const char *manifest, size_t all)
{
    char        path[]  = "/tmp/al-chunks-XXXXXX";
    const char *paths[] = {path};

    close(mkstemp(path));
    for (size_t size = 300; size <= 2000; size += 850)
        for (int before = 0; before < 2; before++) {
            struct learn_files learn = {paths, 1, manifest_learn, NULL};
            struct schema_set *set   = schema_set_new();
            struct etl_reader *r;
            struct etl_event   e;
            struct reason      why;
            unsigned           n = 0, chunk = 0;
            file_with(path, manifest, all, size, before);
            schema_set_search(set, learn_search, &learn);
            assert_int_equal(etl_reader_open(path, &r, &why), W_SUCCESS);
            while (etl_next(r, &e)) {
                const struct schema_event *s    = schema_set_describe(set, &e);
                struct read                out  = {.at = out.text};
                struct field_sink          sink = {.emit = take, .self = &out};
                uint32_t                   used;
                if (e.kind != ETL_KIND_EVENT)
                    continue;
                assert_non_null(s);
                assert_int_equal(walk_fields(s, e.payload, e.payload_size, true, &sink, &used), DECODE_OK);
                field_sink_finish(&sink);
                if (e.id == CHUNKS_EVENT) { /* pieces are shown, too */
                    assert_string_equal(s->name, "ManifestData");
                    assert_int_equal(out.fields, 7);
                    chunk++;
                    continue;
                }
                assert_int_equal(s->source, SCHEMA_EMBEDDED);
                assert_string_equal(s->provider->name, "Contoso-Net");
                assert_string_equal(s->message, "Loaded at %1.");
                assert_string_equal(s->provider->culture, "en-US");
                assert_string_equal(out.text, "base=77 ");
                n++;
            }
            assert_int_equal(n, 1);
            assert_int_equal(chunk, (all + size - 1) / size);
            etl_reader_close(r);
            schema_set_free(set);
        }
    unlink(path);
}

static void in_a_trace(void **state)
{
    (void)state;
    trace_of(source, ALL);
}

static void flawed_in_a_trace(void **state)
{
    (void)state;
    trace_of(flawed, sizeof flawed - 1);
}

/* An invalid manifest describes nothing, and does no harm. */
static void no_manifest(void **state)
{
    struct schema_set *set = schema_set_new();
    struct schema_key  k   = {.provider = build_provider, .id = 7, .hook = 0xFFFF};
    (void)state;
    for (size_t size = 0; size < ALL - 1; size += 37)
        manifest_learn(NULL, set, source, size);
    assert_null(schema_set_find(set, &k));
    manifest_learn(NULL, set, source, ALL);
    schema_set_free(set);
}

static void count(void *ctx, struct schema_set *set, const void *xml, size_t size)
{
    (void)set;
    (void)xml;
    (void)size;
    ++*(unsigned *)ctx;
}

/* A program that writes new manifests without end: LEARN_XML_MAX bytes of them are read, and no more. */
static void without_end(void **state)
{
    enum { PIECES = 250, BYTES = 60000 };
    unsigned       read    = 0;
    struct learner l       = {.manifest = count, .ctx = &read};
    uint8_t       *payload = calloc(1, BYTES + 8);
    (void)state;
    for (unsigned manifest = 0; manifest < 8; manifest++)
        for (uint16_t i = 0; i < PIECES; i++) {
            const uint8_t head[8] = {1, 1, 0, 0x5B, PIECES, 0, (uint8_t)i, 0};
            memcpy(payload, head, sizeof head);
            payload[8]         = (uint8_t)manifest;
            struct etl_event e = {.kind         = ETL_KIND_EVENT,
                                  .id           = CHUNKS_EVENT,
                                  .provider     = build_provider,
                                  .payload      = payload,
                                  .payload_size = BYTES + 8};
            learner_see(&l, NULL, &e);
        }
    assert_int_equal(read, LEARN_XML_MAX / (PIECES * BYTES));
    assert_true(l.bytes <= LEARN_XML_MAX);
    learner_finish(&l);
    free(payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_end),
                                       cmocka_unit_test(pieces),
                                       cmocka_unit_test(bounds),
                                       cmocka_unit_test(in_a_trace),
                                       cmocka_unit_test(flawed_in_a_trace),
                                       cmocka_unit_test(no_manifest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
