/* convert_irq.c - interrupts and deferred work: ISRs, DPCs (softirqs, tasklets), their queueing, interrupts between
 * CPUs, clock interrupts. The event is written at the end, InitialTime is the start. Linux handlers of one CPU do not
 * nest within their kind. See convert.h. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/wire/etl.h"

#include <string.h>

#define PROVIDER "Autologger-Kernel-Interrupt"
enum { PAYLOAD_MAX = 512, VEC_HI = 0, VEC_TIMER = 1, VEC_TASKLET = 6, VEC_HRTIMER = 8 };

static void isr_event(struct convert *c, unsigned cpu, uint64_t since, uint64_t raw, uint16_t vector, bool claimed)
{
    uint64_t time = convert_time(c, raw);
    uint8_t *p    = emit_reserve(c, &(struct event){cpu, HOOK_PERF_ISR, ETL_PERFINFO64, 2, 0, 0}, &time, 20);
    if (!p)
        return;
    memset(p, 0, 20); /* the handler's address is not known */
    memcpy(p, &since, 8);
    p[16] = claimed;
    memcpy(p + 17, &vector, 2);
}

/* The device name of an interrupt number, written once. */
static void irq_name(struct convert *c, const struct sample *s, uint32_t number)
{
    static const struct shape shape = {PROVIDER, "InterruptName", {{"Vector", SHAPE_UINT32}, {"Name", SHAPE_TEXT}}};
    uint8_t                   bytes[PAYLOAD_MAX];
    struct writer             w = wr_make(bytes, sizeof bytes);
    if (idmap_get(&c->irq, (uint64_t)number + 1) || !idmap_put(&c->irq, (uint64_t)number + 1, &c->irq))
        return;
    wr_u32(&w, number);
    wr_sample_text(&w, s, F_IRQ_NAME);
    describe(c, &(struct actor){s->cpu, 0, 0}, &shape, s->time, &w);
}

void convert_irq_entry(struct convert *c, const struct sample *s)
{
    irq_name(c, s, (uint32_t)sample_field(s, F_IRQ_NUMBER));
    c->cpu[s->cpu].irq_since = convert_time(c, s->time);
}

void convert_irq_exit(struct convert *c, const struct sample *s)
{
    struct cpu_state *cpu = &c->cpu[s->cpu];
    if (cpu->irq_since) /* else it began before the trace, or its start was lost */
        isr_event(c, s->cpu, cpu->irq_since, s->time, (uint16_t)sample_field(s, F_IRQ_EXIT_NUMBER),
                  sample_field(s, F_IRQ_EXIT_RESULT) != 0);
    cpu->irq_since = 0;
}

/* ---- deferred work ---- */

static void dpc_event(struct convert *c, const struct sample *s, uint16_t hook, uint64_t since, uint64_t routine)
{
    uint64_t             time     = convert_time(c, s->time);
    const struct thread *t        = thread_get(c, s->tid);
    bool                 threaded = t && strncmp(t->name, "ksoftirqd/", 10) == 0;
    uint8_t             *p        = emit_reserve(
                           c, &(struct event){s->cpu, threaded ? HOOK_PERF_THREADED_DPC : hook, ETL_PERFINFO64, 2, 0, 0}, &time, 16);
    if (p) {
        memcpy(p, &since, 8);
        memcpy(p + 8, &routine, 8);
    }
}

/* DpcExecute, when the work begins. Key: the vector, the only thing that identifies it. */
static void queue_event(struct convert *c, const struct sample *s, uint64_t vec)
{
    uint64_t time = convert_time(c, s->time);
    uint8_t *p    = emit_reserve(c, &(struct event){s->cpu, HOOK_PERF_DPC_EXECUTE, ETL_PERFINFO64, 2, 0, 0}, &time, 16);
    if (p) {
        memcpy(p, &c->softirq_routine[vec], 8);
        memcpy(p + 8, &vec, 8);
    }
}

void convert_softirq_raise(struct convert *c, const struct sample *s)
{
    uint64_t time = convert_time(c, s->time), vec = (uint64_t)sample_field(s, F_SOFTIRQ_VEC);
    uint32_t target = s->cpu; /* softirqs run where they were raised */
    uint8_t *p = emit_reserve(c, &(struct event){s->cpu, HOOK_PERF_DPC_ENQUEUE, ETL_PERFINFO64, 2, 0, 0}, &time, 24);
    if (p) {
        memset(p, 0, 24);
        memcpy(p, &vec, 8);
        memcpy(p + 16, &target, 4);
    }
    if (stack_wanted(c, HOOK_PERF_DPC_ENQUEUE))
        emit_stack(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, time, s->chain, s->chain_count);
}

