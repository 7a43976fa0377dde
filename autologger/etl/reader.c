#include "autologger/etl/reader.h"

#include "autologger/etl/buffers.h"
#include "autologger/etl/header.h"
#include "autologger/etl/line.h"
#include "autologger/etl/record_usual.h"
#include "registry-sim/base/opening.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One CPU's buffers in the order of their sequence numbers, and its next event. */
struct reader_stream {
    size_t          next, end; /* buffers of the sorted list still to be opened */
    uint8_t        *data;
    struct etl_room room;
    uint32_t        filled, pos, size; /* size: of the event at pos */
    uint16_t        cpu, logger_id;
    uint64_t        offset;
    bool            compressed, usual; /* usual: the event at pos has the usual header */
    int64_t         sequence;
    int64_t         before; /* time of the event before, for kinds without one */
    int64_t         time;
};
/* Raw times to 100 ns without a division: n / frequency is n * magic / 2^64, or a little more. */
struct time_line {
    uint64_t frequency, magic; /* magic 0: as etl_filetime does it */
    int64_t  second;           /* raw time at which the second of the last event began, counted from the start */
    uint64_t filetime;         /* of `second` */
};
struct etl_reader {
    struct etl_file_header header;
    int64_t                first; /* the earliest time of all events, where there is a header event */
    struct etl_buffers     buffers;
    struct reader_stream  *streams;
    size_t                 stream_count;
    struct reader_stream **heap; /* streams that have an event, earliest first */
    size_t                 heap_count;
    struct time_line       line;
    struct items_cache     items;
    bool                   handed_out; /* heap[0]'s event is with the caller: step before the next one */
};

static uint64_t divide(const struct time_line *l, uint64_t n)
{
    uint64_t q = (uint64_t)((unsigned __int128)n * l->magic >> 64), rest = n - q * l->frequency;
    for (; rest >= l->frequency; rest -= l->frequency)
        q++;
    return q;
}

static void line_make(struct time_line *l, const struct etl_file_header *h)
{
    bool     cycles    = h->raw.clock_type == 3;
    uint64_t frequency = cycles ? h->raw.cpu_mhz * UINT64_C(1000000) : (uint64_t)h->raw.perf_freq;

    *l = (struct time_line){.frequency = frequency, .second = h->start_raw, .filetime = (uint64_t)h->raw.start_time};
    if ((cycles || h->raw.clock_type == 1) && frequency > 1 && frequency < UINT64_C(900000000000) &&
        h->raw.start_time > 0)
        l->magic = UINT64_MAX / frequency;
}

/* etl_filetime, faster for the usual times: from the start on, for some centuries. */
static uint64_t line_filetime(struct etl_reader *r, int64_t raw)
{
    struct time_line *l     = &r->line;
    const uint64_t    since = (uint64_t)raw - (uint64_t)l->second;
    int64_t           d;

    if (l->magic && since < l->frequency) /* the same second: one division less */
        return l->filetime + divide(l, since * 10000000);
    if (!l->magic || __builtin_sub_overflow(raw, r->header.start_raw, &d) || d < 0)
        return etl_filetime(&r->header, raw);
    uint64_t seconds = divide(l, (uint64_t)d), rest = (uint64_t)d - seconds * l->frequency;
    if (seconds > INT64_MAX / 20000000)
        return etl_filetime(&r->header, raw);
    l->second   = raw - (int64_t)rest;
    l->filetime = (uint64_t)r->header.raw.start_time + seconds * 10000000;
    return l->filetime + divide(l, rest * 10000000);
}

/* Is a whole event of the usual kind at s->pos in the open buffer? Then it becomes the next one. */
static inline bool stream_quick(struct reader_stream *s)
{
    const uint8_t *p    = s->data + s->pos;
    const uint32_t left = s->filled - s->pos;
    uint16_t       size;

    if (!etl_record_is_usual(p, left))
        return false;
    memcpy(&size, p, sizeof size);
    if (size < sizeof(struct etl_event_header) || size > left)
        return false;
    s->size  = size;
    s->usual = true;
    memcpy(&s->time, p + offsetof(struct etl_event_header, time), sizeof s->time);
    return true;
}

