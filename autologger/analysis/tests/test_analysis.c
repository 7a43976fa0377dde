/* Questions to made-up traces, whose answers are known: which events a pattern means; percentiles; pairs by thread,
 * field and activity, nested and unmatched, with processor time by context switches; counts that add up; activities
 * over two processes and two files with their transfers; the state of the machine at a time; images with their build
 * ids.
 * Proves: ANA-02, ANA-03, ANA-04, ANA-05, ANA-06, ANA-09 (by switches), CON-20. */
#include "autologger/analysis/activities.h"
#include "autologger/analysis/counts.h"
#include "autologger/analysis/delta.h"
#include "autologger/analysis/images.h"
#include "autologger/analysis/moment.h"
#include "autologger/consumer/tests/names_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { START = 1000000 };

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[4][128];
    static int  next;
    char       *p = path[next++ % 4];
    snprintf(p, 128, "%s/%s.etl", folder, name);
    return p;
}

static const char *save(struct image *m, const char *name)
{
    const char *path = path_of(name);
    FILE       *f    = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->data, 1, m->size, f), m->size);
    fclose(f);
    image_free(m);
    return path;
}

static struct image start(uint32_t mode)
{
    struct etl_file_info info = build_info(8192);
    info.log_file_mode        = mode;
    struct image m            = image_start(&info);
    image_buffer(&m, 0, 1);
    return m;
}

/* An event of the made-up provider: opcode, thread, activity, related activity, and 4 bytes of payload. */
static void event(struct image *m, int64_t at, uint16_t id, uint8_t opcode, uint32_t pid, uint32_t tid,
                  uint8_t activity, uint8_t related)
{
    uint8_t                 part[64];
    struct guid             a = {.data1 = activity}, r = {.data1 = related};
    size_t                  n = related ? build_item(part, ETL_EXT_RELATED_ACTIVITY, false, &r, sizeof r) : 0;
    struct etl_event_header h = build_event(START + at, n);
    h.id                      = id;
    h.opcode                  = opcode;
    h.process_id              = pid;
    h.thread_id               = tid;
    h.flags                   = related ? ETL_EVENT_EXTENDED : 0;
    if (activity)
        h.activity = a;
    image_add(m, &h, sizeof h, part, n);
}

/* An event that describes itself, with one field "Request". */
static void request(struct image *m, int64_t at, const char *name, uint32_t number)
{
    uint8_t schema[64];
    size_t  n = strlen(name), size = 3 + n + 1 + sizeof "Request" + 1;
    memset(schema, 0, sizeof schema);
    schema[0] = (uint8_t)size;
    memcpy(schema + 3, name, n);
    memcpy(schema + 4 + n, "Request", 8);
    schema[12 + n] = 8; /* u32 */
    image_tracelogging(m, START + at, "\x0e\0Contoso-Web", 14, schema, (uint16_t)size, &number, 4);
}

static void process(struct image *m, int64_t at, uint16_t hook, uint32_t pid, uint32_t parent, const char *name)
{
    uint8_t bytes[256] = {0};
    memcpy(bytes + 8, &pid, 4);
    memcpy(bytes + 12, &parent, 4);
    /* key 8, ids 8, session 4, status 4, directory 8, flags 4, no user 4 */
    memcpy(bytes + 40, name, strlen(name) + 1);
    image_kernel(m, START + at, hook, 4, 1, bytes, 40 + strlen(name) + 1 + 2 + 2 + 2);
}

static void thread(struct image *m, int64_t at, uint16_t hook, uint32_t pid, uint32_t tid)
{
    uint8_t bytes[72] = {0};
    memcpy(bytes, &pid, 4);
    memcpy(bytes + 4, &tid, 4);
    image_kernel(m, START + at, hook, 3, 1, bytes, sizeof bytes);
}

static void switches(struct image *m, int64_t at, uint32_t comes, uint32_t goes)
{
    uint32_t ids[6] = {comes, goes};
    image_kernel(m, START + at, 0x0524, 4, 0, ids, sizeof ids);
}

