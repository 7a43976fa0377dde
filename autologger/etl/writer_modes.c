/* writer_modes.c - modes of the file writer beside a plain sequential file: rings, preallocated files, continued files,
 * copies. See writer.h. */
#include "autologger/etl/line.h"
#include "autologger/etl/writer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

wstatus writer_ring_init(struct etl_writer *w, const struct etl_file_info *info, uint32_t slots, struct reason *why)
{
    const uint64_t most = info->ring_buffers ? info->ring_buffers + UINT64_C(1) : w->limit / info->buffer_size;
    if (!(info->log_file_mode & (ETL_MODE_CIRCULAR | ETL_MODE_BUFFERING)))
        return W_SUCCESS;
    w->ring     = true;
    w->limit    = UINT64_MAX; /* the slots are */
    w->at.slots = slots ? slots : most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
    if (w->at.slots < ETL_RING_LEAST)
        return reason_set(
            why, W_INVALID_PARAMETER,
            "%s: its maximum size is less than %d buffers of %u KB. Do: raise MaxFileSize, or lower BufferSize",
            w->path, ETL_RING_LEAST, info->buffer_size / 1024);
    w->slot = calloc(w->at.slots, sizeof *w->slot);
    return w->slot ? W_SUCCESS
                   : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for %u buffers", w->path, w->at.slots);
}

/* Counts what is in the slots of a predecessor's ring. */
wstatus writer_ring_count(struct etl_writer *w, struct reason *why)
{
    uint8_t *buffer = w->ring ? malloc(w->buffer_size) : NULL;
    if (!w->ring)
        return W_SUCCESS;
    if (!buffer)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", w->path);
    for (uint32_t i = 1; i < writer_buffers_in_file(w); i++) {
        struct etl_buffer_header h;
        if (w->os->pread(w->os, w->fd, buffer, w->buffer_size, (uint64_t)i * w->buffer_size) != (ssize_t)w->buffer_size)
            continue;
        memcpy(&h, buffer, sizeof h);
        if (h.saved_offset <= w->buffer_size)
            w->slot[i] = writer_tally_of(buffer, h.saved_offset, w->at.trimmed_to);
    }
    free(buffer);
    return W_SUCCESS;
}

/* Gives the file its maximum size from the start, where the volume has room for it. */
wstatus writer_preallocate(struct etl_writer *w, const struct etl_file_info *info, struct reason *why)
{
    struct os_space space;
    const uint64_t  size = w->limit / w->buffer_size * w->buffer_size;
    if (!(info->log_file_mode & ETL_MODE_PREALLOCATE) || w->limit == UINT64_MAX)
        return W_SUCCESS;
    if (w->os->space(w->os, w->path, &space) == 0 && space.free_bytes < size + w->free_floor)
        return reason_set(why, W_DISK_FULL,
                          "%s: %llu MB are to be set aside, %llu MB are free, and %llu MB must stay free", w->path,
                          (unsigned long long)(size >> 20), (unsigned long long)(space.free_bytes >> 20),
                          (unsigned long long)(w->free_floor >> 20));
    int r = w->os->allocate(w->os, w->fd, size);
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "%s: %llu MB could not be set aside: %s", w->path,
                          (unsigned long long)(size >> 20), strerror(-r));
    w->preallocated = true;
    return W_SUCCESS;
}

/* A continued file must read as one trace: old and new part must fit together. */
static wstatus same_kind(const struct etl_writer *w, const struct etl_file_header *h, const struct etl_file_info *info,
                         struct reason *why)
{
    enum { OTHER_KINDS = ETL_MODE_CIRCULAR | ETL_MODE_BUFFERING | ETL_MODE_COMPRESSED };
    const struct etl_file_header mine = {.raw       = {.clock_type = info->clock_type,
                                                       .perf_freq  = (int64_t)info->perf_freq,
                                                       .cpu_mhz    = info->cpu_mhz,
                                                       .start_time = (int64_t)info->start_time},
                                         .start_raw = info->start_raw};
    const char                  *what = NULL;
    if (h->raw.buffer_size != info->buffer_size)
        return reason_set(why, W_INVALID_USER_BUFFER, "%s has buffers of %u KB. Do: set BufferSize to that", w->path,
                          h->raw.buffer_size / 1024);
    if (h->raw.processors != info->processors)
        what = "is of a machine with another number of processors";
    else if (!h->is_64bit || h->raw.log_file_mode & OTHER_KINDS)
        what = "is a 32-bit, circular, buffering or compressed trace";
    else if (h->raw.clock_type != info->clock_type)
        what = "has another ClockType";
    else if (etl_lines_compare(h, &mine, NULL) != ETL_LINES_ONE)
        what = "is of another boot, whose clock does not go on, or of another date: the system's was set since";
    return what ? reason_set(why, W_INVALID_PARAMETER,
                             "%s %s. Do: choose another FileName, or ClockType 2 for a file that goes on over boots",
                             w->path, what)
                : W_SUCCESS;
}

