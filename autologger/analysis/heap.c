#include "autologger/analysis/heap.h"

#include "autologger/kernel/source/idmap.h"
#include "autologger/schema/classic.h"
#include "autologger/consumer/stack_keys.h"
#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MOST = 1024, STACK_BEHIND = 1000 };
#define LIBRARY "libautologger-heap.so"

struct heap_block {
    uint64_t size, began; /* raw time of its event */
    size_t   stack;       /* index; SIZE_MAX: no stack yet */
};
struct heap_wait { /* of one thread */
    uint64_t lock;
    uint32_t owner;
    size_t   stack;
};
/* The event whose stack comes next on the same processor. */
struct heap_pending {
    int64_t            time;
    struct heap_block *block;
    struct heap_wait  *wait;
    uint64_t           address, size;
};
struct heap_read {
    struct heap       *h;
    struct symbols    *symbols;
    struct idmap       blocks;  /* address + 1 -> struct heap_block */
    struct idmap       waits;   /* tid + 1 -> struct heap_wait */
    struct idmap       stacks;  /* key -> index + 1 */
    struct idmap       pending; /* cpu + 1 -> struct heap_pending */
    size_t             capacity;
    uint64_t           until; /* stop behind this many events of the heap; 0: never */
    uint64_t           events, peak_at;
    struct etl_reader *reader;
    struct frame_name *room; /* for the names of one stack */
    bool               failed, any;
    bool               ending; /* an exec began: the next event tells whether it worked */
};

/* ---- stacks ---- */

/* Frames by their content. */
struct heap_names {
    struct idmap by_hash; /* struct heap_name, the latest first */
};
struct heap_name {
    struct heap_name *next; /* of the same hash */
    struct heap_frame frame;
};

static uint64_t heap_text_hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(1099511628211); /* FNV-1a */
    return (h ^ 0xFF) * UINT64_C(1099511628211);
}

static const struct heap_frame *heap_frame_of(struct heap_read *r, const struct frame_name *n)
{
    char        text[512];
    const char *module = n->module ? n->module : "", *source = n->source ? n->source : "";
    if (n->function)
        snprintf(text, sizeof text, "%s", n->function);
    else if (n->module)
        snprintf(text, sizeof text, "%s+0x%" PRIx64, n->module, n->offset);
    else
        snprintf(text, sizeof text, "0x%" PRIx64, n->address);
    const uint64_t h =
        heap_text_hash(heap_text_hash(heap_text_hash(UINT64_C(1469598103934665603), text), module), source) +
        (uint64_t)n->line;
    struct heap_name *first = idmap_get(&r->h->names->by_hash, h), *at = first;
    while (at && (strcmp(at->frame.text, text) || strcmp(at->frame.module, module) ||
                  strcmp(at->frame.source, source) || at->frame.line != n->line))
        at = at->next;
    if (at)
        return &at->frame;
    at = calloc(1, sizeof *at);
    if (at)
        *at = (struct heap_name){first, {strdup(text), strdup(module), strdup(source), n->line}};
    if (!at || !at->frame.text || !at->frame.module || !at->frame.source || !idmap_put(&r->h->names->by_hash, h, at))
        r->failed = true; /* what was made is lost with the report */
    return at ? &at->frame : NULL;
}

static void names_destroy(struct heap_names *names)
{
    for (size_t i = 0; names && i < names->by_hash.capacity; i++)
        for (struct heap_name *n = names->by_hash.slot[i].value, *next; n; n = next) {
            next = n->next;
            free(n->frame.text);
            free(n->frame.module);
            free(n->frame.source);
            free(n);
        }
    if (names)
        idmap_finish(&names->by_hash);
    free(names);
}

