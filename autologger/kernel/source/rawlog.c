/* rawlog.c - the ring of raw records in a memfd. See rawlog.h. */
#include "autologger/kernel/source/rawlog.h"
#include "registry-sim/base/invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CPUS_MAX = 4096 };

static uint64_t page_round(uint64_t n)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page;
}

/* Maps consecutive pieces of the file at once. */
static bool rawlog_ring_map(const struct rawlog *log, const struct raw_layout *layout, uint8_t *at)
{
    const uint64_t piece = log->header->piece_bytes;
    for (uint32_t i = 0, n; i < layout->count; i += n) {
        for (n = 1; i + n < layout->count && layout->piece[i + n] == layout->piece[i] + n; n++)
            ;
        if (mmap(at + i * piece, n * piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, log->fd,
                 (off_t)(log->header->header_bytes + layout->piece[i] * piece)) == MAP_FAILED)
            return false;
    }
    return true;
}

struct rawlog_view *rawlog_view_new(const struct rawlog *log, const struct raw_layout *layout, struct reason *why)
{
    struct rawlog_view *v    = calloc(1, sizeof *v);
    const uint64_t      size = (uint64_t)layout->count * log->header->piece_bytes;
    uint8_t *at = v ? mmap(NULL, size * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (at != MAP_FAILED && rawlog_ring_map(log, layout, at) && rawlog_ring_map(log, layout, at + size)) {
        *v = (struct rawlog_view){.data = at, .size = size};
        return v;
    }
    reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map raw kernel records: %s", strerror(errno));
    if (at != MAP_FAILED)
        munmap(at, size * 2);
    free(v);
    return NULL;
}

static void views_drop(struct rawlog_view *v)
{
    while (v) {
        struct rawlog_view *older = v->older;
        munmap(v->data, v->size * 2);
        free(v);
        v = older;
    }
}

/* R5 */
static void reader_look(struct rawlog *log)
{
    struct rawlog_view *v = __atomic_load_n(&log->view, __ATOMIC_ACQUIRE);
    if (v->data == log->seen)
        return;
    log->seen      = v->data;
    log->seen_size = v->size;
    views_drop(v->older);
    v->older = NULL;
}

static wstatus rawlog_map(struct rawlog *log, uint64_t header_bytes, struct reason *why)
{
    void *header = mmap(NULL, header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, log->fd, 0);
    if (header == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map raw kernel records: %s", strerror(errno));
    log->header = header;
    return W_SUCCESS;
}

static wstatus view_first(struct rawlog *log, struct reason *why)
{
    log->view = rawlog_view_new(log, rawlog_layout(log), why);
    if (!log->view)
        return W_NOT_ENOUGH_MEMORY;
    log->data = log->seen = log->view->data;
    log->size = log->seen_size = log->view->size;
    return W_SUCCESS;
}

enum { ROOM_FOR_CHANGES = 96 }; /* sources that a session may add while it runs */
static size_t   loss_bytes(unsigned sources) { return sizeof(struct raw_loss) + sources * sizeof(struct raw_untold); }
static uint32_t slot_size(unsigned cpus, unsigned sources)
{
    return (uint32_t)(sizeof(struct raw_slot) + cpus * (sizeof(uint64_t) + loss_bytes(sources)));
}

struct raw_loss *rawlog_loss(const struct rawlog *log, struct raw_slot *slot, unsigned cpu)
{
    return (struct raw_loss *)((uint8_t *)&slot->tail[log->header->cpus] + cpu * loss_bytes(log->header->source_room));
}

static struct raw_slot *slot(const struct rawlog *log, uint32_t i)
{
    return (struct raw_slot *)((uint8_t *)log->header + log->header->slots_at + (uint64_t)i * log->header->slot_bytes);
}

/* The smallest size with which the list has room for `most` bytes. */
static uint64_t piece_size(uint64_t most)
{
    uint64_t piece = (uint64_t)sysconf(_SC_PAGESIZE);
    while (piece * RAW_PIECES < most)
        piece *= 2;
    return piece;
}

wstatus rawlog_init(struct rawlog *log, uint64_t bytes, uint64_t most, unsigned cpus, const struct raw_source *sources,
                    unsigned count, struct reason *why)
{
    uint32_t ids_at      = (uint32_t)sizeof(struct raw_header);
    uint32_t released_at = ids_at + cpus * RAW_SOURCES * 8;
    uint32_t slots_at    = released_at + cpus * 8;
    uint32_t room        = count + ROOM_FOR_CHANGES < RAW_SOURCES ? count + ROOM_FOR_CHANGES : RAW_SOURCES;
    uint32_t slot_bytes  = slot_size(cpus, room);
    uint64_t head        = page_round(slots_at + 2ull * slot_bytes);

    *log = (struct rawlog){.fd = -1, .told_lock = PTHREAD_MUTEX_INITIALIZER};
    if (cpus == 0 || cpus > CPUS_MAX || count > RAW_SOURCES || bytes >> 40 || most >> 40)
        return reason_set(why, W_INVALID_PARAMETER, "%u CPUs, %u sources, %llu bytes are out of range", cpus, count,
                          (unsigned long long)bytes);
    bytes          = page_round(bytes < 65536 ? 65536 : bytes);
    uint64_t piece = piece_size(most > bytes ? most : bytes), pieces = (bytes + piece - 1) / piece;
    most    = most > pieces * piece ? most / piece * piece : pieces * piece;
    log->fd = memfd_create("autologger-raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (log->fd < 0 || ftruncate(log->fd, (off_t)(head + most)) < 0)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for raw kernel records: %s", strerror(errno));
    wstatus status = rawlog_map(log, head, why);
    if (status)
        return status;
    *log->header = (struct raw_header){.magic        = RAW_MAGIC,
                                       .version      = RAW_VERSION,
                                       .header_bytes = (uint32_t)head,
                                       .data_most    = most,
                                       .piece_bytes  = (uint32_t)piece,
                                       .cpus         = cpus,
                                       .source_count = count,
                                       .source_room  = room,
                                       .slot_bytes   = slot_bytes,
                                       .ids_at       = ids_at,
                                       .released_at  = released_at,
                                       .slots_at     = slots_at};
    for (uint32_t i = 0; i < pieces; i++)
        log->header->layouts[0].piece[i] = (uint16_t)i;
    log->header->layouts[0].count = (uint32_t)pieces;
    if (count)
        memcpy(log->header->source, sources, count * sizeof *sources);
    log->work = slot(log, 1);
    return view_first(log, why);
}

/* Each piece is inside the file, and none occurs twice. */
static bool layout_sound(const struct raw_header *h)
{
    const struct raw_layout *layout           = &h->layouts[h->layout & 1];
    const uint64_t           most             = h->data_most / h->piece_bytes;
    uint8_t                  used[RAW_PIECES] = {0};
    bool                     ok               = layout->count && layout->count <= RAW_PIECES && h->layout <= 1;
    for (uint32_t i = 0; ok && i < layout->count; i++)
        ok = layout->piece[i] < most && layout->piece[i] < RAW_PIECES && !used[layout->piece[i]]++;
    return ok;
}

/* R3 for the header: every offset is inside, every count in range */
static bool header_sound(const struct raw_header *h, uint64_t file_bytes)
{
    return h->magic == RAW_MAGIC && h->cpus && h->cpus <= CPUS_MAX && h->source_room <= RAW_SOURCES &&
           h->source_count <= h->source_room && h->active <= 1 && h->ids_at == sizeof *h &&
           h->released_at == h->ids_at + h->cpus * RAW_SOURCES * 8 && h->slots_at == h->released_at + h->cpus * 8 &&
           h->slot_bytes == slot_size(h->cpus, h->source_room) &&
           h->header_bytes >= h->slots_at + 2ull * h->slot_bytes && h->header_bytes == page_round(h->header_bytes) &&
           h->piece_bytes && h->piece_bytes == page_round(h->piece_bytes) && file_bytes > h->header_bytes &&
           file_bytes - h->header_bytes == h->data_most && h->data_most % h->piece_bytes == 0 && layout_sound(h);
}

static void rawlog_tell(struct rawlog *log, const struct raw_slot *slot)
{
    struct raw_told *t = &log->told;
    pthread_mutex_lock(&log->told_lock);
    *t = (struct raw_told){.throttled       = slot->throttled,
                           .own_lost        = slot->own_lost,
                           .no_command_line = slot->no_command_line,
                           .peak            = slot->peak};
    memcpy(t->drained, slot->drained, sizeof t->drained);
    memcpy(t->lost_memory, slot->lost_memory, sizeof t->lost_memory);
    pthread_mutex_unlock(&log->told_lock);
}

wstatus rawlog_attach(struct rawlog *log, int fd, struct reason *why)
{
    struct raw_header h;
    struct stat       st;

    *log = (struct rawlog){.fd = fd, .told_lock = PTHREAD_MUTEX_INITIALIZER};
    if (fstat(fd, &st) < 0 || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || h.magic != RAW_MAGIC)
        return reason_set(why, W_INVALID_DATA, "what was handed over holds no raw kernel records");
    if (h.version != RAW_VERSION)
        return reason_set(why, W_INVALID_DATA, "raw kernel records of version %u; this program knows version %u",
                          h.version, RAW_VERSION);
    if (!header_sound(&h, (uint64_t)st.st_size))
        return reason_set(why, W_INVALID_DATA, "the header of the raw kernel records is damaged");
    wstatus status = rawlog_map(log, h.header_bytes, why);
    if (!status)
        status = view_first(log, why);
    if (status)
        return status;
    const struct raw_slot *live = rawlog_published(log);
    uint64_t               free = log->header->free_pos;
    if (live->write_pos < free || live->write_pos - free > log->size)
        return reason_set(why, W_INVALID_DATA, "the positions of the raw kernel records are damaged");
    log->work = slot(log, !log->header->active);
    memcpy(log->work, live, log->header->slot_bytes); /* R1: unpublished data never happened */
    log->header->live_pos     = live->write_pos;
    log->header->live_horizon = live->horizon_ns;
    rawlog_tell(log, live);
    return W_SUCCESS;
}

void rawlog_finish(struct rawlog *log)
{
    if (log->header)
        munmap(log->header, log->header->header_bytes);
    views_drop(log->view);
    if (log->fd >= 0)
        close(log->fd);
    *log = (struct rawlog){.fd = -1};
}

uint64_t rawlog_room(const struct rawlog *log)
{
    return log->size - (log->work->write_pos - __atomic_load_n(&log->header->free_pos, __ATOMIC_ACQUIRE));
}

void rawlog_append(struct rawlog *log, const void *bytes, size_t size)
{
    memcpy(rawlog_at(log, log->work->write_pos), bytes, size);
    log->work->write_pos += size;
}

void rawlog_publish(struct rawlog *log)
{
    struct raw_header *h    = log->header;
    uint32_t           next = !h->active;
    uint64_t           used = log->work->write_pos - __atomic_load_n(&h->free_pos, __ATOMIC_ACQUIRE);
    if (used > log->work->peak)
        log->work->peak = used;
    __atomic_store_n(&h->active, next, __ATOMIC_RELEASE);
    __atomic_store_n(&h->live_pos, log->work->write_pos, __ATOMIC_RELEASE);
    __atomic_store_n(&h->live_horizon, log->work->horizon_ns, __ATOMIC_RELEASE);
    log->work = slot(log, !next);
    memcpy(log->work, slot(log, next), h->slot_bytes);
    rawlog_tell(log, log->work);
}

uint64_t rawlog_live(struct rawlog *log, uint64_t *horizon_ns)
{
    *horizon_ns    = __atomic_load_n(&log->header->live_horizon, __ATOMIC_ACQUIRE);
    uint64_t until = __atomic_load_n(&log->header->live_pos, __ATOMIC_ACQUIRE);
    reader_look(log);
    return until;
}

void rawlog_free(struct rawlog *log, uint64_t pos)
{
    reader_look(log);
    INVARIANT(pos >= __atomic_load_n(&log->header->free_pos, __ATOMIC_RELAXED) &&
              pos <= __atomic_load_n(&log->header->live_pos, __ATOMIC_ACQUIRE)); /* R2 */
    __atomic_store_n(&log->header->free_pos, pos, __ATOMIC_RELEASE);
}

const struct raw_slot *rawlog_published(const struct rawlog *log)
{
    return slot(log, __atomic_load_n(&log->header->active, __ATOMIC_ACQUIRE) & 1);
}
uint64_t *rawlog_ids(const struct rawlog *log, unsigned cpu)
{
    return (uint64_t *)((uint8_t *)log->header + log->header->ids_at) + (size_t)cpu * RAW_SOURCES;
}
uint64_t *rawlog_released(const struct rawlog *log)
{
    return (uint64_t *)((uint8_t *)log->header + log->header->released_at);
}
