/* The reader on images built here: header kinds, layouts, order, clocks, compression, damage.
 * Proves: CON-02 (time order over CPUs), three clocks as time, CON-14 (execution attributes). */
#include "autologger/etl/tests/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MOST = 64 };
struct result {
    struct etl_reader       *reader;
    struct etl_event         events[MOST]; /* pointers are stale: payload is copied */
    uint8_t                  payloads[MOST][16];
    unsigned                 count, damage_count;
    const struct etl_damage *damage;
};

static struct result read_all(const void *data, size_t size)
{
    struct result    r = {0};
    struct etl_event e;
    struct reason    why;
    assert_int_equal(etl_reader_open_memory(data, size, &r.reader, &why), W_SUCCESS);
    while (etl_next(r.reader, &e)) {
        assert_true(r.count < MOST);
        memcpy(r.payloads[r.count], e.payload, e.payload_size < 16 ? e.payload_size : 16);
        r.events[r.count++] = e;
    }
    r.damage = etl_reader_damage(r.reader, &r.damage_count);
    return r;
}

static void order_over_cpus_and_sequences(void **state)
{
    struct etl_file_info info = build_info(1024);
    struct image         m    = image_start(&info);
    (void)state;

    image_buffer(&m, 1, 4); /* file order is not time order */
    image_event(&m, 5000000, 5);
    image_event(&m, 6000000, 6);
    image_buffer(&m, 0, 3);
    image_event(&m, 2000000, 2);
    image_event(&m, 6000000, 60); /* equal stamp: the lower CPU first */
    image_buffer(&m, 1, 2);
    image_event(&m, 3000000, 3);
    image_event(&m, 4000000, 4);
    struct result        r        = read_all(m.data, m.size);
    static const uint8_t values[] = {2, 3, 4, 5, 60, 6};
    assert_int_equal(r.count, 7);
    assert_int_equal(r.damage_count, 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(r.payloads[i + 1][0], values[i]);
    assert_int_equal(r.events[1].cpu, 0);
    assert_int_equal(r.events[2].cpu, 1);
    assert_int_equal(r.events[2].buffer_sequence, 2);
    assert_true(r.events[2].process_id == 5678 && r.events[2].thread_id == 1234);
    etl_reader_close(r.reader);
    image_free(&m);
}

/* A session that starts while systemd runs has events of existing units, with times before its own start. */
static void the_header_comes_first(void **state)
{
    static const int64_t times[] = {1000000, 400000, 500000, 2000000};
    struct etl_file_info info    = build_info(4096);
    struct image         m       = image_start(&info);
    struct etl_reader   *r;
    struct etl_event     e;
    (void)state;
    image_buffer(&m, 0, 2);
    image_event(&m, 500000, 1);
    image_buffer(&m, 3, 3);
    image_event(&m, 400000, 2);
    image_event(&m, 2000000, 3);
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, NULL), W_SUCCESS);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(etl_next(r, &e));
        assert_int_equal(e.raw_time, times[i]);
        assert_int_equal(etl_event_is_header(&e), i == 0);
    }
    assert_false(etl_next(r, &e));
    etl_reader_close(r);
    image_free(&m);
}

static void one_stream_without_per_processor_buffers(void **state)
{
    struct etl_file_info info = build_info(1024);
    info.log_file_mode |= ETL_MODE_NO_PER_PROCESSOR;
    struct image m = image_start(&info);
    (void)state;
    image_buffer(&m, 3, 2);
    image_event(&m, 4000000, 2);
    image_buffer(&m, 1, 1);
    image_event(&m, 3000000, 1);
    struct result r = read_all(m.data, m.size);
    assert_int_equal(r.count, 3);
    assert_true(r.payloads[1][0] == 1 && r.payloads[2][0] == 2);
    assert_int_equal(r.events[1].cpu, 0);
    etl_reader_close(r.reader);
    image_free(&m);
}

