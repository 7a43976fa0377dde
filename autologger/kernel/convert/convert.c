/* convert.c - reading the raw log, ordering records over CPUs, and handing each to its converter. See convert.h. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/source/rings.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/stack_copy.h"
#include "registry-sim/base/cursor.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 4096 };
#define TIME_LATEST (UINT64_C(1) << 62) /* ns, 146 years; events may get later times: each has a time of its own */

static bool special_processes(struct convert *c)
{
    c->idle   = process_add(c, 0);
    c->system = process_add(c, 4);
    if (!c->idle || !c->system)
        return false;
    process_text(&c->idle->name, "Idle");
    process_text(&c->system->name, "System");
    c->idle->session = c->system->session = UINT32_MAX;
    c->idle->images_shown = c->system->images_shown = true;
    c->system->flags                                = RAW_PROCESS_KERNEL;
    return true;
}

wstatus convert_init(struct convert *c, const struct klog_config *config, struct rawlog *log, struct reason *why)
{
    *c = (struct convert){.config = config, .log = log, .cpus = log->header->cpus, .next_key = 1, .next_irp = 1};
    convert_terms(c, config->mask, config->hooks, config->hook_count);
    c->alone = config->tracepoint_count && !(c->mask[0] & ~0x10000000u) && !c->mask[1] && !c->mask[2] && !c->mask[4];
    c->profile_interval = config->profile_interval ? config->profile_interval : KERNEL_PROFILE_INTERVAL;
    clockmap_init(&c->map, config->clock.freq);
    c->stream   = calloc(c->cpus + 1, sizeof *c->stream);
    c->queue    = calloc(c->cpus, sizeof *c->queue);
    c->cpu      = calloc(c->cpus, sizeof *c->cpu);
    c->scratch  = malloc(SCRATCH);
    c->read_pos = log->header->free_pos;
    if (!c->stream || !c->queue || !c->cpu || !c->scratch || !special_processes(c))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the converter");
    return W_SUCCESS;
}

