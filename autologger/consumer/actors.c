#include "autologger/consumer/actors.h"

#include "autologger/schema/classic.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>

bool actors_switch(const struct etl_event *e, uint32_t *comes, uint32_t *goes)
{
    if (classic_hook(e) != HOOK_THREAD_CSWITCH)
        return false;
    struct cursor c = cur_make(e->payload, e->payload_size);
    *comes          = cur_u32(&c);
    *goes           = cur_u32(&c);
    return cur_ok(&c);
}

bool actors_transfer(const struct etl_event *e, uint32_t *thread, uint32_t *bytes, bool *write)
{
    enum { ADDRESSES = 16, TIMES_AND_PLACE = 16 };
    uint16_t hook = classic_hook(e);

    if ((hook != HOOK_DISK_READ && hook != HOOK_DISK_WRITE) || !e->is_64bit)
        return false;
    struct cursor c = cur_make(e->payload, e->payload_size);
    cur_u64(&c); /* disk, flags */
    *bytes = cur_u32(&c);
    cur_u32(&c);
    cur_take(&c, TIMES_AND_PLACE + ADDRESSES);
    *thread = cur_u32(&c);
    *write  = hook == HOOK_DISK_WRITE;
    return cur_ok(&c);
}

static void runs(struct actors *a, unsigned cpu, uint32_t thread)
{
    if (cpu >= a->cpus) {
        uint32_t *grown = realloc(a->running, (cpu + 1ul) * sizeof *grown);
        if (!grown) {
            a->failed = true;
            return;
        }
        a->running = grown;
        while (a->cpus <= cpu)
            a->running[a->cpus++] = ACTOR_NONE;
    }
    a->running[cpu] = thread;
}

void actors_see(struct actors *a, const struct etl_event *e)
{
    uint16_t hook = classic_hook(e);
    uint32_t comes, goes;

    if (hook == HOOK_THREAD_START || hook == HOOK_THREAD_DC_START) {
        struct cursor c       = cur_make(e->payload, e->payload_size);
        uint32_t      process = cur_u32(&c), thread = cur_u32(&c);
        if (cur_ok(&c) && !idmap_put(&a->threads, thread + UINT64_C(1), (void *)(uintptr_t)(process + UINT64_C(1))))
            a->failed = true;
    } else if (actors_switch(e, &comes, &goes)) {
        runs(a, e->cpu, comes);
    }
}

uint32_t actors_owner(const struct actors *a, uint32_t thread)
{
    if (thread == 0) /* idle, on every processor */
        return 0;
    const uintptr_t owner = (uintptr_t)idmap_get(&a->threads, thread + UINT64_C(1));
    return owner ? (uint32_t)(owner - 1) : ACTOR_NONE;
}

uint32_t actors_process(const struct actors *a, const struct etl_event *e)
{
    uint16_t hook = classic_hook(e);
    uint32_t thread, other;
    bool     write;

    if (actors_switch(e, &thread, &other) || actors_transfer(e, &thread, &other, &write))
        return actors_owner(a, thread);
    if ((hook == HOOK_STACK_WALK || hook == HOOK_STACK_KEY_KERNEL || hook == HOOK_STACK_KEY_USER) &&
        e->payload_size >= 16) {
        struct cursor c = cur_make(e->payload, e->payload_size);
        cur_u64(&c);
        return cur_u32(&c);
    }
    if (e->process_id != ACTOR_NONE)
        return e->process_id;
    thread = e->thread_id != ACTOR_NONE ? e->thread_id : e->cpu < a->cpus ? a->running[e->cpu] : ACTOR_NONE;
    return thread != ACTOR_NONE ? actors_owner(a, thread) : ACTOR_NONE;
}

void actors_finish(struct actors *a)
{
    idmap_finish(&a->threads);
    free(a->running);
    *a = (struct actors){0};
}