/* Section 1.2 and 1.3 of the facts: no PROC_INDEX, CPU byte plus alignment byte, SavedOffset 0 in the header buffer. */
static void windows_7_layout(void **state)
{
    struct etl_file_info info = build_info(8192);
    struct image         m    = image_start(&info);
    uint32_t             zero = 0;
    uint16_t             flag = 0x01, cpu = 0x0800;
    (void)state;

    memcpy(m.data + 4, &zero, 4);
    memcpy(m.data + 0x34, &flag, 2);
    memcpy(m.data + 0x28, &cpu, 2);
    for (uint16_t i = 0; i < 2; i++) {
        image_buffer(&m, (uint16_t)(0x0800 | i), 1 + i);
        flag = i; /* 0 in the middle, the flush marker on the last */
        memcpy(image_last(&m) + 0x34, &flag, 2);
        memset(image_last(&m) + 0x38, 0xA5, 16); /* stale pointers */
        memset(image_last(&m) + 0x20, 0x5A, 8);
        image_event(&m, 2000000 + i, i);
        uint32_t past = m.pos + m.buffer;
        memcpy(image_last(&m) + 8, &past, 4);
    }
    struct result r = read_all(m.data, m.size);
    assert_int_equal(r.damage_count, 0);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.events[1].cpu, 0);
    assert_int_equal(r.events[2].cpu, 1);
    etl_reader_close(r.reader);
    image_free(&m);
}

static void header_event_of_32_bit(void **state)
{
    struct etl_file_info info = build_info(1024);
    struct image         m = image_start(&info), n = image_start(&info);
    (void)state;

    /* remove the upper halves of the two pointers */
    uint8_t *event = n.data + 72;
    memcpy(event + 32 + 0x40, m.data + 72 + 32 + 0x48, 0x118 - 0x48 + 64);
    event[2]      = ETL_SYSTEM32;
    uint16_t size = (uint16_t)((event[4] | event[5] << 8) - 8);
    memcpy(event + 4, &size, 2);
    uint32_t pointer = 4;
    memcpy(event + 32 + 0x2C, &pointer, 4);
    struct result                 r = read_all(n.data, n.size);
    const struct etl_file_header *a = etl_reader_header(r.reader);
    assert_false(a->is_64bit);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.damage_count, 0);
    assert_true(a->raw.perf_freq == 10000000 && a->raw.clock_type == 1 && a->raw.pointer_size == 4);
    assert_true(a->raw.start_time == (int64_t)BUILD_START_TIME);
    assert_string_equal(a->logger_name, "demo");
    assert_string_equal(a->file_name, "demo.etl");
    etl_reader_close(r.reader);
    image_free(&m);
    image_free(&n);
}