/* Finds the event at s->pos, opening buffers as needed. False: the stream has ended. */
static bool stream_fill(struct etl_reader *r, struct reader_stream *s)
{
    for (;;) {
        int size = s->data ? etl_record_size(s->data + s->pos, s->filled - s->pos) : 0;
        if (size > 0) {
            s->size  = (uint32_t)size;
            s->usual = etl_record_is_usual(s->data + s->pos, s->size);
            s->time  = etl_record_time(s->data + s->pos, s->size, s->before);
            return true;
        }
        if (size < 0)
            etl_damage_add(&r->buffers, s->offset + (s->compressed ? 0 : s->pos),
                           "no event starts here, %u bytes into the buffer; its other %u are skipped", s->pos,
                           s->filled - s->pos);
        if (s->data)
            etl_buffers_unload(&r->buffers, s->next - 1, s->data);
        s->data = NULL;
        if (s->next == s->end)
            return false;
        const struct etl_buffer *b = &r->buffers.list[s->next];
        if ((s->data = etl_buffers_load(&r->buffers, s->next++, &s->room))) {
            s->filled     = b->filled;
            s->pos        = sizeof(struct etl_buffer_header);
            s->offset     = b->offset;
            s->compressed = b->compressed;
            s->sequence   = b->sequence;
            s->cpu        = b->cpu;
            s->logger_id  = b->logger_id;
        }
    }
}

/* Earlier time first; equal stamps: lower CPU, which is a lower index. */
static bool reader_before(const struct reader_stream *a, const struct reader_stream *b)
{
    return a->time != b->time ? a->time < b->time : a < b;
}

static void heap_sink(struct etl_reader *r, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < r->heap_count; child++)
            if (reader_before(r->heap[child], r->heap[least]))
                least = child;
        if (least == i)
            return;
        struct reader_stream *swap = r->heap[i];
        r->heap[i]                 = r->heap[least];
        r->heap[least]             = swap;
        i                          = least;
    }
}

