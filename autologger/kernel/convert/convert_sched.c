/* convert_sched.c - context switches with the incoming thread's stack, ready threads, priorities, samples. See
 * convert.h. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/etl.h"

#include <stdlib.h>
#include <string.h>

uint8_t windows_priority(int64_t prio, uint32_t tid)
{
    if (tid == 0)
        return 0;
    if (prio < 0)
        return 31;
    if (prio < 100)
        return (uint8_t)(16 + (99 - prio) * 15 / 99);
    int64_t nice = prio - 120;
    nice         = nice > 19 ? 19 : nice < -20 ? -20 : nice;
    return (uint8_t)(nice <= 0 ? 8 - nice * 7 / 20 : 8 - nice * 7 / 19);
}

struct wait {
    uint8_t state, reason, mode;
};

/* The old thread's new state, from the bits of prev_state; the first row with one of its bits wins. */
static struct wait wait_of(uint64_t bits, uint32_t tid, bool kernel)
{
    static const struct {
        uint32_t    bits;
        struct wait is;
    } table[] = {
        {0x30, {4, 22, 0}},  /* dead: Terminated, WrTerminated */
        {0x4C, {5, 5, 0}},   /* stopped, traced, parked: Suspended */
        {0x80, {5, 15, 0}},  /* idle worker: WrQueue */
        {0x02, {5, 0, 0}},   /* uninterruptible: Executive */
        {0x01, {5, 6, 1}},   /* interruptible: UserRequest */
        {0x100, {1, 32, 0}}, /* preempted: Ready, WrPreempted */
    };
    if (tid == 0)
        return (struct wait){2, 0, 0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (bits & table[i].bits)
            return kernel && table[i].bits == 0x01 ? (struct wait){5, 0, 0} : table[i].is;
    return (struct wait){1, 33, 0}; /* Ready, WrYieldExecution */
}

/* perf gives the chain of the outgoing thread, Windows wants that of the incoming one: keep it until the thread
 * returns. */
static void chain_keep(struct thread *t, const struct sample *s)
{
    uint64_t n = s->chain_count < STACK_FRAMES + 8 ? s->chain_count : STACK_FRAMES + 8; /* markers are dropped later */
    if (n > t->chain_capacity) {
        uint64_t *p = realloc(t->chain, (n + 8) * sizeof *p);
        if (!p)
            return;
        t->chain          = p;
        t->chain_capacity = (uint16_t)(n + 8);
    }
    if (n)
        memcpy(t->chain, s->chain, n * 8);
    t->chain_count = (uint16_t)n;
}

void convert_switch(struct convert *c, const struct sample *s)
{
    uint32_t       old_tid  = (uint32_t)sample_field(s, F_SWITCH_PREV_PID);
    uint32_t       new_tid  = (uint32_t)sample_field(s, F_SWITCH_NEXT_PID);
    int64_t        old_prio = sample_field(s, F_SWITCH_PREV_PRIO), new_prio = sample_field(s, F_SWITCH_NEXT_PRIO);
    uint64_t       bits = (uint64_t)sample_field(s, F_SWITCH_PREV_STATE);
    struct thread *old = thread_get(c, old_tid), *new = thread_get(c, new_tid);
    uint64_t       time = convert_time(c, s->time);
    struct wait    w    = wait_of(bits, old_tid, old && old->process == c->system);
    uint8_t *p = emit_reserve(c, &(struct event){s->cpu, HOOK_THREAD_CSWITCH, ETL_PERFINFO64, 4, 0, 0}, &time, 24);

    if (p) {
        memset(p, 0, 24);
        memcpy(p, &new_tid, 4);
        memcpy(p + 4, &old_tid, 4);
        p[8]  = windows_priority(new_prio, new_tid);
        p[9]  = windows_priority(old_prio, old_tid);
        p[10] = old_tid ? 0 : c->cpu[s->cpu].idle_state; /* the CPU's idle depth */
        p[12] = w.reason;
        p[13] = w.mode;
        p[14] = w.state;
        p[15] = (uint8_t)s->cpu;
    }
    if (new)
        new->prio = (int32_t)new_prio;
    if (old)
        old->prio = (int32_t)old_prio;
    if (!stack_wanted(c, HOOK_THREAD_CSWITCH))
        return;
    const struct user_copy *goes = c->copy;
    c->copy                      = new ? copy_kept(c, new_tid) : NULL;
    if (new && (new->chain_count || c->copy))
        emit_stack(c, &(struct actor){s->cpu, new->process->pid, new_tid}, time, (const uint8_t *)new->chain,
                   new->chain_count);
    else if (new_tid)
        c->stacks_missing++; /* its first switch: it was never seen to block */
    c->copy = goes;
    if (new) {
        new->chain_count = 0;
        copy_drop(c, new_tid);
    }
    if (old && w.state != 4) {
        chain_keep(old, s);
        copy_keep(c, old_tid, goes);
    }
}

void convert_waking(struct convert *c, const struct sample *s)
{
    uint64_t time  = convert_time(c, s->time);
    uint32_t tid   = (uint32_t)sample_field(s, F_WAKING_PID);
    uint8_t  flags = s->raw_size > 2 ? s->raw[2] : 0; /* common_flags: 0x08 hard, 0x10 soft interrupt */
    uint8_t *p     = emit_reserve(c, &(struct event){s->cpu, HOOK_THREAD_READY, ETL_PERFINFO64, 2, 0, 0}, &time, 8);
    if (p) {
        memset(p, 0, 8);
        memcpy(p, &tid, 4);
        p[6] = flags & 0x18 ? 1 : 0; /* readied from a DPC */
    }
    if (stack_wanted(c, HOOK_THREAD_READY))
        emit_stack(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, time, s->chain, s->chain_count);
}

void convert_clock(struct convert *c, const struct sample *s)
{
    uint64_t time = convert_time(c, s->time);
    uint8_t *p    = emit_reserve(c, &(struct event){s->cpu, HOOK_PERF_SAMPLE, ETL_PERFINFO64, 2, 0, 0}, &time, 16);
    if (p) {
        struct cpu_state *cpu  = &c->cpu[s->cpu];
        struct thread    *t    = thread_get(c, s->tid);
        uint8_t           prio = t ? windows_priority(t->prio, s->tid) : 0;
        memset(p, 0, 16);
        memcpy(p, &s->ip, 8);
        memcpy(p + 8, &s->tid, 4);
        p[12] = 1;
        p[14] = (uint8_t)((cpu->open_softirqs ? 1 : 0) | (cpu->irq_since ? 2 : 0) | prio << 3);
    }
    if (stack_wanted(c, HOOK_PERF_SAMPLE))
        emit_stack(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, time, s->chain, s->chain_count);
}

/* A priority lent by a waiter for a lock; a priority set by a system call shows at the next switch. */
void convert_priority(struct convert *c, const struct sample *s)
{
    uint64_t time = convert_time(c, s->time);
    uint32_t tid  = (uint32_t)sample_field(s, F_SETPRIO_PID);
    uint8_t *p = emit_reserve(c, &(struct event){s->cpu, HOOK_THREAD_SET_PRIORITY, ETL_PERFINFO64, 2, 0, 0}, &time, 8);
    if (p) {
        memset(p, 0, 8);
        memcpy(p, &tid, 4);
        p[4] = windows_priority(sample_field(s, F_SETPRIO_OLD), tid);
        p[5] = windows_priority(sample_field(s, F_SETPRIO_NEW), tid);
    }
    if (stack_wanted(c, HOOK_THREAD_SET_PRIORITY))
        emit_stack(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, time, s->chain, s->chain_count);
}

/* A sample of the cycle counter; 19 is Windows' number of the profile source TotalCycles. */
void convert_pmc(struct convert *c, const struct sample *s)
{
    enum { SOURCE_TOTAL_CYCLES = 19 };
    uint64_t time = convert_time(c, s->time);
    uint8_t *p    = emit_reserve(c, &(struct event){s->cpu, HOOK_PERF_PMC_SAMPLE, ETL_PERFINFO64, 2, 0, 0}, &time, 16);
    if (p) {
        memset(p, 0, 16);
        memcpy(p, &s->ip, 8);
        memcpy(p + 8, &s->tid, 4);
        p[12] = SOURCE_TOTAL_CYCLES;
    }
    if (stack_wanted(c, HOOK_PERF_PMC_SAMPLE))
        emit_stack(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, time, s->chain, s->chain_count);
}
