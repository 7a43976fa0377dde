/* unwind.c - walks a stack by rules that are kept for each address. See unwind.h. */
#include "autologger/heap/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RULES = 1 << 16, IMAGES = 4096, PAGE = 4096, STACK_MOST = 64 << 20 };
#define NO_RULE UINT64_C(1)
#define RULE_VALID UINT64_C(2)
#define RULE_END UINT64_C(4)
#define RULE_BY_FRAME UINT64_C(8)
#define RULE_SAVES_FRAME UINT64_C(16)
#define STRIP UINT64_C(0x0000FFFFFFFFFFFF) /* of the signature that arm64 puts into return addresses */

/* A rule in one word: flags, then three numbers, the distances in words of 8 bytes. `check` is address ^ rule, so a torn
 * pair fits no address. */
struct kept_rule {
    uint64_t check, rule;
};
static struct kept_rule  *rules;
static uint64_t           told_image[IMAGES]; /* `low` of each reported image */
static unsigned           images;
static uint32_t           generation;
static unwind_image_seen *seen_image;
extern void              *__libc_stack_end __attribute__((weak)); /* the end of the first thread's stack */

void unwind_begin(unwind_image_seen *seen)
{
    void *m =
        mmap(NULL, RULES * sizeof *rules, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    rules      = m == MAP_FAILED ? NULL : m;
    seen_image = seen;
}

void unwind_forget(void)
{
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    if (rules)
        for (unsigned i = 0; i < RULES; i++)
            __atomic_store_n(&rules[i].check, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&images, 0, __ATOMIC_RELAXED);
}

uint32_t unwind_generation(void) { return __atomic_load_n(&generation, __ATOMIC_ACQUIRE); }

/* ---- the mapped file of an address ---- */

static void path_set(struct unwind_room *room, const char *path)
{
    size_t n = path ? strlen(path) : 0;
    n        = n < UNWIND_PATH ? n : UNWIND_PATH - 1;
    memcpy(room->path, path ? path : "", n);
    room->path[n] = 0;
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
extern int _dl_find_object(void *address, struct dl_find_object *out) __attribute__((weak));
static int image_look(uint64_t address, struct unwind_room *room)
{
    struct dl_find_object found;
    if (!_dl_find_object)
        return -1;
    if (_dl_find_object((void *)(uintptr_t)address, &found))
        return 0;
    room->low    = (uint64_t)(uintptr_t)found.dlfo_map_start & ~(uint64_t)(PAGE - 1);
    room->high   = ((uint64_t)(uintptr_t)found.dlfo_map_end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    room->header = found.dlfo_eh_frame;
    path_set(room, found.dlfo_link_map ? found.dlfo_link_map->l_name : "");
    return 1;
}
#else
static int image_look(uint64_t address, struct unwind_room *room)
{
    (void)address, (void)room;
    return -1;
}
#endif

struct image_wanted {
    uint64_t            address;
    struct unwind_room *room;
};

static int image_visit(struct dl_phdr_info *info, size_t size, void *data)
{
    struct image_wanted *w   = data;
    uint64_t             low = UINT64_MAX, high = 0, header = 0;
    bool                 inside = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint64_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type == PT_LOAD) {
            low  = from < low ? from : low;
            high = to > high ? to : high;
            inside |= w->address >= from && w->address < to;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            header = from;
        }
    }
    if (!inside)
        return 0;
    w->room->low    = low & ~(uint64_t)(PAGE - 1);
    w->room->high   = (high + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    w->room->header = (const uint8_t *)(uintptr_t)header;
    path_set(w->room, info->dlpi_name);
    return 1;
}

/* The loader's own list, without its lock where the C library offers that. */
static bool image_find(uint64_t address, struct unwind_room *room)
{
    struct image_wanted w     = {address, room};
    const int           found = image_look(address, room);
    return found >= 0 ? found : dl_iterate_phdr(image_visit, &w) == 1;
}

static void image_tell(struct unwind_room *room)
{
    const unsigned n = __atomic_load_n(&images, __ATOMIC_ACQUIRE);
    for (unsigned k = 0; k < n; k++)
        if (told_image[k] == room->low)
            return;
    if (seen_image)
        seen_image(room);
    if (n < IMAGES) { /* two threads may both tell it: readers of the file bear that */
        told_image[n] = room->low;
        __atomic_store_n(&images, n + 1, __ATOMIC_RELEASE);
    }
}

/* ---- rules ---- */

static uint64_t rule_pack(const struct unwind_rule *r)
{
    const int32_t cfa = r->cfa / 8, frame = r->frame_at / 8, back = r->return_at / 8;
    if (!r->valid || r->cfa % 8 || r->frame_at % 8 || r->return_at % 8 || cfa < 0 || cfa >= 1 << 24 ||
        frame < -(1 << 13) || frame >= 1 << 13 || back < -(1 << 13) || back >= 1 << 13)
        return NO_RULE;
    return NO_RULE | RULE_VALID | (r->end ? RULE_END : 0) | (r->by_frame ? RULE_BY_FRAME : 0) |
           (r->saves_frame ? RULE_SAVES_FRAME : 0) | (uint64_t)(frame + (1 << 13)) << 8 |
           (uint64_t)(back + (1 << 13)) << 22 | (uint64_t)cfa << 36;
}
static int64_t rule_cfa(uint64_t rule) { return (int64_t)(rule >> 36 & 0xFFFFFF) * 8; }
static int64_t rule_frame(uint64_t rule) { return ((int64_t)(rule >> 8 & 0x3FFF) - (1 << 13)) * 8; }
static int64_t rule_return(uint64_t rule) { return ((int64_t)(rule >> 22 & 0x3FFF) - (1 << 13)) * 8; }

static __attribute__((noinline)) uint64_t rule_work_out(struct unwind_room *room, uint64_t address)
{
    if (!image_find(address, room))
        return NO_RULE; /* made at run time */
    image_tell(room);
    if (!room->header)
        return NO_RULE;
    const struct unwind_rule r = unwind_rule_find(room->header, room->low, room->high, address);
    return rule_pack(&r);
}

void unwind_tell(struct unwind_room *room, uint64_t address) { rule_work_out(room, address); }

/* `address` is a return address: the call is before it. */
static inline uint64_t rule_of(struct unwind_room *room, uint64_t address)
{
    struct kept_rule *k    = &rules[(address * UINT64_C(0x9E3779B97F4A7C15)) >> 48];
    const uint64_t    rule = __atomic_load_n(&k->rule, __ATOMIC_RELAXED);
    if ((__atomic_load_n(&k->check, __ATOMIC_RELAXED) ^ rule) == address)
        return rule;
    const uint64_t made = rule_work_out(room, address - 1);
    __atomic_store_n(&k->rule, made, __ATOMIC_RELAXED);
    __atomic_store_n(&k->check, made ^ address, __ATOMIC_RELAXED);
    return made;
}

/* ---- the stack's memory ---- */

/* The end of the stack that this thread has of its own, if `stack` is on it, else 0. The first thread's lies above all
 * else; that of another thread has the thread's own data at its end. The pthread functions that tell it take locks. */
static inline uint64_t stack_end(uint64_t stack)
{
    const uint64_t data  = (uint64_t)(uintptr_t)__builtin_thread_pointer();
    const uint64_t first = &__libc_stack_end ? (uint64_t)(uintptr_t)__libc_stack_end : 0;
    if (stack < data && data - stack < STACK_MOST)
        return data & ~(uint64_t)7;
    return stack < first && first - stack < STACK_MOST ? first & ~(uint64_t)7 : 0;
}

/* A stack of a coroutine or of signals: the kernel reads it, a part at a time, up to the end of the page's neighbours. */
static __attribute__((noinline)) bool read_elsewhere(struct unwind_room *room, uint64_t at, uint64_t *out)
{
    const size_t       page = PAGE - (size_t)at % PAGE, most = page < UNWIND_WINDOW ? page : UNWIND_WINDOW;
    const struct iovec to = {room->window, most}, from = {(void *)(uintptr_t)at, most};
    if (at < room->window_at || at + sizeof *out > room->window_at + room->window_size) {
        const ssize_t n   = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        room->window_at   = at;
        room->window_size = n > 0 ? (size_t)n : 0;
    }
    if (at + sizeof *out > room->window_at + room->window_size)
        return false;
    memcpy(out, room->window + (at - room->window_at), sizeof *out);
    return true;
}

static inline bool read_word(struct unwind_room *room, uint64_t low, uint64_t high, uint64_t at, uint64_t *out)
{
    if (at % sizeof *out)
        return false;
    if (at >= low && at + sizeof *out <= high) {
        memcpy(out, (const void *)(uintptr_t)at, sizeof *out);
        return true;
    }
    return read_elsewhere(room, at, out);
}

unsigned unwind_stack(const struct unwind_frame *first, struct unwind_room *room, uint64_t *out, unsigned most)
{
    struct unwind_frame f    = *first;
    unsigned            n    = 0;
    const uint64_t      high = stack_end(f.stack), low = high ? f.stack : UINT64_MAX;
    room->window_size = 0;
    while (n < most && rules) {
        out[n++]            = f.address;
        const uint64_t rule = rule_of(room, f.address);
        if (!(rule & RULE_VALID) || rule & RULE_END)
            break;
        const uint64_t cfa = (rule & RULE_BY_FRAME ? f.frame : f.stack) + (uint64_t)rule_cfa(rule);
        if (cfa <= f.stack) /* the stack grows downwards */
            break;
        if (rule & RULE_SAVES_FRAME && !read_word(room, low, high, cfa + (uint64_t)rule_frame(rule), &f.frame))
            break;
        if (!read_word(room, low, high, cfa + (uint64_t)rule_return(rule), &f.address))
            break;
        f.address &= STRIP;
        f.stack = cfa;
        if (f.address < PAGE)
            break;
    }
    return n;
}
