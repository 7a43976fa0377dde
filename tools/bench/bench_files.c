/* bench_files.c - see bench_files.h. */
#include "tools/bench/bench_files.h"

#include "autologger/etl/reader.h"
#include "autologger/etl/writer.h"
#include "autologger/schema/set.h"
#include "autologger/schema/walk.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/filetime.h"
#include "tools/bench/bench_request.h"

#include <stdlib.h>
#include <time.h>

#define PROVIDER "Contoso-Requests"
enum {
    BUFFER      = 64 << 10,
    HEAD        = sizeof(struct etl_buffer_header),
    RECORD_MOST = 512,
    TICKS       = 230,
    CPU_RUN     = 512,
    CHANNEL     = 11,
    LEVEL       = 4
};

/* The two items that describe the events: traits, then the schema; each begins with its size, and takes a multiple of
 * 8. */
static const char traits[]             = PROVIDER;
static const char bench_files_schema[] = "\0request\0number\0\x08"
                                         "bytes\0\x0A"
                                         "status\0\x07"
                                         "load\0\x0C"
                                         "path\0\x02";

static void bench_files_put_item(struct writer *w, uint16_t type, bool more, const void *data, size_t size)
{
    static const uint8_t zeros[8];
    uint16_t             whole = (uint16_t)(size + 2);
    struct etl_ext_item  item  = {(uint16_t)(sizeof item + ((whole + 7u) & ~7u)), type, more, whole};

    wr_bytes(w, &item, sizeof item);
    wr_u16(w, whole);
    wr_bytes(w, data, size);
    wr_bytes(w, zeros, (8 - whole % 8u) % 8u);
}

static uint32_t put_request(uint8_t *at, uint32_t i, int64_t time, const struct guid *provider)
{
    struct writer           w = wr_make(at, RECORD_MOST);
    struct bench_request    r = bench_request(i);
    struct etl_event_header h = {.header_type = ETL_EVENT64,
                                 .marker      = ETL_MARKER,
                                 .flags       = ETL_EVENT_EXTENDED,
                                 .thread_id   = 1000,
                                 .process_id  = 1000,
                                 .time        = time,
                                 .provider    = *provider,
                                 .channel     = CHANNEL,
                                 .level       = LEVEL};
    wr_bytes(&w, &h, sizeof h);
    bench_files_put_item(&w, ETL_EXT_PROV_TRAITS, true, traits, sizeof traits);
    bench_files_put_item(&w, ETL_EXT_SCHEMA_TL, false, bench_files_schema, sizeof bench_files_schema - 1);
    wr_u32(&w, r.number);
    wr_u64(&w, r.bytes);
    wr_u32(&w, (uint32_t)r.status);
    wr_bytes(&w, &r.load, sizeof r.load);
    wr_bytes(&w, r.path, strlen(r.path) + 1);
    uint16_t size = (uint16_t)w.pos;
    memcpy(at, &size, sizeof size);
    return size;
}

struct bench_files_making {
    struct etl_writer *writer;
    struct guid        provider;
    uint8_t           *buffer[2];
    uint32_t           filled[2];
    int64_t            time;
};

static wstatus bench_files_flush(struct bench_files_making *m, uint16_t cpu, struct reason *why)
{
    wstatus st     = etl_writer_put(m->writer, m->buffer[cpu], m->filled[cpu], cpu, m->time, why);
    m->filled[cpu] = HEAD;
    return st;
}

static wstatus bench_files_add(struct bench_files_making *m, uint16_t cpu, uint32_t i, struct reason *why)
{
    wstatus st = W_SUCCESS;

    if (m->filled[cpu] + RECORD_MOST > BUFFER)
        st = bench_files_flush(m, cpu, why);
    uint8_t *at   = m->buffer[cpu] + m->filled[cpu];
    uint32_t size = put_request(at, i, m->time, &m->provider), whole = (size + 7) & ~7u;
    memset(at + size, 0, whole - size);
    m->filled[cpu] += whole;
    m->time += TICKS;
    return st;
}

