#include "autologger/etl/writer.h"

#include "autologger/etl/header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct etl_writer {
    struct os             *os;
    char                  *path;
    int                    fd;
    bool                   torn; /* a failed write may have left bytes behind file_offset (W1 to be restored) */
    uint32_t               buffer_size, processors;
    uint16_t               logger_id;
    uint64_t               limit; /* bytes the file may have */
    uint64_t               free_floor;
    uint64_t               start_time;
    struct etl_write_state at;
};

static wstatus check_info(const struct etl_file_info *info, struct reason *why)
{
    if (info->buffer_size < 4096 || info->buffer_size > 16u << 20 || info->buffer_size % 1024)
        return reason_set(why, W_INVALID_PARAMETER, "buffers of %u bytes: 4 KB to 16 MB in steps of 1 KB are possible",
                          info->buffer_size);
    if (info->processors == 0 || info->processors > 2048)
        return reason_set(why, W_INVALID_PARAMETER, "%u processors: 1 to 2048 are possible", info->processors);
    if (info->clock_type < 1 || info->clock_type > 3)
        return reason_set(why, W_INVALID_PARAMETER, "clock type %u: 1, 2 or 3 are possible", info->clock_type);
    return W_SUCCESS;
}

static struct etl_writer *allocate(struct os *os, const char *path, const struct etl_file_info *info, uint64_t floor)
{
    struct etl_writer *w = calloc(1, sizeof *w);

    if (!w || !(w->path = strdup(path))) {
        free(w);
        return NULL;
    }
    w->os          = os;
    w->fd          = -1;
    w->buffer_size = info->buffer_size;
    w->processors  = info->processors;
    w->logger_id   = info->logger_id;
    w->free_floor  = floor;
    w->start_time  = info->start_time;
    w->limit       = UINT64_MAX;
    if (info->max_file_size)
        w->limit = (uint64_t)info->max_file_size << (info->log_file_mode & ETL_MODE_KBYTES ? 10 : 20);
    return w;
}