static void every_header_kind(void **state)
{
    struct etl_file_info info    = build_info(4096);
    struct image         m       = image_start(&info);
    static const uint8_t body[4] = {9, 8, 7, 6};
    (void)state;

    image_buffer(&m, 0, 1);
    for (uint8_t type = ETL_SYSTEM32; type <= ETL_COMPACT64; type++) {
        struct etl_system_header h    = {.version     = 0x8002,
                                         .header_type = type,
                                         .flags       = ETL_MARKER,
                                         .type        = 0x0A,
                                         .group       = 3,
                                         .thread_id   = 11,
                                         .process_id  = 10,
                                         .time        = 2000000 + type};
        size_t                   size = type >= ETL_COMPACT32 ? 0x18 : 0x20;
        h.size                        = (uint16_t)(size + sizeof body);
        image_add(&m, &h, size, body, sizeof body);
    }
    for (uint8_t i = 0; i < 2; i++) { /* PERFINFO with a PEBS index and two counters */
        uint8_t                    part[24 + 4] = {0};
        struct etl_perfinfo_header h            = {.version     = 0x8202,
                                                   .header_type = (uint8_t)(ETL_PERFINFO32 + i),
                                                   .flags       = ETL_MARKER,
                                                   .size        = sizeof h + sizeof part,
                                                   .type        = 0x2E,
                                                   .group       = 0x0F,
                                                   .time        = 2000010 + i};
        memcpy(part + 24, body, 4);
        image_add(&m, &h, sizeof h, part, sizeof part);
    }
    static const uint8_t classic[] = {ETL_FULL32, ETL_FULL64, ETL_INSTANCE32, ETL_INSTANCE64};
    for (uint8_t i = 0; i < 4; i++) {
        uint8_t                part[24 + 4] = {0};
        size_t                 more         = i >= 2 ? 24 : 0;
        struct etl_full_header h            = {.size        = (uint16_t)(sizeof h + more + 4),
                                               .header_type = classic[i],
                                               .marker      = ETL_MARKER,
                                               .type        = 32,
                                               .level       = 3,
                                               .version     = 2,
                                               .thread_id   = 11,
                                               .process_id  = 10,
                                               .time        = 2000020 + i,
                                               .guid        = build_provider};
        memcpy(part + more, body, 4);
        image_add(&m, &h, sizeof h, part, more + 4);
    }
    struct etl_event_header h32 = build_event(2000030, 4);
    h32.header_type             = ETL_EVENT32;
    image_add(&m, &h32, sizeof h32, body, sizeof body);
    /* WPP message: sequence, GUID, time stamp, ids */
    uint8_t  message[8 + 4 + 16 + 8 + 8 + 4] = {sizeof message, 0, 0, ETL_MARKER_MESSAGE, 77, 0, 0xAB, 0};
    int64_t  time                            = 2000031;
    uint32_t ids[2]                          = {11, 10};
    memcpy(message + 12, &build_provider, 16);
    memcpy(message + 28, &time, 8);
    memcpy(message + 36, ids, 8);
    memcpy(message + 44, body, 4);
    image_add(&m, message, sizeof message, NULL, 0);
    uint8_t bare[8 + 4] = {sizeof bare, 0, 0, ETL_MARKER_MESSAGE, 78, 0, 0, 0, 9, 8, 7, 6}; /* has no time stamp */
    image_add(&m, bare, sizeof bare, NULL, 0);
    uint8_t error[8] = {8, 0, ETL_ERROR, ETL_MARKER, 9, 8, 7, 6}; /* layout unknown: skipped by its size */
    image_add(&m, error, sizeof error, NULL, 0);

    struct result r = read_all(m.data, m.size);
    assert_int_equal(r.damage_count, 0);
    assert_int_equal(r.count, 1 + 4 + 2 + 4 + 1 + 2 + 1);
    static const struct {
        enum etl_kind kind;
        bool          is_64bit;
    } kinds[]               = {{ETL_KIND_SYSTEM, false},  {ETL_KIND_SYSTEM, true},    {ETL_KIND_SYSTEM, false},
                               {ETL_KIND_SYSTEM, true},   {ETL_KIND_PERFINFO, false}, {ETL_KIND_PERFINFO, true},
                               {ETL_KIND_FULL, false},    {ETL_KIND_FULL, true},      {ETL_KIND_INSTANCE, false},
                               {ETL_KIND_INSTANCE, true}, {ETL_KIND_EVENT, false},    {ETL_KIND_MESSAGE, true},
                               {ETL_KIND_MESSAGE, false}, {ETL_KIND_OTHER, true}};
    struct guid image_class = {0x2cb15d1d, 0x5fc1, 0x11d2, {0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18}};
    for (unsigned i = 1; i < r.count; i++) {
        const struct etl_event *e = &r.events[i];
        assert_int_equal(e->kind, kinds[i - 1].kind);
        assert_int_equal(e->is_64bit, kinds[i - 1].is_64bit);
        assert_int_equal(e->payload_size, 4);
        assert_memory_equal(r.payloads[i], body, 4);
        if (e->kind == ETL_KIND_SYSTEM)
            assert_true(e->hook == 0x030A && guid_equal(&e->provider, &image_class) && e->version == 2);
        bool anonymous = e->kind == ETL_KIND_PERFINFO || e->kind == ETL_KIND_OTHER || i == 13;
        if (e->kind != ETL_KIND_EVENT)
            assert_int_equal(e->process_id, anonymous ? 0xFFFFFFFF : 10);
    }
    assert_true(r.events[12].id == 77 && guid_equal(&r.events[12].provider, &build_provider));
    assert_true(r.events[13].raw_time == 2000031); /* takes the time of the event before */
    assert_true(r.events[8].level == 3 && r.events[8].opcode == 32);
    etl_reader_close(r.reader);
    image_free(&m);
}