/* Both files of a pair have one clock and one anchor. */
static wstatus bench_files_begin(struct bench_files_making *m, const char *path, struct reason *why)
{
    struct etl_file_info info = {.logger_name   = "bench",
                                 .file_name     = path,
                                 .buffer_size   = BUFFER,
                                 .processors    = 2,
                                 .logger_id     = 1,
                                 .log_file_mode = ETL_MODE_SEQUENTIAL,
                                 .clock_type    = 1,
                                 .perf_freq     = 1000000000,
                                 .cpu_mhz       = 1000,
                                 .boot_time     = FILETIME_UNIX_EPOCH + UINT64_C(17000000000000000),
                                 .start_raw     = 1000000,
                                 .thread_id     = 1,
                                 .process_id    = 1};
    info.start_time           = info.boot_time + 10000;
    *m                        = (struct bench_files_making){
                               .provider = guid_from_name(PROVIDER), .time = info.start_raw, .filled = {HEAD, HEAD}};
    for (int i = 0; i < 2; i++)
        if (!(m->buffer[i] = malloc(BUFFER)))
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a buffer");
    return etl_writer_create(os_linux(), path, &info, 0, &m->writer, why);
}

static wstatus bench_files_end(struct bench_files_making *m, wstatus st, struct reason *why)
{
    for (uint16_t cpu = 0; cpu < 2; cpu++) {
        if (!st)
            st = bench_files_flush(m, cpu, why);
        free(m->buffer[cpu]);
    }
    if (!st)
        st = etl_writer_finish(m->writer, FILETIME_UNIX_EPOCH + UINT64_C(18000000000000000), 0, false, why);
    etl_writer_destroy(m->writer);
    return st;
}

wstatus bench_etl_requests(const char *path, uint32_t count, struct reason *why)
{
    struct bench_files_making m;
    wstatus                   st = bench_files_begin(&m, path, why);

    for (uint32_t i = 0; i < count && !st; i++)
        st = bench_files_add(&m, 0, i, why);
    return bench_files_end(&m, st, why);
}

wstatus bench_etl_large(const char *path, uint32_t megabytes, unsigned which, struct reason *why)
{
    struct bench_files_making m;
    wstatus                   st = bench_files_begin(&m, path, why);

    m.time += which * TICKS / 2;
    for (uint32_t i = 0; !st && ((uint64_t)etl_writer_state(m.writer).file_offset >> 20) < megabytes; i++)
        st = bench_files_add(&m, i / CPU_RUN % 2, i, why);
    return bench_files_end(&m, st, why);
}

/* ---- decoding ---- */

/* Visits the values one by one, of an event whose values are not found at once. */
static bool see_value(void *ctx, const struct walk_place *place, const struct value *v)
{
    (void)place, (void)v;
    ++*(uint64_t *)ctx;
    return true;
}

typedef bool on_event(uint64_t *values, struct schema_set *set, const struct etl_event *e);

/* Finds all values of an event and looks at none, as babeltrace2's dummy sink does. */
static bool __attribute__((noinline)) see_event(uint64_t *values, struct schema_set *set, const struct etl_event *e)
{
    uint32_t                   used;
    const struct schema_event *s = schema_set_describe(set, e);
    struct value               flat[WALK_VALUES];
    unsigned                   count;

    if (s && walk_is_flat(s)) {
        enum decode_result result = walk_values(s, e->payload, e->payload_size, flat, &count, &used);
        *values += count;
        return result == DECODE_OK;
    }
    return s && walk_payload(s, e->payload, e->payload_size, e->is_64bit, see_value, values, &used) == DECODE_OK;
}

wstatus bench_decode(const char *path, uint64_t *events, struct reason *why)
{
    struct etl_reader *r;
    struct etl_event   e;
    uint64_t           n = 0, values = 0;
    struct schema_set *set      = schema_set_new();
    on_event *volatile callback = see_event;
    wstatus st =
        set ? etl_reader_open(path, &r, why) : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for descriptions");

    if (!st) {
        etl_reader_map(r); /* as dump and summary do */
        while (etl_next(r, &e))
            n += callback(&values, set, &e);
        etl_reader_close(r);
    }
    schema_set_free(set);
    *events = values > n ? n : 0; /* each event has several values */
    return st;
}
