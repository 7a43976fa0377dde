/* emit.c - ETL records into per-CPU queues. See convert.h. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/unset.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/utf16.h"
#include "registry-sim/base/invariant.h"

#include <stdlib.h>
#include <string.h>

struct queue_prefix {
    uint64_t time;
    uint32_t size, reserved;
};

/* Room for `bytes` at the end of the queue; NULL: no memory. */
static uint8_t *queue_room(struct convert *c, struct queue *q, size_t bytes)
{
    struct queue_block *b = q->last_block;
    INVARIANT(bytes <= BLOCK_BYTES);
    if (!b || b->tail + bytes > BLOCK_BYTES) {
        b = c->free_blocks;
        if (b)
            c->free_blocks = b->next;
        else
            b = malloc(sizeof *b);
        if (!b)
            return NULL;
        b->next = NULL;
        b->head = b->tail                                   = 0;
        *(q->last_block ? &q->last_block->next : &q->first) = b;
        q->last_block                                       = b;
    }
    uint8_t *at = b->data + b->tail;
    b->tail += bytes;
    c->queued += bytes;
    return at;
}

void queue_finish(struct queue *q)
{
    for (struct queue_block *b = q->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

uint8_t *emit_reserve(struct convert *c, const struct event *e, uint64_t *time, size_t payload)
{
    struct queue *q = &c->queue[e->cpu];
    size_t        head =
        e->header_type == ETL_PERFINFO64 ? sizeof(struct etl_perfinfo_header) : sizeof(struct etl_system_header);
    size_t size = head + payload, whole = sizeof(struct queue_prefix) + ((size + 7) & ~(size_t)7);

    if (*time <= q->last)
        *time = q->last + 1; /* V1 */
    q->last = *time;
    c->events++;
    uint8_t *at = *time <= q->suppress || size > ETL_MAX_EVENT ? NULL : queue_room(c, q, whole);
    if (!at)
        return NULL;
    *(struct queue_prefix *)(void *)at = (struct queue_prefix){*time, (uint32_t)size, 0};
    at += sizeof(struct queue_prefix);
    if (e->header_type == ETL_PERFINFO64)
        *(struct etl_perfinfo_header *)(void *)at =
            (struct etl_perfinfo_header){e->version,       ETL_PERFINFO64,          ETL_MARKER,    (uint16_t)size,
                                         (uint8_t)e->hook, (uint8_t)(e->hook >> 8), (int64_t)*time};
    else
        *(struct etl_system_header *)(void *)at = (struct etl_system_header){e->version,
                                                                             ETL_SYSTEM64,
                                                                             ETL_MARKER,
                                                                             (uint16_t)size,
                                                                             (uint8_t)e->hook,
                                                                             (uint8_t)(e->hook >> 8),
                                                                             e->tid,
                                                                             e->pid,
                                                                             (int64_t)*time,
                                                                             0,
                                                                             0};
    return at + head;
}

void emit(struct convert *c, const struct event *e, uint64_t *time, const void *payload, size_t size)
{
    uint8_t *p = emit_reserve(c, e, time, size);
    if (p && size)
        memcpy(p, payload, size);
}

void stack_write(struct convert *c, const struct actor *of, uint16_t hook, uint64_t trigger, const uint64_t *frames,
                 unsigned n, uint64_t time)
{
    uint8_t *at = emit_reserve(c, &(struct event){of->cpu, hook, ETL_PERFINFO64, 2, 0, 0}, &time, 16 + n * 8);
    if (!at)
        return;
    memcpy(at, &trigger, 8);
    memcpy(at + 8, &of->pid, 4);
    memcpy(at + 12, &of->tid, 4);
    memcpy(at + 16, frames, n * 8);
}

/* The program's part may come separately, as a copy of its stack (c->copy). */
void emit_stack(struct convert *c, const struct actor *of, uint64_t trigger, const uint8_t *chain, uint64_t count)
{
    struct kernel_process *p    = process_get(c, of->pid);
    uint64_t               time = trigger + 1;
    UNSET uint64_t         frames[STACK_FRAMES];
    unsigned               n = 0;
    for (uint64_t i = 0; i < count && n < STACK_FRAMES; i++) {
        uint64_t ip;
        memcpy(&ip, chain + i * 8, 8);
        if (ip < (uint64_t)-4095) /* higher values mark the origin of the frames */
            frames[n++] = ip;
    }
    if (n == 0 && !c->copy) {
        c->stacks_missing++;
        return;
    }
    if (p && !p->images_shown && (c->copy || !(frames[n - 1] >> 63)))
        images_show(c, of->cpu, p, &time);
    c->stacks += n != 0;
    if (n && c->config->stack_cache_bytes)
        stack_keyed(c, of, trigger, frames, n);
    else if (n)
        stack_write(c, of, HOOK_STACK_WALK, trigger, frames, n, time);
    if (c->copy)
        copy_emit(c, of, trigger, c->copy);
}

static uint8_t *emit_item_put(uint8_t *at, uint16_t type, const uint8_t *data, uint16_t size, bool more)
{
    struct etl_ext_item item = {(uint16_t)(sizeof item + ((size + 7u) & ~7u)), type, more, size};
    memset(at, 0, item.total);
    memcpy(at, &item, sizeof item);
    memcpy(at + sizeof item, data, size);
    return at + item.total;
}

static uint16_t sized(const uint8_t *data)
{
    uint16_t size;
    memcpy(&size, data, sizeof size);
    return size;
}

static size_t item_bytes(uint16_t size) { return sizeof(struct etl_ext_item) + ((size + 7u) & ~7u); }

/* The stack of an event as an extended item: a number that links related items (0: none), then the frames, without
 * markers. */
static uint16_t stack_item(const struct described *d, uint64_t item[STACK_FRAMES + 1])
{
    unsigned n = 1;
    item[0]    = 0;
    for (unsigned i = 0; i < d->chain_count && n <= STACK_FRAMES; i++) {
        memcpy(&item[n], d->chain + i * sizeof *item, sizeof *item);
        n += item[n] < (uint64_t)-4095;
    }
    return n > 1 ? (uint16_t)(n * sizeof *item) : 0;
}

void emit_described(struct convert *c, const struct actor *by, const struct described *d, uint64_t *time,
                    const void *payload, size_t size)
{
    enum { CHANNEL_TRACELOGGING = 11, LEVEL_INFORMATION = 4 };
    UNSET uint64_t stack[STACK_FRAMES + 1];
    uint16_t       stack_size = d->chain_count ? stack_item(d, stack) : 0, traits = sized(d->traits),
             schema = sized(d->schema);
    size_t head     = sizeof(struct etl_event_header);
    size_t whole    = head + item_bytes(traits) + item_bytes(schema) + (stack_size ? item_bytes(stack_size) : 0) + size;
    struct event e  = {by->cpu, 0, ETL_SYSTEM64, 0, 0, 0};
    uint8_t     *at = emit_reserve(c, &e, time, whole - sizeof(struct etl_system_header));
    if (!at)
        return;
    at -= sizeof(struct etl_system_header);
    struct etl_event_header h = {.size        = (uint16_t)whole,
                                 .header_type = ETL_EVENT64,
                                 .marker      = ETL_MARKER,
                                 .flags       = ETL_EVENT_EXTENDED,
                                 .thread_id   = by->tid,
                                 .process_id  = by->pid,
                                 .time        = (int64_t)*time,
                                 .provider    = d->provider,
                                 .channel     = CHANNEL_TRACELOGGING,
                                 .level       = LEVEL_INFORMATION};
    memcpy(at, &h, sizeof h);
    at = emit_item_put(at + head, ETL_EXT_PROV_TRAITS, d->traits, traits, true);
    at = emit_item_put(at, ETL_EXT_SCHEMA_TL, d->schema, schema, stack_size != 0);
    if (stack_size)
        at = emit_item_put(at, ETL_EXT_STACK64, (const uint8_t *)stack, stack_size, false);
    memcpy(at, payload, size);
}

/* A classic event: its header holds the class GUID. */
void emit_system_ex(struct convert *c, uint8_t opcode, uint64_t *time, const void *payload, size_t size)
{
    static const struct guid class = {0x9b79ee91, 0xb5fd, 0x41c0, {0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0}};
    struct event e                 = {0, opcode, ETL_SYSTEM64, 0, 0, 0};
    uint8_t *at = emit_reserve(c, &e, time, sizeof(struct etl_full_header) - sizeof(struct etl_system_header) + size);
    if (!at)
        return;
    at -= sizeof(struct etl_system_header);
    struct etl_full_header h = {.size        = (uint16_t)(sizeof h + size),
                                .header_type = ETL_FULL64,
                                .marker      = ETL_MARKER,
                                .type        = opcode,
                                .time        = (int64_t)*time,
                                .guid        = class};
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, payload, size);
}

/* SystemConfigEx 35: NT path, DOS path. */
void emit_volume_mapping(struct convert *c, uint64_t *time)
{
    static const char *const text[]       = {"\\Device\\HarddiskVolume1\\", "C:\\"};
    uint8_t                  payload[128] = {0};
    size_t                   n            = 0;
    for (int i = 0; i < 2; i++)
        n += utf8_to_utf16le(text[i], strlen(text[i]), payload + n, sizeof payload - n) + 2;
    emit_system_ex(c, 35, time, payload, n);
}

/* The block with the next record, or NULL; empty blocks before it are freed for reuse. */
static struct queue_block *front(struct convert *c, struct queue *q)
{
    while (q->first && q->first->head == q->first->tail) {
        struct queue_block *b = q->first;
        q->first              = b->next;
        if (!q->first)
            q->last_block = NULL;
        b->next        = c->free_blocks;
        c->free_blocks = b;
    }
    return q->first;
}

bool convert_peek(struct convert *c, unsigned cpu, struct klog_record *out)
{
    if (cpu >= c->cpus)
        return false;
    struct queue_block *b = front(c, &c->queue[cpu]);
    if (!b) {
        convert_run(c, cpu);
        b = front(c, &c->queue[cpu]);
    }
    if (!b)
        return false;
    const struct queue_prefix *p = (const void *)(b->data + b->head);
    *out                         = (struct klog_record){b->data + b->head + sizeof *p, p->size, p->time};
    return true;
}

void convert_pop(struct convert *c, unsigned cpu)
{
    struct queue_block *b = cpu < c->cpus ? front(c, &c->queue[cpu]) : NULL;
    if (!b)
        return;
    const struct queue_prefix *p     = (const void *)(b->data + b->head);
    size_t                     whole = sizeof *p + ((p->size + 7u) & ~7u);
    b->head += whole;
    c->queued -= whole;
}

void convert_suppress(struct convert *c, unsigned cpu, uint64_t time)
{
    if (cpu < c->cpus && c->queue[cpu].suppress < time)
        c->queue[cpu].suppress = time;
}