static struct trace *open_trace(const char *path)
{
    struct trace *t   = NULL;
    struct reason why = {0};
    if (trace_open(&path, 1, &t, &why))
        fail_msg("%s", why.text);
    return t;
}

static struct delta *delta_of(const char *path, const char *begin, const char *end, enum delta_by by, const char *field)
{
    struct trace        *t       = open_trace(path);
    struct delta_options options = {.by = by, .begin_field = field, .end_field = field, .worst = 3};
    struct delta        *d       = NULL;
    assert_true(event_spec_parse(begin, &options.begin) && event_spec_parse(end, &options.end));
    assert_int_equal(delta_create(t, &options, &d, NULL), 0);
    trace_close(t);
    assert_int_equal(d->begins, d->pairs + d->open);
    assert_int_equal(d->ends, d->pairs + d->unmatched_ends);
    return d;
}

/* --- */

static void percentiles(void **state)
{
    (void)state;
    struct histogram *h = calloc(1, sizeof *h);
    for (uint64_t i = 1; i <= 100000; i++)
        histogram_add(h, i);
    assert_int_equal(h->least, 1);
    assert_int_equal(h->most, 100000);
    assert_int_equal(histogram_mean(h), 50000);
    for (unsigned p = 1; p <= 1000; p++) {
        uint64_t exact = 100 * p, got = histogram_percentile(h, p);
        assert_true(got >= exact && got <= exact + exact / 60 + 1);
    }
    histogram_add(h, UINT64_MAX);
    assert_true(histogram_percentile(h, 1000) == UINT64_MAX);
    free(h);
}

static void specs(void **state)
{
    (void)state;
    struct event_spec s;
    struct etl_event  e = {.kind = ETL_KIND_EVENT, .id = 7, .opcode = 1, .provider = build_provider};
    struct decoded    n = {.provider = "Contoso-Web", .event = "Request"};
    /* clang-format off */
    static const struct { const char *text; bool parses, matches; } rows[] = {
        {"Contoso-Web/Request", true, true}, {"contoso-*/req*:start", true, true},
         {"Contoso-Web/Request:stop", true, false},
        {"*/7", true, true},  {"Contoso-Web", true, true}, {"*", true, true}, {"Other/Request", true, false},
         {"Contoso-Web/Reply", true, false},
        {"{12345678-9abc-def0-1122-334455667788}/7:1", true, true},
         {"{12345678-9abc-def0-1122-334455667799}", true, false},
        {"", false, false}, {"a/b:none", false, false}, {"{no guid}/1", false, false}, {"a/b:256", false, false}};
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool parsed = event_spec_parse(rows[i].text, &s);
        if (parsed != rows[i].parses || (parsed && event_spec_matches(&s, &e, &n) != rows[i].matches))
            fail_msg("%s", rows[i].text);
    }
}

static void pairs_by_thread(void **state)
{
    (void)state;
    struct image m = start(1);
    event(&m, 100, 1, 1, 10, 11, 0, 0); /* outer */
    event(&m, 150, 1, 1, 10, 12, 0, 0); /* of another thread */
    event(&m, 200, 1, 1, 10, 11, 0, 0); /* nested */
    event(&m, 260, 1, 2, 10, 11, 0, 0);
    event(&m, 400, 1, 2, 10, 11, 0, 0);
    event(&m, 450, 1, 2, 10, 99, 0, 0); /* never began */
    struct delta *d = delta_of(save(&m, "threads"), "*/1:start", "*/1:stop", DELTA_THREAD, NULL);
    assert_int_equal(d->begins, 3);
    assert_int_equal(d->ends, 3);
    assert_int_equal(d->pairs, 2);
    assert_int_equal(d->open, 1);
    assert_int_equal(d->unmatched_ends, 1);
    assert_int_equal(d->time.least, 60);
    assert_int_equal(d->time.most, 300);
    assert_int_equal(d->worst_count, 2);
    assert_int_equal(d->worst[0].time, 300);
    assert_int_equal(d->worst[1].time, 60);
    assert_int_equal(d->cpu.count, 0); /* the trace has no context switches */
    delta_destroy(d);
}

