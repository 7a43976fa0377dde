#include "tools/heap/heap_collect.h"

#include "autologger/etl/reader.h"
#include "autologger/etl/writer.h"
#include "registry-sim/base/clock.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/win32/security.h"
#include "registry-sim/win32/utf16.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD          = sizeof(struct etl_buffer_header),
    PROCESS_EVENT = 4,
    STILL_RUNS    = 259,
    COMMAND_MOST  = 4000,
    GROUP_HEAP    = 0x10,
    GROUP_CRITSEC = 0x17
};

struct heap_collector {
    int                  fd;
    struct heap_shared  *shared;
    uint32_t             slots;
    struct etl_writer   *writer;
    struct session_clock clock;
    uint64_t             lost;              /* events in buffers that were not written */
    uint32_t             taken[HEAP_SLOTS]; /* buffers; the memory's `tail` is for the program */
    bool                 failed;
};

static wstatus memory_create(struct heap_collector *c, uint32_t flags, struct reason *why)
{
    const uint64_t size = heap_shared_size(c->slots);
    c->fd               = os_linux()->shm_create(os_linux(), "autologger-heap", size, 0);
    if (c->fd < 0)
        return reason_set(why, wstatus_from_errno(-c->fd), "%" PRIu64 " bytes of shared memory: %s", size,
                          strerror(-c->fd));
    /* no program may take the memory away under this process */
    if (fcntl(c->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return reason_set(why, wstatus_from_errno(errno), "sealing the shared memory: %s", strerror(errno));
    c->shared = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    if (c->shared == MAP_FAILED) {
        c->shared = NULL;
        return reason_set(why, wstatus_from_errno(errno), "%" PRIu64 " bytes of shared memory: %s", size,
                          strerror(errno));
    }
    c->shared->magic   = HEAP_MAGIC;
    c->shared->version = HEAP_VERSION;
    c->shared->slots   = c->slots;
    c->shared->flags   = flags;
    c->shared->clock   = c->clock.read_kind;
    for (uint32_t i = 0; i < c->slots; i++)
        c->shared->slot[i].at = heap_at(0, HEAD);
    return W_SUCCESS;
}

wstatus heap_collector_create(const char *file, const char *name, uint32_t flags, struct heap_collector **out,
                              struct reason *why)
{
    struct heap_collector *c = calloc(1, sizeof *c);
    struct clock_machine   machine;
    struct clock_anchor    anchor;
    const int              cpus = os_linux()->cpu_count(os_linux());

    *out = NULL;
    if (!c)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    c->fd    = -1;
    c->slots = cpus < 1 ? 1 : cpus > HEAP_SLOTS ? HEAP_SLOTS : (uint32_t)cpus;
    clock_machine_find(&machine);
    c->clock = clock_for_type(1, &machine, NULL);
    clock_anchor_take(&machine, &anchor);
    const struct etl_file_info info = {.logger_name = name,
                                       .file_name   = file,
                                       .buffer_size = HEAP_BUFFER_SIZE,
                                       .processors  = c->slots,
                                       .log_file_mode =
                                           ETL_MODE_SEQUENTIAL | ETL_MODE_PRIVATE | ETL_MODE_PRIVATE_IN_PROC,
                                       .clock_type = c->clock.type,
                                       .perf_freq  = c->clock.freq,
                                       .cpu_mhz    = machine.cpu_mhz,
                                       .boot_time  = anchor.boot_filetime,
                                       .start_time = anchor.filetime,
                                       .start_raw  = (int64_t)clock_anchor_on(&anchor, &c->clock),
                                       .process_id = (uint32_t)getpid(),
                                       .thread_id  = (uint32_t)getpid()};
    wstatus                    st   = memory_create(c, flags, why);
    st                              = st ? st : etl_writer_create(os_linux(), file, &info, 0, &c->writer, why);
    if (st) {
        heap_collector_destroy(c);
        return st;
    }
    *out = c;
    return W_SUCCESS;
}

int heap_collector_fd(const struct heap_collector *c) { return c->fd; }

void heap_collector_variable(const struct heap_collector *c, int fd, pid_t pid, char *out, size_t size)
{
    struct stat st = {0};
    fstat(c->fd, &st);
    snprintf(out, size, "%d:%" PRIu64 ":%d", fd, (uint64_t)st.st_ino, (int)pid);
}

static void put_text16(struct writer *w, const char *text, size_t most)
{
    size_t n = strlen(text), room = w->size - w->pos - sizeof(uint16_t);
    n = utf8_to_utf16le(text, n < most ? n : most, w->data + w->pos, room);
    w->pos += n < room ? n & ~(size_t)1 : room & ~(size_t)1;
    wr_u16(w, 0);
}

void heap_collector_process(struct heap_collector *c, pid_t pid, const char *image, const char *command)
{
    struct heap_slot        *s   = &c->shared->slot[0];
    uint8_t                 *at  = heap_buffer(c->shared, 0, 0) + HEAD;
    struct writer            w   = wr_make(at + sizeof(struct etl_system_header), 16384);
    const uint64_t           now = clock_read(&c->clock);
    const struct sid         sid = sid_of_user(getuid());
    struct etl_system_header h   = {.version     = PROCESS_EVENT,
                                    .header_type = ETL_SYSTEM64,
                                    .flags       = ETL_MARKER,
                                    .type        = (uint8_t)HOOK_PROCESS_DC_START,
                                    .group       = HOOK_PROCESS_DC_START >> 8,
                                    .thread_id   = (uint32_t)pid,
                                    .process_id  = (uint32_t)pid,
                                    .time        = (int64_t)now};
    wr_u64(&w, (uint64_t)pid);
    wr_u32(&w, (uint32_t)pid);
    wr_u32(&w, (uint32_t)getpid());
    wr_u32(&w, 0);
    wr_u32(&w, STILL_RUNS);
    wr_u64(&w, 0);
    wr_u32(&w, 0);
    wr_u64(&w, 1); /* a token's user: a pointer, and attributes */
    wr_u64(&w, 0);
    wr_bytes(&w, sid.bytes, sid.size);
    wr_bytes(&w, image, strnlen(image, 255));
    wr_u8(&w, 0);
    put_text16(&w, command, COMMAND_MOST);
    wr_u32(&w, 0);
    h.size = (uint16_t)(sizeof h + w.pos);
    memcpy(at, &h, sizeof h);
    s->last = now;
    __atomic_store_n(&s->at, heap_at(0, (uint32_t)((HEAD + sizeof h + w.pos + 7) & ~(size_t)7)), __ATOMIC_RELEASE);
}

/* The library's events in a buffer, without stacks; the program may have written anything. */
static uint64_t buffer_events(const uint8_t *buffer, uint32_t filled)
{
    uint64_t n = 0;
    for (uint32_t at = HEAD; at + 8 <= filled;) {
        const int size = etl_record_size(buffer + at, filled - at);
        if (size < 8)
            break;
        const uint8_t group = buffer[at + offsetof(struct etl_system_header, group)];
        const uint8_t type  = buffer[at + offsetof(struct etl_system_header, type)];
        n += group == GROUP_HEAP || group == GROUP_CRITSEC || (group << 8 | type) == HOOK_IMAGE_LOAD;
        at += ((uint32_t)size + 7) & ~7u;
    }
    return n;
}

static void buffer_write(struct heap_collector *c, uint32_t slot, uint64_t number, uint32_t filled, struct reason *why)
{
    uint8_t *buffer = heap_buffer(c->shared, slot, number);
    filled          = filled > HEAP_BUFFER_SIZE ? HEAP_BUFFER_SIZE : filled & ~7u;
    if (filled <= HEAD)
        return;
    if (!c->failed && !etl_writer_put(c->writer, buffer, filled, (uint16_t)slot, (int64_t)clock_read(&c->clock), why))
        return;
    c->failed = true; /* a full disk: what comes now would leave a hole */
    c->lost += buffer_events(buffer, filled);
    etl_writer_add_lost(c->writer, 1);
}

/* True when a buffer was written. */
static bool slots_take(struct heap_collector *c, struct reason *why)
{
    bool any = false;
    for (uint32_t i = 0; i < c->slots; i++) {
        struct heap_slot *s    = &c->shared->slot[i];
        const uint32_t    head = heap_at_head(__atomic_load_n(&s->at, __ATOMIC_ACQUIRE));
        if (head - c->taken[i] > HEAP_BUFFERS) /* not by our library */
            continue;
        while (c->taken[i] != head) {
            buffer_write(c, i, c->taken[i], s->size_of[c->taken[i] % HEAP_BUFFERS], why);
            __atomic_store_n(&s->tail, ++c->taken[i], __ATOMIC_RELEASE);
            any = true;
        }
    }
    if (any) {
        __atomic_add_fetch(&c->shared->room, 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &c->shared->room, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
    return any;
}

bool heap_collector_serve(struct heap_collector *c, int ms, struct reason *why)
{
    const uint32_t  wake = __atomic_load_n(&c->shared->wake, __ATOMIC_ACQUIRE);
    struct timespec t    = {ms / 1000, (long)(ms % 1000) * 1000000};
    if (!slots_take(c, why))
        syscall(SYS_futex, &c->shared->wake, FUTEX_WAIT, wake, &t, NULL, 0);
    return !c->failed;
}

wstatus heap_collector_finish(struct heap_collector *c, struct heap_counts *out, struct reason *why)
{
    struct timespec now;
    *out = (struct heap_counts){.attached = c->shared->attached != 0, .given_up = c->shared->given_up != 0};
    slots_take(c, why);
    for (uint32_t i = 0; i < c->slots; i++) {
        const struct heap_slot *s = &c->shared->slot[i];
        buffer_write(c, i, c->taken[i], heap_at_filled(s->at), why);
        out->attempted += s->written + s->lost;
        out->written += s->written;
    }
    out->written       = out->written > c->lost ? out->written - c->lost : 0;
    out->lost          = out->attempted > out->written ? out->attempted - out->written : 0;
    out->own_allocator = c->shared->own_allocator != 0;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t end = filetime_from_unix_ns((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    struct reason  later;
    const wstatus  st = etl_writer_finish(c->writer, end, out->lost, false, c->failed ? &later : why);
    return c->failed ? W_DISK_FULL : st;
}

void heap_collector_destroy(struct heap_collector *c)
{
    if (!c)
        return;
    if (c->shared)
        munmap(c->shared, (size_t)heap_shared_size(c->slots));
    if (c->fd >= 0)
        close(c->fd);
    etl_writer_destroy(c->writer);
    free(c);
}
