/* boot_thread.c - states of threads: running, ready, waiting; and their wakers. See boot_build.h. */
#include "autologger/analysis/boot_build.h"
#include "autologger/consumer/actors.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_READY = 1, STATE_TERMINATED = 4, NOBODY = -1, WAITS_MOST = 120000, WAIT_LEAST_NS = 1000000 };

static struct boot_thread *thread_get(struct boot_builder *w, uint32_t tid)
{
    struct boot_thread *t = idmap_get(&w->threads, tid + UINT64_C(1));
    if (t || tid == 0)
        return t;
    if (!(t = calloc(1, sizeof *t)) || !idmap_put(&w->threads, tid + UINT64_C(1), t)) {
        free(t);
        w->failed = true;
        return NULL;
    }
    t->state = NOBODY;
    t->waker = BOOT_NONE;
    t->pid   = UINT32_MAX;
    return t;
}

static void boot_thread_charge(struct boot_builder *w, int process, enum boot_state state, int64_t from, int64_t to)
{
    if (process == BOOT_NONE || to <= from)
        return;
    int64_t *sum = &w->b->process[process].time[state];
    if (*sum > BOOT_SUM_MOST)
        return; /* the file's times are nonsense */
    *sum += to - from;
    if (state == BOOT_RUNNING || state == BOOT_RUNNABLE)
        boot_run_add(w, process, state == BOOT_RUNNING, from, to);
}

static void waker_count(struct boot_process *p, int waker, int64_t waited)
{
    unsigned at = 0, least = 0;
    for (; at < BOOT_WAKERS && (p->waker[at].times && p->waker[at].process != waker); at++)
        if (p->waker[at].waited < p->waker[least].waited)
            least = at;
    if (at == BOOT_WAKERS) {
        if (p->waker[least].waited >= waited)
            return;
        p->waker[at = least] = (struct boot_waker){.process = waker};
    }
    p->waker[at].process = waker;
    p->waker[at].times++;
    p->waker[at].waited += p->waker[at].waited < INT64_MAX / 2 ? waited : 0;
}