static void frames_name(struct heap_read *r, struct heap_stack *s, const struct etl_event *e)
{
    struct frame_namer namer = symbols_namer(r->symbols);
    unsigned           n = namer.stack(namer.ctx, e, r->room, FRAMES_MOST), from = 0;
    while (from < n && r->room[from].module && strncmp(r->room[from].module, LIBRARY, strlen(LIBRARY)) == 0)
        from++;
    s->frame = n > from ? calloc(n - from, sizeof *s->frame) : NULL;
    for (unsigned i = from; i < n && s->frame; i++)
        if (!(s->frame[s->frames++] = heap_frame_of(r, &r->room[i])))
            s->frames--;
    r->failed |= n > from && !s->frame;
}

/* The index of the stack under a key; SIZE_MAX without memory. */
static size_t stack_at(struct heap_read *r, uint64_t key, const struct etl_event *e)
{
    struct heap *h  = r->h;
    uintptr_t    at = (uintptr_t)idmap_get(&r->stacks, key);
    if (at)
        return at - 1;
    if (h->stacks == r->capacity) {
        const size_t capacity = r->capacity ? r->capacity * 2 : 256;
        void        *more     = realloc(h->stack, capacity * sizeof *h->stack);
        if (!more) {
            r->failed = true;
            return SIZE_MAX;
        }
        h->stack    = more;
        r->capacity = capacity;
    }
    h->stack[h->stacks] = (struct heap_stack){.key = key};
    frames_name(r, &h->stack[h->stacks], e);
    r->failed |= !idmap_put(&r->stacks, key, (void *)(uintptr_t)(h->stacks + 1));
    return h->stacks++;
}

/* ---- blocks ---- */

static void block_forget(struct heap_read *r, struct heap_block *b)
{
    struct heap_totals *t = &r->h->totals;
    t->blocks_left--;
    t->bytes_left -= b->size;
    if (b->stack != SIZE_MAX) {
        r->h->stack[b->stack].blocks_left--;
        r->h->stack[b->stack].bytes_left -= b->size;
    }
}

static void pend(struct heap_read *r, const struct etl_event *e, struct heap_block *b, struct heap_wait *w,
                 uint64_t address)
{
    struct heap_pending *p = idmap_get(&r->pending, (uint64_t)e->cpu + 1);
    if (!p && (!(p = malloc(sizeof *p)) || !idmap_put(&r->pending, (uint64_t)e->cpu + 1, p))) {
        free(p);
        r->failed = true;
        return;
    }
    *p = (struct heap_pending){e->raw_time, b, w, address, b ? b->size : 0};
}

static void heap_block_add(struct heap_read *r, const struct etl_event *e, uint64_t address, uint64_t size)
{
    struct heap_totals *t = &r->h->totals;
    struct heap_block  *b = idmap_get(&r->blocks, address + 1);
    if (b) { /* a realloc released it meanwhile, whose event comes later */
        block_forget(r, b);
    } else if (!(b = malloc(sizeof *b)) || !idmap_put(&r->blocks, address + 1, b)) {
        free(b);
        r->failed = true;
        return;
    }
    *b = (struct heap_block){size, (uint64_t)e->raw_time, SIZE_MAX};
    t->bytes += size;
    t->blocks_left++;
    t->bytes_left += size;
    if (t->bytes_left > t->peak_bytes) {
        t->peak_bytes  = t->bytes_left;
        t->peak_blocks = t->blocks_left;
        t->peak_ns     = (e->filetime - (uint64_t)etl_reader_header(r->reader)->raw.start_time) * 100;
        r->peak_at     = r->events;
    }
    pend(r, e, b, NULL, address);
}

static bool block_remove(struct heap_read *r, uint64_t address, uint64_t before)
{
    struct heap_block *b = idmap_get(&r->blocks, address + 1);
    if (!b)
        return false;
    if (b->began >= before) /* of another call, which got the address when this realloc had released it */
        return true;
    block_forget(r, b);
    free(idmap_remove(&r->blocks, address + 1));
    return true;
}

static void blocks_clear(struct heap_read *r)
{
    for (size_t i = 0; i < r->blocks.capacity; i++)
        if (r->blocks.slot[i].value) {
            block_forget(r, r->blocks.slot[i].value);
            free(r->blocks.slot[i].value);
        }
    idmap_finish(&r->blocks);
    r->blocks = (struct idmap){0};
    for (size_t i = 0; i < r->pending.capacity; i++)
        if (r->pending.slot[i].value)
            ((struct heap_pending *)r->pending.slot[i].value)->time = -1;
}

