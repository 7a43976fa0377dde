/* unwind.c - walks a stack by rules that are kept for each address. See unwind.h. */
#include "autologger/heap/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RULES = 1 << 16, IMAGES = 4096 };
#define NO_RULE UINT64_C(1)
#define RULE_VALID UINT64_C(2)
#define RULE_END UINT64_C(4)
#define RULE_BY_FRAME UINT64_C(8)
#define RULE_SAVES_FRAME UINT64_C(16)
#define STRIP UINT64_C(0x0000FFFFFFFFFFFF) /* of the signature that arm64 puts into return addresses */

/* A rule in one word: flags, then three numbers, the distances in words of 8 bytes. `check` is address ^ rule, so a torn
 * pair is none. */
struct kept_rule {
    uint64_t check, rule;
};
struct found_image {
    uint64_t       low, high;
    const uint8_t *header; /* .eh_frame_hdr; NULL: none */
    char           path[512];
};
static struct kept_rule  *rules;
static uint64_t           told_image[IMAGES]; /* `low` of each image that was told */
static unsigned           images;
static unwind_image_seen *seen_image;
static __thread struct {
    uint64_t low, high;
} stack_bounds __attribute__((tls_model("initial-exec")));

void unwind_begin(unwind_image_seen *seen)
{
    void *m =
        mmap(NULL, RULES * sizeof *rules, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    rules      = m == MAP_FAILED ? NULL : m;
    seen_image = seen;
}

void unwind_forget(void)
{
    if (rules)
        for (unsigned i = 0; i < RULES; i++)
            __atomic_store_n(&rules[i].check, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&images, 0, __ATOMIC_RELAXED);
}

/* ---- the mapped file of an address ---- */

struct image_wanted {
    uint64_t            address;
    struct found_image *found;
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
    const uint64_t page = 4095;
    w->found->low       = low & ~page;
    w->found->high      = (high + page) & ~page;
    w->found->header    = (const uint8_t *)(uintptr_t)header;
    strncpy(w->found->path, info->dlpi_name ? info->dlpi_name : "", sizeof w->found->path - 1);
    return 1;
}

static bool image_find(uint64_t address, struct found_image *out)
{
    struct image_wanted w = {address, out};
    return dl_iterate_phdr(image_visit, &w) == 1;
}

static void image_tell(const struct found_image *i)
{
    const unsigned n = __atomic_load_n(&images, __ATOMIC_ACQUIRE);
    for (unsigned k = 0; k < n; k++)
        if (told_image[k] == i->low)
            return;
    if (seen_image)
        seen_image(i->low, i->high, i->path);
    if (n < IMAGES) { /* two threads may both tell it: the collector's readers bear that */
        told_image[n] = i->low;
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

static uint64_t rule_work_out(uint64_t address)
{
    struct found_image i;
    memset(&i, 0, sizeof i);
    if (!image_find(address, &i))
        return NO_RULE; /* made at run time */
    image_tell(&i);
    if (!i.header)
        return NO_RULE;
    const struct unwind_rule r = unwind_rule_find(i.header, i.low, i.high, address);
    return rule_pack(&r);
}

/* `address` is a return address: the call is before it. */
static inline uint64_t rule_of(uint64_t address)
{
    struct kept_rule *k    = &rules[(address * UINT64_C(0x9E3779B97F4A7C15)) >> 48];
    const uint64_t    rule = __atomic_load_n(&k->rule, __ATOMIC_RELAXED);
    if ((__atomic_load_n(&k->check, __ATOMIC_RELAXED) ^ rule) == address)
        return rule;
    const uint64_t made = rule_work_out(address - 1);
    __atomic_store_n(&k->rule, made, __ATOMIC_RELAXED);
    __atomic_store_n(&k->check, made ^ address, __ATOMIC_RELAXED);
    return made;
}

void unwind_tell(uint64_t address) { rule_work_out(address); }

/* ---- the stack's memory ---- */

static __attribute__((noinline)) void bounds_find(void)
{
    pthread_attr_t attr;
    void          *low;
    size_t         size;
    stack_bounds.low = stack_bounds.high = 1; /* not again */
    if (pthread_getattr_np(pthread_self(), &attr))
        return;
    if (!pthread_attr_getstack(&attr, &low, &size)) {
        stack_bounds.low  = (uint64_t)(uintptr_t)low;
        stack_bounds.high = (uint64_t)(uintptr_t)low + size;
    }
    pthread_attr_destroy(&attr);
}

/* A stack of a coroutine or of signals: the kernel reads it. */
static __attribute__((noinline)) bool read_elsewhere(uint64_t at, uint64_t *out)
{
    struct iovec to = {out, sizeof *out}, from = {(void *)(uintptr_t)at, sizeof *out};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof *out;
}

static inline bool read_word(uint64_t low, uint64_t high, uint64_t at, uint64_t *out)
{
    if (at % sizeof *out)
        return false;
    if (at >= low && at <= high - sizeof *out) {
        memcpy(out, (const void *)(uintptr_t)at, sizeof *out);
        return true;
    }
    return read_elsewhere(at, out);
}

unsigned unwind_stack(const struct unwind_frame *first, uint64_t *out, unsigned most)
{
    struct unwind_frame f = *first;
    unsigned            n = 0;
    if (!stack_bounds.high)
        bounds_find();
    const bool     own = f.stack >= stack_bounds.low && f.stack < stack_bounds.high;
    const uint64_t low = own ? f.stack : UINT64_MAX, high = own ? stack_bounds.high : 8;
    while (n < most && rules) {
        out[n++]            = f.address;
        const uint64_t rule = rule_of(f.address);
        if (!(rule & RULE_VALID) || rule & RULE_END)
            break;
        const uint64_t cfa = (rule & RULE_BY_FRAME ? f.frame : f.stack) + (uint64_t)rule_cfa(rule);
        if (cfa <= f.stack) /* the stack grows downwards */
            break;
        if (rule & RULE_SAVES_FRAME && !read_word(low, high, cfa + (uint64_t)rule_frame(rule), &f.frame))
            break;
        if (!read_word(low, high, cfa + (uint64_t)rule_return(rule), &f.address))
            break;
        f.address &= STRIP;
        f.stack = cfa;
        if (f.address < 4096)
            break;
    }
    return n;
}
