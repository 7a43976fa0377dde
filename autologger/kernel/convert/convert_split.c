/* convert_split.c - SplitIo: a request that a device takes in several parts, or that a stacked device passes to the one
 * below it. See convert.h. The kernel splits before a request exists, so the parts get their Irps beforehand: the first
 * keeps the Irp of the whole, and the disk events of the requests that begin at a part carry its Irp. A part merged
 * into another request shows in no disk event. A part is identified by its first sector, in the thread that split it:
 * the split may name a partition, the request names the disk. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 65536, DEV_SHIFT = 20, MAJOR_PARTITIONS = 259 };
struct part_split {
    struct idmap irp; /* part_key() -> its Irp */
};

static uint64_t part_key(uint32_t tid, uint32_t dev, uint64_t sector)
{
    return (sector * UINT64_C(0x9E3779B97F4A7C15)) ^ ((uint64_t)tid << 32 | dev >> DEV_SHIFT);
}

/* The Irp of the part at `key`, assigned beforehand if need be; 0: no memory */
static uint64_t irp_reserve(struct convert *c, uint64_t key)
{
    if (!c->split && !(c->split = calloc(1, sizeof *c->split)))
        return 0;
    uint64_t irp = (uintptr_t)idmap_get(&c->split->irp, key);
    if (irp)
        return irp;
    if (c->split->irp.count >= PARTS_MAX)
        idmap_clear(&c->split->irp); /* all of these are merged parts */
    irp = disk_irp(c);
    return idmap_put(&c->split->irp, key, (void *)(uintptr_t)irp) ? irp : 0;
}

uint64_t split_take(struct convert *c, uint32_t tid, uint32_t dev, uint64_t sector)
{
    return c->split ? (uintptr_t)idmap_remove(&c->split->irp, part_key(tid, dev, sector)) : 0;
}

static void split_event(struct convert *c, const struct sample *s, uint64_t parent, uint64_t child)
{
    uint64_t     time       = convert_time(c, s->time);
    struct actor by         = {s->cpu, shown_pid(c, s->pid, s->tid), s->tid};
    uint64_t     payload[2] = {parent, child};
    if (!parent || !child)
        return;
    emit(c, &(struct event){s->cpu, HOOK_SPLIT_VOLMGR, ETL_PERFINFO64, 2, 0, 0}, &time, payload, sizeof payload);
    if (stack_wanted(c, HOOK_SPLIT_VOLMGR))
        emit_stack(c, &by, time, s->chain, s->chain_count);
}

/* Only reads and writes have disk events. */
static bool transfers(const struct sample *s, unsigned field)
{
    const struct raw_field *f   = &s->source->field[field];
    bool                    any = false;
    if (f->offset == RAW_NO_FIELD || (uint32_t)f->offset + f->size > s->raw_size)
        return false;
    for (uint16_t i = 0; i < f->size && s->raw[f->offset + i]; i++) {
        if (s->raw[f->offset + i] == 'D')
            return false;
        any |= s->raw[f->offset + i] == 'R' || s->raw[f->offset + i] == 'W';
    }
    return any;
}

void convert_split(struct convert *c, const struct sample *s)
{
    uint32_t dev = (uint32_t)sample_field(s, F_SPLIT_DEV);
    if (!transfers(s, F_SPLIT_RWBS))
        return;
    uint64_t parent = irp_reserve(c, part_key(s->tid, dev, (uint64_t)sample_field(s, F_SPLIT_SECTOR)));
    uint64_t child  = irp_reserve(c, part_key(s->tid, dev, (uint64_t)sample_field(s, F_SPLIT_NEW_SECTOR)));
    split_event(c, s, parent, child);
}

/* From one driver to another. A partition's request is the disk's own, though partitions of high numbers have a major
 * number of their own. */
void convert_remap(struct convert *c, const struct sample *s)
{
    uint32_t dev = (uint32_t)sample_field(s, F_REMAP_DEV), old = (uint32_t)sample_field(s, F_REMAP_OLD_DEV);
    if (dev >> DEV_SHIFT == old >> DEV_SHIFT || old >> DEV_SHIFT == MAJOR_PARTITIONS || !transfers(s, F_REMAP_RWBS))
        return;
    uint64_t parent = irp_reserve(c, part_key(s->tid, old, (uint64_t)sample_field(s, F_REMAP_OLD_SECTOR)));
    uint64_t child  = irp_reserve(c, part_key(s->tid, dev, (uint64_t)sample_field(s, F_REMAP_SECTOR)));
    split_event(c, s, parent, child);
}

void part_split_finish(struct convert *c)
{
    if (c->split)
        idmap_finish(&c->split->irp);
    free(c->split);
    c->split = NULL;
}

void part_split_put(const struct convert *c, struct sink *s)
{
    const struct idmap *irps  = c->split ? &c->split->irp : NULL;
    uint64_t            count = irps ? irps->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; irps && i < irps->capacity; i++)
        if (irps->slot[i].value) {
            uint64_t one[2] = {irps->slot[i].key, (uintptr_t)irps->slot[i].value};
            snapshot_put(s, one, sizeof one);
        }
}

bool part_split_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > PARTS_MAX || (count && !(c->split = calloc(1, sizeof *c->split))))
        return false;
    for (uint64_t i = 0; i < count && cur_ok(cur); i++) {
        uint64_t key = cur_u64(cur), irp = cur_u64(cur);
        if (!irp || !idmap_put(&c->split->irp, key, (void *)(uintptr_t)irp))
            return false;
    }
    return cur_ok(cur);
}