static void extended_items(void **state)
{
    struct etl_file_info info = build_info(4096);
    struct image         m    = image_start(&info);
    uint8_t              part[128];
    uint32_t             session = 7;
    (void)state;

    image_buffer(&m, 0, 1);
    for (int bad = 0; bad < 3; bad++) {
        size_t n = build_item(part, ETL_EXT_RELATED_ACTIVITY, true, &build_provider, 16);
        n += build_item(part + n, ETL_EXT_TS_ID, false, &session, 4);
        if (bad == 1)
            part[24] = 12; /* total not a multiple of 8: the rounded data size counts */
        if (bad == 2)
            part[30] = 200; /* data longer than the event */
        part[n++]                 = 0x42;
        struct etl_event_header h = build_event(2000000 + bad, n);
        h.flags                   = ETL_EVENT_EXTENDED;
        image_add(&m, &h, sizeof h, part, n);
    }
    struct etl_reader *r;
    struct etl_event   e;
    struct reason      why;
    const uint8_t     *data;
    uint32_t           size;
    unsigned           damage;
    assert_int_equal(etl_reader_open_memory(m.data, m.size, &r, &why), W_SUCCESS);
    assert_true(etl_next(r, &e));
    assert_false(etl_ext_find(&e, ETL_EXT_TS_ID, &data, &size));
    for (int bad = 0; bad < 2; bad++) {
        assert_true(etl_next(r, &e));
        assert_true(etl_ext_find(&e, ETL_EXT_TS_ID, &data, &size));
        assert_true(size == 4 && data[0] == 7);
        assert_true(etl_ext_find(&e, ETL_EXT_RELATED_ACTIVITY, &data, &size) && size == 16);
        assert_false(etl_ext_find(&e, ETL_EXT_SID, &data, &size));
        assert_true(e.payload_size == 1 && e.payload[0] == 0x42);
    }
    assert_true(etl_next(r, &e)); /* kept, as raw bytes, and reported */
    assert_true(e.ext == NULL && e.payload_size == 24 + 16 + 1);
    assert_false(etl_next(r, &e));
    assert_non_null(etl_reader_damage(r, &damage));
    assert_int_equal(damage, 1);
    etl_reader_close(r);
    image_free(&m);
}

static void clocks(void **state)
{
    struct etl_file_header h = {
        .raw       = {.clock_type = 1, .perf_freq = 2999999, .start_time = (int64_t)BUILD_START_TIME, .cpu_mhz = 3000},
        .start_raw = 500};
    (void)state;
    assert_true(etl_filetime(&h, 500) == BUILD_START_TIME);
    assert_true(etl_filetime(&h, 500 + 2999999) == BUILD_START_TIME + 10000000);
    /* ten years: a double would be off by now */
    assert_true(etl_filetime(&h, 500 + INT64_C(2999999) * 315360000) == BUILD_START_TIME + UINT64_C(3153600000000000));
    assert_true(etl_filetime(&h, 500 - 2999999) == BUILD_START_TIME - 10000000);
    assert_true(etl_filetime(&h, INT64_MAX) > BUILD_START_TIME); /* saturates, no overflow */
    assert_true(etl_filetime(&h, INT64_MIN) == 0);
    h.raw.clock_type = 3;
    assert_true(etl_filetime(&h, 500 + 3000) == BUILD_START_TIME + 10); /* 1 us */
    h.raw.clock_type = 2;
    assert_true(etl_filetime(&h, (int64_t)BUILD_START_TIME + 3) == BUILD_START_TIME + 3);
    h.raw = (struct etl_logfile_header){.clock_type = 1, .perf_freq = -1, .start_time = INT64_MAX};
    assert_true(etl_filetime(&h, INT64_MAX) == INT64_MAX);
}