void convert_finish(struct convert *c)
{
    for (size_t i = 0; i < c->process.capacity; i++)
        if (c->process.slot[i].value) {
            process_remove(c, c->process.slot[i].value);
            i = (size_t)-1; /* removal moves other entries: begin again */
        }
    if (c->idle)
        process_remove(c, c->idle);
    if (c->system)
        process_remove(c, c->system);
    for (size_t i = 0; i < c->request.capacity; i++)
        free(c->request.slot[i].value);
    for (struct disk_request *r = c->free_requests, *next; r; r = next) {
        next = r->next_free;
        free(r);
    }
    for (struct queue_block *b = c->free_blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    for (unsigned i = 0; c->stream && i <= c->cpus; i++)
        free(c->stream[i].entry);
    for (unsigned i = 0; c->queue && i < c->cpus; i++)
        queue_finish(&c->queue[i]);
#define PART(noun) part_##noun##_finish(c);
#include "autologger/kernel/convert/parts.def"
#undef PART
    idmap_finish(&c->process);
    idmap_finish(&c->thread);
    idmap_finish(&c->request);
    idmap_finish(&c->note);
    idmap_finish(&c->initcall);
    idmap_finish(&c->irq);
    free(c->stream);
    free(c->queue);
    free(c->cpu);
    free(c->scratch);
}

uint64_t convert_time(const struct convert *c, uint64_t raw_ns)
{
    return c->config->clock.read_kind == CLOCK_READ_RAW ? raw_ns : clockmap_tsc(&c->map, raw_ns);
}

/* ---- loading ---- */

/* Records arrive nearly in order: an interrupt may put its record before that of the interrupted code. A time beyond
 * any clock (a damaged record) becomes the latest possible one, below "none" (UINT64_MAX): the record is converted like
 * all others. */
static bool stream_add(struct raw_stream *s, uint64_t time, uint64_t pos, uint64_t chunk)
{
    if (time > TIME_LATEST)
        time = TIME_LATEST;
    if (s->count == s->capacity) {
        if (s->head > s->count / 2) {
            memmove(s->entry, s->entry + s->head, (s->count - s->head) * sizeof *s->entry);
            s->count -= s->head;
            s->head = 0;
        } else {
            size_t n = s->capacity ? s->capacity * 2 : 1024;
            void  *p = realloc(s->entry, n * sizeof *s->entry);
            if (!p)
                return false;
            s->entry    = p;
            s->capacity = n;
        }
    }
    size_t i = s->count++;
    while (i > s->head && s->entry[i - 1].time > time) {
        s->entry[i] = s->entry[i - 1];
        i--;
    }
    s->entry[i] = (struct stream_entry){time, pos, chunk};
    return true;
}

static uint64_t note_key(uint32_t type, uint32_t pid, uint64_t time)
{
    return time * 31 + pid + ((uint64_t)type << 52);
}

/* Did the predecessor convert it before the snapshot was taken? */
static bool is_replay(const struct convert *c, uint64_t time, uint64_t pos)
{
    return pos < c->replay_end && time <= c->replay_horizon;
}

static bool load_own(struct convert *c, const uint8_t *p, size_t size, uint64_t pos)
{
    struct raw_own own;
    if (size < sizeof own)
        return false;
    memcpy(&own, p, sizeof own);
    if (own.type == RAW_DEVICE)
        c->loaded += pos >= c->replay_end && device_counts(p, size); /* else it was counted before the snapshot */
    /* for forks before this record, see foretold() */
    if ((own.type == RAW_PROCESS || own.type == RAW_THREAD) && !is_replay(c, own.time, pos))
        idmap_put(&c->note, note_key(own.type, own.type == RAW_THREAD ? own.tid : own.pid, 0),
                  (void *)(uintptr_t)(pos + 1));
    if (own.type >= RAW_TIMED && own.type < RAW_TIMED_END)
        return is_replay(c, own.time, pos) || stream_add(&c->stream[c->cpus], own.time, pos, c->chunk_pos);
    if (own.type >= RAW_NOTE && own.type < RAW_NOTE_END)
        idmap_put(&c->note, note_key(own.type, own.pid, own.time), (void *)(uintptr_t)(pos + 1));
    return true;
}

static bool is_throttle(uint32_t type) { return type == PERF_RECORD_THROTTLE || type == PERF_RECORD_UNTHROTTLE; }
/* the drainer reports LOST */
static bool is_event(uint32_t type) { return type != PERF_RECORD_LOST && !is_throttle(type); }

/* The source with this id, NULL when there is none. */
static const struct raw_source *source_with(const struct convert *c, unsigned cpu, uint64_t id)
{
    unsigned i =
        rawlog_source(rawlog_ids(c->log, cpu), __atomic_load_n(&c->log->header->source_count, __ATOMIC_ACQUIRE), id);
    return i < RAW_SOURCES && c->log->header->source[i].kind < SRC_COUNT ? &c->log->header->source[i] : NULL;
}

/* For a sample of 16 bytes or more. */
static size_t sample_shift_at(const struct convert *c, unsigned cpu, const uint8_t *sample)
{
    uint64_t id;
    memcpy(&id, sample + SAMPLE_ID_AT, sizeof id);
    const struct raw_source *s = source_with(c, cpu, id);
    return s ? sample_shift(s) : 0;
}

static void load_chunk(struct convert *c, const struct raw_chunk *chunk, uint64_t pos)
{
    uint64_t end  = pos + chunk->bytes;
    uint32_t left = chunk->records;
    while (pos < end) {
        struct perf_event_header h;
        const uint8_t           *p = rawlog_seen(c->log, pos);
        uint64_t                 time;
        memcpy(&h, p, sizeof h);
        if (h.size < 16 || h.size % 8 || h.size > end - pos) {
            loss_converting(c, chunk->cpu, NULL, left); /* R3: the rest of the chunk can't be parsed */
            c->loaded += left;
            return;
        }
        if (chunk->kind == RAW_CHUNK_OWN) {
            load_own(c, p, h.size, pos);
        } else if (is_event(h.type)) {
            left -= left > 0;
            bool again = pos < c->replay_end; /* counted before the snapshot */
            c->loaded += !again;
            bool   sample = h.type == PERF_RECORD_SAMPLE;
            size_t shift  = sample ? sample_shift_at(c, chunk->cpu, p) : 0;
            if (h.size < (sample ? SAMPLE_BODY_AT + shift : 8 + TRAILER_SIZE)) {
                loss_converting(c, chunk->cpu, NULL, !again);
            } else {
                memcpy(&time, sample ? p + SAMPLE_TIME_AT + shift : p + h.size - 24, 8);
                if (!is_replay(c, time, pos) && !stream_add(&c->stream[chunk->cpu], time, pos, c->chunk_pos))
                    loss_converting(c, chunk->cpu, NULL, 1);
            }
        } else if (is_throttle(h.type) && h.size >= 16 + TRAILER_SIZE) {
            memcpy(&time, p + h.size - 24, 8);
            if (!is_replay(c, time, pos))
                stream_add(&c->stream[chunk->cpu], time, pos,
                           c->chunk_pos); /* no memory: dropped, it is not a counted event */
        }
        pos += h.size;
    }
}

/* UINT64_MAX, the last horizon, is not a time. */
static void horizon_set(struct convert *c, uint64_t horizon)
{
    if (horizon == UINT64_MAX && c->horizon > c->frontier)
        c->frontier = c->horizon; /* all before it was published as complete */
    c->horizon = horizon;
}

/* Loads one more pass from the log. False: all published data are loaded. */
static bool load_pass(struct convert *c)
{
    bool     any = false;
    uint64_t horizon, end = rawlog_live(c->log, &horizon);
    while (end - c->read_pos >= sizeof(struct raw_chunk)) {
        struct raw_chunk chunk;
        uint64_t         body = c->read_pos + sizeof chunk;
        memcpy(&chunk, rawlog_seen(c->log, c->read_pos), sizeof chunk);
        any = true;
        if (chunk.magic != RAW_CHUNK_MAGIC || chunk.bytes % 8 || chunk.bytes > end - body ||
            (chunk.kind == RAW_CHUNK_PERF && chunk.cpu >= c->cpus)) {
            c->damaged  = true; /* nothing after it can be found: see losses_end */
            c->read_pos = end;
            return true;
        }
        c->chunk_pos = c->read_pos;
        c->read_pos  = body + chunk.bytes;
        if (chunk.kind != RAW_CHUNK_PASS) {
            load_chunk(c, &chunk, body);
        } else if (chunk.bytes == sizeof(struct raw_pass) - sizeof chunk) {
            struct raw_pass pass;
            memcpy(&pass, rawlog_seen(c->log, body - sizeof chunk), sizeof pass);
            clockmap_add(&c->map, pass.raw_ns, pass.value, pass.error_ns);
            if (pass.horizon_ns > c->horizon)
                horizon_set(c, pass.horizon_ns);
            return true;
        }
    }
    if (horizon <= c->horizon)
        return any;
    horizon_set(c, horizon); /* of a pass whose end did not fit into the log */
    return true;
}

/* ---- one record ---- */

/* The record has registers only if there is a program (not for a kernel thread); then the wanted stack size, the bytes,
 * and how many of them are valid. */
static void copy_parse(struct cursor *cur, struct user_copy *out)
{
    enum { WORDS_64 = 2 };
    uint64_t words   = cur_u64(cur);
    out->registers   = words ? cur_take(cur, STACK_COPY_REGISTERS * sizeof(uint64_t)) : NULL;
    uint64_t asked   = cur_u64(cur);
    out->stack       = asked ? cur_take(cur, asked > UINT16_MAX ? SIZE_MAX : asked) : NULL;
    uint64_t present = asked ? cur_u64(cur) : 0;
    out->size        = (uint32_t)(present < asked ? present : asked);
    if (words != WORDS_64)
        out->registers = NULL;
}

static bool sample_parse(struct convert *c, const uint8_t *p, size_t size, unsigned cpu, struct sample *s)
{
    struct cursor cur = cur_make(p, size);
    cur_take(&cur, 8);
    *s = (struct sample){.cpu = cpu, .source = source_with(c, cpu, cur_u64(&cur))};
    if (!s->source)
        return false;
    if (sample_shift(s->source))
        s->ip = cur_u64(&cur);
    s->pid  = cur_u32(&cur);
    s->tid  = cur_u32(&cur);
    s->time = cur_u64(&cur);
    if (s->source->flags & RAW_SOURCE_ADDRESS)
        s->address = cur_u64(&cur);
    cur_take(&cur, 8);
    if (s->source->flags & RAW_SOURCE_CHAIN) {
        s->chain_count = cur_u64(&cur);
        s->chain       = cur_take(&cur, s->chain_count > CHAIN_MAX ? SIZE_MAX : s->chain_count * 8);
    }
    if (s->source->flags & RAW_SOURCE_RAW) {
        s->raw_size = cur_u32(&cur);
        s->raw      = cur_take(&cur, s->raw_size);
    }
    if (s->source->flags & RAW_SOURCE_USER)
        copy_parse(&cur, &s->copy);
    if (s->source->flags & RAW_SOURCE_CGROUP)
        s->cgroup = cur_u64(&cur);
    return cur_ok(&cur);
}

typedef void             convert_fn(struct convert *c, const struct sample *s);
static convert_fn *const converters[SRC_COUNT] = {
#define SOURCE(kind, name, words, fields, hooks, flags, converter) converter,
#include "autologger/kernel/source/sources.def"
#undef SOURCE
};

static bool convert_sample(struct convert *c, const uint8_t *p, size_t size, unsigned cpu, uint64_t raw)
{
    struct sample s;
    if (!sample_parse(c, p, size, cpu, &s))
        return false;
    convert_fn *fn = converters[s.source->kind];
    if (change_absorbs(c, &s))
        return true;
    s.time  = raw;
    c->copy = s.copy.registers ? &s.copy : NULL;
    if (fn)
        fn(c, &s);
    c->copy = NULL;
    return fn != NULL;
}

/* From the source of all mappings, or the side band's record of an image? */
static bool is_mapping(const struct convert *c, unsigned cpu, const uint8_t *p, size_t size)
{
    uint64_t id;
    memcpy(&id, p + size - sizeof id, sizeof id);
    const struct raw_source *s = source_with(c, cpu, id);
    return s && s->kind == SRC_MAPPINGS;
}

static void convert_record(struct convert *c, unsigned stream, const struct stream_entry *e)
{
    struct perf_event_header h;
    const uint8_t           *p = rawlog_seen(c->log, e->pos);
    memcpy(&h, p, sizeof h);
    uint64_t raw = e->time;
    if (raw < c->frontier) { /* V2 */
        raw = c->frontier;
        c->late++;
    }
    c->frontier = raw;
    if (stream == c->cpus) {
        convert_own(c, p, h.size, raw);
        return;
    }
    if (is_throttle(h.type)) {
        convert_throttle(c, stream, p, h.type == PERF_RECORD_THROTTLE, raw);
        return;
    }
    bool   good = true;
    size_t body = h.size - TRAILER_SIZE;
    switch (h.type) {
    case PERF_RECORD_SAMPLE: good = convert_sample(c, p, h.size, stream, raw); break;
    case PERF_RECORD_FORK: convert_fork(c, stream, p, body, raw); break;
    case PERF_RECORD_EXIT: convert_exit(c, stream, p, body, raw); break;
    case PERF_RECORD_COMM: convert_comm(c, stream, p, body, raw); break;
    case PERF_RECORD_MMAP2:
        (is_mapping(c, stream, p, h.size) ? convert_mapping : convert_mmap)(c, stream, p, body, raw);
        break;
    default: break; /* symbols, cgroups: no counterpart and no state */
    }
    c->converted += good;
    loss_converting(c, stream, NULL, !good);
}

/* ---- order ---- */

static uint64_t stream_time(const struct raw_stream *s)
{
    return s->head < s->count ? s->entry[s->head].time : UINT64_MAX;
}

/* The stream with the earliest record; *limit gets the time of the next record in another stream. */
static unsigned earliest(const struct convert *c, uint64_t *limit)
{
    unsigned best = 0;
    uint64_t low = UINT64_MAX, second = UINT64_MAX;
    for (unsigned i = 0; i <= c->cpus; i++) {
        uint64_t t = stream_time(&c->stream[i]);
        if (t < low) {
            second = low;
            low    = t;
            best   = i;
        } else if (t < second) {
            second = t;
        }
    }
    *limit = second;
    return best;
}

static bool queue_empty(const struct queue *q)
{
    return !q->first || (q->first->head == q->first->tail && !q->first->next);
}

/* False: already written, or this is not the end. */
static bool end_tell(struct convert *c)
{
    if (!losses_end(c))
        return false;
    stacks_rundown(c);
    return true;
}

void convert_run(struct convert *c, unsigned cpu)
{
    while (queue_empty(&c->queue[cpu]) && c->queued < QUEUE_LIMIT) {
        uint64_t           limit;
        unsigned           i = earliest(c, &limit);
        struct raw_stream *s = &c->stream[i];
        if (stream_time(s) == UINT64_MAX || stream_time(s) > c->horizon) {
            if (!losses_flush(c) && !load_pass(c) && !end_tell(c))
                return;
            continue;
        }
        if (limit > c->horizon)
            limit = c->horizon;
        do {
            convert_record(c, i, &s->entry[s->head++]);
        } while (s->head < s->count && s->entry[s->head].time <= limit && c->queued < QUEUE_LIMIT);
        if (s->head == s->count)
            s->head = s->count = 0;
    }
}

uint64_t convert_horizon(const struct convert *c)
{
    uint64_t limit, low = stream_time(&c->stream[earliest(c, &limit)]);
    if (low > c->horizon)
        low = c->horizon;
    if (low == UINT64_MAX && c->losses_told) /* stopped, and everything is converted */
        return UINT64_MAX;
    if (low == UINT64_MAX)
        low = c->frontier;
    return convert_time(c, low < c->frontier ? c->frontier : low);
}

uint64_t convert_needed(const struct convert *c)
{
    uint64_t low = c->read_pos;
    for (unsigned i = 0; i <= c->cpus; i++)
        for (size_t j = c->stream[i].head; j < c->stream[i].count; j++)
            if (c->stream[i].entry[j].chunk < low)
                low = c->stream[i].entry[j].chunk;
    return low;
}

static const uint8_t *note_at(const struct convert *c, uintptr_t at, uint32_t type, uint32_t pid, uint64_t time,
                              size_t least)
{
    if (!at || at - 1 < c->log->header->free_pos)
        return NULL;
    const uint8_t *p = rawlog_seen(c->log, at - 1);
    struct raw_own own;
    memcpy(&own, p, sizeof own);
    return own.type == type && own.pid == pid && own.time == time && own.size >= least ? p : NULL;
}

const uint8_t *foretold(const struct convert *c, uint32_t type, uint32_t id, size_t least)
{
    const uintptr_t at = (uintptr_t)idmap_get(&c->note, note_key(type, id, 0));
    struct raw_own  own;
    if (!at || at - 1 < c->log->header->free_pos)
        return NULL;
    memcpy(&own, rawlog_seen(c->log, at - 1), sizeof own);
    return note_at(c, at, type, own.pid, own.time, least);
}

void foretold_came(struct convert *c, uint32_t type, uint32_t id) { idmap_remove(&c->note, note_key(type, id, 0)); }

const uint8_t *note_take(struct convert *c, uint32_t type, uint32_t pid, uint64_t time, size_t least)
{
    return note_at(c, (uintptr_t)idmap_remove(&c->note, note_key(type, pid, time)), type, pid, time, least);
}

const uint8_t *note_find(struct convert *c, uint32_t type, uint32_t pid, uint64_t time, size_t least)
{
    return note_at(c, (uintptr_t)idmap_get(&c->note, note_key(type, pid, time)), type, pid, time, least);
}
