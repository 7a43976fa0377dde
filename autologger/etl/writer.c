#include "autologger/etl/writer_private.h"
#include "registry-sim/base/invariant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* The slot of the next buffer. */
static uint32_t ring_slot(const struct etl_writer *w)
{
    uint32_t n = w->at.buffers_written;
    return n < w->at.slots ? n : 1 + (n - 1) % (w->at.slots - 1);
}

static uint64_t writer_place(const struct etl_writer *w)
{
    return w->ring && w->at.buffers_written ? (uint64_t)ring_slot(w) * w->buffer_size : w->at.file_offset;
}

static wstatus check_info(const struct etl_file_info *info, struct reason *why)
{
    if (info->buffer_size < 4096 || info->buffer_size > 16u << 20 || info->buffer_size % 1024)
        return reason_set(why, W_INVALID_PARAMETER, "buffers of %u bytes: 4 KB to 16 MB in steps of 1 KB are possible",
                          info->buffer_size);
    if (info->processors == 0 || info->processors > 2048)
        return reason_set(why, W_INVALID_PARAMETER, "%u processors: 1 to 2048 are possible", info->processors);
    if (info->clock_type < 1 || info->clock_type > 3)
        return reason_set(why, W_INVALID_PARAMETER, "clock type %u: 1, 2 or 3 are possible", info->clock_type);
    if (info->compress && info->log_file_mode & (ETL_MODE_CIRCULAR | ETL_MODE_APPEND | ETL_MODE_PREALLOCATE))
        return reason_set(why, W_INVALID_PARAMETER,
                          "a compressed file is neither a ring, nor set aside, nor gone on with");
    return W_SUCCESS;
}

static bool is_packed_ring(const struct etl_file_info *info)
{
    return info->compress && info->log_file_mode & ETL_MODE_BUFFERING;
}

static struct etl_writer *allocate(struct os *os, const char *path, const struct etl_file_info *info, uint64_t floor)
{
    struct etl_writer *w = calloc(1, sizeof *w);

    if (!w || !(w->path = strdup(path))) {
        free(w);
        return NULL;
    }
    w->os           = os;
    w->fd           = -1;
    w->buffer_size  = info->buffer_size;
    w->processors   = info->processors;
    w->logger_id    = info->logger_id;
    w->free_floor   = floor;
    w->start_time   = info->start_time;
    w->limit        = UINT64_MAX;
    w->compress     = info->compress;
    w->count_at_end = info->unfinished_is_nothing;
    writer_direct_init(w, info->direct);
    if (w->compress && !(w->packed = malloc(info->buffer_size))) {
        free(w->path);
        free(w);
        return NULL;
    }
    if (info->max_file_size)
        w->limit = (uint64_t)info->max_file_size << (info->log_file_mode & ETL_MODE_KBYTES ? 10 : 20);
    return w;
}

/* A successor waits: a child of a killed predecessor may have the file a moment longer. */
wstatus writer_lock(struct etl_writer *w, bool wait, struct reason *why)
{
    enum { TRIES = 250, MS = 20 };
    int r = w->os->lock(w->os, w->fd, true);
    for (int i = 0; wait && r == -EAGAIN && i < TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = MS * 1000000}, NULL);
        r = w->os->lock(w->os, w->fd, true);
    }
    w->locked = r == 0;
    if (r == -EAGAIN)
        return reason_set(
            why, W_SHARING_VIOLATION,
            "%s is being written by another session or daemon. Do: choose another FileName, or stop the other one",
            w->path);
    return r == 0 || r == -EOPNOTSUPP
               ? W_SUCCESS
               : reason_set(why, wstatus_from_errno(-r), "%s cannot be locked: %s", w->path, strerror(-r));
}

/* Unlocks explicitly: a child forked meanwhile may still have the descriptor. */
void writer_unlock(struct etl_writer *w)
{
    if (w->locked)
        w->os->lock(w->os, w->fd, false);
    w->locked = false;
}

bool etl_writer_locked(const struct etl_writer *w) { return w->locked; }

/* Opens the path, where it may be replaced: nothing, an empty file, or an .etl. *made: the file is new. */
wstatus writer_open_target(struct etl_writer *w, bool *made, struct reason *why)
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
    w->fd      = fd;
    wstatus is = writer_lock(w, false, why);
    if (is == W_SHARING_VIOLATION)
        *made = false; /* the other writer's */
    if (is || *made)
        return is;
    ssize_t n = w->os->pread(w->os, fd, start, sizeof start, 0);
    if (n < 0)
        return reason_set(why, wstatus_from_errno((int)-n), "%s: %s", w->path, strerror((int)-n));
    if (n > 0 && !etl_header_like(start, (size_t)n))
        return reason_set(why, W_ALREADY_EXISTS, "%s exists and is not an .etl file; it is not replaced", w->path);
    return W_SUCCESS;
}