static void pairs_by_field(void **state)
{
    (void)state;
    struct image m = start(1);
    for (uint32_t i = 0; i < 5; i++)
        request(&m, 100 + i, "Begin", i);
    for (uint32_t i = 0; i < 4; i++) /* in the other order */
        request(&m, 200 + i, "End", 3 - i);
    struct delta *d = delta_of(save(&m, "fields"), "Contoso-Web/Begin", "Contoso-Web/End", DELTA_FIELD, "Request");
    assert_int_equal(d->pairs, 4);
    assert_int_equal(d->open, 1);
    assert_int_equal(d->time.least, 97);
    assert_int_equal(d->time.most, 103);
    assert_string_equal(d->worst[0].key, "0");
    assert_int_equal(d->worst_count, 3);
    delta_destroy(d);
    d = delta_of(path_of("fields"), "Contoso-Web/Begin", "Contoso-Web/End", DELTA_FIELD, "NoSuchField");
    assert_int_equal(d->pairs, 0);
    assert_int_equal(d->keyless, 9);
    delta_destroy(d);
}

static void pairs_by_activity(void **state)
{
    (void)state;
    struct image m = start(1);
    event(&m, 100, 1, 1, 10, 11, 1, 0);
    event(&m, 110, 1, 1, 20, 21, 2, 0);
    event(&m, 120, 1, 2, 30, 31, 1, 0); /* ends on another thread of another process */
    event(&m, 170, 1, 2, 30, 31, 2, 0);
    event(&m, 180, 1, 2, 30, 31, 0, 0); /* without an activity */
    struct delta *d = delta_of(save(&m, "activities"), "*:start", "*:stop", DELTA_ACTIVITY, NULL);
    assert_int_equal(d->pairs, 2);
    assert_int_equal(d->keyless, 1);
    assert_int_equal(d->time.sum, 80);
    assert_int_equal(d->cpu.count, 0); /* two threads: no processor time */
    delta_destroy(d);
}

static void cpu_time(void **state)
{
    (void)state;
    struct image m = start(0x02000001);
    process(&m, 1, 0x0303, 10, 1, "server");
    thread(&m, 2, 0x0503, 10, 11);
    switches(&m, 100, 11, 0);
    event(&m, 150, 1, 1, 10, 11, 0, 0);
    switches(&m, 250, 0, 11); /* it waits for 500 */
    switches(&m, 750, 11, 0);
    event(&m, 800, 1, 2, 10, 11, 0, 0);
    switches(&m, 900, 0, 11);
    struct delta *d = delta_of(save(&m, "cpu"), "*/1:start", "*/1:stop", DELTA_THREAD, NULL);
    assert_int_equal(d->pairs, 1);
    assert_true(d->cpu_by_switches && d->worst[0].cpu_known);
    assert_int_equal(d->worst[0].time, 650);
    assert_int_equal(d->worst[0].cpu, 150);
    assert_string_equal(d->worst[0].process, "server");
    delta_destroy(d);
}

static void counts_add_up(void **state)
{
    (void)state;
    struct image m = start(1);
    for (int i = 0; i < 30; i++)
        event(&m, 10 * i, (uint16_t)(i % 3), 0, 10 + (uint32_t)(i % 5), 1, 0, 0);
    event(&m, 25000000, 9, 0, 10, 1, 0, 0);
    struct trace  *t = open_trace(save(&m, "counts"));
    struct counts *c = NULL;
    assert_int_equal(counts_create(t, &c, NULL), 0);
    assert_int_equal(c->events, 32); /* with the header */
    for (int by = 0; by < COUNTS_TABLES; by++) {
        uint64_t events = 0, bytes = 0;
        for (size_t i = 0; i < c->table[by].rows; i++) {
            events += c->table[by].row[i].events;
            bytes += c->table[by].row[i].bytes;
            assert_true(i == 0 || c->table[by].row[i].events <= c->table[by].row[i - 1].events);
        }
        assert_int_equal(events, c->events);
        assert_int_equal(bytes, c->bytes);
    }
    assert_int_equal(c->table[COUNTS_EVENT].rows, 5);
    assert_int_equal(c->table[COUNTS_PROCESS].rows, 6);
    assert_int_equal(c->seconds, 3);
    assert_int_equal(c->second[0].events, 31);
    assert_int_equal(c->second[1].events, 0);
    assert_int_equal(c->second[2].events, 1);
    counts_destroy(c);
    trace_close(t);
}

