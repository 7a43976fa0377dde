/* convert_counters.c - PerfCtr events: resource use of a process, at its end and at the stop. See convert.h and
 * counters.h. The kernel reports threads: the figures of ended threads are kept until their process ends. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 1 << 17 };

struct convert_counters_used {
    struct raw_counters sum;
    bool last, alive; /* last: the latest exited thread had figures; alive: the process lived at the stop */
};
struct part_counters {
    struct idmap process; /* -> struct used */
};

void part_counters_finish(struct convert *c)
{
    if (!c->counters)
        return;
    for (size_t i = 0; i < c->counters->process.capacity; i++)
        free(c->counters->process.slot[i].value);
    idmap_finish(&c->counters->process);
    free(c->counters);
    c->counters = NULL;
}

static struct convert_counters_used *used_of(struct convert *c, uint32_t pid)
{
    if (!c->counters && !(c->counters = calloc(1, sizeof *c->counters)))
        return NULL;
    struct convert_counters_used *u = idmap_get(&c->counters->process, pid);
    if (u || c->counters->process.count >= PROCESSES_MAX)
        return u;
    u = calloc(1, sizeof *u);
    if (u && !idmap_put(&c->counters->process, pid, u)) {
        free(u);
        u = NULL;
    }
    return u;
}

/* Drops the figures of an older process with this pid: the record of its end was lost. */
void counters_begin(struct convert *c, uint32_t pid)
{
    if (c->counters)
        free(idmap_remove(&c->counters->process, pid));
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

void counters_exit(struct convert *c, uint32_t pid, uint64_t raw)
{
    struct raw_counters           r;
    struct convert_counters_used *u = c->process_counters ? used_of(c, pid) : NULL;
    const uint8_t                *n = u ? note_take(c, RAW_NOTE_COUNTERS, pid, raw, sizeof r) : NULL;
    if (u)
        u->last = n != NULL;
    if (!n)
        return;
    memcpy(&r, n, sizeof r);
    u->sum.faults += r.faults;
    u->sum.peak_virtual = larger(u->sum.peak_virtual, r.peak_virtual);
    u->sum.peak_set     = larger(u->sum.peak_set, r.peak_set);
}

void own_counters(struct convert *c, const uint8_t *record, size_t size)
{
    struct raw_counters r;
    if (size < sizeof r)
        return;
    memcpy(&r, record, sizeof r);
    struct convert_counters_used *u = used_of(c, r.own.pid);
    if (!u)
        return;
    u->sum   = r;
    u->alive = true;
}

static void counters_event(struct convert *c, unsigned cpu, uint32_t pid, const struct raw_counters *r, uint16_t hook,
                           uint64_t *time)
{
    uint8_t       bytes[104] = {0};
    struct writer w          = wr_make(bytes, sizeof bytes);
    wr_u32(&w, pid);
    wr_u32(&w, (uint32_t)r->faults);
    wr_u32(&w, r->handles);
    wr_u32(&w, 0);
    wr_u64(&w, r->peak_virtual);
    wr_u64(&w, r->peak_set);
    for (int i = 0; i < 3; i++) /* peaks of page file use (not reported) and of the pools (none) */
        wr_u64(&w, 0);
    wr_u64(&w, r->size);
    wr_u64(&w, r->resident);
    wr_u64(&w, r->swapped);
    emit(c, &(struct event){cpu, hook, ETL_PERFINFO64, 2, 0, 0}, time, bytes, sizeof bytes);
}

/* A process end without figures (the kernel could not deliver them) gives no event. */
void counters_end(struct convert *c, unsigned cpu, uint32_t pid, uint64_t *time)
{
    struct convert_counters_used *u = c->counters ? idmap_remove(&c->counters->process, pid) : NULL;
    if (u && u->last)
        counters_event(c, cpu, pid, &u->sum, HOOK_PROCESS_COUNTERS, time);
    free(u);
}

void counters_stop(struct convert *c, uint32_t pid, uint64_t *time)
{
    const struct convert_counters_used *u = c->counters ? idmap_get(&c->counters->process, pid) : NULL;
    if (u && u->alive)
        counters_event(c, 0, pid, &u->sum, HOOK_PROCESS_COUNTERS_RUNDOWN, time);
}

void part_counters_put(const struct convert *c, struct sink *s)
{
    const struct idmap *all   = c->counters ? &c->counters->process : NULL;
    uint64_t            count = all ? all->count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; all && i < all->capacity; i++)
        if (all->slot[i].value) {
            snapshot_put(s, &all->slot[i].key, sizeof all->slot[i].key);
            snapshot_put(s, all->slot[i].value, sizeof(struct convert_counters_used));
        }
}

bool part_counters_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > PROCESSES_MAX)
        return false;
    for (uint64_t i = 0; i < count && cur_ok(cur); i++) {
        struct convert_counters_used *u = used_of(c, (uint32_t)cur_u64(cur));
        if (!u)
            return false;
        cur_copy(cur, u, sizeof *u);
    }
    return cur_ok(cur);
}