bool etl_writer_full(const struct etl_writer *w)
{
    return !(w->ring && w->at.buffers_written >= w->at.slots) && w->at.file_offset + w->buffer_size > w->limit;
}

/* Bytes that the writers of this process, each in its own thread, are about to add to their files, on any volume: bytes
 * that one has checked for and not written yet are not free for another. */
static uint64_t growing;

/* Room for one more buffer? `limit` first: a full file is reported as full on a full volume too. */
wstatus writer_check_room(struct etl_writer *w, struct reason *why)
{
    struct os_space space;

    if (w->ring && w->at.buffers_written >= w->at.slots)
        return W_SUCCESS;
    if (etl_writer_full(w))
        return reason_set(why, W_LOG_FILE_FULL, "%s has reached its maximum size", w->path);
    /* before the free space is read, which then shows bytes written in between */
    const uint64_t need = __atomic_load_n(&growing, __ATOMIC_SEQ_CST) + (w->growing ? 0 : w->buffer_size);
    if (w->preallocated || !w->free_floor || w->os->space(w->os, w->path, &space) < 0 ||
        space.free_bytes >= w->free_floor + need)
        return W_SUCCESS;
    if (w->ring && w->at.buffers_written >= ETL_RING_LEAST)
        w->at.slots = w->at.buffers_written; /* W4 */
    else
        return reason_set(why, W_DISK_FULL, "%s: %llu MB are free, %llu MB must stay free", w->path,
                          (unsigned long long)(space.free_bytes >> 20), (unsigned long long)(w->free_floor >> 20));
    return W_SUCCESS;
}

/* Truncates what a failed write left behind the last whole buffer. */
void writer_untear(struct etl_writer *w)
{
    w->torn = !w->preallocated && w->os->ftruncate(w->os, w->fd, w->at.file_offset) < 0;
}

/* Appends one buffer or nothing (W1, W3); in a ring that has wrapped it overwrites the oldest one. */
static wstatus writer_append(struct etl_writer *w, const uint8_t *buffer, uint32_t size, struct reason *why)
{
    const uint64_t at   = writer_place(w);
    const uint32_t slot = (uint32_t)(at / w->buffer_size);
    INVARIANT(at <= w->at.file_offset && size <= w->buffer_size);
    if (w->torn)
        writer_untear(w);
    if (w->ring) { /* whether the write succeeds or not */
        writer_tally_gone(w, &w->slot[slot]);
        w->slot[slot] = (struct writer_tally){0, 0, 0};
    }
    int r = writer_store(w, buffer, size, at);
    if (r < 0) {
        writer_untear(w);
        return reason_set(why, wstatus_from_errno(-r), "%s: %s at %llu", w->path, strerror(-r), (unsigned long long)at);
    }
    if (at == w->at.file_offset)
        w->at.file_offset += size;
    w->last_at = at;
    memcpy(&w->last_flag, buffer + HEADER_AT_FLAG, sizeof w->last_flag);
    w->at.buffers_written++;
    return W_SUCCESS;
}

/* Shrinks buffer 0 of a compressed file to the bytes that it needs. */
static uint32_t shrink_header(const struct etl_file_info *info, uint8_t *buffer)
{
    struct etl_buffer_header h;

    if (!info->compress)
        return info->buffer_size;
    memcpy(&h, buffer, sizeof h);
    h.buffer_size = (h.offset + 511) & ~511u;
    if (h.buffer_size > info->buffer_size)
        h.buffer_size = info->buffer_size;
    memcpy(buffer, &h, sizeof h);
    return h.buffer_size;
}

/* The sealed buffer as it is stored: compressed where that makes it smaller, and without the tail behind its events. */
static const uint8_t *pack(struct etl_writer *w, uint8_t *buffer, uint32_t *size)
{
    enum { HEAD = sizeof(struct etl_buffer_header) };
    struct etl_buffer_header h;

    *size = w->buffer_size;
    if (!w->compress)
        return buffer;
    memcpy(&h, buffer, sizeof h);
    INVARIANT(h.offset > HEAD && h.offset <= w->buffer_size); /* sealed, with events */
    size_t n      = w->compress(buffer + HEAD, h.offset - HEAD, w->packed + HEAD, h.offset - HEAD - 1);
    h.buffer_size = n ? (uint32_t)(HEAD + n) : h.offset;
    *size         = h.buffer_size;
    if (n)
        h.flag |= ETL_BUFFER_COMPRESSED;
    memcpy(n ? w->packed : buffer, &h, sizeof h);
    return n ? w->packed : buffer;
}

