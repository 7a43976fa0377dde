/* kphase_seam.c - where the trace buffer ends and perf begins, for each event on each CPU. See P2 of kphase.h. While
 * both record, every event is in both, in the same order. So perf's first event is looked up in the buffer, by content,
 * and perf's next events must follow it there. (Some kernels keep events from perf that the buffer has: perf's events
 * must be found in the buffer, not the other way round.) */
#include "autologger/kernel/phase/kphase.h"
#include "autologger/kernel/source/sources.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { SEAM_EVENTS = 4096, TASK_SLACK_NS = 10000000, HANDLERS_NS = 20000 /* between both records of one event */ };
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t kphase_seam_hash_bytes(uint64_t h, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_task(uint32_t tid)
{
    return kphase_seam_hash_bytes(HASH_START, (const uint8_t *)&tid, sizeof tid);
}

/* A field that can be a text counts up to its NUL: the bytes behind it are stale memory, which differs between the
 * buffers. */
static size_t kphase_seam_text_size(const uint8_t *p, size_t n)
{
    return n > sizeof(uint64_t) ? strnlen((const char *)p, n) : n;
}

/* A hash of what both records share: the task, and the fields that we read. A side-band record has only its task. */
uint64_t seam_hash(const struct raw_source *source, const uint8_t *data, size_t size)
{
    static const uint8_t at[SRC_COUNT] = {
        [SRC_FORK] = F_FORK_CHILD + 1, [SRC_EXIT] = F_EXIT_PID + 1, [SRC_EXEC] = F_EXEC_PID + 1};
    uint64_t h     = HASH_START;
    unsigned first = source->kind < SRC_COUNT && at[source->kind] ? at[source->kind] - 1u : 0;
    bool     task  = source->kind < SRC_COUNT && at[source->kind];
    if (!task && size >= TRACE_ENTRY_HEAD)
        h = kphase_seam_hash_bytes(h, data + 4, 4);
    for (unsigned i = first; i < (task ? first + 1 : (unsigned)RAW_FIELDS); i++) {
        const struct raw_field *f = &source->field[i];
        if (f->offset != RAW_NO_FIELD && f->size && (size_t)f->offset + f->size <= size)
            h = kphase_seam_hash_bytes(h, data + f->offset, kphase_seam_text_size(data + f->offset, f->size));
    }
    return h;
}

/* True if all of perf's events before `stop` are in the buffer, from `at` on, in order. */
static bool follows(const struct seam_event *trace, size_t traces, size_t at, const struct seam_event *perf,
                    size_t perfs, uint64_t stop)
{
    for (size_t i = 0; i < perfs && perf[i].time < stop; i++) {
        while (at < traces && trace[at].hash != perf[i].hash)
            at++;
        if (at++ >= traces)
            return false;
    }
    return true;
}

size_t seam_find(const struct seam_event *trace, size_t traces, const struct seam_event *perf, size_t perfs,
                 const struct seam_times *times)
{
    size_t high = 0, first = 0;
    if (!perfs || perf[0].time > times->stopped) /* perf came after the buffer's end */
        return traces;
    bool certain = perf[0].time < times->stopping; /* then the buffer must have it */
    while (first < traces && trace[first].time < times->arming)
        first++; /* perf cannot have these */
    while (high < traces && trace[high].time < perf[0].time)
        high++;
    high       = high < first ? first : high;
    size_t low = high, near = high; /* candidates from the nearest outwards: [first, low) and [high, traces) */
    while (low > first || high < traces) {
        bool down =
            low > first && (high == traces || perf[0].time - trace[low - 1].time <= trace[high].time - perf[0].time);
        size_t   i     = down ? --low : high++;
        uint64_t apart = down ? perf[0].time - trace[i].time : trace[i].time - perf[0].time;
        if (!certain && apart > times->apart && (!down || trace[i].time < times->armed)) {
            if (down)
                return traces;
            continue;
        }
        if (trace[i].hash == perf[0].hash && follows(trace, traces, i, perf, perfs, times->stopping))
            return i;
    }
    return certain ? near : traces; /* no match: decide by the clocks */
}

/* ---- perf's events, by kind ---- */

struct perf_list {
    struct seam_event event[SEAM_EVENTS];
    size_t            count;
};

static void ring_copy(const struct rings *rings, const struct ring *r, uint64_t pos, void *out, size_t size)
{
    size_t at = pos & (rings->bytes - 1), first = rings->bytes - at < size ? rings->bytes - at : size;
    memcpy(out, r->data + at, first);
    memcpy((uint8_t *)out + first, r->data, size - first);
}

static const struct raw_source *source_by_id(const struct kphase *p, unsigned cpu, uint64_t id)
{
    for (unsigned i = 1; i < p->first; i++)
        if (rawlog_ids(p->log, cpu)[i] == id)
            return &p->log->header->source[i];
    return NULL;
}

/* The buffer's source with the same events; 0: none. A tracepoint is identified by its provider's number and its
 * name. */
static unsigned phase_of(const struct kphase *p, uint32_t kind, const struct raw_source *s)
{
    for (unsigned i = p->first; i < p->first + p->count; i++) {
        const struct raw_source *of = &p->source[i];
        if (of->kind == kind && (kind != SRC_TRACEPOINT ||
                                 (of->wish == s->wish && strcmp(of->name + strlen(RAW_PHASE_NAME), s->name) == 0)))
            return i;
    }
    return 0;
}

static bool perf_sample(const struct kphase *p, unsigned cpu, const uint8_t *record, size_t size, unsigned *phase,
                        struct seam_event *out)
{
    struct cursor c = cur_make(record, size);
    cur_take(&c, SAMPLE_ID_AT);
    const struct raw_source *s = source_by_id(p, cpu, cur_u64(&c));
    cur_take(&c, SAMPLE_TIME_AT - SAMPLE_TID_AT + (s ? sample_shift(s) : 0));
    out->time = cur_u64(&c);
    cur_take(&c, SAMPLE_BODY_AT - SAMPLE_CPU_AT);
    if (!s || !cur_ok(&c) || !(s->flags & RAW_SOURCE_RAW) || s->kind == SRC_EXEC)
        return false;
    if (s->flags & RAW_SOURCE_CHAIN) {
        uint64_t n = cur_u64(&c);
        cur_take(&c, n > size ? SIZE_MAX : n * 8);
    }
    uint32_t       raw_size = cur_u32(&c);
    const uint8_t *raw      = cur_take(&c, raw_size);
    if (!cur_ok(&c))
        return false;
    *phase    = phase_of(p, s->kind, s);
    out->hash = seam_hash(s->kind == SRC_TRACEPOINT ? &p->source[*phase] : s, raw, raw_size);
    return *phase != 0;
}

static bool perf_event(const struct kphase *p, unsigned cpu, const uint8_t *record, size_t size, unsigned *phase,
                       struct seam_event *out)
{
    struct perf_event_header h;
    uint32_t                 ids[4], kind;
    memcpy(&h, record, sizeof h);
    if (h.type == PERF_RECORD_SAMPLE)
        return perf_sample(p, cpu, record, size, phase, out);
    if (size < sizeof h + sizeof ids + TRAILER_SIZE)
        return false;
    memcpy(ids, record + sizeof h, sizeof ids);
    memcpy(&out->time, record + size - 24, sizeof out->time);
    if (h.type == PERF_RECORD_COMM && (h.misc & PERF_RECORD_MISC_COMM_EXEC))
        kind = SRC_EXEC;
    else if (h.type == PERF_RECORD_FORK || h.type == PERF_RECORD_EXIT)
        kind = h.type == PERF_RECORD_FORK ? SRC_FORK : SRC_EXIT;
    else
        return false;
    *phase    = phase_of(p, kind, NULL);
    out->hash = hash_task(ids[kind == SRC_EXEC ? 1 : 2]);
    return *phase != 0;
}

/* The rings have not been drained since they were armed: the drainer is kept away. */
static void perf_collect(const struct kphase *p, const struct rings *rings, unsigned cpu, struct perf_list *lists)
{
    const struct ring *r    = &rings->ring[cpu];
    uint64_t           head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), pos = p->log->work->tail[cpu];
    uint8_t            record[UINT16_MAX + 1];
    while (head - pos >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        struct seam_event        e;
        unsigned                 phase;
        ring_copy(rings, r, pos, &h, sizeof h);
        if (h.size < 16 || h.size % 8 || h.size > head - pos)
            return;
        ring_copy(rings, r, pos, record, h.size);
        if (perf_event(p, cpu, record, h.size, &phase, &e) && lists[phase - p->first].count < SEAM_EVENTS)
            lists[phase - p->first].event[lists[phase - p->first].count++] = e;
        pos += h.size;
    }
}