/* Request 1 comes to a front end (file 1), which asks two workers of another process (file 2): 2 and 3; 3 asks 4. */
static void activities_over_files(void **state)
{
    (void)state;
    struct image       m = start(1), n = start(1);
    const char        *paths[2];
    struct trace      *t = NULL;
    struct activities *a = NULL;
    event(&m, 100, 1, 1, 10, 11, 1, 0);
    event(&m, 300, 1, 2, 10, 11, 1, 0);
    event(&m, 310, 5, 0, 10, 11, 0, 0); /* of no activity */
    paths[0] = save(&m, "front");
    event(&n, 120, 2, 1, 20, 21, 2, 1);
    event(&n, 130, 2, 1, 20, 22, 3, 1);
    event(&n, 131, 2, 1, 20, 22, 3, 1); /* the same transfer again */
    event(&n, 140, 2, 1, 20, 23, 4, 3);
    event(&n, 150, 2, 1, 20, 23, 1, 4); /* would close a cycle: counted as an edge only */
    event(&n, 160, 2, 1, 20, 23, 5, 9); /* the related activity occurs nowhere else */
    paths[1] = save(&n, "back");
    assert_int_equal(trace_open(paths, 2, &t, NULL), 0);
    assert_int_equal(activities_create(t, &a, NULL), 0);
    assert_int_equal(a->count, 6);
    assert_int_equal(a->with_activity, 8);
    assert_int_equal(a->transfers, 5);
    long at[10];
    for (uint8_t i = 0; i < 10; i++)
        at[i] = activities_find(a, &(struct guid){.data1 = i});
    assert_int_equal(a->list[at[1]].parent, ACTIVITY_NONE);
    assert_int_equal(a->list[at[2]].parent, at[1]);
    assert_int_equal(a->list[at[3]].parent, at[1]);
    assert_int_equal(a->list[at[4]].parent, at[3]);
    assert_int_equal(a->list[at[1]].child, at[2]);
    assert_int_equal(a->list[at[2]].next, at[3]);
    assert_int_equal(a->list[at[5]].parent, at[9]);
    assert_true(a->list[at[9]].told_only && !a->list[at[1]].told_only);
    assert_int_equal(a->list[at[1]].files, 3); /* both */
    assert_int_equal(a->list[at[2]].files, 2);
    assert_int_equal(a->list[at[1]].processes, 2);
    assert_int_equal(a->list[at[1]].last - a->list[at[1]].first, 200);
    assert_int_equal(at[8], ACTIVITY_NONE);
    for (size_t i = 0; i < a->transfers; i++)
        if (a->transfer[i].to == at[3])
            assert_int_equal(a->transfer[i].count, 2);
    activities_destroy(a);
    trace_close(t);
}

/* An event whose manifest names its channel shows the channel beside the event's name: in the counts, and in the
 * activity that begins with it. */
