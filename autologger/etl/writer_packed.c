/* writer_packed.c - BUFFERING with COMPRESSED: a ring in memory whose buffers are compressed, and so differ in size; it
 * keeps as many of the newest as fit. Behind buffer 0 they lie one behind another, and continue at the front where one
 * does not fit before the end; a list behind them gives the place of each by number. All together takes as much memory
 * as a ring of whole buffers.
 * Invariants: K1 the oldest go first: the ring has the newest, without a gap. K2 an entry of the list is right at every
 * moment: it marks its buffer as gone before anything is written there, and as present after it was written. K3 an
 * entry has the number of events of all buffers before it: so a successor knows what was overwritten, whenever its
 * predecessor died.
 * See writer.h. */
#include "autologger/etl/writer_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_PER_BUFFER = 8 /* many buffers are written before they are full */ };

struct packed_entry {
    uint64_t number; /* SequenceNumber; 0: none yet */
    uint64_t before; /* events of all buffers before it */
    uint64_t at;     /* offset behind buffer 0 */
    uint32_t size, events;
    uint64_t gone; /* not 0: overwritten */
    uint64_t last; /* time of its last event of a program */
    uint64_t cut;  /* events that were overwritten before their buffer reached the ring, so far */
};
struct packed {
    uint64_t             start, bytes, list_at;
    uint32_t             entries;
    uint64_t             oldest, next; /* numbers of the buffers present: [oldest, next) */
    uint64_t             end;          /* of the newest */
    uint64_t             total;        /* events written so far */
    uint64_t             cut;
    struct packed_entry *list;
};

static struct packed_entry *entry_of(const struct packed *p, uint64_t number) { return &p->list[number % p->entries]; }

static uint64_t entry_at(const struct packed *p, uint64_t number)
{
    return p->list_at + number % p->entries * sizeof *p->list;
}

wstatus writer_packed_init(struct etl_writer *w, const struct etl_file_info *info, struct reason *why)
{
    struct packed *p   = calloc(1, sizeof *p);
    const uint64_t all = (uint64_t)info->ring_buffers * info->buffer_size;
    if (!p)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for its list", w->path);
    w->packed_ring = p;
    w->limit       = UINT64_MAX;
    p->entries     = info->ring_buffers * LIST_PER_BUFFER;
    p->start       = info->buffer_size;
    p->bytes       = all - p->entries * sizeof *p->list;
    p->list_at     = p->start + p->bytes;
    p->oldest = p->next = 1;
    if (info->ring_buffers + 1 < ETL_RING_LEAST || p->bytes < info->buffer_size)
        return reason_set(why, W_INVALID_PARAMETER, "%s: %u buffers of %u KB are too few. Do: raise MinimumBuffers",
                          w->path, info->ring_buffers, info->buffer_size / 1024);
    p->list = calloc(p->entries, sizeof *p->list);
    return p->list
               ? W_SUCCESS
               : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a list of %u buffers", w->path, p->entries);
}

void writer_packed_free(struct etl_writer *w)
{
    if (w->packed_ring)
        free(w->packed_ring->list);
    free(w->packed_ring);
    w->packed_ring = NULL;
}

uint32_t writer_packed_count(const struct etl_writer *w)
{
    return (uint32_t)(w->packed_ring->next - w->packed_ring->oldest);
}

/* The list is the predecessor's, and may be damaged: an entry counts if its values are possible. */
static bool writer_packed_is_there(const struct packed *p, uint64_t number)
{
    const struct packed_entry *e = entry_of(p, number);
    return e->number == number && !e->gone && e->size >= sizeof(struct etl_buffer_header) && e->size <= p->start &&
           e->at <= p->bytes - e->size;
}

wstatus writer_packed_resume(struct etl_writer *w, struct reason *why)
{
    struct packed             *p    = w->packed_ring;
    const struct packed_entry *last = NULL;
    const ssize_t              n    = w->os->pread(w->os, w->fd, p->list, p->entries * sizeof *p->list, p->list_at);
    if (n < 0)
        return reason_set(why, wstatus_from_errno((int)-n), "%s: its list could not be read: %s", w->path,
                          strerror((int)-n));
    p->oldest = p->next = w->at.buffers_written;
    if (p->next > 1 && entry_of(p, p->next - 1)->number == p->next - 1)
        last = entry_of(p, p->next - 1);
    if (last) {
        p->total = last->before + last->events;
        p->cut   = last->cut;
        p->end   = last->size <= p->bytes && last->at <= p->bytes - last->size ? last->at + last->size : 0;
    }
    while (p->oldest > 1 && p->next - p->oldest < p->entries && writer_packed_is_there(p, p->oldest - 1))
        p->oldest--;
    w->at.overwritten = (p->oldest < p->next ? entry_of(p, p->oldest)->before : p->total) + p->cut;
    return W_SUCCESS;
}

