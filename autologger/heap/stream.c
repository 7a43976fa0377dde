/* stream.c - see stream.h. A record is copied into its slot's buffer under the slot's lock, which is almost never
 * contended: there is a slot for each processor, and who finds one taken goes to the next. */
#include "autologger/heap/stream.h"

#include "autologger/kernel/source/procfs.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/clock.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    FRAMES_MOST = 192,
    KEYS        = 1 << 20, /* distinct stacks that are remembered */
    PROBES      = 16,
    PATIENCE_MS = 10000,
    WAIT_MS     = 100,
    IMAGE_EVENT = 3, /* version */
    STACK_EVENT = 2,
    NOTES_MOST  = 4096,
    ROOMS       = 256, /* work spaces: threads that write at one time */
    TRIES       = 256, /* before a thread sleeps for a slot or a room */
    TRACED      = 1,
    GIVEN_UP    = 2
};

struct stack {
    struct { /* KeyCreate */
        uint64_t key, frame[FRAMES_MOST];
    } made;
    unsigned count;
    bool     is_new;
};
/* Work space of one event: the stacks of programs may be small. */
struct event_room {
    struct unwind_room unwind; /* first: image_event finds the rest by it */
    uint32_t           taken;
    struct stack       stack;
    uint8_t            payload[STREAM_PAYLOAD];
    char               path[UNWIND_PATH];
};

static struct {
    struct heap_shared  *shared;
    int                  fd;
    uint32_t             pid, slots, first_generation;
    struct session_clock clock;
    uint64_t            *keys;
    struct event_room   *rooms;
} stream = {.fd = -1};
/* TRACED or GIVEN_UP, in memory that a child does not inherit: zero in a process that was made by fork. */
static volatile uint32_t *on;
__thread bool             stream_inside;
static __thread uint32_t  own_tid __attribute__((tls_model("initial-exec")));

bool  stream_on(void) { return on && *on; }
int   stream_fd(void) { return stream.fd; }
pid_t stream_pid(void) { return stream_on() ? (pid_t)stream.pid : 0; }

void stream_own_allocator(void) { __atomic_store_n(&stream.shared->own_allocator, 1, __ATOMIC_RELEASE); }

uint64_t stream_now(void) { return clock_read(&stream.clock); }

static void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

/* A thread of a high priority must let the one run that it waits for. */
static void turn_wait(unsigned tries)
{
    const struct timespec moment = {0, 50000};
    if (tries % TRIES == TRIES - 1)
        nanosleep(&moment, NULL);
}

static inline uint32_t thread_id(void)
{
    if (!own_tid)
        own_tid = (uint32_t)syscall(SYS_gettid);
    return own_tid;
}

static struct event_room *room_take(void)
{
    for (unsigned tries = 0, n = thread_id() % ROOMS;; tries++, n = (n + 1) % ROOMS) {
        struct event_room *r = &stream.rooms[n];
        if (!__atomic_exchange_n(&r->taken, 1, __ATOMIC_ACQUIRE))
            return r;
        turn_wait(tries);
    }
}
static void room_release(struct event_room *r) { __atomic_store_n(&r->taken, 0, __ATOMIC_RELEASE); }

/* ---- slots ---- */

static struct heap_slot *slot_take(uint32_t *number)
{
    int      cpu = sched_getcpu();
    uint32_t n   = cpu < 0 ? 0 : (uint32_t)cpu % stream.slots;
    for (unsigned tries = 0;; tries++) {
        struct heap_slot *s = &stream.shared->slot[n];
        if (!__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE)) {
            *number = n;
            return s;
        }
        n = n + 1 == stream.slots ? 0 : n + 1;
        turn_wait(tries);
    }
}

static void slot_release(struct heap_slot *s) { __atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE); }