static wstatus ring_init(struct etl_writer *w, const struct etl_file_info *info, uint32_t slots, struct reason *why)
{
    const wstatus st = is_packed_ring(info) ? writer_packed_init(w, info, why) : writer_ring_init(w, info, slots, why);
    return st ? st : writer_open_init(w, info, why);
}

/* Empties the open file and writes buffer 0. */
static wstatus etl_writer_begin(struct etl_writer *w, const struct etl_file_info *info, struct reason *why)
{
    uint8_t *buffer = malloc(info->buffer_size);
    wstatus  st     = buffer ? ring_init(w, info, 0, why)
                             : reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", w->path);
    if (st == W_SUCCESS)
        st = writer_check_room(w, why);
    int r = st ? 0 : w->os->ftruncate(w->os, w->fd, 0);
    if (r < 0)
        st = reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r));
    if (st == W_SUCCESS)
        st = writer_preallocate(w, info, why);
    if (st == W_SUCCESS) {
        etl_header_build(info, buffer);
        st = writer_append(w, buffer, shrink_header(info, buffer), why);
    }
    free(buffer);
    return st;
}

wstatus etl_writer_create(struct os *os, const char *path, const struct etl_file_info *info, uint64_t free_floor,
                          struct etl_writer **out, struct reason *why)
{
    bool    made = false;
    wstatus st   = check_info(info, why);

    if (st != W_SUCCESS)
        return st;
    struct etl_writer *w = allocate(os, path, info, free_floor);
    if (!w)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", path);
    struct os_stat there = {.size = 0};
    st                   = writer_open_target(w, &made, why);
    if (!st && !made && info->log_file_mode & ETL_MODE_APPEND && os->lstat(os, path, &there) < 0)
        there.size = 0;
    st = st ? st : there.size ? writer_append_begin(w, info, there.size, why) : etl_writer_begin(w, info, why);
    if (st == W_SUCCESS) {
        *out = w;
        return st;
    }
    if (made)
        os->unlink(os, path);
    etl_writer_destroy(w);
    return st;
}

wstatus etl_writer_create_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             struct etl_writer **out, struct reason *why)
{
    wstatus            st = check_info(info, why);
    struct etl_writer *w  = st ? NULL : allocate(os, shown, info, 0);

    if (!st && !w)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory for a buffer", shown);
    if (st) {
        os->close(os, fd);
        return st;
    }
    w->fd            = fd;
    w->direct_wanted = false;
    if ((st = etl_writer_begin(w, info, why)) == W_SUCCESS)
        *out = w;
    else
        etl_writer_destroy(w);
    return st;
}

static bool state_fits(const struct etl_write_state *state, const struct etl_file_info *info)
{
    uint64_t buffers = state->slots && state->buffers_written > state->slots ? state->slots : state->buffers_written;
    if (is_packed_ring(info)) /* its list says where they are */
        return state->buffers_written;
    return state->buffers_written && (!state->slots || state->slots >= ETL_RING_LEAST) &&
           state->file_offset == buffers * info->buffer_size;
}

/* Checks that the open file is the predecessor's and has all that was written; truncates it to that. */
static wstatus go_on(struct etl_writer *w, const struct etl_file_info *info, const struct etl_write_state *state,
                     struct reason *why)
{
    uint8_t  start[HEADER_LEAST], last;
    uint32_t size = 0;
    wstatus  st   = ring_init(w, info, state->slots, why);
    if (st)
        return st;
    ssize_t n = w->os->pread(w->os, w->fd, start, sizeof start, 0);
    if (n >= (ssize_t)sizeof size)
        memcpy(&size, start, sizeof size);
    if (n < 0 || !etl_header_like(start, (size_t)n) ||
        (w->packed_ring ? size > info->buffer_size : size != info->buffer_size))
        return reason_set(why, W_INVALID_DATA, "%s is not the file that was being written", w->path);
    if (w->packed_ring) {
        w->at = *state;
        return writer_packed_resume(w, why);
    }
    if (w->os->pread(w->os, w->fd, &last, 1, state->file_offset - 1) != 1)
        return reason_set(why, W_INVALID_DATA, "%s is shorter than the %llu bytes that were written", w->path,
                          (unsigned long long)state->file_offset);
    uint32_t slots = w->at.slots;
    if (info->log_file_mode & ETL_MODE_APPEND)
        w->os->pread(w->os, w->fd, &w->lost_before, sizeof w->lost_before, HEADER_AT_EVENTS_LOST);
    w->at       = *state;
    w->at.slots = slots;
    int r       = w->os->ftruncate(w->os, w->fd, state->file_offset); /* preallocated space too */
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r));
    st = writer_ring_count(w, why);
    if (!st && w->ring) {
        w->slot[writer_place(w) / w->buffer_size].events = state->oldest_events;
        w->slot[writer_place(w) / w->buffer_size].last   = state->oldest_last;
        st = writer_open_resume(w, (uint32_t)(writer_place(w) / w->buffer_size), why);
    }
    return st;
}