/* ---- the decision ---- */

static void seam_of_source(struct kphase_cpu *c, unsigned source, const struct perf_list *perf,
                           struct seam_event *scratch, const struct seam_times *times)
{
    size_t n = 0, kept;
    for (size_t i = 0; i < c->late_count; i++)
        if (c->late[i].source == source)
            scratch[n++] = (struct seam_event){trace_map_raw(&c->map, c->late[i].time), c->late[i].hash};
    kept = seam_find(scratch, n, perf->event, perf->count, times);
    for (size_t i = 0, k = 0; i < c->late_count; i++)
        if (c->late[i].source == source)
            c->late[i].drop = k++ >= kept;
}

/* The time up to which the buffer certainly recorded on this CPU. */
static uint64_t stopping(const struct kphase *p, const struct kphase_cpu *c)
{
    return p->late_stop ? trace_map_raw(&c->map, c->late[c->late_count - 1].time) : p->stop_before;
}

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

void kphase_seam(struct kphase *p, const struct rings *rings)
{
    struct perf_list *lists = malloc((p->count + 1) * sizeof *lists);
    for (unsigned cpu = 0; cpu < p->cpus && lists; cpu++) {
        struct kphase_cpu *c       = &p->cpu[cpu];
        struct seam_event *scratch = c->late_count ? malloc(c->late_count * sizeof *scratch) : NULL;
        if (!scratch || !rings->ring[cpu].page) {
            free(scratch);
            continue; /* no late entries, or no ring of perf on this CPU */
        }
        for (unsigned i = 0; i < p->count; i++)
            lists[i].count = 0;
        perf_collect(p, rings, cpu, lists);
        for (unsigned i = 0; i < p->count; i++) {
            /* a side-band record is not written at the tracepoint itself: the buffer may stop between the two records
             * of an exec */
            const uint32_t k = p->source[p->first + i].kind;
            uint64_t task = k == SRC_FORK || k == SRC_EXIT || k == SRC_EXEC ? TASK_SLACK_NS : 0, error = p->error_ns;
            struct seam_times times = {minus(p->arming, error + task), p->armed + error + task,
                                       minus(stopping(p, c), error + task), p->stop_after + error + task,
                                       error + (task ? task : HANDLERS_NS)};
            seam_of_source(c, p->first + i, &lists[i], scratch, &times);
        }
        free(scratch);
    }
    free(lists);
}
