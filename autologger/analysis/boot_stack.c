/* boot_stack.c - stacks of a boot, each once by the names of its functions, and their weight over time. See
 * boot_build.h. */
#include "autologger/analysis/boot_build.h"
#include "autologger/consumer/classic_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MOST = 192, RAW_MOST = 1 << 20, BINS = 512, CELLS_MOST = 400000 };

static int frame_get(struct boot_builder *w, const char *text)
{
    const uint64_t  key = boot_hash(text, strlen(text), 0);
    const uintptr_t at  = (uintptr_t)idmap_get(&w->frames, key);
    if (at)
        return (int)(at - 1);
    char **f = BOOT_GROW(w, frame, frames, room_frame);
    if (!f || !(*f = boot_keep(w, text)) || !idmap_put(&w->frames, key, (void *)(uintptr_t)w->b->frames)) {
        w->failed = true;
        return 0;
    }
    return (int)w->b->frames - 1;
}

static int frame_of(struct boot_builder *w, const struct frame_name *n)
{
    char text[512];
    if (n->state == FRAME_NAMED)
        snprintf(text, sizeof text, "%s!%s", n->module ? n->module : "?", n->function);
    else
        snprintf(text, sizeof text, "%s!?",
                 n->module                   ? n->module
                 : n->state == FRAME_NO_CODE ? "(no code)"
                                             : "(no file)");
    return frame_get(w, text);
}

/* The state of a wait with these frames; -1: they do not show it. */
static int state_of(const struct frame_name *n, unsigned count)
{
    static const struct {
        const char     *begins;
        enum boot_state state;
    } rows[] = {
#define W(begins, state) {begins, BOOT_##state},
#include "autologger/analysis/boot_waits.def"
#undef W
    };
    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows && n[i].function && is_kernel_address(n[i].address); k++)
            if (strncmp(n[i].function, rows[k].begins, strlen(rows[k].begins)) == 0)
                return (int)rows[k].state;
    return -1;
}

static int stack_get(struct boot_builder *w, const int *frame, unsigned count, unsigned named, int state)
{
    const uint64_t  key = boot_hash(frame, count * sizeof *frame, 1);
    const uintptr_t at  = (uintptr_t)idmap_get(&w->stacks, key);
    if (at)
        return (int)(at - 1);
    struct boot_stack *s    = BOOT_GROW(w, stack, stacks, room_stack);
    int               *copy = malloc((count + 1) * sizeof *copy);
    if (!s || !copy || !idmap_put(&w->stacks, key, (void *)(uintptr_t)w->b->stacks)) {
        free(copy);
        w->failed = true;
        return BOOT_NONE;
    }
    memcpy(copy, frame, count * sizeof *copy);
    *s = (struct boot_stack){copy, count, named, state};
    return (int)w->b->stacks - 1;
}

/* Finds the frames' names, unless the same process had the same stack before. */
static int stack_named(struct boot_builder *w, const struct etl_event *e, int process, const uint8_t *frames,
                       size_t size)
{
    const uint64_t  key = boot_hash(frames, size, (uint64_t)process + 2);
    const uintptr_t at  = (uintptr_t)idmap_get(&w->raw_stacks, key);
    if (at) {
        symbols_judge(w->symbols, e);
        return (int)(at - 1);
    }
    struct frame_namer namer = symbols_namer(w->symbols);
    const unsigned     n     = namer.stack(namer.ctx, e, w->names, FRAMES_MOST);
    int                frame[FRAMES_MOST];
    unsigned           count = 0, named = 0;
    for (unsigned i = 0; i < n; i++) {
        named += w->names[i].state == FRAME_NAMED;
        if (w->names[i].state != FRAME_NO_CODE)
            frame[count++] = frame_of(w, &w->names[i]);
    }
    const int stack = count ? stack_get(w, frame, count, named, state_of(w->names, n)) : BOOT_NONE;
    if (w->raw_stacks.count >= RAW_MOST)
        idmap_clear(&w->raw_stacks);
    if (stack != BOOT_NONE && !idmap_put(&w->raw_stacks, key, (void *)(uintptr_t)(stack + 1)))
        w->failed = true;
    return stack;
}

