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
    RECORD_MOST = (int)sizeof(struct etl_system_header) + STREAM_PAYLOAD,
    IMAGE_EVENT = 3, /* version */
    STACK_EVENT = 2,
    NOTES_MOST  = 4096
};

static struct {
    struct heap_shared  *shared;
    uint32_t             pid, slots;
    struct session_clock clock;
    uint64_t            *keys;
} stream;
/* In memory that a child does not inherit: zero in a process that was made by fork. */
static volatile uint32_t *on;
__thread bool             stream_inside;
static __thread uint32_t  own_tid __attribute__((tls_model("initial-exec")));

bool stream_on(void) { return on && *on; }

uint64_t stream_now(void) { return clock_read(&stream.clock); }

static void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

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
        if (tries > 2 * stream.slots)
            sched_yield();
    }
}

static void slot_release(struct heap_slot *s) { __atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE); }

/* Waits until the collector has written a buffer of the slot. False: it is gone. */
static __attribute__((noinline)) bool slot_wait(struct heap_slot *s)
{
    struct heap_shared *h    = stream.shared;
    uint64_t            tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);
    for (int ms = 0; s->head - tail >= HEAP_BUFFERS - 1; ms += WAIT_MS) {
        const uint32_t room = __atomic_load_n(&h->room, __ATOMIC_ACQUIRE);
        tail                = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);
        if (s->head - tail < HEAP_BUFFERS - 1)
            break;
        if (ms >= PATIENCE_MS) {
            __atomic_store_n(&h->given_up, 1, __ATOMIC_RELEASE);
            *on = 0;
            return false;
        }
        struct timespec t = {0, WAIT_MS * 1000000};
        syscall(SYS_futex, &h->room, FUTEX_WAIT, room, &t, NULL, 0);
        if (__atomic_load_n(&h->room, __ATOMIC_ACQUIRE) != room)
            ms = 0; /* it works */
    }
    return true;
}

/* Room for `size` bytes in the slot's buffer; NULL: the collector is gone. */
static inline uint8_t *slot_room(struct heap_slot *s, uint32_t number, uint32_t size)
{
    if (s->filled + size > HEAP_BUFFER_SIZE) {
        s->size_of[s->head % HEAP_BUFFERS] = s->filled;
        __atomic_store_n(&s->filled, (uint32_t)sizeof(struct etl_buffer_header), __ATOMIC_RELAXED);
        __atomic_store_n(&s->head, s->head + 1, __ATOMIC_RELEASE);
        __atomic_add_fetch(&stream.shared->wake, 1, __ATOMIC_RELEASE);
        futex_wake(&stream.shared->wake);
        if (!slot_wait(s))
            return NULL;
    }
    return heap_buffer(stream.shared, number, s->head) + s->filled;
}

static inline void slot_commit(struct heap_slot *s, uint32_t size)
{
    __atomic_store_n(&s->filled, s->filled + size, __ATOMIC_RELEASE);
}

