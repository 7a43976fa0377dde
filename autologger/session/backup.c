#include "autologger/session/backup.h"

#include "autologger/etl/header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MOST (UINT64_C(1) << 62) /* no session reaches this */

int backup_mark_write(struct os *os, const struct backup *b, uint64_t delivered)
{
    struct backup_mark m = b->mark;
    m.delivered          = delivered;
    m.check              = backup_mark_check(&m);
    return os_pwrite_all(os, b->fd, &m, sizeof m, backup_mark_at(b->buffer_size));
}

int backup_create(struct os *os, const char *path, const uint8_t *header, const struct backup_mark *mark,
                  struct backup *out)
{
    const uint64_t first = mark->first;
    *out                 = (struct backup){.first       = first,
                                           .end         = first,
                                           .delivered   = first,
                                           .slots       = mark->slots,
                                           .buffer_size = mark->buffer_size,
                                           .mark        = *mark};
    out->fd              = os->open(os, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0640);
    if (out->fd < 0)
        return out->fd;
    int r = os_pwrite_all(os, out->fd, header, mark->buffer_size, 0);
    r     = r < 0 ? r : backup_mark_write(os, out, first);
    if (r < 0) {
        backup_close(os, out);
        os->unlink(os, path);
    }
    return r;
}

void backup_close(struct os *os, struct backup *b)
{
    if (b->fd >= 0)
        os->close(os, b->fd);
    b->fd = -1;
}

static wstatus backup_damaged(struct os *os, struct backup *b, const char *path, struct reason *why)
{
    backup_close(os, b);
    return reason_set(why, W_INVALID_DATA, "%s is not a backup of real-time events, or is damaged", path);
}

/* A buffer belongs to the file if its number fits its slot; the highest number gives the end. After a power cut or
 * tampering other numbers may have any value: no more buffers are expected than the file has room for. */
static void find_end(struct os *os, struct backup *b, uint64_t size)
{
    const uint64_t room = size / b->buffer_size < b->slots + UINT64_C(1) ? size / b->buffer_size - 1 : b->slots;

    for (uint32_t slot = 0; slot < b->slots && (slot + 2) * (uint64_t)b->buffer_size <= size; slot++) {
        struct etl_buffer_header h;
        if (os->pread(os, b->fd, &h, sizeof h, (slot + 1) * (uint64_t)b->buffer_size) != sizeof h)
            break;
        uint64_t number = (uint64_t)h.sequence_number;
        if (number >= b->end && number < NUMBER_MOST && (number - b->first) % b->slots == slot &&
            backup_head(os, b, number, &h))
            b->end = number + 1;
    }
    if (b->end - b->delivered > room)
        b->delivered = b->end - room;
}

wstatus backup_open(struct os *os, const char *path, struct backup *out, struct reason *why)
{
    struct os_stat     at;
    uint8_t            start[HEADER_LEAST];
    struct backup_mark m;
    uint32_t           size;

    *out = (struct backup){.fd = os->open(os, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0)};
    if (out->fd < 0)
        return reason_set(why, out->fd == -ENOENT ? W_FILE_NOT_FOUND : wstatus_from_errno(-out->fd), "%s: %s", path,
                          strerror(-out->fd));
    if (os->lstat(os, path, &at) < 0 || os->pread(os, out->fd, start, sizeof start, 0) != sizeof start ||
        !etl_header_like(start, sizeof start))
        return backup_damaged(os, out, path, why);
    memcpy(&size, start, sizeof size);
    if (size < 1024 || os->pread(os, out->fd, &m, sizeof m, backup_mark_at(size)) != sizeof m ||
        !backup_mark_sound(&m) || m.buffer_size != size || m.delivered < m.first || m.delivered >= NUMBER_MOST ||
        at.size < size)
        return backup_damaged(os, out, path, why);
    out->mark  = m;
    out->first = m.first, out->delivered = out->end = m.delivered, out->slots = m.slots,
    out->buffer_size = m.buffer_size;
    find_end(os, out, at.size);
    return W_SUCCESS;
}

bool backup_head(struct os *os, const struct backup *b, uint64_t number, struct etl_buffer_header *out)
{
    return os->pread(os, b->fd, out, sizeof *out, backup_slot_at(b->first, b->slots, b->buffer_size, number)) ==
               sizeof *out &&
           (uint64_t)out->sequence_number == number && out->buffer_size == b->buffer_size &&
           out->saved_offset >= sizeof *out && out->saved_offset <= b->buffer_size;
}

uint64_t backup_events(struct os *os, const struct backup *b, uint64_t from)
{
    uint8_t *data  = malloc(b->buffer_size);
    uint64_t count = 0;

    for (uint64_t n = from; data && n < b->end; n++) {
        struct etl_buffer_header h;
        if (!backup_head(os, b, n, &h) ||
            os->pread(os, b->fd, data, h.saved_offset, backup_slot_at(b->first, b->slots, b->buffer_size, n)) !=
                (ssize_t)h.saved_offset)
            continue;
        size_t at = sizeof h;
        for (int size; at < h.saved_offset && (size = etl_record_size(data + at, h.saved_offset - at)) > 0; count++)
            at += ((size_t)size + 7) & ~(size_t)7;
    }
    free(data);
    return count;
}