/* Joins the user part of a stack with the kernel part, which was counted before. */
static void part_join(struct boot_builder *w, struct boot_moment_part *p, int user)
{
    const struct boot_stack *inner = &w->b->stack[p->stack], *outer = &w->b->stack[user];
    int                      frame[FRAMES_MOST];
    unsigned                 n = 0;
    for (unsigned i = 0; i < inner->count && n < FRAMES_MOST; i++)
        frame[n++] = inner->frame[i];
    for (unsigned i = 0; i < outer->count && n < FRAMES_MOST; i++)
        frame[n++] = outer->frame[i];
    const int whole = stack_get(w, frame, n, inner->named + outer->named, inner->state);
    if (whole == BOOT_NONE)
        return;
    boot_cell_add(w, p->stack, p->process, p->at, p->waiting, -p->weight);
    boot_cell_add(w, whole, p->process, p->at, p->waiting, p->weight);
    struct boot_wait *last = w->b->waits ? &w->b->wait[w->b->waits - 1] : NULL;
    if (last && p->waiting && last->thread == p->thread && last->start == p->at)
        last->stack = whole;
    p->raw = 0;
}

void boot_stack_see(struct boot_builder *w, const struct etl_event *e)
{
    struct stack_fields s;
    struct boot_cpu    *c = boot_cpu_at(w, e->cpu);

    if (!symbols_stack(w->symbols, e, &s) || !s.trigger || !s.count || !c) {
        symbols_judge(w->symbols, e);
        return;
    }
    const bool waits  = c->pending.open && c->pending.thread == s.thread_id && c->pending.raw == s.trigger;
    const bool sample = c->sample_raw == s.trigger && c->sample_thread == s.thread_id;
    const bool second = c->part.raw == s.trigger && c->part.thread == s.thread_id;
    if (!waits && !sample && !second) {
        symbols_judge(w->symbols, e);
        return;
    }
    const int process = boot_process_of_thread(w, s.thread_id);
    const int stack   = stack_named(w, e, process, s.frames, s.count * 8ul);
    if (stack == BOOT_NONE)
        return;
    w->b->trust.frames += w->b->stack[stack].count;
    w->b->trust.frames_named += w->b->stack[stack].named;
    if (waits) {
        const struct boot_pending p = c->pending;
        boot_wait_settle(w, &c->pending, stack);
        c->part =
            (struct boot_moment_part){s.trigger, p.start, s.thread_id, stack, process, true, (double)(p.end - p.start)};
    } else if (sample) {
        boot_cell_add(w, stack, process, boot_time(w, e), false, 1);
        c->part       = (struct boot_moment_part){s.trigger, boot_time(w, e), s.thread_id, stack, process, false, 1};
        c->sample_raw = 0;
    } else if (s.count && !is_kernel_address(stack_frame(&s, 0))) {
        part_join(w, &c->part, stack);
    }
}

/* ---- over time ---- */

static uint64_t cell_key(const struct boot_cell *c)
{
    const uint32_t part[4] = {(uint32_t)c->stack, (uint32_t)c->process, c->bin, c->waiting};
    return boot_hash(part, sizeof part, 3);
}

static void cell_count(struct boot_builder *w, const struct boot_cell *c)
{
    const uint64_t  key = cell_key(c);
    const uintptr_t at  = (uintptr_t)idmap_get(&w->cells, key);
    if (at) {
        w->b->cell[at - 1].weight += c->weight;
        return;
    }
    struct boot_cell *place = BOOT_GROW(w, cell, cells, room_cell);
    if (!place || !idmap_put(&w->cells, key, (void *)(uintptr_t)w->b->cells)) {
        w->failed = true;
        return;
    }
    *place = *c;
}

/* Merges neighbouring bins in pairs. */
static void cells_fold(struct boot_builder *w)
{
    const unsigned n = w->b->cells;
    idmap_clear(&w->cells);
    w->b->cells = 0;
    w->b->cell_width *= 2;
    for (unsigned i = 0; i < n; i++) { /* reading never falls behind writing */
        struct boot_cell c = w->b->cell[i];
        c.bin /= 2;
        cell_count(w, &c);
    }
}

void boot_cell_add(struct boot_builder *w, int stack, int process, int64_t at, bool waiting, double weight)
{
    if (at < 0)
        at = 0;
    if (!w->b->cell_width)
        w->b->cell_width = LANE_FIRST_NS;
    while (!w->failed && (at / w->b->cell_width >= BINS || (w->b->cells >= CELLS_MOST && at / w->b->cell_width > 1)))
        cells_fold(w);
    if (!w->failed)
        cell_count(w, &(struct boot_cell){stack, process, (unsigned)(at / w->b->cell_width), waiting, weight});
}
