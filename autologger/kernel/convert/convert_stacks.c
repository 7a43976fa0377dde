/* convert_stacks.c - StackCaching: a repeated stack gets a key, and from then on events' stacks refer to it by
 * StackWalk/KeyUser, or KeyKernel where the kernel's part is not followed by a program's. The first time it is written
 * whole, because many stacks occur once: samples of running code. (Windows has a key for each part; a reference takes
 * 40 bytes, a stack here 100 on average, so two keys would save nothing.)
 * Invariants
 *   A key is referred to only after its definition (StackWalk/KeyCreate, one tick before). Where the definition found
 *     no room, the stack is written whole, and so are stacks that a key does not make shorter, and stacks that the
 *     table has no room for (its bound: StackCaching).
 *   A key is a hash of its frames: the same stack has the same key in every session and after a hand-over. So files can
 *     be merged, and a successor, which begins with an empty table, only defines again the stacks that it meets. Times
 *     do not depend on the table.
 *   Two stacks with one hash: the second is written whole.
 * At the end all keys are written again (KeyRundown), as Windows does: its readers look for definitions after their
 * use, and a circular file has lost its beginning. So a file that another one follows has them at its end, and the next
 * file at its beginning: each file stands alone (session/log_files.c). A real-time consumer could miss an earlier
 * definition: once there is one, all stacks are whole. See convert.h. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/wire/etl.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_LEAST = 2 };
enum convert_stacks_kept { KEPT_NEW, KEPT_KNOWN, KEPT_NOT };

struct known {
    struct known *next;
    uint64_t      key;
    uint64_t      count, frame[];
};
struct part_keyed {
    size_t        bytes; /* of all known stacks, and of this */
    uint32_t      buckets, seen_count;
    uint64_t     *seen;  /* keys seen once, at their hash: the later one replaces the earlier */
    bool          ended; /* stacks are written whole; known stacks stay, for events under way */
    struct known *bucket[];
};

enum { SEEN_SHARE = 8 }; /* of the memory: this share is for keys seen once */

static struct part_keyed *convert_stacks_part(struct convert *c)
{
    uint32_t buckets     = c->config->stack_cache_buckets,
             seen        = c->config->stack_cache_bytes / SEEN_SHARE / sizeof(uint64_t);
    struct part_keyed *p = c->keyed;
    if (p || !seen)
        return p;
    p = calloc(1, sizeof *p + buckets * sizeof *p->bucket);
    if (p && !(p->seen = calloc(seen, sizeof *p->seen))) {
        free(p);
        return NULL;
    }
    if (p) {
        p->buckets    = buckets;
        p->seen_count = seen;
        p->bytes      = seen * sizeof *p->seen;
    }
    return c->keyed = p;
}

void part_keyed_finish(struct convert *c)
{
    for (uint32_t i = 0; c->keyed && i < c->keyed->buckets; i++)
        for (struct known *k = c->keyed->bucket[i], *next; k; k = next) {
            next = k->next;
            free(k);
        }
    if (c->keyed)
        free(c->keyed->seen);
    free(c->keyed);
    c->keyed = NULL;
}

/* A successor's table is empty. */
void part_keyed_put(const struct convert *c, struct sink *s) { (void)c, (void)s; }
bool part_keyed_get(struct convert *c, struct cursor *cur)
{
    (void)c, (void)cur;
    return true;
}

static uint64_t mixed(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ v >> 27) * UINT64_C(0x94D049BB133111EB);
    return v ^ v >> 31;
}

static uint64_t convert_stacks_key_of(const uint64_t *frame, unsigned n)
{
    uint64_t key = n;
    for (unsigned i = 0; i < n; i++)
        key = mixed(key + UINT64_C(0x9E3779B97F4A7C15) + frame[i]) + (key << 1);
    return key ? key : 1;
}

