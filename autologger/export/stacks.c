#include "autologger/export/stacks.h"

#include "autologger/consumer/classic_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct open_stack {
    struct stack_trigger trigger;
    uint32_t             pid;
    char               **frame;
    unsigned             frames, capacity;
};

static uint64_t stacks_key_of(const struct stacks *s, int64_t raw_time, uint32_t tid, uint16_t cpu)
{
    uint64_t key = (uint64_t)raw_time * UINT64_C(0x9E3779B97F4A7C15) ^ (s->by_cpu ? cpu : tid);
    return key ? key : 1;
}

void stacks_trigger(struct stacks *s, const struct stack_trigger *t)
{
    if (!t->weight)
        return;
    if (!s->trigger && !(s->trigger = calloc(STACKS_TRIGGERS, sizeof *s->trigger))) {
        s->failed = true;
        return;
    }
    uint64_t              place = s->triggers++ % STACKS_TRIGGERS;
    struct stack_trigger *slot  = &s->trigger[place];
    uint64_t              old   = stacks_key_of(s, slot->raw_time, slot->tid, slot->cpu);
    if (slot->weight && (uintptr_t)idmap_get(&s->at, old) == place + 1)
        idmap_remove(&s->at, old);
    *slot = *t;
    s->failed |= !idmap_put(&s->at, stacks_key_of(s, t->raw_time, t->tid, t->cpu), (void *)(uintptr_t)(place + 1));
}

static void clear(struct open_stack *o)
{
    for (unsigned i = 0; i < o->frames; i++)
        free(o->frame[i]);
    o->frames = 0;
}

static void stacks_give(struct stacks *s, struct open_stack *o)
{
    if (o->frames) {
        s->joined[o->trigger.kind]++;
        s->take(s->ctx, &(struct joined_stack){(enum stack_kind)o->trigger.kind, o->pid, o->trigger.tid, o->trigger.cpu,
                                               o->trigger.raw_time, o->trigger.time, o->trigger.weight,
                                               (const char *const *)o->frame, o->frames});
    }
    clear(o);
}

static void stacks_add_frame(struct stacks *s, struct open_stack *o, const char *text)
{
    if (o->frames == STACKS_FRAMES)
        return;
    if (o->frames == o->capacity) {
        unsigned capacity = o->capacity ? o->capacity * 2 : 32;
        void    *more     = realloc(o->frame, capacity * sizeof *o->frame);
        if (!more) {
            s->failed = true;
            return;
        }
        o->frame    = more;
        o->capacity = capacity;
    }
    if ((o->frame[o->frames] = strdup(text)))
        o->frames++;
    else
        s->failed = true;
}

static void add_named(struct stacks *s, struct open_stack *o, const struct frame_name *f)
{
    char text[1024];

    if (f->state == FRAME_NAMED)
        snprintf(text, sizeof text, "%.200s!%.800s", f->module ? f->module : "?", f->function);
    else if (f->module)
        snprintf(text, sizeof text, "%.200s!0x%" PRIx64, f->module, f->offset ? f->offset : f->address);
    else
        snprintf(text, sizeof text, "0x%" PRIx64, f->address);
    stacks_add_frame(s, o, text);
}

static void add_frames(struct stacks *s, struct open_stack *o, const struct etl_event *e,
                       const struct stack_fields *stack)
{
    char text[24];

    if (s->namer) {
        if (!s->names && !(s->names = malloc(STACKS_FRAMES * sizeof *s->names))) {
            s->failed = true;
            return;
        }
        unsigned n = s->namer->stack(s->namer->ctx, e, s->names, STACKS_FRAMES);
        for (unsigned i = 0; i < n; i++)
            add_named(s, o, &s->names[i]);
        return;
    }
    for (unsigned i = 0; i < stack->count; i++) {
        snprintf(text, sizeof text, "0x%" PRIx64, stack_frame(stack, i));
        stacks_add_frame(s, o, text);
    }
}

bool stacks_see(struct stacks *s, const struct etl_event *e)
{
    struct stack_fields stack;

    if (stack_keys_see(&s->keys, e)) {
        s->other++;
        return true;
    }
    if (!stack_keys_stack(&s->keys, e, &stack))
        return false;
    uintptr_t place =
        stack.trigger ? (uintptr_t)idmap_get(&s->at, stacks_key_of(s, stack.trigger, stack.thread_id, e->cpu)) : 0;
    if (!place) {
        s->other++; /* the trigger is of another kind, or too long ago */
        return true;
    }
    const struct stack_trigger *t = &s->trigger[place - 1];
    struct open_stack          *o = idmap_get(&s->open, stack.thread_id + UINT64_C(1));
    if (!o) {
        if (!(o = calloc(1, sizeof *o)) || !idmap_put(&s->open, stack.thread_id + UINT64_C(1), o)) {
            free(o);
            s->failed = true;
            return true;
        }
    }
    if (o->frames && (o->trigger.raw_time != t->raw_time || o->trigger.kind != t->kind))
        stacks_give(s, o);
    o->trigger = *t;
    o->pid     = stack.process_id;
    add_frames(s, o, e, &stack);
    return true;
}

void stacks_end(struct stacks *s)
{
    s->failed |= s->keys.failed;
    for (size_t i = 0; i < s->open.capacity; i++)
        if (s->open.slot[i].value)
            stacks_give(s, s->open.slot[i].value);
}

void stacks_finish(struct stacks *s)
{
    for (size_t i = 0; i < s->open.capacity; i++) {
        struct open_stack *o = s->open.slot[i].value;
        if (o) {
            clear(o);
            free(o->frame);
            free(o);
        }
    }
    idmap_finish(&s->open);
    idmap_finish(&s->at);
    stack_keys_finish(&s->keys);
    free(s->trigger);
    free(s->names);
}