/* A buffer stored as literals only, which plain LZ77 allows: a zero flag word before each 32 bytes. */
static void compressed_buffers(void **state)
{
    struct etl_file_info info = build_info(4096);
    (void)state;
    for (int trial = 0; trial < 4; trial++) { /* sound, spare flag word, other method, expands to less */
        struct image m    = image_start(&info);
        uint32_t     mode = ETL_MODE_SEQUENTIAL | ETL_MODE_COMPRESSED, zero = 0;
        uint8_t      file[16384];
        m.data[0x2C] = trial == 2 ? 4 : 3;
        memcpy(m.data + 0x88, &mode, 4);
        memcpy(file, m.data, 4096);
        size_t n = 4096;
        for (uint32_t b = 1; b <= 2; b++) {
            image_buffer(&m, (uint16_t)b, b);
            for (uint32_t i = 0; i < b; i++)
                image_event(&m, 2000000 + 10 * b + i, b);
            const uint8_t *plain = image_last(&m);
            size_t         at = n, used = m.pos;
            memcpy(file + n, plain, 72);
            n += 72;
            for (size_t i = 72; i < used; i++) {
                if ((i - 72) % 32 == 0) {
                    memcpy(file + n, &zero, 4);
                    n += 4;
                }
                file[n++] = plain[i];
            }
            if (trial == 1) {
                memcpy(file + n, &zero, 4);
                n += 4;
            }
            uint32_t size = (uint32_t)(n - at), claim = (uint32_t)used + 8;
            memcpy(file + at, &size, 4);
            file[at + 0x34] = ETL_BUFFER_PROC_INDEX | ETL_BUFFER_COMPRESSED;
            if (trial == 3)
                memcpy(file + at + 0x30, &claim, 4);
        }
        struct result r = read_all(file, n);
        assert_int_equal(r.count, trial < 2 ? 4 : 1);
        assert_int_equal(r.damage_count, trial < 2 ? 0 : 2);
        if (trial >= 2)
            assert_true(r.damage[0].offset == 4096);
        else
            assert_true(r.payloads[3][0] == 2 && r.events[3].cpu == 2);
        etl_reader_close(r.reader);
        image_free(&m);
    }
}

