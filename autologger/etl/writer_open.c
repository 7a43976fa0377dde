/* writer_open.c - buffers of a ring in memory that are written before they are full, and filled up later. See writer.h,
 * W8. The newest buffers of each processor stay open: the processor's next events are appended while they fit. So
 * frequent writes do not fill the ring with nearly empty buffers. Older ones are closed: a buffer is overwritten as a
 * whole, and must not keep events much newer than its neighbours'.
 * Events are written first, the header last. A successor gets the published fill of each open buffer, and cuts off what
 * came later. */
#include "autologger/etl/writer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = sizeof(struct etl_buffer_header) };

wstatus writer_open_init(struct etl_writer *w, const struct etl_file_info *info, struct reason *why)
{
    if (!w->ring || !(info->log_file_mode & ETL_MODE_BUFFERING) || info->compress)
        return W_SUCCESS;
    w->open = calloc(w->processors + 1u, sizeof *w->open);
    return w->open ? W_SUCCESS
                   : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for %u processors", w->path, w->processors);
}

static bool writer_open_is_open(const struct etl_writer *w, const struct writer_open *o)
{
    const uint32_t newest = w->processors + 1 < w->at.slots - 2 ? w->processors + 1 : w->at.slots - 2;
    return o->slot && w->at.buffers_written - o->number <= newest;
}

bool writer_open_fits(const struct etl_writer *w, uint32_t filled, uint16_t cpu)
{
    return w->open && writer_open_is_open(w, &w->open[cpu]) && filled - HEAD <= w->buffer_size - w->open[cpu].filled;
}

void writer_open_began(struct etl_writer *w, uint32_t slot, uint32_t filled, uint16_t cpu)
{
    if (w->open)
        w->open[cpu] = (struct writer_open){slot, filled, w->at.buffers_written - 1};
}

static int header_change(struct etl_writer *w, uint32_t slot, uint32_t filled, int64_t time)
{
    const uint64_t           at = (uint64_t)slot * w->buffer_size;
    struct etl_buffer_header h;
    if (w->os->pread(w->os, w->fd, &h, sizeof h, at) != sizeof h)
        return -EIO;
    h.offset = h.saved_offset = h.current_offset = filled;
    if (time)
        h.time_stamp = time;
    return os_pwrite_all(w->os, w->fd, &h, sizeof h, at);
}

wstatus writer_open_put(struct etl_writer *w, const uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                        struct reason *why)
{
    struct writer_open       *o     = &w->open[cpu];
    const struct writer_tally tally = writer_tally_of(buffer, filled, w->at.trimmed_to);
    const uint32_t            more  = filled - HEAD;

    int r = os_pwrite_all(w->os, w->fd, buffer + HEAD, more, (uint64_t)o->slot * w->buffer_size + o->filled);
    if (r == 0)
        r = header_change(w, o->slot, o->filled + more, time);
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r));
    o->filled += more;
    w->slot[o->slot].events += tally.events;
    w->slot[o->slot].older += tally.older;
    if (tally.last > w->slot[o->slot].last)
        w->slot[o->slot].last = tally.last;
    w->at.overwritten += tally.older;
    return W_SUCCESS;
}

/* The next events may go to an open buffer instead of this slot: empty it, as it may not be overwritten at once. */
wstatus writer_open_resume(struct etl_writer *w, uint32_t slot, struct reason *why)
{
    struct etl_buffer_header h;
    if (!w->open || w->at.buffers_written < w->at.slots)
        return W_SUCCESS;
    if (w->os->pread(w->os, w->fd, &h, sizeof h, (uint64_t)slot * w->buffer_size) == sizeof h &&
        h.sequence_number == (int64_t)w->at.buffers_written - w->at.slots + 1)
        return W_SUCCESS;
    const int r = header_change(w, slot, HEAD, 0);
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r));
    writer_tally_gone(w, &w->slot[slot]);
    w->slot[slot] = (struct writer_tally){0, 0, 0};
    w->emptied    = true;
    return W_SUCCESS;
}

uint64_t etl_writer_open(const struct etl_writer *w, uint16_t cpu)
{
    return w->open && writer_open_is_open(w, &w->open[cpu]) ? (uint64_t)w->open[cpu].slot << 32 | w->open[cpu].filled
                                                            : 0;
}

wstatus etl_writer_reopen(struct etl_writer *w, uint16_t cpu, uint64_t open, struct reason *why)
{
    const uint32_t           slot = (uint32_t)(open >> 32), filled = (uint32_t)open;
    struct etl_buffer_header h;
    int                      r = 0;

    if (!w->open || !slot)
        return W_SUCCESS;
    if (cpu > w->processors || slot >= writer_buffers_in_file(w) || filled < HEAD || filled > w->buffer_size ||
        w->os->pread(w->os, w->fd, &h, sizeof h, (uint64_t)slot * w->buffer_size) != sizeof h ||
        h.saved_offset < filled || h.saved_offset > w->buffer_size)
        return reason_set(why, W_INVALID_DATA, "%s: its buffer %u is not as it was published", w->path, slot);
    uint8_t *tail = h.saved_offset > filled ? malloc(w->buffer_size) : NULL;
    if (h.saved_offset > filled) {
        if (!tail)
            return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", w->path);
        memset(tail, 0xFF, w->buffer_size);
        r = header_change(w, slot, filled, 0);
        if (r == 0)
            r = os_pwrite_all(w->os, w->fd, tail, h.saved_offset - filled, (uint64_t)slot * w->buffer_size + filled);
        free(tail);
    }
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r));
    w->open[cpu] = (struct writer_open){slot, filled, (uint32_t)h.sequence_number};
    /* of one buffer at most: reading the ring is expensive */
    return h.saved_offset > filled ? writer_ring_count(w, why) : W_SUCCESS;
}