static int boot_thread_by_length(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Drops half of the list: the shortest waits. */
static void waits_thin(struct boot_builder *w)
{
    struct boot *b      = w->b;
    int64_t     *length = malloc(b->waits * sizeof *length);
    unsigned     kept   = 0;

    if (!length) {
        w->failed = true;
        return;
    }
    for (unsigned i = 0; i < b->waits; i++)
        length[i] = b->wait[i].end - b->wait[i].start;
    qsort(length, b->waits, sizeof *length, boot_thread_by_length);
    b->wait_least = length[b->waits / 2] + 1;
    free(length);
    for (unsigned i = 0; i < b->waits; i++)
        if (b->wait[i].end - b->wait[i].start >= b->wait_least)
            b->wait[kept++] = b->wait[i];
    b->waits = kept;
}

/* Without a stack: an uninterruptible sleep is mostly a wait for a disk; a thread woken by its own ended child waited
 * for that child. */
static enum boot_state guess(const struct boot_builder *w, const struct boot_pending *p)
{
    if (p->uninterruptible)
        return BOOT_DISK;
    if (p->waker != BOOT_NONE && p->waker != p->process && w->b->process[p->waker].parent == p->process &&
        p->end - w->b->process[p->waker].end < 1000000 && !w->b->process[p->waker].lives)
        return BOOT_CHILD;
    return BOOT_OTHER;
}

void boot_wait_settle(struct boot_builder *w, struct boot_pending *p, int stack)
{
    const int       told  = stack == BOOT_NONE ? NOBODY : w->b->stack[stack].state;
    enum boot_state state = told != NOBODY ? (enum boot_state)told : stack == BOOT_NONE ? guess(w, p) : BOOT_OTHER;

    p->open = false;
    boot_thread_charge(w, p->process, state, p->start, p->end);
    if (p->process == BOOT_NONE)
        return;
    const struct boot_process *who = &w->b->process[p->process];
    waker_count(&w->b->process[p->process], p->waker, p->end - p->start);
    if (stack != BOOT_NONE)
        boot_cell_add(w, stack, p->process, p->start, true, (double)(p->end - p->start));
    if (p->end - p->start < w->b->wait_least || who->pid == BOOT_SYSTEM_PID || who->pid == BOOT_IDLE_PID)
        return;
    struct boot_wait *at = BOOT_GROW(w, wait, waits, room_wait);
    if (at)
        *at = (struct boot_wait){p->process, p->waker, p->thread, p->start, p->end, state, stack};
    if (w->b->waits >= WAITS_MOST)
        waits_thin(w);
}

struct boot_cpu *boot_cpu_at(struct boot_builder *w, unsigned cpu)
{
    if (cpu >= w->cpus && cpu < CPUS_MOST) {
        struct boot_cpu *grown = realloc(w->cpu, (cpu + 1ul) * sizeof *grown);
        if (!grown) {
            w->failed = true;
            return NULL;
        }
        w->cpu = grown;
        for (; w->cpus <= cpu; w->cpus++)
            w->cpu[w->cpus] = (struct boot_cpu){.thread = UINT32_MAX};
    }
    return cpu < w->cpus ? &w->cpu[cpu] : NULL;
}

static void ran(struct boot_builder *w, const struct boot_cpu *c, int64_t until)
{
    if (c->thread == UINT32_MAX || c->thread == 0 || !c->since)
        return;
    boot_thread_charge(w, boot_process_of_thread(w, c->thread), BOOT_RUNNING, c->since, until);
    boot_lane_span(&w->b->lane[BOOT_LANE_CPU], c->since, until, 1);
}

static void leaves(struct boot_builder *w, uint32_t tid, uint8_t state, uint8_t reason, uint8_t mode, int64_t at)
{
    struct boot_thread *t = thread_get(w, tid);
    if (!t)
        return;
    t->since           = at;
    t->woken           = false;
    t->waker           = BOOT_NONE;
    t->state           = state == STATE_READY ? BOOT_RUNNABLE : state == STATE_TERMINATED ? NOBODY : BOOT_OTHER;
    t->uninterruptible = reason == 0 && mode == 0 && t->pid != BOOT_SYSTEM_PID;
}

static void comes(struct boot_builder *w, struct boot_cpu *c, uint32_t tid, int64_t raw, int64_t at)
{
    struct boot_thread *t       = thread_get(w, tid);
    const int           process = boot_process_of_thread(w, tid);

    if (!t || t->state == NOBODY) {
        if (t)
            t->state = BOOT_RUNNING;
        return;
    }
    const bool    waited = t->state == BOOT_OTHER;
    const int64_t ready  = !waited ? t->since : t->woken && t->ready >= t->since ? t->ready : at;
    if (ready < at) {
        boot_thread_charge(w, process, BOOT_RUNNABLE, ready, at);
        boot_lane_span(&w->b->lane[BOOT_LANE_QUEUE], ready, at, 1);
    }
    if (process != BOOT_NONE)
        w->b->process[process].switches++;
    if (waited && ready > t->since)
        c->pending = (struct boot_pending){true, tid, raw, process, t->waker, t->since, ready, t->uninterruptible};
    t->state = BOOT_RUNNING;
    t->since = at;
}

static void boot_thread_on_switch(struct boot_builder *w, const struct etl_event *e)
{
    struct cursor    p  = cur_make(e->payload, e->payload_size);
    const uint32_t   to = cur_u32(&p), from = cur_u32(&p);
    const uint8_t   *rest = cur_take(&p, 8); /* priorities, C state, spare; wait reason, mode, state */
    struct boot_cpu *c    = boot_cpu_at(w, e->cpu);
    const int64_t    at   = boot_time(w, e);

    if (!rest || !c)
        return;
    if (!w->b->switches)
        w->b->seen_from = at;
    w->b->switches = true;
    if (c->pending.open)
        boot_wait_settle(w, &c->pending, BOOT_NONE);
    if (c->thread == from || c->thread == UINT32_MAX)
        ran(w, c, at);
    if (from)
        leaves(w, from, rest[6], rest[4], rest[5], at);
    c->thread = to;
    c->since  = at;
    if (to)
        comes(w, c, to, e->raw_time, at);
}

static void boot_thread_on_ready(struct boot_builder *w, const struct etl_event *e)
{
    struct cursor       p    = cur_make(e->payload, e->payload_size);
    const uint32_t      tid  = cur_u32(&p);
    const uint8_t      *rest = cur_take(&p, 4);
    struct boot_thread *t    = thread_get(w, tid);
    struct boot_cpu    *c    = boot_cpu_at(w, e->cpu);

    w->b->wakeups = true;
    if (!t || !c || !rest || t->state != BOOT_OTHER || t->woken)
        return;
    t->woken = true;
    t->ready = boot_time(w, e);
    /* from an interrupt: the thread that ran there is not the waker */
    t->waker =
        rest[2] & 1 || c->thread == UINT32_MAX || c->thread == 0 ? BOOT_NONE : boot_process_of_thread(w, c->thread);
}

void boot_thread_see(struct boot_builder *w, const struct etl_event *e, uint16_t hook)
{
    if (hook == HOOK_THREAD_CSWITCH) {
        boot_thread_on_switch(w, e);
    } else if (hook == HOOK_THREAD_READY) {
        boot_thread_on_ready(w, e);
    } else if (hook == HOOK_THREAD_START || hook == HOOK_THREAD_DC_START || hook == HOOK_THREAD_DC_END) {
        struct cursor       p   = cur_make(e->payload, e->payload_size);
        const uint32_t      pid = cur_u32(&p), tid = cur_u32(&p);
        struct boot_thread *t = cur_ok(&p) ? thread_get(w, tid) : NULL;
        if (!t)
            return;
        t->pid = pid;
        if (hook == HOOK_THREAD_START) {
            t->state = BOOT_RUNNABLE;
            t->since = boot_time(w, e);
        }
    }
}

/* Counts the waits that were still open at the end of the file, up to that end. */
void boot_thread_end(struct boot_builder *w)
{
    for (unsigned i = 0; i < w->cpus; i++) {
        if (w->cpu[i].pending.open)
            boot_wait_settle(w, &w->cpu[i].pending, BOOT_NONE);
        ran(w, &w->cpu[i], w->b->last);
    }
    for (size_t i = 0; i < w->threads.capacity; i++) {
        struct boot_thread *t = w->threads.slot[i].value;
        if (!t || t->state != BOOT_OTHER || t->since >= w->b->last)
            continue;
        const uint32_t      tid = (uint32_t)(w->threads.slot[i].key - 1);
        struct boot_pending p   = {true,      tid,      0,          boot_process_of_thread(w, tid),
                                   BOOT_NONE, t->since, w->b->last, t->uninterruptible};
        boot_wait_settle(w, &p, BOOT_NONE);
    }
}
