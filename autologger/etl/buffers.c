#include "autologger/etl/buffers.h"

#include "autologger/etl/xpress_huff.h"

#include <errno.h>
#include <libfwnt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD = sizeof(struct etl_buffer_header), LARGEST = 16 << 20, TYPE_MAXIMUM = 8, MAP_KEPT = 16 << 20 };

size_t etl_source_read(const struct etl_source *s, void *out, size_t size, uint64_t offset)
{
    size_t done = 0;

    if (offset >= s->size)
        return 0;
    if (size > s->size - offset)
        size = (size_t)(s->size - offset);
    if (s->data) {
        memcpy(out, s->data + offset, size);
        return size;
    }
    while (done < size) {
        ssize_t n = pread(s->fd, (uint8_t *)out + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

void etl_damage_add(struct etl_buffers *b, uint64_t offset, const char *format, ...)
{
    va_list args;

    if (!b->damage)
        b->damage = calloc(DAMAGE_MAX, sizeof *b->damage);
    if (!b->damage || b->damage_count == DAMAGE_MAX)
        return;
    struct etl_damage *d = &b->damage[b->damage_count++];
    d->offset            = offset;
    if (b->damage_count == DAMAGE_MAX) {
        snprintf(d->text, sizeof d->text, "and more, from here on");
        return;
    }
    va_start(args, format);
    vsnprintf(d->text, sizeof d->text, format, args);
    va_end(args);
}

static bool head_at(const struct etl_buffers *b, uint64_t at, struct etl_buffer_header *head)
{
    return etl_source_read(&b->source, head, HEAD, at) == HEAD;
}

static bool head_sane(const struct etl_buffer_header *h)
{
    return h->buffer_size >= HEAD && h->offset >= HEAD && h->type < TYPE_MAXIMUM &&
           (h->offset <= h->buffer_size || h->flag & ETL_BUFFER_COMPRESSED);
}

/* Is there a buffer of the usual size at `at`, or the end of the file? */
static bool next_at(const struct etl_buffers *b, uint64_t at, uint32_t size)
{
    struct etl_buffer_header head;
    return at == b->source.size || (head_at(b, at, &head) && head.buffer_size == size && head_sane(&head));
}

static bool buffers_all_zero(const struct etl_buffer_header *head)
{
    static const struct etl_buffer_header zero;
    return memcmp(head, &zero, sizeof zero) == 0;
}

static wstatus buffers_append(struct etl_buffers *b, const struct etl_buffer *buffer)
{
    if (b->count == b->capacity) {
        size_t capacity = b->capacity ? b->capacity * 2 : 64;
        void  *grown    = realloc(b->list, capacity * sizeof *b->list);
        if (!grown)
            return W_NOT_ENOUGH_MEMORY;
        b->list     = grown;
        b->capacity = capacity;
    }
    b->list[b->count++] = *buffer;
    return W_SUCCESS;
}

/* Enters the buffer at `at`, whose header is `h`, as far as it lies in the file. */
static wstatus buffers_enter(struct etl_buffers *b, uint64_t at, const struct etl_buffer_header *h, uint32_t stored)
{
    uint32_t          filled = h->offset < HEAD ? h->saved_offset : h->offset;
    struct etl_buffer e      = {.offset     = at,
                                .sequence   = h->sequence_number,
                                .stored     = stored,
                                .logger_id  = h->logger_id,
                                .compressed = h->flag & ETL_BUFFER_COMPRESSED};

    /* Windows 7 stores a byte and the alignment where later versions store 16 bits */
    e.cpu = h->flag & ETL_BUFFER_PROC_INDEX ? h->processor_index : (uint16_t)(h->processor_index & 0xFF);
    if (stored > b->source.size - at) {
        e.stored = (uint32_t)(b->source.size - at);
        etl_damage_add(b, at, "the file ends %u bytes into a buffer of %u", e.stored, stored);
    }
    if (filled < HEAD) {
        etl_damage_add(b, at, "a buffer says that %u bytes are used", filled);
        return W_SUCCESS;
    }
    uint32_t most = e.compressed ? b->largest : e.stored;
    if (filled > most) {
        if (filled > stored || e.compressed)
            etl_damage_add(b, at, "a buffer of %u bytes says that %u are used", most, filled);
        filled = most;
    }
    if (h->type >= TYPE_MAXIMUM)
        etl_damage_add(b, at, "buffer type %u does not exist", h->type);
    e.filled = filled;
    return buffers_append(b, &e);
}

/* Bytes to step from `at`; 0 = not at a buffer. Repairs an impossible size where the usual size leads to a buffer. */
static uint32_t step_from(struct etl_buffers *b, uint64_t at, const struct etl_buffer_header *h)
{
    if (!b->stride || h->buffer_size == b->stride)
        return h->buffer_size >= HEAD ? h->buffer_size : 0;
    if (h->type < TYPE_MAXIMUM && next_at(b, at + b->stride, b->stride) &&
        (h->offset <= b->stride || h->saved_offset <= b->stride)) {
        etl_damage_add(b, at, "buffer size %u, where buffers have %u bytes", h->buffer_size, b->stride);
        return b->stride;
    }
    return h->buffer_size >= HEAD && h->buffer_size <= LARGEST && head_sane(h) ? h->buffer_size : 0;
}

static wstatus buffers_walk(struct etl_buffers *b)
{
    struct etl_buffer_header head;
    uint64_t                 at = 0, hole = UINT64_MAX;
    wstatus                  st = W_SUCCESS;

    while (st == W_SUCCESS && at < b->source.size) {
        if (!head_at(b, at, &head)) {
            etl_damage_add(b, at, "%llu bytes after the last buffer", (unsigned long long)(b->source.size - at));
            break;
        }
        bool     zero = buffers_all_zero(&head); /* preallocated space, not used yet */
        uint32_t step = zero ? 0 : step_from(b, at, &head);
        if (step) {
            if (hole != UINT64_MAX)
                etl_damage_add(b, hole, "%llu bytes of zeros between buffers", (unsigned long long)(at - hole));
            hole = UINT64_MAX;
            st   = buffers_enter(b, at, &head, step);
        } else if (!zero) {
            etl_damage_add(b, at, "no buffer starts here (size %u)", head.buffer_size);
        } else if (hole == UINT64_MAX) {
            hole = at;
        }
        if (!step && !b->stride)
            break;
        at += step ? step : b->stride - at % b->stride;
    }
    return st;
}

wstatus etl_buffers_init(struct etl_buffers *b, struct etl_source source, const struct etl_file_header *header)
{
    struct etl_buffer_header first = {0};

    *b         = (struct etl_buffers){.source = source};
    b->largest = header->raw.buffer_size;
    if (b->largest < HEAD || b->largest > LARGEST)
        b->largest = LARGEST;
    head_at(b, 0, &first);
    if (header->raw.log_file_mode & ETL_MODE_COMPRESSED) {
        b->compression = (uint16_t)first.state;
    } else {
        /* buffer 0 and the header event have the size; when they differ, the one that leads to a buffer is right */
        b->stride = header->raw.buffer_size;
        if (b->stride < HEAD || (b->stride != first.buffer_size && next_at(b, first.buffer_size, first.buffer_size)))
            b->stride = first.buffer_size;
        b->compression = ETL_XPRESS;
    }
    wstatus st = buffers_walk(b);
    if (st != W_SUCCESS)
        etl_buffers_finish(b);
    return st;
}

bool etl_buffers_map(struct etl_buffers *b)
{
    if (b->map || b->source.data || !b->source.size || b->source.size > PTRDIFF_MAX)
        return b->map != NULL;
    void *map = mmap(NULL, (size_t)b->source.size, PROT_READ, MAP_PRIVATE, b->source.fd, 0);
    if (map == MAP_FAILED)
        return false;
    madvise(map, (size_t)b->source.size, MADV_SEQUENTIAL);
    b->map = map;
    return true;
}

void etl_buffers_finish(struct etl_buffers *b)
{
    if (b->map)
        munmap((void *)(uintptr_t)b->map, (size_t)b->source.size);
    free(b->list);
    free(b->damage);
    *b = (struct etl_buffers){.source.fd = -1};
}

static int huff_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t *out_size, libfwnt_error_t **error)
{
    (void)error;
    return xpress_huff_expand(in, in_size, out, *out_size) ? 1 : -1;
}

/* Decoders by COMPRESSION_FORMAT_*, and how many bytes at the end of the input they may have to do without (a spare
 * flag word, which decoders may leave unread or refuse). */
static const struct expander {
    int (*expand)(const uint8_t *in, size_t in_size, uint8_t *out, size_t *out_size, libfwnt_error_t **error);
    size_t spare;
} expanders[] = {[ETL_LZNT1]       = {libfwnt_lznt1_decompress, 2},
                 [ETL_XPRESS]      = {libfwnt_lzxpress_decompress, 4},
                 [ETL_XPRESS_HUFF] = {huff_expand, 0}};

static const struct expander *expander_of(uint16_t format)
{
    return format < sizeof expanders / sizeof *expanders && expanders[format].expand ? &expanders[format] : NULL;
}

/* Decompresses `in` (the stored buffer) to exactly `filled` bytes. */
static uint8_t *expand(const struct expander *x, const uint8_t *in, size_t stored, size_t filled)
{
    uint8_t *out = calloc(1, filled + 1);

    for (size_t spare = 0; out && spare <= x->spare && stored >= HEAD + spare; spare += x->spare ? x->spare : 1) {
        size_t got = filled - HEAD;
        if (x->expand(in + HEAD, stored - HEAD - spare, out + HEAD, &got, NULL) == 1 && got == filled - HEAD) {
            memcpy(out, in, HEAD);
            return out;
        }
    }
    free(out);
    return NULL;
}

/* From the start of a page on: some processors copy five times slower to a place that lies a few bytes further into its
 * page than the source, and malloc gives such places for large blocks. */
static bool buffers_make_room(struct etl_room *room, size_t size)
{
    enum { PAGE = 4096 };
    if (room->size >= size && room->data)
        return true;
    free(room->data);
    room->data = aligned_alloc(PAGE, size ? (size + PAGE - 1) & ~(size_t)(PAGE - 1) : PAGE);
    room->size = room->data ? size : 0;
    return room->data;
}

uint8_t *etl_buffers_load(struct etl_buffers *b, size_t i, struct etl_room *room)
{
    const struct etl_buffer *e    = &b->list[i];
    size_t                   want = e->compressed ? e->stored : e->filled;

    const uint8_t *whole = b->source.data ? b->source.data : b->map;
    if (whole && !e->compressed && e->offset <= b->source.size && want <= b->source.size - e->offset)
        return (uint8_t *)(uintptr_t)whole + e->offset; /* already in memory; no caller writes to it */
    bool made = buffers_make_room(room, want);
    if (!made || etl_source_read(&b->source, room->data, want, e->offset) != want) {
        etl_damage_add(b, e->offset, made ? "the buffer can't be read" : "no memory for a buffer");
        return NULL;
    }
    if (!e->compressed)
        return room->data;
    const struct expander *x    = expander_of(b->compression);
    bool                   fits = b->expanded + e->filled <= EXPANDED_MAX;
    uint8_t               *out  = x && fits ? expand(x, room->data, e->stored, e->filled) : NULL;
    if (out)
        b->expanded += e->filled;
    else if (!x)
        etl_damage_add(b, e->offset, "a buffer compressed by an unknown method (%u)", b->compression);
    else
        etl_damage_add(b, e->offset, "the compressed buffer %s %u bytes",
                       fits ? "does not expand to" : "is not read: too many CPUs hold buffers of", e->filled);
    return out;
}

/* Releases the pages of read buffers. Many buffers at a time, because each release makes the processor forget all that
 * it knows of the mapping. A buffer between them that is still in use is simply looked up again. */
static void map_let_go(struct etl_buffers *b, uint64_t offset, uint32_t size)
{
    b->read_from = !b->read || offset < b->read_from ? offset : b->read_from;
    b->read_to   = offset + size > b->read_to ? offset + size : b->read_to;
    b->read += size;
    if (b->read < MAP_KEPT)
        return;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = b->read_from / page * page;
    madvise((uint8_t *)(uintptr_t)b->map + from, (size_t)(b->read_to - from), MADV_DONTNEED);
    b->read = b->read_to = 0;
}

void etl_buffers_unload(struct etl_buffers *b, size_t i, uint8_t *data)
{
    if (!data)
        return;
    if (b->map && data == b->map + b->list[i].offset) {
        map_let_go(b, b->list[i].offset, b->list[i].stored);
        return;
    }
    if (!b->list[i].compressed)
        return; /* the room or the caller owns it */
    b->expanded -= b->list[i].filled;
    free(data);
}
