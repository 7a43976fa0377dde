/* writer_trim.c - from what time on a ring is complete, and which of its events are older. See writer.h, W7. Buffers
 * are of one processor each, and are overwritten in the order in which they were written: the oldest ones that stay
 * began before the last overwritten ones. Nothing is rewritten in the ring: events older than trimmed_to are neither
 * counted nor copied. So a successor sees the same. */
#include "autologger/etl/writer_private.h"

#include <errno.h>
#include <string.h>

/* The time of a program's event, which has this header; 0 for any other record. */
static uint64_t event_time(const uint8_t *record, uint32_t size)
{
    struct etl_event_header h;
    if (size < sizeof h || record[3] != ETL_MARKER || (record[2] != ETL_EVENT32 && record[2] != ETL_EVENT64))
        return 0;
    memcpy(&h, record, sizeof h);
    return (uint64_t)h.time;
}

struct writer_tally writer_tally_of(const uint8_t *buffer, uint32_t filled, uint64_t trimmed_to)
{
    struct writer_tally t  = {0, 0, 0};
    uint32_t            at = sizeof(struct etl_buffer_header);
    for (int size; at < filled && (size = etl_record_size(buffer + at, filled - at)) > 0;
         at += ((uint32_t)size + 7) & ~7u) {
        const uint64_t time = event_time(buffer + at, (uint32_t)size);
        if (time && time < trimmed_to) {
            t.older++;
            continue;
        }
        t.events++;
        if (time > t.last)
            t.last = time;
    }
    return t;
}

void etl_writer_gap(struct etl_writer *w, uint64_t time)
{
    if (time > w->at.complete_from)
        w->at.complete_from = time;
}

void writer_tally_gone(struct etl_writer *w, const struct writer_tally *tally)
{
    w->at.overwritten += tally->events;
    if (tally->last)
        etl_writer_gap(w, tally->last + 1);
}

wstatus etl_writer_trim(struct etl_writer *w, struct reason *why)
{
    int r = 0;
    if (w->packed_ring)
        r = writer_packed_trim(w);
    if (w->ring && w->at.complete_from > w->at.trimmed_to) {
        uint64_t before = 0, after = 0;
        for (uint32_t i = 1; i < writer_buffers_in_file(w); i++)
            before += w->slot[i].events;
        w->at.trimmed_to = w->at.complete_from;
        const wstatus st = writer_ring_count(w, why);
        if (st)
            return st;
        for (uint32_t i = 1; i < writer_buffers_in_file(w); i++)
            after += w->slot[i].events;
        w->at.overwritten += before - after;
    }
    return r < 0 ? reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r)) : W_SUCCESS;
}

uint32_t writer_cut(uint8_t *buffer, uint32_t *filled, uint64_t trimmed_to)
{
    uint32_t from = sizeof(struct etl_buffer_header), to = from, events = 0;

    for (int size; from < *filled && (size = etl_record_size(buffer + from, *filled - from)) > 0;) {
        const uint64_t time = event_time(buffer + from, (uint32_t)size);
        uint32_t       need = ((uint32_t)size + 7) & ~7u;
        if (need > *filled - from)
            need = *filled - from;
        if (time && time < trimmed_to) {
            events++;
        } else {
            memmove(buffer + to, buffer + from, need);
            to += need;
        }
        from += need;
    }
    if (from < *filled) { /* not readable from here on: the rest stays as it is */
        memmove(buffer + to, buffer + from, *filled - from);
        to += *filled - from;
    }
    *filled = to;
    return events;
}

/* Trims a buffer of the ring for the copy; false: it has no events left. */
static bool writer_trim_cut(uint8_t *buffer, uint32_t buffer_size, uint64_t trimmed_to, uint32_t number)
{
    struct etl_buffer_header h;
    uint32_t                 to;

    memcpy(&h, buffer, sizeof h);
    if (h.saved_offset > buffer_size)
        return false;
    to = h.saved_offset;
    writer_cut(buffer, &to, trimmed_to);
    h.saved_offset = h.offset = h.current_offset = to;
    h.sequence_number                            = number;
    memcpy(buffer, &h, sizeof h);
    memset(buffer + to, 0xFF, buffer_size - to);
    return to > sizeof h;
}

int writer_trimmed_copy(struct etl_writer *w, struct etl_writer *to, uint8_t *buffer, wstatus *room, struct reason *why)
{
    const uint32_t there = writer_buffers_in_file(w), written = w->at.buffers_written;
    int            r = 0;

    for (uint32_t i = 0; r == 0 && i < there && (*room = writer_check_room(to, why)) == W_SUCCESS; i++) {
        const uint32_t slot = i == 0 || written <= w->at.slots ? i : 1 + (written - 1 + i - 1) % (w->at.slots - 1);
        const ssize_t  n    = w->os->pread(w->os, w->fd, buffer, w->buffer_size, (uint64_t)slot * w->buffer_size);
        if (n != (ssize_t)w->buffer_size)
            return n < 0 ? (int)n : -EIO;
        if (slot && !writer_trim_cut(buffer, w->buffer_size, w->at.trimmed_to, to->at.buffers_written))
            continue;
        r = os_pwrite_all(w->os, to->fd, buffer, w->buffer_size, to->at.file_offset);
        to->at.file_offset += w->buffer_size;
        to->at.buffers_written++;
    }
    return r;
}