static void on_realloc(struct heap_read *r, const struct etl_event *e, struct cursor *c)
{
    const uint64_t address = cur_u64(c), old = cur_u64(c), size = cur_u64(c);
    cur_u64(c); /* OldAllocSize, SourceId */
    cur_u32(c);
    const uint64_t began = cur_left(c) >= 8 ? cur_u64(c) : (uint64_t)e->raw_time;
    if (!cur_ok(c))
        return;
    r->h->totals.reallocations++;
    if (!block_remove(r, old, began))
        r->h->totals.unknown_frees++;
    if (address)
        heap_block_add(r, e, address, size);
}

/* ---- locks ---- */

static struct heap_wait *heap_wait_of(struct heap_read *r, uint32_t tid)
{
    struct heap_wait *w = idmap_get(&r->waits, (uint64_t)tid + 1);
    if (!w && (!(w = calloc(1, sizeof *w)) || !idmap_put(&r->waits, (uint64_t)tid + 1, w))) {
        free(w);
        r->failed = true;
        return NULL;
    }
    return w;
}

static void on_collision(struct heap_read *r, const struct etl_event *e, struct cursor *c)
{
    cur_u64(c); /* LockCount, SpinCount */
    const uint64_t    owner = cur_u64(c), lock = cur_u64(c);
    struct heap_wait *w = cur_ok(c) ? heap_wait_of(r, e->thread_id) : NULL;
    if (!w)
        return;
    *w = (struct heap_wait){lock, (uint32_t)owner, SIZE_MAX};
    r->h->totals.waits++;
    pend(r, e, NULL, w, lock);
}

static void on_acquired(struct heap_read *r, const struct etl_event *e, struct cursor *c)
{
    const uint64_t    lock = cur_u64(c), ns = cur_u64(c);
    const int32_t     result = (int32_t)cur_u32(c);
    const bool        got    = result == 0 || result == EOWNERDEAD;
    struct heap_wait *w      = cur_ok(c) ? heap_wait_of(r, e->thread_id) : NULL;
    if (!w || w->lock != lock)
        return;
    r->h->totals.wait_ns += ns;
    if (w->stack != SIZE_MAX) {
        struct heap_stack *s = &r->h->stack[w->stack];
        s->wait_ns += ns;
        if (ns >= s->longest_ns) {
            s->longest_ns = ns;
            s->owner      = w->owner;
        }
        s->unfinished -= got;
    }
    r->h->totals.unfinished -= got;
    w->lock = 0;
}

/* ---- events ---- */

static void on_stack(struct heap_read *r, const struct etl_event *e)
{
    struct stack_fields  use;
    uint64_t             key;
    struct heap_pending *p = idmap_get(&r->pending, (uint64_t)e->cpu + 1);
    if (!stack_key_read(e, &use, &key) || !p || p->time != use.trigger)
        return;
    const size_t at = stack_at(r, key, e);
    if (at == SIZE_MAX)
        return;
    struct heap_stack *s = &r->h->stack[at];
    if (p->block) { /* it may be gone: nothing comes between the two on a processor, but time order is over all */
        if (idmap_get(&r->blocks, p->address + 1) == p->block && p->block->began == (uint64_t)p->time) {
            p->block->stack = at;
            s->blocks_left++;
            s->bytes_left += p->size;
        }
        s->allocations++;
        s->bytes += p->size;
    } else if (p->wait) {
        p->wait->stack = at;
        s->waits++;
        s->unfinished++;
        s->lock = p->address;
    }
    p->time = -1;
}

