/* convert_loss.c - losses as own events in the file (Autologger-Loss): one Lost for each CPU, cause and source, after
 * the gap, with how long ago the gap began and ended. See convert.h. Causes: "ring" and "memory", reported by the
 * drainer (drain_loss.c); "conversion", counted here; "withheld", events that the kernel counted but delivered nowhere.
 * Losses not reported before follow at the end.
 * Invariant: the counts of all Lost events, and Lost of KernelPhaseEnd, together equal the session's count of lost
 * events. */
#include "autologger/kernel/convert/describe.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/rawrec.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "Autologger-Loss"
enum { PENDING_MAX = 32, NO_SOURCE = RAW_SOURCES, NO_CPU = UINT16_MAX };
static const char *const causes[] = {[LOST_RING] = "ring", [LOST_MEMORY] = "memory", "conversion", "withheld"};
enum { CAUSE_CONVERSION = 2, CAUSE_WITHHELD };

struct part_loss {
    uint64_t unnoted;        /* as in struct convert */
    uint32_t ended, pending; /* ended: only for a successor; the own flag is in struct convert, which needs no memory */
    struct not_converted {
        uint64_t count;
        uint16_t cpu, source;
        uint32_t reserved;
    } row[PENDING_MAX];
};

static struct part_loss *convert_loss_part(struct convert *c)
{
    if (!c->loss)
        c->loss = calloc(1, sizeof *c->loss);
    return c->loss;
}

static const char *source_name(const struct convert *c, uint64_t source)
{
    return source < c->log->header->source_count ? c->log->header->source[source].name : "";
}

struct gap {
    uint64_t from, to;
}; /* 0: not known */

static void lost_event(struct convert *c, unsigned cpu, unsigned cause, uint64_t source, uint64_t count,
                       const struct gap *gap, uint64_t raw)
{
    static const struct shape shape = {PROVIDER,
                                       "Lost",
                                       {{"Cpu", SHAPE_UINT32},
                                        {"Cause", SHAPE_TEXT},
                                        {"Source", SHAPE_TEXT},
                                        {"Count", SHAPE_UINT64},
                                        {"BeganNsAgo", SHAPE_UINT64},
                                        {"EndedNsAgo", SHAPE_UINT64}}};
    uint8_t                   bytes[128];
    struct writer             w = wr_make(bytes, sizeof bytes);
    wr_u32(&w, cpu < c->cpus ? cpu : UINT32_MAX);
    wr_text(&w, causes[cause], 16);
    wr_text(&w, source_name(c, source), sizeof c->log->header->source->name);
    wr_u64(&w, count);
    wr_u64(&w, gap->from && gap->from < raw ? raw - gap->from : 0);
    wr_u64(&w, gap->to && gap->to < raw ? raw - gap->to : 0);
    describe(c, &(struct actor){cpu < c->cpus ? cpu : 0, 0, 0}, &shape, raw, &w);
}

void convert_lost(struct convert *c, const uint8_t *record, size_t size, uint64_t raw)
{
    struct raw_lost r;
    struct cursor   cur = cur_make(record, size);
    cur_copy(&cur, &r, sizeof r);
    net_gap(c);
    for (uint32_t i = 0; i < r.count && cur_ok(&cur) && r.cause <= LOST_MEMORY; i++) {
        uint64_t source = cur_u64(&cur), lost = cur_u64(&cur);
        if (cur_ok(&cur))
            lost_event(c, r.cpu, r.cause, source, lost, &(struct gap){r.from_ns, r.own.time}, raw);
    }
}

void convert_throttle(struct convert *c, unsigned cpu, const uint8_t *record, bool begins, uint64_t raw)
{
    static const struct shape throttled   = {PROVIDER, "Throttled", {{"Cpu", SHAPE_UINT32}, {"Source", SHAPE_TEXT}}};
    static const struct shape unthrottled = {PROVIDER, "Unthrottled", {{"Cpu", SHAPE_UINT32}, {"Source", SHAPE_TEXT}}};
    uint8_t                   bytes[64];
    struct writer             w = wr_make(bytes, sizeof bytes);
    uint64_t                  id;
    memcpy(&id, record + sizeof(struct perf_event_header) + sizeof(uint64_t), sizeof id); /* after the time */
    wr_u32(&w, cpu);
    wr_text(&w, source_name(c, rawlog_source(rawlog_ids(c->log, cpu), c->log->header->source_count, id)),
            sizeof c->log->header->source->name);
    describe(c, &(struct actor){cpu, 0, 0}, begins ? &throttled : &unthrottled, raw, &w);
}

/* ---- of the conversion ---- */

