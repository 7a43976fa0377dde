/* event_items.c - see event_items.h. Compiled as event_write.c is. */
#include "autologger/provider/event_items.h"

#include <sys/resource.h>
#include <time.h>

enum { NO_DESCRIPTOR = 255 };

static void event_items_put(struct event_items *b, const void *data, uint32_t size)
{
    b->piece[b->count++] = (struct ring_piece){(uintptr_t)data, size, 0};
}
static void event_items_put_item(struct event_items *b, uint16_t type, const void *data, uint32_t size)
{
    static const uint8_t zeros[8];
    uint32_t             padded = (size + 7) & ~7u;
    struct etl_ext_item *item   = &b->item[b->item_count++];
    *item                       = (struct etl_ext_item){(uint16_t)(sizeof *item + padded), type, 0, (uint16_t)size};
    if (b->item_count > 1)
        item[-1].linkage = 1;
    event_items_put(b, item, sizeof *item);
    event_items_put(b, data, size);
    if (padded != size)
        event_items_put(b, zeros, padded - size);
}

/* Of this thread. No mapped page has them: perf's page is current only for a hardware counter. getrusage's sum is that of
 * the last tick or switch; the thread's clock brings it up to date. */
static void cpu_times(uint64_t ns[2])
{
    struct rusage   used;
    struct timespec now;
    ns[0] = ns[1] = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    if (getrusage(RUSAGE_THREAD, &used) < 0)
        return;
    ns[0] = (uint64_t)used.ru_stime.tv_sec * 1000000000u + (uint64_t)used.ru_stime.tv_usec * 1000u;
    ns[1] = (uint64_t)used.ru_utime.tv_sec * 1000000000u + (uint64_t)used.ru_utime.tv_usec * 1000u;
}

static void event_items_put_extras(struct event_items *b, const struct event_ask *ask)
{
    const struct filter_identity *who = &al_identity;
    struct event_extras          *x   = ask->extras;
    if (ask->property & PROPERTY_SID)
        event_items_put_item(b, ETL_EXT_SID, who->sid, who->sid_size);
    if (ask->property & PROPERTY_TS_ID)
        event_items_put_item(b, ETL_EXT_TS_ID, &who->terminal_session, sizeof who->terminal_session);
    if (ask->property & PROPERTY_PROCESS_START_KEY)
        event_items_put_item(b, ETL_EXT_PROCESS_START_KEY, &who->start_key, sizeof who->start_key);
    if (ask->property & PROPERTY_SOURCE_CONTAINER && *who->container)
        event_items_put_item(b, ETL_EXT_CONTAINER_ID, who->container_id, sizeof who->container_id);
    if (ask->property & PROPERTY_SOURCE_CONTAINER && al_thread.pid != who->own_pid) {
        x->inner[0] = who->own_pid;
        x->inner[1] = al_thread.inner;
        event_items_put_item(b, ETL_EXT_INNER_IDS, x->inner, sizeof x->inner);
    }
    if (ask->property & PROPERTY_EVENT_KEY) {
        if (!x->has_key)
            x->event_key = identity_event_key();
        x->has_key = true;
        event_items_put_item(b, ETL_EXT_EVENT_KEY, &x->event_key, sizeof x->event_key);
    }
    if (ask->property & PROPERTY_CPU_TIME) {
        if (!x->has_times)
            cpu_times(x->times);
        x->has_times = true;
        event_items_put_item(b, ETL_EXT_CPU_TIMES, x->times, sizeof x->times);
    }
    if (!ask->stack)
        return;
    if (!x->has_stack)
        x->frames = x->frame ? user_stack(x->frame, x->caller, x->stack + 1) : 0;
    x->has_stack = true;
    x->stack[0]  = 0;
    if (x->frames)
        event_items_put_item(b, ETL_EXT_STACK64, x->stack, (1 + x->frames) * (uint32_t)sizeof *x->stack);
}

ULONG event_items_build(struct event_items *b, struct section *e, const struct registration *r, LPCGUID related,
                        ULONG n, const EVENT_DATA_DESCRIPTOR *data, const struct event_ask *ask)
{
    const bool     typed       = __atomic_load_n(&r->use_types, __ATOMIC_ACQUIRE);
    const uint8_t *traits      = __atomic_load_n(&r->traits, __ATOMIC_ACQUIRE);
    uint32_t       traits_size = traits ? r->traits_size : 0, schema = NO_DESCRIPTOR;

    b->item_count = b->count = 0;
    for (ULONG i = 0; typed && i < n; i++) {
        if (data[i].Size > ETL_MAX_EVENT)
            return ERROR_ARITHMETIC_OVERFLOW;
        if (data[i].Type == EVENT_DATA_DESCRIPTOR_TYPE_TIMESTAMP_OVERRIDE)
            return ERROR_NOT_SUPPORTED;
        if (data[i].Type == EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA)
            schema = i;
        if (data[i].Type == EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA && !traits) {
            traits      = (const uint8_t *)(uintptr_t)data[i].Ptr;
            traits_size = data[i].Size;
        }
    }
    if (related)
        event_items_put_item(b, ETL_EXT_RELATED_ACTIVITY, related, sizeof *related);
    if (traits_size)
        event_items_put_item(b, ETL_EXT_PROV_TRAITS, traits, traits_size);
    if (schema != NO_DESCRIPTOR)
        event_items_put_item(b, ETL_EXT_SCHEMA_TL, (const void *)(uintptr_t)data[schema].Ptr, data[schema].Size);
    if (ask)
        event_items_put_extras(b, ask);
    if (b->item_count)
        e->first |= (uint64_t)ETL_EVENT_EXTENDED << 32;
    for (ULONG i = 0; i < n; i++)
        if (!typed || data[i].Type == EVENT_DATA_DESCRIPTOR_TYPE_NONE)
            event_items_put(b, (const void *)(uintptr_t)data[i].Ptr, data[i].Size);
    e->piece = b->piece;
    e->end   = b->piece + b->count;
    return ERROR_SUCCESS;
}