/* What is at `path` may be replaced: nothing, an empty file, or an .etl. Opens it; *made says that it is new. */
static wstatus open_target(struct etl_writer *w, bool *made, struct reason *why)
{
    struct os_stat st;
    uint8_t        start[HEADER_LEAST];
    int            fd = w->os->open(w->os, w->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0640);

    *made = fd >= 0;
    if (fd == -EEXIST) {
        int r = w->os->lstat(w->os, w->path, &st);
        if (r == 0 && S_ISDIR(st.mode))
            return reason_set(why, W_BAD_PATHNAME, "%s is a folder", w->path);
        if (r == 0 && !S_ISREG(st.mode))
            return reason_set(why, W_ALREADY_EXISTS, "%s is a %s; it is not replaced", w->path,
                              S_ISLNK(st.mode) ? "link" : "pipe, socket or device");
        fd = w->os->open(w->os, w->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    }
    if (fd < 0)
        return reason_set(why, fd == -ENOENT ? W_PATH_NOT_FOUND : wstatus_from_errno(-fd), "%s: %s", w->path,
                          strerror(-fd));
    w->fd = fd;
    if (*made)
        return W_SUCCESS;
    ssize_t n = w->os->pread(w->os, fd, start, sizeof start, 0);
    if (n < 0)
        return reason_set(why, wstatus_from_errno((int)-n), "%s: %s", w->path, strerror((int)-n));
    if (n > 0 && !etl_header_like(start, (size_t)n))
        return reason_set(why, W_ALREADY_EXISTS, "%s exists and is not an .etl file; it is not replaced", w->path);
    return W_SUCCESS;
}

/* Room for one more buffer? `limit` first: a full file says so on a full volume too. */
static wstatus check_room(struct etl_writer *w, struct reason *why)
{
    struct os_space space;

    if (w->at.file_offset + w->buffer_size > w->limit)
        return reason_set(why, W_LOG_FILE_FULL, "%s has reached its maximum size", w->path);
    if (w->free_floor && w->os->space(w->os, w->path, &space) == 0 &&
        space.free_bytes < w->free_floor + w->buffer_size)
        return reason_set(why, W_DISK_FULL, "%s: %llu MB are free, %llu MB must stay free", w->path,
                          (unsigned long long)(space.free_bytes >> 20), (unsigned long long)(w->free_floor >> 20));
    return W_SUCCESS;
}

/* Appends one buffer or nothing (W1, W3). */
static wstatus append(struct etl_writer *w, const uint8_t *buffer, struct reason *why)
{
    if (w->torn)
        w->torn = w->os->ftruncate(w->os, w->fd, w->at.file_offset) < 0;
    int r = os_pwrite_all(w->os, w->fd, buffer, w->buffer_size, w->at.file_offset);
    if (r < 0) {
        w->torn = w->os->ftruncate(w->os, w->fd, w->at.file_offset) < 0;
        return reason_set(why, wstatus_from_errno(-r), "%s: %s at %llu", w->path, strerror(-r),
                          (unsigned long long)w->at.file_offset);
    }
    w->at.file_offset += w->buffer_size;
    w->at.buffers_written++;
    return W_SUCCESS;
}

wstatus etl_writer_create(struct os *os, const char *path, const struct etl_file_info *info, uint64_t free_floor,
                          struct etl_writer **out, struct reason *why)
{
    struct etl_writer *w      = NULL;
    uint8_t           *buffer = NULL;
    bool               made   = false;
    wstatus            st     = check_info(info, why);

    if (st != W_SUCCESS)
        return st;
    if (!(w = allocate(os, path, info, free_floor)) || !(buffer = malloc(info->buffer_size))) {
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", path);
        goto out;
    }
    if ((st = open_target(w, &made, why)) != W_SUCCESS || (st = check_room(w, why)) != W_SUCCESS)
        goto out;
    int r = os->ftruncate(os, w->fd, 0);
    if (r < 0) {
        st = reason_set(why, wstatus_from_errno(-r), "%s: %s", path, strerror(-r));
        goto out;
    }
    etl_header_build(info, buffer);
    if ((st = append(w, buffer, why)) != W_SUCCESS)
        goto out;
    *out = w;
    w    = NULL;
out:
    if (w && made)
        os->unlink(os, path);
    etl_writer_destroy(w);
    free(buffer);
    return st;
}

wstatus etl_writer_resume(struct os *os, const char *path, const struct etl_file_info *info,
                          const struct etl_write_state *state, uint64_t free_floor, struct etl_writer **out,
                          struct reason *why)
{
    struct etl_writer *w = NULL;
    uint8_t            start[HEADER_LEAST];
    struct os_stat     file;
    int                r;
    wstatus            st = check_info(info, why);

    if (st != W_SUCCESS)
        return st;
    if (state->buffers_written == 0 || state->file_offset != (uint64_t)state->buffers_written * info->buffer_size)
        return reason_set(why, W_INVALID_PARAMETER, "%s: %u buffers do not end at %llu", path, state->buffers_written,
                          (unsigned long long)state->file_offset);
    if (!(w = allocate(os, path, info, free_floor)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory", path);
    w->at = *state;
    if ((r = os->open(os, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0)) < 0)
        goto failed;
    w->fd     = r;
    ssize_t n = os->pread(os, w->fd, start, sizeof start, 0);
    uint32_t size = 0;
    if (n >= (ssize_t)sizeof size)
        memcpy(&size, start, sizeof size);
    if (n < 0 || !etl_header_like(start, (size_t)n) || size != info->buffer_size) {
        st = reason_set(why, W_INVALID_DATA, "%s is not the file that was being written", path);
        goto out;
    }
    if ((r = os->lstat(os, path, &file)) < 0)
        goto failed;
    if (file.size < state->file_offset) {
        st = reason_set(why, W_INVALID_DATA, "%s has %llu bytes, %llu were written", path,
                        (unsigned long long)file.size, (unsigned long long)state->file_offset);
        goto out;
    }
    if ((r = os->ftruncate(os, w->fd, state->file_offset)) < 0)
        goto failed;
    *out = w;
    return W_SUCCESS;
failed:
    st = reason_set(why, wstatus_from_errno(-r), "%s: %s", path, strerror(-r));
out:
    etl_writer_destroy(w);
    return st;
}

static int patch(struct etl_writer *w, uint64_t at, const void *value, size_t size)
{
    return os_pwrite_all(w->os, w->fd, value, size, at);
}

void etl_buffer_seal(uint8_t *buffer, uint32_t buffer_size, uint32_t filled, uint16_t cpu, uint16_t logger_id, int64_t sequence,
                     int64_t time, uint16_t flags)
{
    uint32_t                 end  = (filled + 7) & ~7u;
    struct etl_buffer_header head = {
        .buffer_size = buffer_size, .saved_offset = end, .current_offset = end, .offset = end, .time_stamp = time,
        .sequence_number = sequence, .processor_index = cpu, .logger_id = logger_id, .state = ETL_BUFFER_STATE_FLUSH,
        .flag = (uint16_t)(ETL_BUFFER_PROC_INDEX | flags), .type = ETL_BUFFER_TYPE_GENERIC,
    };
    memset(buffer + filled, 0, end - filled);
    memset(buffer + end, 0xFF, buffer_size - end);
    memcpy(buffer, &head, sizeof head);
}

wstatus etl_writer_put(struct etl_writer *w, uint8_t *buffer, uint32_t filled, uint16_t cpu, int64_t time,
                       struct reason *why)
{
    uint32_t end = (filled + 7) & ~7u;

    if (filled == sizeof(struct etl_buffer_header))
        return W_SUCCESS; /* readers stumble over buffers without events */
    if (filled < sizeof(struct etl_buffer_header) || end > w->buffer_size || end < filled || cpu > w->processors)
        return reason_set(why, W_INVALID_PARAMETER, "a buffer of %u bytes for CPU %u does not fit %s", filled, cpu,
                          w->path);
    wstatus st = check_room(w, why);
    if (st == W_SUCCESS) {
        etl_buffer_seal(buffer, w->buffer_size, filled, cpu, w->logger_id, w->at.buffers_written, time, 0);
        st = append(w, buffer, why);
    }
    if (st != W_SUCCESS) {
        w->at.buffers_lost++;
        return st;
    }
    /* some readers stop after BuffersWritten: keep it right for the case of a crash; its failure loses nothing */
    patch(w, HEADER_AT_BUFFERS_WRITTEN, &w->at.buffers_written, sizeof w->at.buffers_written);
    return W_SUCCESS;
}

wstatus etl_writer_sync(struct etl_writer *w, struct reason *why)
{
    int r = w->os->fsync(w->os, w->fd);
    return r < 0 ? reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r)) : W_SUCCESS;
}

void etl_writer_add_lost(struct etl_writer *w, uint32_t buffers)
{
    if (__builtin_add_overflow(w->at.buffers_lost, buffers, &w->at.buffers_lost))
        w->at.buffers_lost = UINT32_MAX;
}

struct etl_write_state etl_writer_state(const struct etl_writer *w) { return w->at; }

wstatus etl_writer_finish(struct etl_writer *w, uint64_t end_time, uint64_t events_lost, bool sync, struct reason *why)
{
    uint32_t lost = events_lost > UINT32_MAX ? UINT32_MAX : (uint32_t)events_lost;
    uint16_t flag = ETL_BUFFER_FLUSH_MARKER | ETL_BUFFER_PROC_INDEX;
    int      r    = 0;

    if (end_time < w->start_time)
        end_time = w->start_time;
    if (w->torn) /* a tail that stays is found by every reader: no reason to go without final counters */
        w->torn = w->os->ftruncate(w->os, w->fd, w->at.file_offset) < 0;
    const struct {
        uint64_t    at;
        const void *value;
        size_t      size;
    } fields[] = {
        {w->at.file_offset - w->buffer_size + HEADER_AT_FLAG, &flag, sizeof flag},
        {HEADER_AT_BUFFERS_WRITTEN, &w->at.buffers_written, sizeof w->at.buffers_written},
        {HEADER_AT_EVENTS_LOST, &lost, sizeof lost},
        {HEADER_AT_BUFFERS_LOST, &w->at.buffers_lost, sizeof w->at.buffers_lost},
        {HEADER_AT_END_TIME, &end_time, sizeof end_time}, /* last: it says "finalised" */
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields && r == 0; i++)
        r = patch(w, fields[i].at, fields[i].value, fields[i].size);
    if (r == 0 && sync)
        r = w->os->fsync(w->os, w->fd);
    return r < 0 ? reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r)) : W_SUCCESS;
}

void etl_writer_destroy(struct etl_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        w->os->close(w->os, w->fd);
    free(w->path);
    free(w);
}
