/* rawlog.c - the ring of raw records in a memfd. See rawlog.h. */
#include "autologger/kernel/rawlog.h"

#include <errno.h>
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

static wstatus map(struct rawlog *log, uint64_t header_bytes, struct reason *why)
{
    uint8_t *at = mmap(NULL, log->size * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no address space for raw kernel records: %s", strerror(errno));
    log->data   = at;
    log->header = MAP_FAILED;
    for (int i = 0; i < 2; i++)
        if (mmap(at + (uint64_t)i * log->size, log->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, log->fd,
                 (off_t)header_bytes) == MAP_FAILED)
            goto failed;
    log->header = mmap(NULL, header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, log->fd, 0);
    if (log->header != MAP_FAILED)
        return W_SUCCESS;
failed:
    log->header = NULL;
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "cannot map raw kernel records: %s", strerror(errno));
}

enum { ROOM_FOR_CHANGES = 96 }; /* sources that a session may get while it runs */
static size_t loss_bytes(unsigned sources) { return sizeof(struct raw_loss) + sources * sizeof(struct raw_untold); }
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

wstatus rawlog_init(struct rawlog *log, uint64_t bytes, unsigned cpus, const struct raw_source *sources, unsigned count,
                    struct reason *why)
{
    uint32_t ids_at      = (uint32_t)sizeof(struct raw_header);
    uint32_t released_at = ids_at + cpus * RAW_SOURCES * 8;
    uint32_t slots_at    = released_at + cpus * 8;
    uint32_t room        = count + ROOM_FOR_CHANGES < RAW_SOURCES ? count + ROOM_FOR_CHANGES : RAW_SOURCES;
    uint32_t slot_bytes  = slot_size(cpus, room);
    uint64_t head        = page_round(slots_at + 2ull * slot_bytes);

    *log      = (struct rawlog){.fd = -1};
    log->size = page_round(bytes < 65536 ? 65536 : bytes);
    if (cpus == 0 || cpus > CPUS_MAX || count > RAW_SOURCES)
        return reason_set(why, W_INVALID_PARAMETER, "%u CPUs, %u sources are out of range", cpus, count);
    log->fd = memfd_create("autologger-raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (log->fd < 0 || ftruncate(log->fd, (off_t)(head + log->size)) < 0)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for raw kernel records: %s", strerror(errno));
    wstatus status = map(log, head, why);
    if (status)
        return status;
    *log->header = (struct raw_header){.magic = RAW_MAGIC, .version = RAW_VERSION, .header_bytes = (uint32_t)head,
                                       .data_bytes = log->size, .cpus = cpus, .source_count = count, .source_room = room,
                                       .slot_bytes = slot_bytes, .ids_at = ids_at, .released_at = released_at,
                                       .slots_at = slots_at};
    if (count)
        memcpy(log->header->source, sources, count * sizeof *sources);
    log->work = slot(log, 1);
    return W_SUCCESS;
}

/* R3 for the header: every offset inside, every count in range */
static bool header_sound(const struct raw_header *h, uint64_t file_bytes)
{
    return h->magic == RAW_MAGIC && h->cpus && h->cpus <= CPUS_MAX && h->source_room <= RAW_SOURCES && h->source_count <= h->source_room && h->active <= 1 &&
           h->ids_at == sizeof *h && h->released_at == h->ids_at + h->cpus * RAW_SOURCES * 8 &&
           h->slots_at == h->released_at + h->cpus * 8 && h->slot_bytes == slot_size(h->cpus, h->source_room) &&
           h->header_bytes >= h->slots_at + 2ull * h->slot_bytes && h->data_bytes == page_round(h->data_bytes) &&
           h->data_bytes && file_bytes > h->header_bytes && file_bytes - h->header_bytes == h->data_bytes;
}

wstatus rawlog_attach(struct rawlog *log, int fd, struct reason *why)
{
    struct raw_header h;
    struct stat       st;

    *log = (struct rawlog){.fd = fd};
    if (fstat(fd, &st) < 0 || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || h.magic != RAW_MAGIC)
        return reason_set(why, W_INVALID_DATA, "what was handed over holds no raw kernel records");
    if (h.version != RAW_VERSION)
        return reason_set(why, W_INVALID_DATA, "raw kernel records of version %u; this program knows version %u",
                          h.version, RAW_VERSION);
    if (!header_sound(&h, (uint64_t)st.st_size))
        return reason_set(why, W_INVALID_DATA, "the header of the raw kernel records is damaged");
    log->size      = h.data_bytes;
    wstatus status = map(log, h.header_bytes, why);
    if (status)
        return status;
    const struct raw_slot *live = rawlog_published(log);
    uint64_t               free = log->header->free_pos;
    if (live->write_pos < free || live->write_pos - free > log->size)
        return reason_set(why, W_INVALID_DATA, "the positions of the raw kernel records are damaged");
    log->work = slot(log, !log->header->active);
    memcpy(log->work, live, log->header->slot_bytes); /* R1: what was not published never happened */
    log->header->live_pos     = live->write_pos;
    log->header->live_horizon = live->horizon_ns;
    return W_SUCCESS;
}

void rawlog_finish(struct rawlog *log)
{
    if (log->header)
        munmap(log->header, log->header->header_bytes);
    if (log->data)
        munmap(log->data, log->size * 2);
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
}

uint64_t rawlog_live(const struct rawlog *log, uint64_t *horizon_ns)
{
    *horizon_ns = __atomic_load_n(&log->header->live_horizon, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&log->header->live_pos, __ATOMIC_ACQUIRE);
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