static void channels_by_name(void **state)
{
    (void)state;
    struct schema_set      *set = schema_set_new();
    struct schema_provider *p   = schema_provider_new(&build_provider, "Contoso");
    struct schema_event    *e   = schema_event_new(p, 0, 0);
    struct image            m   = start(1);
    struct counts          *c   = NULL;
    struct activities      *a   = NULL;
    e->id                       = 1;
    e->name                     = "Began";
    e->channel_name             = "Contoso/Debug";
    assert_int_equal(schema_event_finish(p, e, NULL), 0);
    assert_int_equal(schema_set_add(set, SCHEMA_MANIFEST, p), 0);
    event(&m, 100, 1, 1, 10, 11, 1, 0);
    event(&m, 200, 1, 1, 10, 11, 1, 0);
    event(&m, 300, 2, 1, 10, 11, 2, 0);
    const char   *path = save(&m, "channels");
    struct trace *t    = open_trace(path);
    trace_describe(t, set);
    assert_int_equal(counts_create(t, &c, NULL), 0);
    assert_string_equal(c->table[COUNTS_EVENT].row[0].name, "Contoso/Began");
    assert_string_equal(c->table[COUNTS_EVENT].row[0].channel, "Contoso/Debug");
    assert_int_equal(c->table[COUNTS_EVENT].row[0].events, 2);
    assert_null(c->table[COUNTS_EVENT].row[1].channel);
    counts_destroy(c);
    trace_close(t);
    t = open_trace(path);
    trace_describe(t, set);
    assert_int_equal(activities_create(t, &a, NULL), 0);
    assert_string_equal(a->list[activities_find(a, &(struct guid){.data1 = 1})].first_channel, "Contoso/Debug");
    assert_string_equal(a->list[activities_find(a, &(struct guid){.data1 = 2})].first_channel, "");
    activities_destroy(a);
    trace_close(t);
    schema_set_free(set);
}

static void disk(struct image *m, int64_t at, uint16_t hook, uint64_t irp, uint32_t tid, uint64_t took)
{
    uint8_t  bytes[64] = {0};
    uint32_t size      = 4096;
    if (hook == 0x010D) {
        memcpy(bytes, &irp, 8);
        memcpy(bytes + 8, &tid, 4);
        image_kernel(m, START + at, hook, 3, 1, bytes, 12);
        return;
    }
    memcpy(bytes + 8, &size, 4);
    memcpy(bytes + 32, &irp, 8);
    memcpy(bytes + 40, &took, 8);
    memcpy(bytes + 48, &tid, 4);
    image_kernel(m, START + at, hook, 3, 1, bytes, 52);
}

static void moments(void **state)
{
    (void)state;
    struct image m = start(0x02000001);
    process(&m, 1, 0x0303, 10, 1, "old");
    process(&m, 2, 0x0301, 20, 10, "new");
    thread(&m, 3, 0x0501, 20, 21);
    switches(&m, 10, 21, 0);
    disk(&m, 20, 0x010D, 0x1000, 21, 0); /* never ends */
    disk(&m, 21, 0x010D, 0x2000, 21, 0);
    switches(&m, 40, 0, 21);
    process(&m, 50, 0x0302, 20, 10, "new");
    process(&m, 55, 0x0301, 30, 10, "later");
    disk(&m, 60, 0x010B, 0x2000, 21, 39);
    disk(&m, 61, 0x010A, 0x3000, 21, 45); /* its beginning was not traced: at 16 */
    disk(&m, 62, 0x010A, 0x4000, 21, 5);  /* began later */
    process(&m, 70, 0x0304, 40, 1, "known at the end alone");
    process(&m, 71, 0x0304, 30, 10, "later");
    const char   *path = save(&m, "moments");
    struct trace *t    = open_trace(path);
    struct moment s;
    assert_int_equal(moment_create(t, BUILD_START_TIME + 30, &s, NULL), 0);
    assert_int_equal(s.machine.cpus, 1);
    assert_int_equal(s.machine.cpu[0].tid, 21);
    unsigned live = 0;
    for (unsigned i = 0; i < s.machine.process_count; i++)
        live += s.machine.process[i]->seen && !s.machine.process[i]->ended;
    assert_int_equal(live, 3); /* 10, 20, 40; 30 came later */
    assert_int_equal(s.ios, 3);
    uint64_t cpu;
    assert_true(traced_cpu_time(&s.machine, 21, BUILD_START_TIME + 30, &cpu));
    assert_int_equal(cpu, 20);
    moment_finish(&s);
    trace_close(t);
    t = open_trace(path);
    assert_int_equal(moment_create(t, BUILD_START_TIME + 80, &s, NULL), 0);
    assert_int_equal(s.machine.cpu[0].tid, 0);
    assert_int_equal(s.ios, 1);
    assert_non_null(traced_process(&s.machine, 20));
    assert_true(traced_process(&s.machine, 20)->ended == BUILD_START_TIME + 50);
    assert_int_equal(traced_process(&s.machine, 20)->cpu, 30);
    moment_finish(&s);
    trace_close(t);
}