static int by_stream(const void *a, const void *b)
{
    const struct etl_buffer *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The time of the record after the one at s->pos, in the same buffer or the next. INT64_MAX: no record follows. */
static int64_t next_time(struct etl_reader *r, const struct reader_stream *s)
{
    const uint32_t pos = (s->pos + s->size + 7) & ~7u, head = sizeof(struct etl_buffer_header);
    int64_t        time = INT64_MAX;

    if (pos < s->filled) {
        const int size = etl_record_size(s->data + pos, s->filled - pos);
        return size > 0 ? etl_record_time(s->data + pos, (uint32_t)size, s->before) : INT64_MAX;
    }
    if (s->next == s->end)
        return time;
    struct etl_room room   = {NULL, 0};
    const unsigned  damage = r->buffers.damage_count; /* it is reported when the buffer has its turn */
    const uint32_t  filled = r->buffers.list[s->next].filled;
    uint8_t        *data   = etl_buffers_load(&r->buffers, s->next, &room);
    const int       size   = data && filled > head ? etl_record_size(data + head, filled - head) : 0;
    if (size > 0)
        time = etl_record_time(data + head, (uint32_t)size, s->before);
    etl_buffers_unload(&r->buffers, s->next, data);
    r->buffers.damage_count = damage;
    free(room.data);
    return time;
}

/* The header event comes first, also before events with an earlier time. Its stream is the top of the heap until the
 * event is handed out.
 * False: the file has no header event. */
static bool headed_begin(struct etl_reader *r)
{
    size_t at = 0;
    while (at < r->heap_count && (r->heap[at]->offset != 0 || r->heap[at]->pos != sizeof(struct etl_buffer_header)))
        at++;
    if (at == r->heap_count)
        return false;
    struct reader_stream *head = r->heap[at];
    const int64_t         next = next_time(r, head);
    r->heap[at]                = r->heap[0];
    r->heap[0]                 = head;
    r->first                   = next < head->time ? next : head->time;
    for (size_t i = 1; i < r->heap_count; i++)
        r->first = r->heap[i]->time < r->first ? r->heap[i]->time : r->first;
    return true;
}

static wstatus make_streams(struct etl_reader *r)
{
    struct etl_buffers *b      = &r->buffers;
    bool                single = r->header.raw.log_file_mode & ETL_MODE_NO_PER_PROCESSOR;

    for (size_t i = 0; single && i < b->count; i++)
        b->list[i].cpu = b->list[i].cpu == r->header.raw.processors; /* late events have a stream of their own */
    if (b->count)
        qsort(b->list, b->count, sizeof *b->list, by_stream);
    r->header.highest_cpu = b->count ? b->list[b->count - 1].cpu : 0;
    size_t streams        = 0;
    for (size_t i = 0; i < b->count; i++)
        streams += i == 0 || b->list[i].cpu != b->list[i - 1].cpu;
    r->streams = calloc(streams + 1, sizeof *r->streams);
    r->heap    = calloc(streams + 1, sizeof *r->heap);
    if (!r->streams || !r->heap)
        return W_NOT_ENOUGH_MEMORY;
    for (size_t i = 0; i < b->count; i++) {
        if (i == 0 || b->list[i].cpu != b->list[i - 1].cpu)
            r->streams[r->stream_count++] = (struct reader_stream){.next = i, .before = r->header.start_raw};
        r->streams[r->stream_count - 1].end = i + 1;
    }
    for (size_t i = 0; i < r->stream_count; i++)
        if (stream_fill(r, &r->streams[i]))
            r->heap[r->heap_count++] = &r->streams[i];
    const bool headed = headed_begin(r);
    for (size_t i = r->heap_count; i-- > headed;)
        heap_sink(r, i);
    return W_SUCCESS;
}

/* Reads the header event of buffer 0, which may be any size up to 64 KB. */
static wstatus reader_read_header(struct etl_reader *r, struct etl_source source, const char *name, struct reason *why)
{
    enum { MOST = sizeof(struct etl_buffer_header) + ETL_MAX_EVENT };
    uint8_t *start = malloc(MOST);
    wstatus  st    = W_SUCCESS;

    if (!start)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory", name);
    size_t n = etl_source_read(&source, start, MOST, 0);
    if (!etl_header_parse(start, n, &r->header))
        st = reason_set(why, W_INVALID_DATA, "%s: offset 0: no header buffer, this is not an .etl file", name);
    r->header.file_size = source.size;
    free(start);
    return st;
}

/* A finished file has its number of buffers in the header. An unfinished file may have more or fewer, and a circular
 * one counts overwritten buffers too. */
static void check_count(struct etl_reader *r)
{
    uint32_t said = r->header.raw.buffers_written, found = r->header.buffers_found;

    if (r->header.raw.end_time > 0 && found < said &&
        !(r->header.raw.log_file_mode & (ETL_MODE_CIRCULAR | ETL_MODE_NEWFILE | ETL_MODE_BUFFERING)))
        etl_damage_add(&r->buffers, r->header.file_size, "the header says %u buffers, %u are there: the file was cut",
                       said, found);
}

static wstatus open_source(struct etl_source source, const char *name, struct etl_reader **out, struct reason *why)
{
    struct etl_reader *r  = calloc(1, sizeof *r);
    wstatus            st = r ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory", name);

    if (!r) {
        if (!source.data)
            close(source.fd);
        return st;
    }
    r->buffers.source = source;
    if ((st = reader_read_header(r, source, name, why)) != W_SUCCESS)
        goto out;
    if ((st = etl_buffers_init(&r->buffers, source, &r->header)) != W_SUCCESS) {
        r->buffers.source = source;
        reason_set(why, st, "%s: no memory for an index of its buffers", name);
        goto out;
    }
    r->header.buffers_found = (uint32_t)r->buffers.count;
    check_count(r);
    if (r->header.raw.clock_type == 1 && r->header.raw.perf_freq <= 0)
        etl_damage_add(&r->buffers, 0, "the clock's frequency is missing; 10 MHz is assumed");
    if (r->header.raw.clock_type == 3 && r->header.raw.cpu_mhz == 0)
        etl_damage_add(&r->buffers, 0, "the CPU's frequency is missing; 1 MHz is assumed");
    line_make(&r->line, &r->header);
    if ((st = make_streams(r)) != W_SUCCESS) {
        reason_set(why, st, "%s: no memory for its streams", name);
        goto out;
    }
    *out = r;
    r    = NULL;
out:
    etl_reader_close(r);
    return st;
}

wstatus etl_reader_open(const char *path, struct etl_reader **out, struct reason *why)
{
    struct stat st;
    int         fd = opening_file(path, 0);

    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return reason_set(why, W_INVALID_DATA, "%s: offset 0: not a regular file", path);
    }
    return open_source((struct etl_source){.fd = fd, .size = (uint64_t)st.st_size}, path, out, why);
}

