#include "autologger/symbols/quality.h"

#include <stdlib.h>
#include <string.h>

enum { THREAD = 1, ENTRY = 2, PAGE = 256 };

static int root_of(const char *function)
{
    static const struct {
        const char *name;
        int         what;
    } roots[] = {
#define ROOT(name, what) {name, what},
#include "autologger/symbols/roots.def"
#undef ROOT
    };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t n = strlen(roots[i].name);
        if (roots[i].name[n - 1] == '*' ? strncmp(function, roots[i].name, n - 1) == 0
                                        : strcmp(function, roots[i].name) == 0)
            return roots[i].what;
    }
    return 0;
}

enum stack_end quality_end(const struct frame_name *last, bool kernel, bool *thread)
{
    int root = last->state == FRAME_NAMED ? root_of(last->function) : 0;

    *thread = root == THREAD;
    if (last->state == FRAME_NO_FILE ||
        (kernel && last->state == FRAME_NO_IMAGE)) /* the missing file or symbols could tell */
        return STACK_END_UNKNOWN;
    return root == THREAD || (root == ENTRY && kernel) ? STACK_COMPLETE : STACK_CUT;
}

void quality_expect(struct quality *q, int64_t trigger, uint16_t cpu)
{
    if (q->count == q->capacity) {
        size_t n     = q->capacity ? q->capacity * 2 : 1024;
        void  *grown = realloc(q->trigger, n * sizeof *q->trigger);
        if (!grown) {
            q->failed = true;
            return;
        }
        q->trigger  = grown;
        q->capacity = n;
    }
    q->trigger[q->count++] = (struct quality_trigger){.time = trigger, .cpu = cpu, .hook = QUALITY_NO_EVENT};
}

static int quality_by_time(const void *a, const void *b)
{
    const struct quality_trigger *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->cpu - y->cpu;
}

void quality_ready(struct quality *q)
{
    size_t kept = 0;

    if (q->count)
        qsort(q->trigger, q->count, sizeof *q->trigger, quality_by_time);
    for (size_t i = 0; i < q->count; i++) /* a stack in two parts names its event twice */
        if (kept == 0 || quality_by_time(&q->trigger[kept - 1], &q->trigger[i]) != 0)
            q->trigger[kept++] = q->trigger[i];
    q->count = kept;
}

/* The trigger of that time and CPU; `seen`: or, if its event was not seen, another one of that time whose event was. */
static struct quality_trigger *trigger_at(const struct quality *q, int64_t time, uint16_t cpu, bool seen)
{
    const struct quality_trigger key = {.time = time, .cpu = cpu};
    struct quality_trigger *at  = q->count ? bsearch(&key, q->trigger, q->count, sizeof key, quality_by_time) : NULL;
    size_t                  low = 0, high = q->count;

