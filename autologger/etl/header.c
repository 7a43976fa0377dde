#include "autologger/etl/header.h"

#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>

enum { BUILD = 19041, MEGABYTE = 1 << 20, EVENT_AT = sizeof(struct etl_buffer_header) };

/* A NUL-terminated UTF-16 name in at most `room` bytes; never ends in half a character. */
static void header_put_name(struct writer *w, const char *name, size_t room)
{
    uint8_t *at   = w->data + w->pos;
    size_t   most = (room - 2) & ~(size_t)1;
    size_t   need = utf8_to_utf16le(name, strlen(name), at, most);
    size_t   kept = need < most ? need : most;

    if (need > most && kept >= 2 && (at[kept - 1] & 0xFC) == 0xD8)
        kept -= 2;
    w->pos += kept;
    wr_u16(w, 0);
}

void etl_header_build(const struct etl_file_info *info, uint8_t *buffer)
{
    bool                      large = info->buffer_size > MEGABYTE || info->processors > 256 || info->compress;
    struct etl_logfile_header file  = {
         .buffer_size       = info->buffer_size,
         .major             = 10,
         .minor             = 0,
         .sub               = large ? 2 : 1,
         .sub_minor         = large ? 0 : 5,
         .provider_version  = BUILD,
         .processors        = info->processors,
         .timer_resolution  = ETL_TIMER_RESOLUTION,
         .maximum_file_size = info->max_file_size,
         /* as in Windows: delivery is no property of a file */
         .log_file_mode = (info->log_file_mode & ~(uint32_t)(ETL_MODE_REAL_TIME | ETL_MODE_COMPRESSED)) |
                          (info->compress ? ETL_MODE_COMPRESSED : 0),
         .buffers_written = 1,
         .start_buffers   = 1,
         .pointer_size    = 8,
         .cpu_mhz         = info->cpu_mhz ? info->cpu_mhz : 1,
         .boot_time       = (int64_t)info->boot_time,
         .perf_freq       = info->perf_freq ? (int64_t)info->perf_freq : 10000000,
         .start_time      = (int64_t)info->start_time,
         .clock_type      = info->clock_type,
    };
    struct etl_system_header event = {.version     = 2,
                                      .header_type = ETL_SYSTEM64,
                                      .flags       = ETL_MARKER,
                                      .thread_id   = info->thread_id,
                                      .process_id  = info->process_id,
                                      .time        = info->start_raw};
    struct writer            w     = wr_make(buffer, info->buffer_size);

    memset(buffer, 0xFF, info->buffer_size);
    w.pos = EVENT_AT + sizeof event;
    wr_bytes(&w, &file, sizeof file);
    size_t room = (info->buffer_size - w.pos) & ~(size_t)7;
    header_put_name(&w, info->logger_name, room / 2);
    header_put_name(&w, info->file_name, room / 2);
    event.size = (uint16_t)(w.pos - EVENT_AT);
    memcpy(buffer + EVENT_AT, &event, sizeof event);
    while (w.pos % 8)
        wr_u8(&w, 0);

    struct etl_buffer_header head = {
        .buffer_size    = info->buffer_size,
        .saved_offset   = (uint32_t)w.pos,
        .current_offset = (uint32_t)w.pos,
        .offset         = (uint32_t)w.pos,
        .logger_id      = info->logger_id,
        .state          = info->compress ? info->compression : ETL_BUFFER_STATE_FLUSH,
        .flag           = ETL_BUFFER_FLUSH_MARKER | ETL_BUFFER_PROC_INDEX,
        .type           = ETL_BUFFER_TYPE_HEADER,
    };
    memcpy(buffer, &head, sizeof head);
}

bool etl_header_like(const uint8_t *data, size_t size)
{
    struct etl_buffer_header head;
    struct etl_system_header event;
    struct cursor            c = cur_make(data, size);

    cur_copy(&c, &head, sizeof head);
    cur_copy(&c, &event, sizeof event);
    return cur_ok(&c) && head.buffer_size >= HEADER_LEAST && head.type == ETL_BUFFER_TYPE_HEADER &&
           (event.header_type == ETL_SYSTEM32 || event.header_type == ETL_SYSTEM64) && event.flags == ETL_MARKER &&
           event.type == 0 && event.group == ETL_GROUP_HEADER;
}

/* The name at the cursor up to its NUL or the end of the event; malloc'ed. */
static char *header_take_name(struct cursor *c)
{
    const uint8_t *p    = c->data + c->pos;
    size_t         left = cur_left(c), n = 0;

    while (n + 1 < left && (p[n] || p[n + 1]))
        n += 2;
    size_t need = utf16le_to_utf8(p, n, NULL, 0) + 1;
    char  *name = malloc(need);
    if (name)
        utf16le_to_utf8(p, n, name, need);
    cur_take(c, n + 2 <= left ? n + 2 : left);
    return name;
}

/* The 32-bit form has two 4-byte pointers; all behind them moves up by 8. */
static void read_32(struct cursor *c, struct etl_logfile_header *raw)
{
    cur_copy(c, raw, offsetof(struct etl_logfile_header, logger_name));
    raw->logger_name   = cur_u32(c);
    raw->log_file_name = cur_u32(c);
    cur_copy(c, raw->time_zone, sizeof *raw - offsetof(struct etl_logfile_header, time_zone));
}

bool etl_header_parse(const uint8_t *data, size_t size, struct etl_file_header *out)
{
    struct etl_system_header event;

    if (!etl_header_like(data, size))
        return false;
    memcpy(&event, data + EVENT_AT, sizeof event);
    size_t        room = size - EVENT_AT;
    struct cursor c    = cur_make(data + EVENT_AT, event.size < room ? event.size : room);
    cur_take(&c, sizeof event);
    *out = (struct etl_file_header){.is_64bit = event.header_type == ETL_SYSTEM64, .start_raw = event.time};
    if (out->is_64bit)
        cur_copy(&c, &out->raw, sizeof out->raw);
    else
        read_32(&c, &out->raw);
    if (!cur_ok(&c))
        return false;
    char *logger = header_take_name(&c), *file = header_take_name(&c);
    out->logger_name = logger;
    out->file_name   = file;
    if (logger && file)
        return true;
    free(logger);
    free(file);
    return false;
}

void etl_buffer_seal(uint8_t *buffer, uint32_t buffer_size, uint32_t filled, uint16_t cpu, uint16_t logger_id,
                     int64_t sequence, int64_t time, uint16_t flags)
{
    uint32_t                 end  = (filled + 7) & ~7u;
    struct etl_buffer_header head = {
        .buffer_size     = buffer_size,
        .saved_offset    = end,
        .current_offset  = end,
        .offset          = end,
        .time_stamp      = time,
        .sequence_number = sequence,
        .processor_index = cpu,
        .logger_id       = logger_id,
        .state           = ETL_BUFFER_STATE_FLUSH,
        .flag            = (uint16_t)(ETL_BUFFER_PROC_INDEX | flags),
        .type            = ETL_BUFFER_TYPE_GENERIC,
    };
    memset(buffer + filled, 0, end - filled);
    memset(buffer + end, 0xFF, buffer_size - end);
    memcpy(buffer, &head, sizeof head);
}