/* Waits until the collector has written a buffer of the slot. False: it is gone. */
static __attribute__((noinline)) bool slot_wait(struct heap_slot *s)
{
    struct heap_shared *h    = stream.shared;
    const uint32_t      head = heap_at_head(s->at);
    for (int ms = 0;; ms += WAIT_MS) {
        const uint32_t room = __atomic_load_n(&h->room, __ATOMIC_ACQUIRE);
        if (head - __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE) < HEAP_BUFFERS - 1)
            return true;
        if (ms >= PATIENCE_MS) {
            __atomic_store_n(&h->given_up, 1, __ATOMIC_RELEASE);
            *on = GIVEN_UP;
            return false;
        }
        struct timespec t = {0, WAIT_MS * 1000000};
        syscall(SYS_futex, &h->room, FUTEX_WAIT, room, &t, NULL, 0);
        if (__atomic_load_n(&h->room, __ATOMIC_ACQUIRE) != room)
            ms = 0; /* it works */
    }
}

/* Room for `size` bytes in the slot's buffer; NULL: the collector is gone. One store hands a full buffer over. */
static inline uint8_t *slot_room(struct heap_slot *s, uint32_t number, uint32_t size)
{
    if (heap_at_filled(s->at) + size > HEAP_BUFFER_SIZE) {
        const uint32_t head             = heap_at_head(s->at);
        s->size_of[head % HEAP_BUFFERS] = heap_at_filled(s->at);
        __atomic_store_n(&s->at, heap_at(head + 1, sizeof(struct etl_buffer_header)), __ATOMIC_RELEASE);
        __atomic_add_fetch(&stream.shared->wake, 1, __ATOMIC_RELEASE);
        futex_wake(&stream.shared->wake);
        if (!slot_wait(s))
            return NULL;
    }
    return heap_buffer(stream.shared, number, heap_at_head(s->at)) + heap_at_filled(s->at);
}

static inline void slot_commit(struct heap_slot *s, uint32_t size)
{
    __atomic_store_n(&s->at, s->at + size, __ATOMIC_RELEASE);
}

/* An event counts when its call is over (H3). */
static inline void slot_count(struct heap_slot *s, bool written)
{
    uint64_t *which = written ? &s->written : &s->lost;
    __atomic_store_n(which, *which + 1, __ATOMIC_RELAXED);
}

/* ---- records ---- */

static inline uint32_t rounded(uint32_t size) { return (size + 7) & ~7u; }

static inline uint32_t system_record(uint8_t *at, enum hook hook, uint16_t version, uint64_t time, const void *payload,
                                     uint32_t size)
{
    const struct etl_system_header h = {.version     = version,
                                        .header_type = ETL_SYSTEM64,
                                        .flags       = ETL_MARKER,
                                        .size        = (uint16_t)(sizeof h + size),
                                        .type        = (uint8_t)hook,
                                        .group       = (uint8_t)((unsigned)hook >> 8),
                                        .thread_id   = thread_id(),
                                        .process_id  = stream.pid,
                                        .time        = (int64_t)time};
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, payload, size);
    return rounded((uint32_t)sizeof h + size);
}

static inline uint32_t perf_record(uint8_t *at, enum hook hook, uint64_t time, const void *payload, uint32_t size)
{
    const struct etl_perfinfo_header h = {STACK_EVENT,   ETL_PERFINFO64,
                                          ETL_MARKER,    (uint16_t)(sizeof h + size),
                                          (uint8_t)hook, (uint8_t)((unsigned)hook >> 8),
                                          (int64_t)time};
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, payload, size);
    return rounded((uint32_t)sizeof h + size);
}