/* K2. */
static int oldest_goes(struct etl_writer *w)
{
    struct packed       *p = w->packed_ring;
    struct packed_entry *e = entry_of(p, p->oldest);
    e->gone                = 1;
    writer_tally_gone(w, &(struct writer_tally){e->events, 0, e->last});
    p->oldest++;
    return os_pwrite_all(w->os, w->fd, &e->gone, sizeof e->gone,
                         entry_at(p, e->number) + offsetof(struct packed_entry, gone));
}

/* Finds the place for `size` bytes and removes the buffers that lie there, oldest first (K1). */
static int writer_packed_make_room(struct etl_writer *w, uint32_t size, uint64_t *at)
{
    struct packed *p     = w->packed_ring;
    const bool     wraps = size > p->bytes - p->end;
    int            r     = 0;
    while (r == 0 && p->oldest < p->next &&
           (p->next - p->oldest >= p->entries || (wraps && entry_of(p, p->oldest)->at >= p->end)))
        r = oldest_goes(w);
    *at = wraps ? 0 : p->end;
    for (const struct packed_entry *e; r == 0 && p->oldest < p->next; r = oldest_goes(w)) {
        e = entry_of(p, p->oldest);
        if (e->at >= *at + size || e->at + e->size <= *at)
            break;
    }
    return r;
}

void writer_packed_cut(struct etl_writer *w, uint32_t events)
{
    w->packed_ring->cut += events;
    w->at.overwritten += events;
}

int writer_packed_trim(struct etl_writer *w)
{
    const struct packed *p = w->packed_ring;
    int                  r = 0;
    while (r == 0 && p->oldest < p->next && entry_of(p, p->oldest)->last &&
           entry_of(p, p->oldest)->last < w->at.complete_from)
        r = oldest_goes(w);
    return r;
}

wstatus writer_packed_put(struct etl_writer *w, const uint8_t *stored, uint32_t size, const struct writer_tally *tally,
                          struct reason *why)
{
    struct packed      *p = w->packed_ring;
    struct packed_entry e = {.number = p->next,
                             .before = p->total,
                             .size   = size,
                             .events = tally->events,
                             .last   = tally->last,
                             .cut    = p->cut};
    int                 r = writer_packed_make_room(w, size, &e.at);
    r                     = r ? r : os_pwrite_all(w->os, w->fd, stored, size, p->start + e.at);
    r                     = r ? r : os_pwrite_all(w->os, w->fd, &e, sizeof e, entry_at(p, e.number));
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r));
    *entry_of(p, e.number) = e;
    p->end                 = e.at + size;
    p->total += tally->events;
    p->next++;
    w->at.buffers_written++;
    return W_SUCCESS;
}

/* Buffer 0 has the size that its header says. */
static int copy_bytes(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, uint64_t at, uint32_t size)
{
    const ssize_t n = w->os->pread(w->os, w->fd, buffer, size, at);
    const int     r = n == (ssize_t)size ? os_pwrite_all(w->os, to->fd, buffer, size, to->at.file_offset)
                      : n < 0            ? (int)n
                                         : -EIO;
    to->last_at     = to->at.file_offset;
    to->at.file_offset += size;
    to->at.buffers_written++;
    return r;
}

int writer_packed_copy(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, wstatus *room, struct reason *why)
{
    const struct packed *p = w->packed_ring;
    uint32_t             size;
    int                  r = w->os->pread(w->os, w->fd, &size, sizeof size, 0) == sizeof size && size >= HEADER_LEAST &&
                    size <= w->buffer_size
                                 ? 0
                                 : -EIO;
    r                      = r ? r : copy_bytes(w, to, buffer, 0, size);
    for (uint64_t i = p->oldest; r == 0 && i < p->next && (*room = writer_check_room(to, why)) == W_SUCCESS; i++) {
        r = copy_bytes(w, to, buffer, p->start + entry_of(p, i)->at, entry_of(p, i)->size);
        memcpy(&to->last_flag, buffer + HEADER_AT_FLAG, sizeof to->last_flag);
    }
    return r;
}