    if (at && (!seen || at->hook != QUALITY_NO_EVENT))
        return at;
    while (low < high) { /* the first of that time */
        const size_t middle = (low + high) / 2;
        if (q->trigger[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < q->count && q->trigger[low].time == time; low++)
        if ((q->trigger[low].hook != QUALITY_NO_EVENT) == seen)
            return &q->trigger[low];
    return at;
}

static struct quality_row *quality_row_of(struct quality *q, uint16_t hook)
{
    struct quality_row **page = &q->row[hook / PAGE];
    if (!*page && !(*page = calloc(PAGE, sizeof **page)))
        return NULL;
    return *page + hook % PAGE;
}

void quality_event(struct quality *q, const struct etl_event *e)
{
    if ((e->kind != ETL_KIND_SYSTEM && e->kind != ETL_KIND_PERFINFO) || e->hook >> 8 == ETL_GROUP_STACKWALK ||
        !q->count)
        return;
    struct quality_row     *row = quality_row_of(q, e->hook);
    struct quality_trigger *at  = trigger_at(q, e->raw_time, e->cpu, false);
    if (!row) {
        q->failed = true;
        return;
    }
    row->events++;
    *(at ? &row->with_stack : &row->missing) += 1;
    if (!at)
        return;
    struct quality_row *before = at->borrowed ? quality_row_of(q, at->hook) : NULL;
    if (before) { /* that event has no stack: it had the same time by chance */
        before->with_stack--;
        before->missing++;
    }
    at->hook     = e->hook;
    at->borrowed = at->cpu != e->cpu;
}

static void frames_add(struct quality_row *row, const struct quality_parts *p)
{
    row->kernel_frames += p->kernel_frames;
    row->kernel_named += p->kernel_named;
    row->user_frames += p->user_frames;
    row->user_named += p->user_named;
}

static enum stack_end quality_whole_of(enum stack_end kernel, bool root, enum stack_end user)
{
    return user != STACK_NO_PART ? user : kernel == STACK_COMPLETE && !root ? STACK_CUT : kernel;
}

/* `to` has the parts of this event's stack so far: a second part joins it, a second stack counts by itself. */
static void quality_row_add(struct quality_row *row, struct quality_trigger *to, const struct quality_parts *p)
{
    enum stack_end kernel = p->kernel, user = p->user;
    bool           root = p->kernel_root, joins = to->whole != STACK_NO_PART &&
                                        (to->kernel == STACK_NO_PART || kernel == STACK_NO_PART) &&
                                        (to->user == STACK_NO_PART || user == STACK_NO_PART);
    if (joins) {
        row->whole[to->whole]--;
        row->kernel[to->kernel]--;
        row->user[to->user]--;
        root   = root || to->root;
        kernel = kernel == STACK_NO_PART ? to->kernel : kernel;
        user   = user == STACK_NO_PART ? to->user : user;
    }
    to->kernel = (uint8_t)kernel;
    to->user   = (uint8_t)user;
    to->root   = root;
    to->whole  = (uint8_t)quality_whole_of(kernel, root, user);
    row->whole[to->whole]++;
    row->kernel[kernel]++;
    row->user[user]++;
    frames_add(row, p);
}

void quality_stack(struct quality *q, int64_t trigger, uint16_t cpu, const struct quality_parts *parts)
{
    struct quality_trigger nobody = {.hook = QUALITY_NO_EVENT}, *at = trigger_at(q, trigger, cpu, true);
    struct quality_row    *row = quality_row_of(q, at ? at->hook : QUALITY_NO_EVENT);
    if (row)
        quality_row_add(row, at ? at : &nobody, parts);
    else
        q->failed = true;
}

void quality_inside(struct quality *q, const struct quality_parts *parts)
{
    struct quality_trigger nobody = {0};
    struct quality_row    *row    = quality_row_of(q, QUALITY_INSIDE);
    if (!row) {
        q->failed = true;
        return;
    }
    row->events++;
    row->with_stack++;
    quality_row_add(row, &nobody, parts);
}

static uint64_t quality_stacks(const struct quality_row *r)
{
    return r->whole[STACK_COMPLETE] + r->whole[STACK_CUT] + r->whole[STACK_END_UNKNOWN];
}

static int by_stacks(const void *a, const void *b)
{
    const struct quality_row *x = a, *y = b;
    return quality_stacks(x) != quality_stacks(y) ? (quality_stacks(x) > quality_stacks(y) ? -1 : 1)
                                                  : x->hook - y->hook;
}

struct quality_row *quality_rows(const struct quality *q, size_t *count)
{
    size_t              n   = 0;
    struct quality_row *all = NULL;

    for (int writing = 0; writing < 2; writing++) {
        if (writing && !(all = calloc(n + 1, sizeof *all)))
            return NULL;
        n = 0;
        for (unsigned hook = 0; hook < QUALITY_HOOKS; hook++) {
            const struct quality_row *row = q->row[hook / PAGE] ? q->row[hook / PAGE] + hook % PAGE : NULL;
            if (!row || (!row->with_stack && !quality_stacks(row)))
                continue;
            if (all) {
                all[n]      = *row;
                all[n].hook = (uint16_t)hook;
            }
            n++;
        }
    }
    qsort(all, n, sizeof *all, by_stacks);
    *count = n;
    return all;
}

void quality_finish(struct quality *q)
{
    for (unsigned i = 0; i < sizeof q->row / sizeof *q->row; i++)
        free(q->row[i]);
    free(q->trigger);
    *q = (struct quality){0};
}