/* Continues an existing .etl behind its last whole buffer. */
wstatus writer_append_begin(struct etl_writer *w, const struct etl_file_info *info, uint64_t size, struct reason *why)
{
    struct etl_file_header h;
    uint8_t               *first = malloc(info->buffer_size);
    wstatus st = first ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", w->path);
    ssize_t n  = st ? 0 : w->os->pread(w->os, w->fd, first, info->buffer_size, 0);
    if (!st && (n < 0 || !etl_header_parse(first, (size_t)n, &h)))
        st = reason_set(why, W_INVALID_DATA, "%s: its header is damaged", w->path);
    else if (!st) {
        st = same_kind(w, &h, info, why);
        free((void *)(uintptr_t)h.logger_name);
        free((void *)(uintptr_t)h.file_name);
    }
    free(first);
    if (st)
        return st;
    w->lost_before        = h.raw.events_lost;
    w->at.buffers_written = (uint32_t)(size / info->buffer_size);
    w->at.file_offset     = (uint64_t)w->at.buffers_written * info->buffer_size;
    w->at.buffers_lost    = h.raw.buffers_lost;
    st                    = writer_check_room(w, why);
    if (!st)
        writer_untear(w);
    return st;
}

wstatus etl_writer_copy(struct etl_writer *w, const char *path, uint64_t free_floor, uint64_t end_time,
                        uint64_t events_lost, struct reason *why)
{
    return etl_writer_copy_by(w, w->os, path, free_floor, end_time, events_lost, why);
}

wstatus etl_writer_copy_by(struct etl_writer *w, struct os *os, const char *path, uint64_t free_floor,
                           uint64_t end_time, uint64_t events_lost, struct reason *why)
{
    const bool        trimmed = w->ring && (w->at.trimmed_to || w->emptied);
    struct etl_writer copy    = {.os          = os,
                                 .path        = (char *)(uintptr_t)path,
                                 .fd          = -1,
                                 .buffer_size = w->buffer_size,
                                 .limit       = UINT64_MAX,
                                 .free_floor  = free_floor,
                                 .start_time  = w->start_time,
                                 .compress    = w->compress};
    uint8_t          *buffer  = malloc(w->buffer_size);
    bool              made    = false;
    wstatus           st      = buffer ? writer_open_target(&copy, &made, why)
                                       : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", path);
    int               r       = st ? 0 : os->ftruncate(os, copy.fd, 0);

    if (w->packed_ring && !st && r == 0)
        r = writer_packed_copy(w, &copy, buffer, &st, why);
    if (trimmed && !st && r == 0)
        r = writer_trimmed_copy(w, &copy, buffer, &st, why);
    for (uint32_t i = 0; !w->packed_ring && !trimmed && !st && r == 0 && i < writer_buffers_in_file(w) &&
                         (st = writer_check_room(&copy, why)) == W_SUCCESS;
         i++) {
        const uint64_t at = (uint64_t)i * w->buffer_size;
        const ssize_t  n  = w->os->pread(w->os, w->fd, buffer, w->buffer_size, at);
        r                 = n == (ssize_t)w->buffer_size ? os_pwrite_all(os, copy.fd, buffer, w->buffer_size, at)
                            : n < 0                      ? (int)n
                                                         : -EIO;
        copy.at.file_offset += w->buffer_size;
    }
    /* of a ring of compressed buffers only the copy knows where its last one begins */
    copy.at.buffers_lost = w->at.buffers_lost;
    if (!st && r == 0)
        r = writer_final_counters(w->packed_ring || trimmed ? &copy : w, copy.fd, end_time, events_lost);
    if (!st && r == 0)
        r = os->fsync(os, copy.fd);
    if (!st && r < 0)
        st = reason_set(why, wstatus_from_errno(-r), "%s: %s", path, strerror(-r));
    writer_unlock(&copy);
    if (copy.fd >= 0)
        os->close(os, copy.fd);
    if (st && made)
        os->unlink(os, path);
    free(buffer);
    return st;
}