static wstatus resume(struct os *os, int fd, const char *path, const struct etl_file_info *info,
                      const struct etl_write_state *state, uint64_t free_floor, bool on_disk, struct etl_writer **out,
                      struct reason *why)
{
    struct etl_writer *w = allocate(os, path, info, free_floor);
    if (!w) {
        os->close(os, fd);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "%s: no memory", path);
    }
    w->fd      = fd;
    wstatus st = on_disk ? writer_lock(w, true, why) : W_SUCCESS;
    if (!st)
        st = go_on(w, info, state, why);
    if (st)
        etl_writer_destroy(w);
    else
        *out = w;
    return st;
}

static wstatus resume_check(const char *path, const struct etl_file_info *info, const struct etl_write_state *state,
                            struct reason *why)
{
    wstatus st = check_info(info, why);
    if (!st && !state_fits(state, info))
        st = reason_set(why, W_INVALID_PARAMETER, "%s: %u buffers do not end at %llu", path, state->buffers_written,
                        (unsigned long long)state->file_offset);
    return st;
}

wstatus etl_writer_resume(struct os *os, const char *path, const struct etl_file_info *info,
                          const struct etl_write_state *state, uint64_t free_floor, struct etl_writer **out,
                          struct reason *why)
{
    wstatus st = resume_check(path, info, state, why);
    if (st != W_SUCCESS)
        return st;
    int fd = os->open(os, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(-fd), "%s: %s", path, strerror(-fd));
    return resume(os, fd, path, info, state, free_floor, true, out, why);
}

wstatus etl_writer_resume_in(struct os *os, int fd, const char *shown, const struct etl_file_info *info,
                             const struct etl_write_state *state, struct etl_writer **out, struct reason *why)
{
    wstatus              st        = resume_check(shown, info, state, why);
    struct etl_file_info in_memory = *info;
    in_memory.direct               = false;
    if (st == W_SUCCESS)
        return resume(os, fd, shown, &in_memory, state, 0, false, out, why);
    os->close(os, fd);
    return st;
}

