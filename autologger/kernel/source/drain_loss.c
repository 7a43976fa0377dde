/* drain_loss.c - losses by time, CPU and source, as own records in the log. See drain.h. The kernel marks in a ring the
 * place where records are missing (PERF_RECORD_LOST); the number lost of each source is in the counters of the perf
 * events, which are read then, and at the end. Losses for lack of log memory are counted here. A loss record that finds
 * no room stays in the slot, and grows, until there is room, or until the converter finds it there at the end. */
#include "autologger/kernel/source/drain.h"

#include <stdlib.h>

void loss_memory(struct rawlog *log, unsigned cpu, unsigned source, uint64_t count, uint64_t raw_ns)
{
    struct raw_loss *l = rawlog_loss(log, log->work, cpu);
    log->work->lost_memory[source] += count;
    l->source[source].memory += count;
    if (!l->memory_from)
        l->memory_from = raw_ns;
    if (raw_ns > l->memory_to)
        l->memory_to = raw_ns;
}

void loss_ring(struct rawlog *log, unsigned cpu, uint64_t from_ns, uint64_t to_ns)
{
    struct raw_loss *l = rawlog_loss(log, log->work, cpu);
    if (!l->ring_from)
        l->ring_from = from_ns;
    l->ring_to = to_ns;
}

static void counts_read(struct drain *d, unsigned cpu, struct raw_loss *l)
{
    for (unsigned i = 0; i < d->rings->count; i++) {
        uint64_t value, lost;
        if (!rings_count(d->rings, cpu, i, &value, &lost) || lost <= l->source[i].seen)
            continue;
        l->source[i].ring += lost - l->source[i].seen;
        l->source[i].seen = lost;
    }
}

void loss_closed(struct drain *d, unsigned source)
{
    for (unsigned cpu = 0; cpu < d->rings->cpus; cpu++) {
        struct raw_loss   *l = rawlog_loss(d->log, d->log->work, cpu);
        struct raw_untold *s = &l->source[source];
        uint64_t           value, lost;
        if (rings_count(d->rings, cpu, source, &value, &lost) && lost > s->seen) {
            s->ring += lost - s->seen;
            l->ring_to = l->ring_to ? l->ring_to : raw_now();
        }
        s->seen = 0;
    }
}

/* Writes one record. False: there is no room for it now. */
static bool lost_tell(struct drain *d, unsigned cpu, uint32_t cause, uint64_t from, uint64_t to)
{
    struct raw_untold *s = rawlog_loss(d->log, d->log->work, cpu)->source;
    struct raw_lost   *r = malloc(sizeof *r + RAW_SOURCES * sizeof *r->row);
    if (!r)
        return false;
    *r = (struct raw_lost){
        .own = {.type = RAW_LOST, .time = to ? to : raw_now()}, .from_ns = from, .cpu = cpu, .cause = cause};
    for (unsigned i = 0; i < d->log->header->source_count; i++) {
        uint64_t n = cause == LOST_RING ? s[i].ring : s[i].memory;
        if (n)
            r->row[r->count++] = (struct raw_lost_row){i, n};
    }
    size_t size = sizeof *r + r->count * sizeof *r->row;
    bool   room = rawlog_room(d->log) >= d->notes->used + size + 2 * sizeof(struct raw_chunk) + PASS_RESERVE;
    if (room && r->count) {
        own_add(d, d->notes, r, size, NULL, 0);
        own_flush(d, d->notes);
    }
    for (unsigned i = 0; i < d->log->header->source_count && room; i++)
        *(cause == LOST_RING ? &s[i].ring : &s[i].memory) = 0;
    free(r);
    return room;
}

void losses_tell(struct drain *d, bool last)
{
    for (unsigned cpu = 0; cpu < d->rings->cpus; cpu++) {
        struct raw_loss *l = rawlog_loss(d->log, d->log->work, cpu);
        if (d->rings->ring[cpu].page && (l->ring_to || last)) {
            counts_read(d, cpu, l);
            if (!l->ring_from)
                l->ring_from = l->last_ns; /* no record came after the loss: it lasts until now */
            if (lost_tell(d, cpu, LOST_RING, l->ring_from, l->ring_to))
                l->ring_from = l->ring_to = 0;
        }
        if (l->memory_to && lost_tell(d, cpu, LOST_MEMORY, l->memory_from, l->memory_to))
            l->memory_from = l->memory_to = 0;
    }
}
