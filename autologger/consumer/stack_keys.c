#include "autologger/consumer/stack_keys.h"

#include "autologger/schema/classic.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

struct stack_definition {
    struct stack_definition *before; /* an earlier, different one of the same key */
    int64_t                  last;   /* raw time of its last event */
    unsigned                 count;
    uint8_t                  frames[];
};

bool stack_keys_see(struct stack_keys *k, const struct etl_event *e)
{
    uint16_t            hook = classic_hook(e);
    struct stack_fields stack;

    if (hook < HOOK_STACK_KEY_CREATE || hook > HOOK_STACK_KEY_RUNDOWN || !stack_event_read(e, &stack))
        return false;
    uint64_t                 key;
    const size_t             bytes = stack.count * sizeof(uint64_t);
    struct stack_definition *latest;
    memcpy(&key, e->payload, sizeof key);
    latest = idmap_get(&k->by_key, key);
    if (latest && latest->count == stack.count && memcmp(latest->frames, stack.frames, bytes) == 0) {
        latest->last = e->raw_time > latest->last ? e->raw_time : latest->last;
        return true;
    }
    struct stack_definition *d = malloc(sizeof *d + bytes);
    if (d) {
        *d = (struct stack_definition){.before = latest, .last = e->raw_time, .count = stack.count};
        memcpy(d->frames, stack.frames, bytes);
    }
    if (!d || !idmap_put(&k->by_key, key, d)) {
        free(d);
        k->failed = true;
        return true;
    }
    k->bytes += sizeof *d + bytes;
    return true;
}

bool stack_key_read(const struct etl_event *e, struct stack_fields *out, uint64_t *key)
{
    uint16_t      hook = classic_hook(e);
    struct cursor c    = cur_make(e->payload, e->payload_size);

    if ((hook != HOOK_STACK_KEY_KERNEL && hook != HOOK_STACK_KEY_USER) || !e->is_64bit)
        return false;
    *out            = (struct stack_fields){.trigger = (int64_t)cur_u64(&c)};
    out->process_id = cur_u32(&c);
    out->thread_id  = cur_u32(&c);
    *key            = cur_u64(&c);
    return cur_ok(&c);
}

/* The first definition whose last event is at that time or later; else the latest one. */
static const struct stack_definition *definition_at(const struct stack_keys *k, uint64_t key, int64_t time)
{
    const struct stack_definition *d = idmap_get(&k->by_key, key);
    while (d && d->before && d->before->last >= time)
        d = d->before;
    return d;
}

bool stack_keys_stack(const struct stack_keys *k, const struct etl_event *e, struct stack_fields *out)
{
    uint64_t key;

    if (stack_key_read(e, out, &key)) {
        const struct stack_definition *d = definition_at(k, key, e->raw_time);
        out->count                       = d ? d->count : 0;
        out->frames                      = d ? d->frames : NULL;
        return true;
    }
    return stack_event_read(e, out) && out->trigger;
}

void stack_keys_finish(struct stack_keys *k)
{
    for (size_t i = 0; i < k->by_key.capacity; i++)
        for (struct stack_definition *d = k->by_key.slot[i].value, *before; d; d = before) {
            before = d->before;
            free(d);
        }
    idmap_finish(&k->by_key);
    *k = (struct stack_keys){0};
}