static int patch(struct etl_writer *w, uint64_t at, const void *value, size_t size)
{
    return os_pwrite_all(w->os, w->fd, value, size, at);
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
    if (w->packed_ring && w->at.complete_from) { /* of a processor with few events: some may be too old */
        writer_packed_cut(w, writer_cut(buffer, &filled, w->at.complete_from));
        if (filled == sizeof(struct etl_buffer_header))
            return W_SUCCESS;
    }
    if (writer_open_fits(w, end, cpu))
        return writer_open_put(w, buffer, end, cpu, time, why);
    __atomic_add_fetch(&growing, w->buffer_size, __ATOMIC_SEQ_CST);
    w->growing = true;
    wstatus st = writer_check_room(w, why);
    if (st == W_SUCCESS) {
        const uint32_t            slot  = (uint32_t)(writer_place(w) / w->buffer_size);
        const struct writer_tally tally = w->ring || w->packed_ring ? writer_tally_of(buffer, filled, w->at.trimmed_to)
                                                                    : (struct writer_tally){0, 0, 0};
        etl_buffer_seal(buffer, w->buffer_size, filled, cpu, w->logger_id, w->at.buffers_written, time, 0);
        uint32_t       size;
        const uint8_t *stored = pack(w, buffer, &size);
        st = w->packed_ring ? writer_packed_put(w, stored, size, &tally, why) : writer_append(w, stored, size, why);
        if (!st && w->ring) {
            w->slot[slot] = tally;
            w->at.overwritten += tally.older; /* the buffer has events of before a trim */
            writer_open_began(w, slot, end, cpu);
        }
    }
    w->growing = false;
    __atomic_sub_fetch(&growing, w->buffer_size, __ATOMIC_SEQ_CST);
    if (st != W_SUCCESS) {
        w->at.buffers_lost++;
        return st;
    }
    /* some readers stop after BuffersWritten: keep it right for a crash; a failure here loses nothing */
    const uint32_t count = writer_buffers_in_file(w);
    if (!w->count_at_end)
        patch(w, HEADER_AT_BUFFERS_WRITTEN, &count, sizeof count);
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

struct etl_write_state etl_writer_state(const struct etl_writer *w)
{
    struct etl_write_state at = w->at;
    at.oldest_events          = 0;
    at.oldest_last            = 0;
    if (w->ring && !w->packed_ring) {
        at.oldest_events = w->slot[writer_place(w) / w->buffer_size].events;
        at.oldest_last   = w->slot[writer_place(w) / w->buffer_size].last;
    }
    return at;
}

void etl_writer_date(struct etl_writer *w, int64_t value, uint64_t filetime, uint64_t boot_time)
{
    struct {
        uint64_t boot_time, perf_freq, start_time;
        uint32_t clock_type, buffers_lost;
    } h;
    int64_t  start_raw;
    uint32_t mhz;
    if (w->os->pread(w->os, w->fd, &h, sizeof h, HEADER_AT_BOOT_TIME) != sizeof h ||
        w->os->pread(w->os, w->fd, &start_raw, sizeof start_raw, HEADER_AT_START_RAW) != sizeof start_raw ||
        w->os->pread(w->os, w->fd, &mhz, sizeof mhz, HEADER_AT_CPU_MHZ) != sizeof mhz)
        return;
    const uint64_t frequency = h.clock_type == 3 ? mhz * UINT64_C(1000000) : h.clock_type == 1 ? h.perf_freq : 0;
    if (!frequency)
        return;
    __extension__ typedef __int128 wide; /* a continued file began before this session */
    const wide                     start = (wide)filetime - ((wide)value - start_raw) * 10000000 / (wide)frequency;
    if (start <= 0 || start > INT64_MAX)
        return;
    h.boot_time  = boot_time;
    h.start_time = w->start_time = (uint64_t)start;
    patch(w, HEADER_AT_BOOT_TIME, &h,
          offsetof(struct etl_logfile_header, clock_type) - offsetof(struct etl_logfile_header, boot_time));
}

/* Where the newest buffer begins. */
static uint64_t newest(const struct etl_writer *w)
{
    const uint32_t n = w->at.buffers_written - 1;
    if (w->compress)
        return w->last_at;
    return (uint64_t)(!w->ring || n < w->at.slots ? n : 1 + (n - 1) % (w->at.slots - 1)) * w->buffer_size;
}

int writer_final_counters(struct etl_writer *w, int fd, uint64_t end_time, uint64_t events_lost)
{
    uint64_t all  = events_lost + w->lost_before;
    uint32_t lost = all > UINT32_MAX ? UINT32_MAX : (uint32_t)all, count = writer_buffers_in_file(w);
    uint16_t flag =
        (uint16_t)(ETL_BUFFER_FLUSH_MARKER | ETL_BUFFER_PROC_INDEX | (w->last_flag & ETL_BUFFER_COMPRESSED));
    int r = 0;

    if (end_time < w->start_time)
        end_time = w->start_time;
    const struct {
        uint64_t    at;
        const void *value;
        size_t      size;
    } fields[] = {
        {newest(w) + HEADER_AT_FLAG, &flag, sizeof flag},
        {HEADER_AT_BUFFERS_WRITTEN, &count, sizeof count},
        {HEADER_AT_EVENTS_LOST, &lost, sizeof lost},
        {HEADER_AT_BUFFERS_LOST, &w->at.buffers_lost, sizeof w->at.buffers_lost},
        {HEADER_AT_END_TIME, &end_time, sizeof end_time}, /* last: it says "finalised" */
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields && r == 0; i++)
        r = os_pwrite_all(w->os, fd, fields[i].value, fields[i].size, fields[i].at);
    return r;
}

wstatus etl_writer_finish(struct etl_writer *w, uint64_t end_time, uint64_t events_lost, bool sync, struct reason *why)
{
    /* every reader finds a remaining tail: it is no reason to omit the final counters */
    if (w->preallocated || w->torn) {
        w->preallocated = false;
        writer_untear(w);
    }
    int r = writer_final_counters(w, w->fd, end_time, events_lost);
    if (r == 0 && sync)
        r = w->os->fsync(w->os, w->fd);
    return r < 0 ? reason_set(why, wstatus_from_errno(-r), "%s: %s", w->path, strerror(-r)) : W_SUCCESS;
}

void etl_writer_destroy(struct etl_writer *w)
{
    if (!w)
        return;
    writer_direct_close(w);
    writer_unlock(w);
    if (w->fd >= 0)
        w->os->close(w->os, w->fd);
    writer_packed_free(w);
    free(w->slot);
    free(w->open);
    free(w->packed);
    free(w->path);
    free(w);
}