static inline uint32_t thread_id(void)
{
    if (!own_tid)
        own_tid = (uint32_t)syscall(SYS_gettid);
    return own_tid;
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

struct stack {
    struct { /* KeyCreate */
        uint64_t key, frame[FRAMES_MOST];
    } made;
    unsigned count;
    bool     is_new;
};

static void stack_take(const struct stack_begin *where, struct stack *out)
{
    out->made.frame[0] = where->hook;
    out->count         = 1 + unwind_stack(&where->caller, out->made.frame + 1, FRAMES_MOST - 1);
    uint64_t h         = UINT64_C(0x9E3779B97F4A7C15) + out->count;
    for (unsigned i = 0; i < out->count; i++) {
        h = (h ^ out->made.frame[i]) * UINT64_C(0xFF51AFD7ED558CCD);
        h ^= h >> 32;
    }
    out->made.key = h ? h : 1;
    out->is_new   = !stream_key_seen(out->made.key);
}

void stream_event(enum hook hook, uint16_t version, const void *payload, uint32_t size, const struct stack_begin *where)
{
    struct stack      stack;
    uint32_t          number;
    struct heap_slot *s;
    if (where)
        stack_take(where, &stack);
    s = slot_take(&number);
    __atomic_store_n(&s->attempted, s->attempted + 1, __ATOMIC_RELAXED);
    const uint32_t most =
        rounded((uint32_t)sizeof(struct etl_system_header) + size) +
        (where ? rounded(sizeof(struct etl_perfinfo_header) + 24) : 0) +
        (where && stack.is_new ? rounded((uint32_t)(sizeof(struct etl_perfinfo_header) + 8 + 8 * stack.count)) : 0);
    uint8_t *at = stream_on() ? slot_room(s, number, most) : NULL;
    if (!at) {
        __atomic_store_n(&s->lost, s->lost + 1, __ATOMIC_RELAXED);
        slot_release(s);
        return;
    }
    uint64_t now = stream_now();
    now          = now > s->last ? now : s->last + 1;
    s->last      = now;
    uint32_t n   = 0;
    if (where && stack.is_new)
        n += perf_record(at, HOOK_STACK_KEY_CREATE, now, &stack.made, 8 + 8 * stack.count);
    n += system_record(at + n, hook, version, now, payload, size);
    if (where) {
        const struct {
            uint64_t time;
            uint32_t pid, tid;
            uint64_t key;
        } use = {now, stream.pid, thread_id(), stack.made.key};
        n += perf_record(at + n, HOOK_STACK_KEY_USER, now, &use, sizeof use);
    }
    slot_commit(s, n);
    __atomic_store_n(&s->written, s->written + 1, __ATOMIC_RELAXED);
    slot_release(s);
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

/* As the converter of kernel events writes an Image event: TimeDateStamp and ImageCheckSum are the beginning of the build id. */
static void image_event(uint64_t low, uint64_t high, const char *path)
{
    uint8_t       payload[STREAM_PAYLOAD], id[20];
    char          own[2048];
    struct stat   file;
    struct writer w    = wr_make(payload, sizeof payload);
    ssize_t       n    = 0;
    uint32_t      sum  = 0, stamp;
    unsigned      size = image_build_id(low, high, id);
    if (!*path && (n = readlink("/proc/self/exe", own, sizeof own - 1)) > 0) {
        own[n] = 0;
        path   = own;
    }
    stamp = elf_stamp(id, size, !size && stat(path, &file) == 0 ? (uint64_t)file.st_mtime : 0, &sum);
    wr_u64(&w, low);
    wr_u64(&w, high - low);
    wr_u32(&w, stream.pid);
    wr_u32(&w, sum);
    wr_u32(&w, stamp);
    wr_u32(&w, 0);
    wr_u64(&w, low);
    wr_u64(&w, 0);
    wr_u64(&w, 0);
    w.pos += utf8_to_utf16le(path, strlen(path), payload + w.pos, sizeof payload - w.pos - 2);
    wr_u16(&w, 0);
    if (wr_ok(&w))
        stream_event(HOOK_IMAGE_LOAD, IMAGE_EVENT, payload, (uint32_t)w.pos, NULL);
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
    uint32_t           *flag = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t           *keys =
        mmap(NULL, KEYS * sizeof *keys, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!h || flag == MAP_FAILED || keys == MAP_FAILED || madvise(flag, page, MADV_WIPEONFORK))
        return 0;
    /* of a program that replaced itself: whoever held a lock is gone */
    for (uint32_t i = 0; i < h->slots; i++) {
        h->slot[i].lock = 0;
        if (!h->slot[i].filled)
            h->slot[i].filled = sizeof(struct etl_buffer_header);
    }
    stream.shared = h;
    stream.pid    = (uint32_t)pid;
    stream.slots  = h->slots;
    stream.keys   = keys;
    stream.clock  = (struct session_clock){.type = 1, .read_kind = h->clock};
    unwind_begin(image_event);
    *flag = 1;
    on    = flag;
    unwind_tell((uint64_t)(uintptr_t)stream_begin); /* the library itself: the first frame of each stack */
    __atomic_add_fetch(&h->attached, 1, __ATOMIC_RELEASE);
    return h->flags;
}