static void damage_is_reported_and_reading_goes_on(void **state)
{
    struct etl_file_info info = build_info(1024);
    struct image         m    = image_start(&info);
    uint8_t              copy[5 * 1024];
    struct result        r;
    (void)state;

    for (uint32_t i = 1; i <= 4; i++) {
        image_buffer(&m, 0, i);
        image_event(&m, 2000000 + i * 10, i);
        image_event(&m, 2000001 + i * 10, i);
    }
    assert_int_equal(m.size, sizeof copy);
    static const struct {
        size_t      at;
        uint32_t    value;
        unsigned    events;
        uint64_t    offset;
        const char *text;
    } rows[] = {
        {2048 + 72, 0x00000008, 7, 2048 + 72, "no event starts here"},           /* no marker */
        {2048 + 72 + 88, 0xC0130001, 8, 2048 + 72 + 88, "no event starts here"}, /* size 1 */
        {2048 + 72, 0xC013FFF0, 7, 2048 + 72, "no event starts here"},           /* past the buffer */
        {2048, 0, 9, 2048, "buffer size"},
        {2048, 2048, 9, 2048, "buffer size"},
        {2048, 0xFFFFFFFF, 9, 2048, "buffer size"},
        {4096, 1032, 9, 4096, "buffer size"}, /* the last one: the end of the file is where it should end */
        {2048 + 0x30, 20, 9, 0, NULL},        /* less than 72 bytes filled: SavedOffset counts instead */
        {2048 + 0x30, 4000, 9, 2048, "are used"},
        {2048 + 0x34, 0x00FF0020, 9, 2048, "buffer type"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(copy, m.data, sizeof copy);
        memcpy(copy + rows[i].at, &rows[i].value, 4);
        r = read_all(copy, sizeof copy);
        if (r.count != rows[i].events)
            fail_msg("row %zu: %u events", i, r.count);
        assert_int_equal(r.damage_count, rows[i].text != NULL);
        if (rows[i].text) {
            assert_true(r.damage[0].offset == rows[i].offset);
            assert_non_null(strstr(r.damage[0].text, rows[i].text));
        }
        etl_reader_close(r.reader);
    }
    memcpy(copy, m.data, sizeof copy);
    memset(copy + 2048, 0, 1024); /* a hole */
    r = read_all(copy, sizeof copy);
    assert_int_equal(r.count, 7);
    assert_true(r.damage_count == 1 && r.damage[0].offset == 2048);
    etl_reader_close(r.reader);
    memset(copy + 2048, 0, 3072); /* preallocated space, not used: no damage */
    r = read_all(copy, sizeof copy);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.damage_count, 0);
    etl_reader_close(r.reader);
    for (size_t size = 0; size <= m.size; size++) { /* cut anywhere: what lies before is read */
        struct etl_reader *cut;
        struct reason      why;
        struct etl_event   e;
        unsigned n = 0, least = size < 72 + 0x154 ? 0 : size < 1024 ? 1 : (unsigned)(1 + (size / 1024 - 1) * 2);
        if (etl_reader_open_memory(m.data, size, &cut, &why) != W_SUCCESS) {
            assert_int_equal(why.status, W_INVALID_DATA);
            assert_true(size < 72 + 0x154);
            continue;
        }
        while (etl_next(cut, &e))
            n++;
        assert_true(n >= least && n <= 9);
        etl_reader_close(cut);
    }
    image_free(&m);
}

static void buffers_written_does_not_matter(void **state)
{
    struct etl_file_info  info     = build_info(1024);
    struct image          m        = image_start(&info);
    static const uint32_t claims[] = {0, 1, 2, 9, UINT32_MAX};
    (void)state;
    image_buffer(&m, 0, 1);
    image_event(&m, 2000000, 1);
    image_buffer(&m, 0, 17); /* sequence gaps are normal */
    image_event(&m, 2000001, 2);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        memcpy(m.data + HEADER_AT_BUFFERS_WRITTEN, &claims[i], 4);
        struct result r = read_all(m.data, m.size);
        assert_int_equal(r.count, 3);
        assert_int_equal(r.damage_count, 0);
        assert_int_equal(etl_reader_header(r.reader)->buffers_found, 3);
        assert_int_equal(etl_reader_header(r.reader)->raw.buffers_written, claims[i]);
        etl_reader_close(r.reader);
    }
    image_free(&m);
}