static enum convert_stacks_kept convert_stacks_keep(struct convert *c, uint64_t key, const uint64_t *frame, unsigned n)
{
    struct part_keyed *p     = convert_stacks_part(c);
    const size_t       bytes = sizeof(struct known) + n * sizeof *frame;
    if (!p)
        return KEPT_NOT;
    struct known **at = &p->bucket[key % p->buckets];
    if (p->ended)
        return KEPT_NOT;
    for (const struct known *k = *at; k; k = k->next)
        if (k->key == key)
            return k->count == n && memcmp(k->frame, frame, n * sizeof *frame) == 0 ? KEPT_KNOWN : KEPT_NOT;
    uint64_t *seen = &p->seen[(key >> 16) % p->seen_count];
    if (*seen != key) {
        *seen = key;
        return KEPT_NOT;
    }
    struct known *k = p->bytes + bytes <= c->config->stack_cache_bytes ? malloc(bytes) : NULL;
    if (!k)
        return KEPT_NOT;
    k->next  = *at;
    k->key   = key;
    k->count = n;
    memcpy(k->frame, frame, n * sizeof *frame);
    p->bytes += bytes;
    *at = k;
    return KEPT_NEW;
}

static void forget_newest(struct convert *c, uint64_t key)
{
    struct known **at = &c->keyed->bucket[key % c->keyed->buckets], *k = *at;
    c->keyed->bytes -= sizeof *k + k->count * sizeof *k->frame;
    *at = k->next;
    free(k);
}

/* False: not written. Also for an adopter in the time that its predecessor wrote: the predecessor may have had no
 * room. */
static bool define(struct convert *c, unsigned cpu, uint16_t hook, uint64_t key, const uint64_t *frame, unsigned n,
                   uint64_t time)
{
    uint8_t *at = emit_reserve(c, &(struct event){cpu, hook, ETL_PERFINFO64, 2, 0, 0}, &time, (n + 1) * sizeof key);
    if (!at)
        return false;
    memcpy(at, &key, sizeof key);
    memcpy(at + sizeof key, frame, n * sizeof *frame);
    return true;
}

void stack_keyed(struct convert *c, const struct actor *of, uint64_t trigger, const uint64_t *frame, unsigned n)
{
    const uint64_t           time = trigger + 1, key = convert_stacks_key_of(frame, n);
    const bool               user = !(frame[n - 1] >> 63);
    enum convert_stacks_kept kept = n < FRAMES_LEAST ? KEPT_NOT : convert_stacks_keep(c, key, frame, n);
    if (kept == KEPT_NEW && !define(c, of->cpu, HOOK_STACK_KEY_CREATE, key, frame, n, time)) {
        forget_newest(c, key);
        kept = KEPT_NOT;
    }
    if (kept == KEPT_NOT)
        stack_write(c, of, HOOK_STACK_WALK, trigger, frame, n, time + 1);
    else
        stack_write(c, of, user ? HOOK_STACK_KEY_USER : HOOK_STACK_KEY_KERNEL, trigger, &key, 1, time + 1);
}

void stacks_rundown(struct convert *c)
{
    uint64_t time = 0;
    for (unsigned cpu = 0; cpu < c->cpus; cpu++)
        time = c->queue[cpu].last > time ? c->queue[cpu].last : time; /* after all other events */
    time++;
    for (uint32_t i = 0; c->keyed && i < c->keyed->buckets; i++)
        for (const struct known *k = c->keyed->bucket[i]; k; k = k->next)
            define(c, 0, HOOK_STACK_KEY_RUNDOWN, k->key, k->frame, (unsigned)k->count, time);
}

void convert_stack_keys(const struct convert *c, uint64_t time, void (*show)(void *ctx, const struct klog_record *r),
                        void *ctx)
{
    struct {
        struct etl_perfinfo_header head;
        uint64_t                   key, frame[STACK_FRAMES];
    } r;
    for (uint32_t i = 0; c->keyed && i < c->keyed->buckets; i++)
        for (const struct known *k = c->keyed->bucket[i]; k; k = k->next) {
            const size_t frames = (k->count < STACK_FRAMES ? k->count : STACK_FRAMES) * sizeof *k->frame,
                         size   = sizeof r.head + sizeof r.key + frames;
            r.head              = (struct etl_perfinfo_header){2,
                                                               ETL_PERFINFO64,
                                                               ETL_MARKER,
                                                               (uint16_t)size,
                                                               (uint8_t)HOOK_STACK_KEY_RUNDOWN,
                                                               HOOK_STACK_KEY_RUNDOWN >> 8,
                                                               (int64_t)time};
            r.key               = k->key;
            memcpy(r.frame, k->frame, frames);
            show(ctx, &(struct klog_record){(const uint8_t *)&r, (uint32_t)size, time});
        }
}

void convert_stack_keys_end(struct convert *c)
{
    struct part_keyed *p = convert_stacks_part(c);
    if (p)
        p->ended = true;
}