/* True: the stack was seen before. A table without room for it says no: the same definition twice does no harm. */
static bool stream_key_seen(uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t *k = &stream.keys[(key + i) % KEYS], none = 0;
        uint64_t  there = __atomic_load_n(k, __ATOMIC_RELAXED);
        if (there == key)
            return true;
        if (!there && __atomic_compare_exchange_n(k, &none, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return false;
        if (!there && none == key)
            return true;
    }
    return false;
}

/* The generation is a part of the key: after an unload other code may stand at the same addresses. */
static void stack_take(const struct stack_begin *where, struct event_room *r)
{
    struct stack *out  = &r->stack;
    out->made.frame[0] = where->hook;
    out->count         = 1 + unwind_stack(&where->caller, &r->unwind, out->made.frame + 1, FRAMES_MOST - 1);
    uint64_t h =
        UINT64_C(0x9E3779B97F4A7C15) + out->count + ((uint64_t)(stream.first_generation + unwind_generation()) << 32);
    for (unsigned i = 0; i < out->count; i++) {
        h = (h ^ out->made.frame[i]) * UINT64_C(0xFF51AFD7ED558CCD);
        h ^= h >> 32;
    }
    out->made.key = h ? h : 1;
    out->is_new   = !stream_key_seen(out->made.key);
}

/* The records of an event, behind each other at `at`; their size. */
static uint32_t records_put(uint8_t *at, uint64_t time, enum hook hook, uint16_t version, const void *payload,
                            uint32_t size, const struct stack *stack)
{
    uint32_t n = 0;
    if (stack && stack->is_new)
        n += perf_record(at, HOOK_STACK_KEY_CREATE, time, &stack->made, 8 + 8 * stack->count);
    n += system_record(at + n, hook, version, time, payload, size);
    if (stack) {
        const struct {
            uint64_t time;
            uint32_t pid, tid;
            uint64_t key;
        } use = {time, stream.pid, thread_id(), stack->made.key};
        n += perf_record(at + n, HOOK_STACK_KEY_USER, time, &use, sizeof use);
    }
    return n;
}

static uint32_t records_most(uint32_t size, const struct stack *stack)
{
    uint32_t n = rounded((uint32_t)sizeof(struct etl_system_header) + size);
    if (stack)
        n += rounded(sizeof(struct etl_perfinfo_header) + 24);
    if (stack && stack->is_new)
        n += rounded((uint32_t)(sizeof(struct etl_perfinfo_header) + 8 + 8 * stack->count));
    return n;
}

static void event_put(enum hook hook, uint16_t version, const void *payload, uint32_t size, const struct stack *stack)
{
    uint32_t          number;
    struct heap_slot *s  = slot_take(&number);
    uint8_t          *at = *on == TRACED ? slot_room(s, number, records_most(size, stack)) : NULL;
    if (at) {
        uint64_t now = stream_now();
        now          = now > s->last ? now : s->last + 1;
        s->last      = now;
        slot_commit(s, records_put(at, now, hook, version, payload, size, stack));
    }
    slot_count(s, at);
    slot_release(s);
}

void stream_event(enum hook hook, uint16_t version, const void *payload, uint32_t size, const struct stack_begin *where)
{
    const bool was   = stream_inside;
    const int  error = errno;
    stream_inside    = true;
    if (where && *on == TRACED) {
        struct event_room *r = room_take();
        stack_take(where, r);
        event_put(hook, version, payload, size, &r->stack);
        room_release(r);
    } else {
        event_put(hook, version, payload, size, NULL);
    }
    stream_inside = was;
    errno         = error;
}

/* ---- images ---- */

static unsigned image_build_id(uint64_t low, uint64_t high, uint8_t out[20])
{
    const ElfW(Ehdr) *elf = (const void *)(uintptr_t)low;
    if (high - low < sizeof *elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phentsize != sizeof(ElfW(Phdr)) ||
        elf->e_phoff > 4096 - sizeof(ElfW(Phdr)) || elf->e_phnum > (4096 - elf->e_phoff) / sizeof(ElfW(Phdr)))
        return 0;
    const ElfW(Phdr) *p = (const void *)(uintptr_t)(low + elf->e_phoff);
    uint64_t bias       = low;
    for (unsigned i = 0; i < elf->e_phnum; i++)
        if (p[i].p_type == PT_LOAD) {
            bias = low - (p[i].p_vaddr & ~UINT64_C(4095));
            break;
        }
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        const uint64_t at = bias + p[i].p_vaddr;
        unsigned       n;
        if (p[i].p_type == PT_NOTE && at >= low && at < high && p[i].p_memsz <= NOTES_MOST &&
            p[i].p_memsz <= high - at && (n = elf_note_build_id((const void *)(uintptr_t)at, p[i].p_memsz, out)))
            return n;
    }
    return 0;
}

/* The image's path: the loader has "" for the program, and what was asked for of a library. */
static void image_path(struct event_room *r)
{
    const size_t n = strlen(r->unwind.path);
    ssize_t      had;
    if (!n) {
        had                        = readlink("/proc/self/exe", r->path, sizeof r->path - 1);
        r->path[had > 0 ? had : 0] = 0;
    } else if (r->unwind.path[0] != '/' && r->unwind.path[0] != '[' && strchr(r->unwind.path, '/') &&
               syscall(SYS_getcwd, r->path, sizeof r->path - n - 2) > 0) {
        const size_t folder = strlen(r->path);
        r->path[folder]     = '/';
        memcpy(r->path + folder + 1, r->unwind.path, n + 1);
    } else {
        memcpy(r->path, r->unwind.path, n + 1);
    }
}