static void on_process(struct heap_read *r, const struct etl_event *e)
{
    struct heap_totals *t = &r->h->totals;
    struct cursor       c = cur_make(e->payload, e->payload_size);
    t->pid                = e->process_id;
    cur_take(&c, 8 + 4 * 4 + 8 + 4 + 16); /* up to the token's user and its SID */
    cur_u8(&c);
    const uint8_t parts = cur_u8(&c);
    cur_take(&c, 6 + (size_t)parts * 4);
    const char *name = cur_zstring(&c);
    snprintf(t->process, sizeof t->process, "%s", name ? name : "");
}

static void heap_event(struct heap_read *r, const struct etl_event *e)
{
    struct heap_totals *t    = &r->h->totals;
    const uint16_t      hook = classic_hook(e);
    struct cursor       c    = cur_make(e->payload, e->payload_size);
    const bool          heap = hook >= HOOK_HEAP_CREATE && hook <= HOOK_HEAP_FREE;
    r->any |= heap || hook == HOOK_CRITSEC_COLLISION;
    r->events++;
    if (r->ending && (heap || hook == HOOK_CRITSEC_COLLISION || hook == HOOK_CRITSEC_ACQUIRED))
        r->ending = false; /* a new program begins with Create; any other event: the exec failed */
    if (heap)
        cur_u64(&c); /* HeapHandle */
    if (hook == HOOK_HEAP_ALLOC) {
        const uint64_t size = cur_u64(&c), address = cur_u64(&c);
        t->allocations++;
        if (cur_ok(&c))
            heap_block_add(r, e, address, size);
    } else if (hook == HOOK_HEAP_FREE) {
        t->frees++;
        if (!block_remove(r, cur_u64(&c), UINT64_MAX))
            t->unknown_frees++;
    } else if (hook == HOOK_HEAP_REALLOC) {
        on_realloc(r, e, &c);
    } else if (hook == HOOK_HEAP_CREATE) {
        blocks_clear(r);
    } else if (hook == HOOK_HEAP_DESTROY) {
        r->ending =
            e->payload_size >= sizeof(uint64_t) && memcmp(e->payload, "\0\0\0\0\0\0\0\0", sizeof(uint64_t)) != 0;
    } else if (hook == HOOK_CRITSEC_COLLISION) {
        t->unfinished++;
        on_collision(r, e, &c);
    } else if (hook == HOOK_CRITSEC_ACQUIRED) {
        on_acquired(r, e, &c);
    } else if (hook == HOOK_PROCESS_DC_START) {
        on_process(r, e);
    } else {
        on_stack(r, e);
    }
}

/* ---- places ---- */

static int frames_compare(const struct heap_stack *x, const struct heap_stack *y)
{
    for (unsigned i = 0; i < x->frames && i < y->frames; i++) {
        const struct heap_frame *a = x->frame[i], *b = y->frame[i];
        int                      c = a == b ? 0 : strcmp(a->text, b->text);
        c                          = c || a == b ? c : strcmp(a->source, b->source);
        c                          = c || a == b ? c : a->line - b->line;
        if (c)
            return c;
    }
    return x->frames < y->frames ? -1 : x->frames > y->frames;
}

static int heap_by_frames(const void *a, const void *b) { return frames_compare(a, b); }

static void stack_finish(struct heap_stack *s) { free(s->frame); }

static void stack_join(struct heap_stack *to, struct heap_stack *from)
{
    to->allocations += from->allocations;
    to->bytes += from->bytes;
    to->blocks_left += from->blocks_left;
    to->bytes_left += from->bytes_left;
    to->waits += from->waits;
    to->wait_ns += from->wait_ns;
    to->unfinished += from->unfinished;
    if (from->longest_ns > to->longest_ns || !to->lock) {
        to->longest_ns = from->longest_ns;
        to->lock       = from->lock;
        to->owner      = from->owner;
    }
    stack_finish(from);
}

/* Calls from one line have several return addresses in optimised code: they are one place. */
static void places_join(struct heap *h)
{
    size_t kept = 0;
    if (h->stacks)
        qsort(h->stack, h->stacks, sizeof *h->stack, heap_by_frames);
    for (size_t i = 0; i < h->stacks; i++)
        if (kept && frames_compare(&h->stack[kept - 1], &h->stack[i]) == 0)
            stack_join(&h->stack[kept - 1], &h->stack[i]);
        else
            h->stack[kept++] = h->stack[i];
    h->stacks = kept;
}