/* ... until the file is completed: then fewer buffers than the header says are damage. */
static void a_completed_file_knows_its_buffers(void **state)
{
    static const struct {
        uint32_t said, mode;
        int64_t  end;
        unsigned damage;
    } rows[] = {
        {3, ETL_MODE_SEQUENTIAL, 1, 0},
        {2, ETL_MODE_SEQUENTIAL, 1, 0},
        {4, ETL_MODE_SEQUENTIAL, 0, 0},
        {4, ETL_MODE_SEQUENTIAL, 1, 1},
        {4, ETL_MODE_SEQUENTIAL | ETL_MODE_RELOG, 1, 1},
        {4, ETL_MODE_CIRCULAR, 1, 0},
        {UINT32_MAX, 0, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct etl_file_info info = build_info(1024);
        info.log_file_mode        = rows[i].mode;
        struct image m            = image_start(&info);
        image_buffer(&m, 0, 1);
        image_event(&m, 2000000, 1);
        image_buffer(&m, 1, 2);
        image_event(&m, 2000001, 2);
        memcpy(m.data + HEADER_AT_BUFFERS_WRITTEN, &rows[i].said, 4);
        memcpy(m.data + HEADER_AT_END_TIME, &rows[i].end, 8);
        struct result r = read_all(m.data, m.size);
        assert_int_equal(r.count, 3);
        assert_int_equal(r.damage_count, rows[i].damage);
        if (rows[i].damage)
            assert_non_null(
                strstr(etl_reader_damage(r.reader, &r.damage_count)->text, "3 are there: the file was cut"));
        etl_reader_close(r.reader);
        image_free(&m);
    }
}

static void not_an_etl(void **state)
{
    struct etl_reader *r;
    struct reason      why;
    (void)state;
    assert_int_equal(etl_reader_open("/nonexistent.etl", &r, &why), W_FILE_NOT_FOUND);
    assert_int_equal(etl_reader_open("/tmp", &r, &why), W_INVALID_DATA);
    assert_int_equal(etl_reader_open("/dev/null", &r, &why), W_INVALID_DATA);
    assert_int_equal(etl_reader_open(AL_SOURCE_DIR "/CMakeLists.txt", &r, &why), W_INVALID_DATA);
    assert_non_null(strstr(why.text, "offset 0"));
    etl_reader_close(NULL);
}

static void record_sizes(void **state)
{
    struct etl_event_header h = build_event(1, 0);
    (void)state;
    assert_int_equal(etl_record_size((const uint8_t *)&h, sizeof h), 0x50);
    assert_int_equal(etl_record_size((const uint8_t *)&h, sizeof h - 1), -1);
    assert_int_equal(etl_record_size((const uint8_t *)"\xFF\xFF\xFF\xFF", 4), 0);
    assert_int_equal(etl_record_size((const uint8_t *)"\xFF\xFF\xFF", 3), 0);
    assert_int_equal(etl_record_size((const uint8_t *)"\0\0\0\0", 4), -1);
    assert_int_equal(etl_record_size((const uint8_t *)"\x50\0\x16\xC0", 4), -1); /* type 0x16 does not exist */
    struct etl_perfinfo_header p = {.version = 0x8702, .header_type = ETL_PERFINFO64, .flags = ETL_MARKER, .size = 79};
    uint8_t                    room[80] = {0};
    memcpy(room, &p, sizeof p);
    assert_int_equal(etl_record_size(room, sizeof room), -1); /* one byte short of 16 + 8 + 7 * 8 */
    room[4] = 80;
    assert_int_equal(etl_record_size(room, sizeof room), 80);
    struct guid null = {0};
    for (unsigned hook = 0; hook <= 0xFFFF; hook++) {
        struct guid g = etl_group_guid((uint16_t)hook);
        assert_int_equal(guid_equal(&g, &null), hook >= 0x1F00);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_over_cpus_and_sequences),
                                       cmocka_unit_test(the_header_comes_first),
                                       cmocka_unit_test(one_stream_without_per_processor_buffers),
                                       cmocka_unit_test(windows_7_layout),
                                       cmocka_unit_test(header_event_of_32_bit),
                                       cmocka_unit_test(every_header_kind),
                                       cmocka_unit_test(extended_items),
                                       cmocka_unit_test(clocks),
                                       cmocka_unit_test(compressed_buffers),
                                       cmocka_unit_test(damage_is_reported_and_reading_goes_on),
                                       cmocka_unit_test(buffers_written_does_not_matter),
                                       cmocka_unit_test(a_completed_file_knows_its_buffers),
                                       cmocka_unit_test(not_an_etl),
                                       cmocka_unit_test(record_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