/* As the converter of kernel events writes an Image event: TimeDateStamp and ImageCheckSum are the beginning of the
 * build id. */
static void image_event(struct unwind_room *found)
{
    struct event_room *r = (struct event_room *)(void *)found; /* its first part */
    uint8_t            id[20];
    struct stat        file;
    struct writer      w    = wr_make(r->payload, sizeof r->payload);
    const unsigned     size = image_build_id(found->low, found->high, id);
    uint32_t           sum  = 0, stamp;
    image_path(r);
    stamp = elf_stamp(id, size, !size && stat(r->path, &file) == 0 ? (uint64_t)file.st_mtime : 0, &sum);
    wr_u64(&w, found->low);
    wr_u64(&w, found->high - found->low);
    wr_u32(&w, stream.pid);
    wr_u32(&w, sum);
    wr_u32(&w, stamp);
    wr_u32(&w, 0);
    wr_u64(&w, found->low);
    wr_u64(&w, 0);
    wr_u64(&w, 0);
    const size_t room = (sizeof r->payload - w.pos - sizeof(uint16_t)) & ~(size_t)1;
    const size_t n    = utf8_to_utf16le(r->path, strlen(r->path), r->payload + w.pos, room);
    w.pos += n < room ? n : room;
    wr_u16(&w, 0);
    event_put(HOOK_IMAGE_LOAD, IMAGE_EVENT, r->payload, (uint32_t)w.pos, NULL);
}

/* ---- attaching ---- */

static struct heap_shared *shared_map(int fd, uint64_t inode)
{
    struct stat         st;
    struct heap_shared *h;
    if (fstat(fd, &st) || st.st_ino != inode || (uint64_t)st.st_size < heap_shared_size(1))
        return NULL;
    h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED)
        return NULL;
    if (h->magic == HEAP_MAGIC && h->version == HEAP_VERSION && h->slots && h->slots <= HEAP_SLOTS &&
        (uint64_t)st.st_size >= heap_shared_size(h->slots))
        return h;
    munmap(h, (size_t)st.st_size);
    return NULL;
}

uint32_t stream_begin(void)
{
    const char *text = getenv(HEAP_VARIABLE);
    char       *end;
    if (!text)
        return 0;
    const long     fd    = strtol(text, &end, 10);
    const uint64_t inode = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    const long     pid   = *end == ':' ? strtol(end + 1, &end, 10) : 0;
    if (pid != getpid() || fd < 0 || fd > INT_MAX)
        return 0;
    struct heap_shared *h    = shared_map((int)fd, inode);
    const size_t        page = 4096;
    struct event_room  *rooms =
        mmap(NULL, ROOMS * sizeof *rooms, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint32_t *flag = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *keys =
        mmap(NULL, KEYS * sizeof *keys, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!h || flag == MAP_FAILED || keys == MAP_FAILED || rooms == MAP_FAILED || madvise(flag, page, MADV_WIPEONFORK))
        return 0;
    /* After an exec no thread of the old program holds a lock. */
    for (uint32_t i = 0; i < h->slots; i++)
        h->slot[i].lock = 0;
    stream.shared           = h;
    stream.pid              = (uint32_t)pid;
    stream.slots            = h->slots;
    stream.keys             = keys;
    stream.rooms            = rooms;
    stream.fd               = (int)fd;
    stream.first_generation = h->attached << 16;
    stream.clock            = (struct session_clock){.type = 1, .read_kind = h->clock};
    unwind_begin(image_event);
    *flag = TRACED;
    on    = flag;
    fcntl(stream.fd, F_SETFD, FD_CLOEXEC); /* exec.c takes that back for this process alone */
    unwind_tell(&rooms->unwind,
                (uint64_t)(uintptr_t)stream_begin); /* the library itself: the first frame of each stack */
    __atomic_add_fetch(&h->attached, 1, __ATOMIC_RELEASE);
    return h->flags;
}