void convert_softirq_entry(struct convert *c, const struct sample *s)
{
    struct cpu_state *cpu = &c->cpu[s->cpu];
    uint64_t          vec = (uint64_t)sample_field(s, F_SOFTIRQ_VEC);
    if (vec >= RAW_SOFTIRQS)
        return;
    cpu->softirq[vec] = convert_time(c, s->time);
    cpu->open_softirqs |= 1u << vec;
    cpu->tasklets = 0;
    if (c->dpc_queue)
        queue_event(c, s, vec);
}

void convert_softirq_exit(struct convert *c, const struct sample *s)
{
    struct cpu_state *cpu = &c->cpu[s->cpu];
    uint64_t          vec = (uint64_t)sample_field(s, F_SOFTIRQ_VEC);
    if (vec >= RAW_SOFTIRQS || !(cpu->open_softirqs & (1u << vec)))
        return; /* it began before the trace, or its start was lost */
    cpu->open_softirqs &= ~(1u << vec);
    if (c->dpc && !cpu->tasklets)
        dpc_event(c, s, vec == VEC_TIMER || vec == VEC_HRTIMER ? HOOK_PERF_TIMER_DPC : HOOK_PERF_DPC, cpu->softirq[vec],
                  c->softirq_routine[vec]);
}

void convert_tasklet_entry(struct convert *c, const struct sample *s)
{
    c->cpu[s->cpu].tasklet_since = convert_time(c, s->time);
    c->cpu[s->cpu].tasklet       = (uint64_t)sample_field(s, F_TASKLET_FUNC);
}

/* A tasklet has a routine of its own: it gets an event, and the softirq around it, whose time is theirs, gets none. */
void convert_tasklet_exit(struct convert *c, const struct sample *s)
{
    struct cpu_state *cpu = &c->cpu[s->cpu];
    if (cpu->tasklet_since) {
        dpc_event(c, s, HOOK_PERF_DPC, cpu->tasklet_since, cpu->tasklet);
        cpu->tasklets = 1;
    }
    cpu->tasklet_since = 0;
}

/* ---- of the processor itself: no Windows class has this meaning ---- */

static void vector_event(struct convert *c, const struct sample *s, const char *name, uint64_t since)
{
    struct shape  shape = {PROVIDER, name, {{"Vector", SHAPE_UINT32}, {"InitialTime", SHAPE_UINT64}}};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, (uint32_t)sample_field(s, F_VECTOR));
    wr_u64(&w, since);
    if (since)
        describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &shape, s->time, &w);
}

void convert_clock_entry(struct convert *c, const struct sample *s)
{
    c->cpu[s->cpu].clock_since = convert_time(c, s->time);
}
void convert_clock_exit(struct convert *c, const struct sample *s)
{
    vector_event(c, s, "ClockInterrupt", c->cpu[s->cpu].clock_since);
    c->cpu[s->cpu].clock_since = 0;
}

void convert_ipi_entry(struct convert *c, const struct sample *s)
{
    c->cpu[s->cpu].ipi_since = convert_time(c, s->time);
}
void convert_ipi_exit(struct convert *c, const struct sample *s)
{
    vector_event(c, s, s->source->kind == SRC_RESCHEDULE_EXIT ? "IpiReschedule" : "IpiCallFunction",
                 c->cpu[s->cpu].ipi_since);
    c->cpu[s->cpu].ipi_since = 0;
}

void convert_ipi_send(struct convert *c, const struct sample *s)
{
    static const struct shape shape = {
        PROVIDER, "IpiSend", {{"TargetCpu", SHAPE_UINT32}, {"CallSite", SHAPE_HEX64}, {"Callback", SHAPE_HEX64}}};
    uint8_t       bytes[PAYLOAD_MAX];
    struct writer w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, (uint32_t)sample_field(s, F_IPI_CPU));
    wr_u64(&w, (uint64_t)sample_field(s, F_IPI_CALLSITE));
    wr_u64(&w, (uint64_t)sample_field(s, F_IPI_CALLBACK));
    describe(c, &(struct actor){s->cpu, shown_pid(c, s->pid, s->tid), s->tid}, &shape, s->time, &w);
}