void etl_reader_map(struct etl_reader *r) { etl_buffers_map(&r->buffers); }

wstatus etl_reader_open_memory(const void *data, size_t size, struct etl_reader **out, struct reason *why)
{
    return open_source((struct etl_source){.fd = -1, .data = data, .size = size}, "(memory)", out, why);
}

void etl_reader_close(struct etl_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->stream_count; i++) {
        if (r->streams[i].data)
            etl_buffers_unload(&r->buffers, r->streams[i].next - 1, r->streams[i].data);
        free(r->streams[i].room.data);
    }
    if (!r->buffers.source.data && r->buffers.source.fd >= 0)
        close(r->buffers.source.fd);
    etl_buffers_finish(&r->buffers);
    free(r->streams);
    free(r->heap);
    free((char *)r->header.logger_name);
    free((char *)r->header.file_name);
    free(r);
}

void etl_reader_follow(struct etl_reader *r, const struct etl_file_header *to)
{
    etl_line_follow(&r->header, to);
    line_make(&r->line, &r->header);
}

void etl_readers_join(struct etl_reader *const *readers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct etl_file_header *mine = &readers[i]->header, *to = mine;
        for (unsigned j = 0; j < count; j++)
            if (etl_lines_compare(mine, &readers[j]->header, NULL) == ETL_LINES_ONE &&
                etl_line_later(to, &readers[j]->header))
                to = &readers[j]->header;
        etl_reader_follow(readers[i], to);
    }
}

const struct etl_file_header *etl_reader_header(const struct etl_reader *r) { return &r->header; }

/* Decodes all of the stream's event. */
static inline void stream_decode(struct etl_reader *r, struct reader_stream *s, struct etl_event *event)
{
    const uint64_t at = s->offset + (s->compressed ? 0 : s->pos);
    const uint8_t *p  = s->data + s->pos;

    if (s->usual ? !etl_record_decode_usual(p, s->size, &r->items, event)
                 : !etl_record_decode(p, s->size, s->before, event))
        etl_damage_add(&r->buffers, at, "an event's extended items are malformed");
    s->before              = s->time;
    event->file_offset     = at;
    event->buffer_sequence = s->sequence;
    event->cpu             = s->cpu;
    event->logger_id       = s->logger_id;
    event->filetime        = line_filetime(r, s->time);
}

bool etl_next(struct etl_reader *r, struct etl_event *event)
{
    if (r->handed_out) {
        struct reader_stream *s = r->heap[0];
        s->pos                  = (s->pos + s->size + 7) & ~7u;
        if (s->pos > s->filled)
            s->pos = s->filled;
        if (!stream_quick(s) && !stream_fill(r, s))
            r->heap[0] = r->heap[--r->heap_count];
        if (r->heap_count > 1)
            heap_sink(r, 0);
    }
    r->handed_out = r->heap_count > 0;
    if (!r->handed_out)
        return false;
    stream_decode(r, r->heap[0], event);
    return true;
}

uint64_t etl_event_turn(const struct etl_reader *r, const struct etl_event *event)
{
    return etl_event_is_header(event) ? etl_filetime(&r->header, r->first) : event->filetime;
}

void etl_reader_cpu(const struct etl_reader *r, uint16_t cpu, uint64_t *buffers, uint64_t *bytes)
{
    const struct etl_buffers *b   = &r->buffers;
    size_t                    low = 0, high = b->count;

    while (low < high) { /* they are sorted by CPU */
        size_t middle = (low + high) / 2;
        if (b->list[middle].cpu < cpu)
            low = middle + 1;
        else
            high = middle;
    }
    *buffers = *bytes = 0;
    for (; low < b->count && b->list[low].cpu == cpu; low++) {
        ++*buffers;
        *bytes += b->list[low].filled - sizeof(struct etl_buffer_header);
    }
}

const struct etl_damage *etl_reader_damage(const struct etl_reader *r, unsigned *count)
{
    *count = r->buffers.damage_count;
    return r->buffers.damage;
}