static void read_finish(struct heap_read *r)
{
    struct idmap *owning[] = {&r->blocks, &r->waits, &r->pending};
    for (unsigned k = 0; k < sizeof owning / sizeof *owning; k++) {
        for (size_t i = 0; i < owning[k]->capacity; i++)
            free(owning[k]->slot[i].value);
        idmap_finish(owning[k]);
    }
    idmap_finish(&r->stacks);
    free(r->room);
}

/* One reading; *peak_at: the number of the event of most bytes. `until`: 0, or the number of the last event. */
static wstatus read_once(const char *file, struct symbols *symbols, uint64_t until, struct heap **out,
                         uint64_t *peak_at, struct reason *why)
{
    struct etl_event e;
    struct heap_read r = {.symbols = symbols, .h = calloc(1, sizeof *r.h), .room = calloc(FRAMES_MOST, sizeof *r.room)};
    if (r.h)
        r.h->names = calloc(1, sizeof *r.h->names);
    wstatus st = r.h && r.h->names && r.room ? etl_reader_open(file, &r.reader, why)
                                             : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    *out       = NULL;
    if (st) {
        heap_destroy(r.h);
        free(r.room);
        return st;
    }
    r.h->totals.events_lost = etl_reader_header(r.reader)->raw.events_lost;
    while (!r.failed && (!until || r.events < until) && etl_next(r.reader, &e))
        heap_event(&r, &e);
    for (unsigned i = 0; until && i < STACK_BEHIND && etl_next(r.reader, &e); i++) /* the stack of the last event */
        on_stack(&r, &e);
    etl_reader_close(r.reader);
    *peak_at = r.peak_at;
    if (r.ending && !until) {
        blocks_clear(&r);
        r.h->totals.replaced = true;
    }
    read_finish(&r);
    places_join(r.h);
    if (r.failed || !r.any) {
        heap_destroy(r.h);
        return r.failed ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the blocks of %s", file)
                        : reason_set(why, W_INVALID_DATA,
                                     "%s has no events of a heap or of locks. Do: autologger heap PROGRAM", file);
    }
    *out = r.h;
    return W_SUCCESS;
}

wstatus heap_create(const char *file, struct symbols *symbols, bool peak, struct heap **out, struct reason *why)
{
    uint64_t peak_at, ignored;
    wstatus  st = read_once(file, symbols, 0, out, &peak_at, why);
    if (st || !peak)
        return st;
    heap_destroy(*out);
    return read_once(file, symbols, peak_at, out, &ignored, why);
}

void heap_destroy(struct heap *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->stacks; i++)
        stack_finish(&h->stack[i]);
    free(h->stack);
    names_destroy(h->names);
    free(h);
}

static int by_left(const void *a, const void *b)
{
    const struct heap_stack *x = a, *y = b;
    if (x->bytes_left != y->bytes_left)
        return x->bytes_left > y->bytes_left ? -1 : 1;
    if (x->blocks_left != y->blocks_left) /* of malloc(0) */
        return x->blocks_left > y->blocks_left ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int by_waits(const void *a, const void *b)
{
    const struct heap_stack *x = a, *y = b;
    if ((x->unfinished > 0) != (y->unfinished > 0))
        return x->unfinished > 0 ? -1 : 1;
    if (x->wait_ns != y->wait_ns)
        return x->wait_ns > y->wait_ns ? -1 : 1;
    if (x->waits != y->waits)
        return x->waits > y->waits ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void heap_sort(struct heap *h, int (*by)(const void *a, const void *b))
{
    if (h->stacks)
        qsort(h->stack, h->stacks, sizeof *h->stack, by);
}
void heap_sort_left(struct heap *h) { heap_sort(h, by_left); }
void heap_sort_waits(struct heap *h) { heap_sort(h, by_waits); }