/* Time between switches that contradict each other belongs to no process, and the sum is the processor's time. */
static void time_is_conserved(void **state)
{
    (void)state;
    struct image m = start(0x02000001);
    thread(&m, 1, 0x0503, 10, 11);
    thread(&m, 2, 0x0503, 10, 12);
    switches(&m, 100, 11, 0);
    switches(&m, 200, 0, 12); /* the switch from 11 to 12 is missing */
    switches(&m, 300, 12, 0);
    switches(&m, 450, 0, 12);
    struct trace             *t = open_trace(save(&m, "missing"));
    struct traced             s = {0};
    const struct trace_event *x;
    while (trace_next(t, &x))
        traced_see(&s, &x->e, &x->names);
    traced_end(&s);
    uint64_t sum = s.unknown_cpu;
    for (unsigned i = 0; i < s.process_count; i++)
        sum += s.process[i]->cpu;
    assert_int_equal(sum, 350);
    assert_int_equal(s.unknown_cpu, 100);
    assert_int_equal(s.missing_switches, 1);
    assert_int_equal(traced_process(&s, 10)->cpu, 150);
    traced_finish(&s);
    trace_close(t);
}

static void images_have_identity(void **state)
{
    (void)state;
    struct image m      = start(0x02000001);
    uint8_t      id[20] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99};
    char         nt[64];
    make_build_id(&m, START + 1, id);
    make_image(&m, START + 2, 0x030A, 0x400000, 0x1000, 0x44332211, 0x88776655,
               make_nt_path("/usr/lib/x.so", nt, sizeof nt));
    make_image(&m, START + 3, 0x030A, 0x500000, 0x1000, 0x44332211, 0x88776655,
               make_nt_path("/usr/lib/x.so", nt, sizeof nt));
    make_image(&m, START + 4, 0x1402, 0x500000, 0x1000, 0x44332211, 0x88776655,
               make_nt_path("/usr/lib/x.so", nt, sizeof nt));
    make_image(&m, START + 5, 0x1403, 0x600000, 0x2000, 0, 0, make_nt_path("/usr/bin/y", nt, sizeof nt));
    struct trace  *t = open_trace(save(&m, "images"));
    struct images *i = NULL;
    assert_int_equal(images_create(t, &i, NULL), 0);
    assert_int_equal(i->rows, 2);
    assert_int_equal(i->loads, 3);
    assert_string_equal(i->row[0].path, "/usr/bin/y");
    assert_string_equal(i->row[0].build_id, "");
    assert_string_equal(i->row[1].build_id, "1122334455667788990000000000000000000000");
    assert_int_equal(i->row[1].checksum, 0x88776655);
    assert_int_equal(i->row[1].loads, 2);
    assert_int_equal(i->row[1].processes, 1);
    images_destroy(i);
    trace_close(t);
}

static void refuses(void **state)
{
    (void)state;
    struct trace *t        = NULL;
    struct reason why      = {0};
    const char   *paths[2] = {path_of("counts"), "/nonexistent/x.etl"};
    assert_int_equal(trace_open(paths, 2, &t, &why), W_FILE_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nonexistent/x.etl"));
    assert_int_equal(trace_open(paths, 0, &t, &why), W_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(percentiles),
                                       cmocka_unit_test(specs),
                                       cmocka_unit_test(pairs_by_thread),
                                       cmocka_unit_test(pairs_by_field),
                                       cmocka_unit_test(pairs_by_activity),
                                       cmocka_unit_test(cpu_time),
                                       cmocka_unit_test(counts_add_up),
                                       cmocka_unit_test(activities_over_files),
                                       cmocka_unit_test(channels_by_name),
                                       cmocka_unit_test(moments),
                                       cmocka_unit_test(time_is_conserved),
                                       cmocka_unit_test(images_have_identity),
                                       cmocka_unit_test(refuses)};
    snprintf(folder, sizeof folder, "/tmp/al-analysis-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    int  failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 1 : failed;
}
