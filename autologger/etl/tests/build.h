/* build.h - builds .etl images in memory, byte by byte, for tests and fuzz seeds: buffers with any header, events of
 * every kind. Independent of the writer except for buffer 0. */
#ifndef AUTOLOGGER_ETL_TESTS_BUILD_H
#define AUTOLOGGER_ETL_TESTS_BUILD_H
#include "autologger/etl/header.h"

#include <stdlib.h>
#include <string.h>

#define BUILD_START_TIME UINT64_C(132268250824476034) /* FILETIME of raw 1,000,000 */
static const struct guid build_provider = {0x12345678,
                                           0x9abc,
                                           0xdef0,
                                           {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}};

struct image {
    uint8_t *data;
    size_t   size;
    uint32_t buffer; /* bytes of each buffer */
    uint32_t pos;    /* in the last buffer */
};

static inline struct etl_file_info build_info(uint32_t buffer)
{
    return (struct etl_file_info){.logger_name   = "demo",
                                  .file_name     = "demo.etl",
                                  .buffer_size   = buffer,
                                  .processors    = 4,
                                  .logger_id     = 1,
                                  .log_file_mode = ETL_MODE_SEQUENTIAL,
                                  .clock_type    = 1,
                                  .perf_freq     = 10000000,
                                  .cpu_mhz       = 3000,
                                  .boot_time     = BUILD_START_TIME - 1000000,
                                  .start_time    = BUILD_START_TIME,
                                  .start_raw     = 1000000,
                                  .thread_id     = 4,
                                  .process_id    = 4};
}

static inline struct image image_start(const struct etl_file_info *info)
{
    struct image m = {.data = malloc(info->buffer_size), .size = info->buffer_size, .buffer = info->buffer_size};
    etl_header_build(info, m.data);
    m.pos = m.buffer;
    return m;
}

static inline uint8_t *image_last(struct image *m) { return m->data + m->size - m->buffer; }
static inline void     image_free(struct image *m) { free(m->data); }

/* Sets the three offsets of the last buffer. */
static inline void image_fill_in(struct image *m)
{
    memcpy(image_last(m) + 4, &m->pos, 4);
    memcpy(image_last(m) + 8, &m->pos, 4);
    memcpy(image_last(m) + 0x30, &m->pos, 4);
}

static inline void image_buffer(struct image *m, uint16_t cpu, int64_t sequence)
{
    m->data = realloc(m->data, m->size + m->buffer);
    memset(m->data + m->size, 0xFF, m->buffer);
    m->size += m->buffer;
    m->pos                     = 72;
    struct etl_buffer_header h = {.buffer_size     = m->buffer,
                                  .sequence_number = sequence,
                                  .processor_index = cpu,
                                  .logger_id       = 1,
                                  .state           = ETL_BUFFER_STATE_FLUSH,
                                  .flag            = ETL_BUFFER_PROC_INDEX};
    memcpy(image_last(m), &h, sizeof h);
    image_fill_in(m);
}

/* Adds a record of `size` bytes from two parts. */
static inline void image_add(struct image *m, const void *head, size_t head_size, const void *body, size_t body_size)
{
    uint8_t *at = image_last(m) + m->pos;
    memcpy(at, head, head_size);
    if (body_size)
        memcpy(at + head_size, body, body_size);
    m->pos += (uint32_t)((head_size + body_size + 7) & ~(size_t)7);
    image_fill_in(m);
}

static inline struct etl_event_header build_event(int64_t time, size_t body)
{
    return (struct etl_event_header){.size        = (uint16_t)(sizeof(struct etl_event_header) + body),
                                     .header_type = ETL_EVENT64,
                                     .marker      = ETL_MARKER,
                                     .thread_id   = 1234,
                                     .process_id  = 5678,
                                     .time        = time,
                                     .provider    = build_provider,
                                     .id          = 7,
                                     .level       = 4};
}
/* EVENT_HEADER64 with a 4-byte payload. */
static inline void image_event(struct image *m, int64_t time, uint32_t value)
{
    struct etl_event_header h = build_event(time, sizeof value);
    image_add(m, &h, sizeof h, &value, sizeof value);
}
/* A kernel event with a PERFINFO header, or with a SYSTEM one when `process` is set. */
static inline void image_kernel(struct image *m, int64_t time, uint16_t hook, uint8_t version, uint32_t process,
                                const void *body, size_t size)
{
    struct etl_perfinfo_header p = {.version     = version,
                                    .header_type = ETL_PERFINFO64,
                                    .flags       = ETL_MARKER,
                                    .size        = (uint16_t)(sizeof p + size),
                                    .type        = (uint8_t)hook,
                                    .group       = (uint8_t)(hook >> 8),
                                    .time        = time};
    struct etl_system_header   s = {.version     = version,
                                    .header_type = ETL_SYSTEM64,
                                    .flags       = ETL_MARKER,
                                    .size        = (uint16_t)(sizeof s + size),
                                    .type        = (uint8_t)hook,
                                    .group       = (uint8_t)(hook >> 8),
                                    .thread_id   = process + 1,
                                    .process_id  = process,
                                    .time        = time};
    if (process)
        image_add(m, &s, sizeof s, body, size);
    else
        image_add(m, &p, sizeof p, body, size);
}
/* Appends one extended item to `out`; returns its bytes. */
static inline size_t build_item(uint8_t *out, uint16_t type, bool more, const void *data, uint16_t size)
{
    struct etl_ext_item item = {
        .total = (uint16_t)((sizeof item + size + 7u) & ~7u), .type = type, .linkage = more, .data_size = size};
    memset(out, 0, item.total);
    memcpy(out, &item, sizeof item);
    memcpy(out + sizeof item, data, size);
    return item.total;
}
/* A TraceLogging event: provider traits and schema as raw bytes. */
static inline void image_tracelogging(struct image *m, int64_t time, const void *traits, uint16_t traits_size,
                                      const void *schema, uint16_t schema_size, const void *body, size_t size)
{
    uint8_t part[4096];
    size_t  n = build_item(part, ETL_EXT_PROV_TRAITS, true, traits, traits_size);
    n += build_item(part + n, ETL_EXT_SCHEMA_TL, false, schema, schema_size);
    memcpy(part + n, body, size);
    n += size;
    struct etl_event_header h = build_event(time, n);
    h.flags                   = ETL_EVENT_EXTENDED;
    h.id                      = 0;
    h.channel                 = 11;
    image_add(m, &h, sizeof h, part, n);
}
#endif