static uint64_t now_of(const struct convert *c)
{
    return c->horizon == UINT64_MAX || c->horizon < c->frontier ? c->frontier : c->horizon;
}

bool losses_flush(struct convert *c)
{
    struct part_loss *p = c->loss;
    if (!p || !p->pending)
        return false;
    for (unsigned i = 0; i < p->pending; i++)
        lost_event(c, p->row[i].cpu, CAUSE_CONVERSION, p->row[i].source, p->row[i].count, &(struct gap){0}, now_of(c));
    p->pending = 0;
    return true;
}

void loss_converting(struct convert *c, unsigned cpu, const struct raw_source *source, uint64_t count)
{
    struct part_loss *p = count ? convert_loss_part(c) : NULL;
    uint16_t          s = source ? (uint16_t)(source - c->log->header->source) : NO_SOURCE;
    unsigned          i = 0;
    c->lost += count;
    if (count)
        net_gap(c);
    if (!p)
        return; /* no loss, or no memory to report it */
    while (i < p->pending && (p->row[i].cpu != cpu || p->row[i].source != s))
        i++;
    if (i == PENDING_MAX) /* more CPUs and sources at once than rows: all in one row */
        p->row[i = 0].cpu = NO_CPU, p->row[0].source = NO_SOURCE;
    else if (i == p->pending)
        p->row[p->pending++] = (struct not_converted){.cpu = (uint16_t)cpu, .source = s};
    p->row[i].count += count;
}

/* ---- the end ---- */

/* Losses without a record of their own, for lack of room: the drainer keeps them in the slot. */
static void untold(struct convert *c, struct raw_slot *slot, uint64_t raw)
{
    for (unsigned cpu = 0; cpu < c->cpus; cpu++) {
        const struct raw_loss *l = rawlog_loss(c->log, slot, cpu);
        for (unsigned i = 0; i < c->log->header->source_count; i++) {
            if (l->source[i].ring)
                lost_event(c, cpu, LOST_RING, i, l->source[i].ring, &(struct gap){l->ring_from, l->ring_to}, raw);
            if (l->source[i].memory)
                lost_event(c, cpu, LOST_MEMORY, i, l->source[i].memory, &(struct gap){l->memory_from, l->memory_to},
                           raw);
        }
    }
}

/* What the counters have beyond the records: the CPU is not known. */
static void unplaced(struct convert *c, struct raw_slot *slot, unsigned i, uint64_t raw)
{
    const struct raw_header *h    = c->log->header;
    uint64_t                 seen = 0, have = slot->drained[i] + slot->lost_memory[i] + h->final_lost[i];
    for (unsigned cpu = 0; cpu < c->cpus; cpu++)
        seen += rawlog_loss(c->log, slot, cpu)->source[i].seen;
    if (h->final_lost[i] > seen)
        lost_event(c, NO_CPU, LOST_RING, i, h->final_lost[i] - seen, &(struct gap){0}, raw);
    if ((h->source[i].flags & RAW_SOURCE_COUNTER) && h->final_value[i] > have)
        lost_event(c, NO_CPU, CAUSE_WITHHELD, i, h->final_value[i] - have, &(struct gap){0}, raw);
}

bool losses_end(struct convert *c)
{
    /* final: there are no more passes */
    struct raw_slot *slot    = (struct raw_slot *)(uintptr_t)rawlog_published(c->log);
    uint64_t         drained = 0, raw = now_of(c);
    if (c->losses_told || c->horizon != UINT64_MAX)
        return false;
    c->losses_told = true;
    untold(c, slot, raw);
    for (unsigned i = 0; i < c->log->header->source_count; i++) {
        unplaced(c, slot, i, raw);
        drained += slot->drained[i];
    }
    if (c->damaged && drained > c->loaded)
        lost_event(c, NO_CPU, CAUSE_CONVERSION, NO_SOURCE, drained - c->loaded, &(struct gap){0}, raw);
    return true;
}

/* ---- the part ---- */

void part_loss_finish(struct convert *c)
{
    free(c->loss);
    c->loss = NULL;
}

void part_loss_put(const struct convert *c, struct sink *s)
{
    struct part_loss p = c->loss ? *c->loss : (struct part_loss){0};
    p.ended            = c->losses_told;
    p.unnoted          = c->unnoted;
    snapshot_put(s, &p, sizeof p);
}

bool part_loss_get(struct convert *c, struct cursor *cur)
{
    if (!convert_loss_part(c))
        return false;
    cur_copy(cur, c->loss, sizeof *c->loss);
    c->losses_told = c->loss->ended;
    c->unnoted     = c->loss->unnoted;
    return c->loss->pending <= PENDING_MAX;
}
