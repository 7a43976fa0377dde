/* drain.c - one pass over the rings. See drain.h. */
#include "autologger/kernel/source/drain.h"
#include "autologger/kernel/source/rights.h"
#include "autologger/kernel/source/sources.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { KEYWORD_COUNTERS = 0x8 };

uint64_t raw_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool drain_wants_execs(const struct klog_config *config)
{
    /* the same call number is another call in a 32-bit program */
    const struct source_words *calls = &source_table[SRC_SYS_ENTER].words;
    return (config->mask[0] & (source_table[SRC_EXEC].words.w0 | calls->w0)) || (config->mask[1] & calls->w1) ||
           (config->mask[2] & calls->w2);
}

void drain_commands(struct drain *d, const struct klog_config *config)
{
    struct reason why  = {0};
    struct argv  *argv = NULL;
    char          text[sizeof why.text + 80];
    if (!d->wants_execs)
        return;
    wstatus status = argv_open(d->proc, &argv, &why);
    pthread_mutex_lock(&d->lock);
    d->argv = argv;
    pthread_mutex_unlock(&d->lock);
    if (status)
        rings_bell(d->rings);
    if (!status || !config->condition)
        return;
    const char *advice = rights_advice(&why, "nothing, or see docs/DIFFERENCES.md, Kernel events");
    snprintf(text, sizeof text, "%s: %s",
             d->wants_commands ? "command lines of short-lived processes will be empty"
                               : "calls of short-lived programs of 32 bits are taken for others",
             why.text);
    config->condition(config->condition_ctx, W_NOT_SUPPORTED, true, d->wants_commands ? "CommandLine" : "SYSCALL", text,
                      advice);
}

static void counters_listen(struct drain *d, const struct klog_config *config)
{
    struct reason    why      = {0};
    struct counters *counters = NULL;
    char             text[sizeof why.text + 80];
    wstatus          status = counters_open(&counters, &why);
    pthread_mutex_lock(&d->lock);
    d->counters = counters;
    pthread_mutex_unlock(&d->lock);
    if (!status || !config->condition)
        return;
    snprintf(text, sizeof text, "no counters of processes that end, those of the living at the stop alone: %s",
             why.text);
    config->condition(config->condition_ctx, W_NOT_SUPPORTED, false, "PERF_COUNTER", text,
                      why.status == W_PRIVILEGE_NOT_HELD
                          ? "run with CAP_NET_ADMIN, or as root"
                          : "use a kernel with CONFIG_TASK_XACCT, outside of containers");
}

wstatus drain_init(struct drain *d, struct rings *rings, struct rawlog *log, const struct klog_config *config,
                   struct reason *why)
{
    *d = (struct drain){.rings      = rings,
                        .log        = log,
                        .clock      = config->clock,
                        .proc       = -1,
                        .devices_fd = -1,
                        .profile_interval =
                            config->profile_interval ? config->profile_interval : KERNEL_PROFILE_INTERVAL};
    pthread_mutex_init(&d->lock, NULL);
    d->proc  = proc_open(config->proc_fd);
    d->elves = calloc(1, sizeof *d->elves);
    d->notes = malloc(sizeof *d->notes);
    d->text  = malloc(DRAIN_TEXT);
    if (!d->elves || !d->notes || !d->text || !enrich_images_init(d))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the drainer");
    d->notes->used = d->notes->records = 0;
    d->notes->mark                     = false;
    d->units                           = config->units;
    drain_wants(d, config);
    return W_SUCCESS;
}

void drain_wants(struct drain *d, const struct klog_config *config)
{
    const struct raw_header *h        = d->log->header;
    struct argv             *argv     = NULL;
    struct counters         *counters = NULL;
    bool                     exec     = false;
    for (unsigned i = 0; i < h->source_count; i++)
        exec |= h->source[i].kind == SRC_EXEC && (h->state[i] == RAW_OPEN || h->state[i] == RAW_ARMING);
    pthread_mutex_lock(&d->lock);
    d->has_exec       = exec;
    d->wants_commands = config->mask[0] & source_table[SRC_EXEC].words.w0;
    d->wants_execs    = drain_wants_execs(config);
    d->wants_counters = config->mask[0] & KEYWORD_COUNTERS;
    memory_init(d, config);
    if (!d->wants_counters) {
        counters    = d->counters;
        d->counters = NULL;
    }
    if (!d->wants_execs) {
        argv    = d->argv;
        d->argv = NULL;
    }
    pthread_mutex_unlock(&d->lock);
    counters_close(counters);
    argv_close(argv);
    if (d->wants_counters && !d->counters)
        counters_listen(d, config);
}

void drain_finish(struct drain *d)
{
    enrich_images_finish(d);
    argv_close(d->argv);
    counters_close(d->counters);
    if (d->devices_fd >= 0)
        close(d->devices_fd);
    if (d->proc >= 0)
        close(d->proc);
    free(d->elves);
    free(d->notes);
    free(d->text);
    free(d->trigger);
    pthread_mutex_destroy(&d->lock);
}

static uint64_t ring_u64(const struct drain *d, const struct ring *r, uint64_t pos)
{
    uint64_t v; /* positions are multiples of 8, so never across the end */
    memcpy(&v, r->data + (pos & (d->rings->bytes - 1)), sizeof v);
    return v;
}

static unsigned drain_source_of(const struct drain *d, unsigned cpu, uint64_t id)
{
    return rawlog_source(rawlog_ids(d->log, cpu), d->rings->count, id);
}

/* Replaces perf's ids by the sources' indices: an event that is opened again has another id. */
static void sources_mark(const struct drain *d, unsigned cpu, uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        struct perf_event_header h;
        uint64_t                 id;
        memcpy(&h, at, sizeof h);
        uint8_t *place = h.type == PERF_RECORD_SAMPLE ? at + SAMPLE_ID_AT : at + h.size - sizeof id;
        memcpy(&id, place, sizeof id);
        id = RAW_ID_SOURCE | drain_source_of(d, cpu, id); /* RAW_SOURCES marks an id that no source has */
        memcpy(place, &id, sizeof id);
        at += h.size;
    }
}

static void trigger_add(struct drain *d, uint64_t pos, unsigned cpu, unsigned source)
{
    if (d->trigger_count == d->trigger_capacity) {
        size_t n = d->trigger_capacity ? d->trigger_capacity * 2 : 256;
        void  *p = realloc(d->trigger, n * sizeof *d->trigger);
        if (!p)
            return; /* the record stays, but gets no note */
        d->trigger          = p;
        d->trigger_capacity = n;
    }
    d->trigger[d->trigger_count++] = (struct drain_trigger){pos, (uint16_t)cpu, (uint16_t)source};
}

/* Does the record need a note? */
static bool deserves_note(const struct drain *d, const struct ring *r, uint64_t pos, uint32_t type, uint16_t misc,
                          unsigned source)
{
    switch (type) {
    case PERF_RECORD_SAMPLE: return d->log->header->source[source].kind == SRC_EXEC;
    case PERF_RECORD_COMM: return misc & PERF_RECORD_MISC_COMM_EXEC;
    case PERF_RECORD_MMAP2: return d->log->header->source[source].kind != SRC_MAPPINGS;
    case PERF_RECORD_EXIT:
        return d->counters || (uint32_t)ring_u64(d, r, pos + 8) == (uint32_t)ring_u64(d, r, pos + 16); /* pid == tid */
    default: return false;
    }
}

struct drain_walk {
    uint64_t from, to, cut, last_ns;
    unsigned kept;
};

static uint64_t drain_record_time(const struct drain *d, const struct ring *r, uint64_t pos, uint32_t type,
                                  uint16_t size, unsigned source)
{
    unsigned shift = source < RAW_SOURCES ? sample_shift(&d->log->header->source[source]) : 0;
    return ring_u64(d, r, type == PERF_RECORD_SAMPLE ? pos + SAMPLE_TIME_AT + shift : pos + size - 24);
}

static unsigned record_kept(struct raw_slot *slot, unsigned source)
{
    slot->drained[source]++;
    return 1;
}

/* Counts every record of a ring (D1); the records before w->cut fit into `room` bytes. */
static void ring_walk(struct drain *d, unsigned cpu, uint64_t room, uint64_t chunk_pos, struct drain_walk *w)
{
    const struct ring *r    = &d->rings->ring[cpu];
    struct raw_slot   *slot = d->log->work;
    bool               fits = true;
    uint64_t           pos = w->from, before = pos;
    uint32_t           type = 0, before_type = 0;
    uint16_t           size = 0, before_size = 0;
    unsigned           source = 0, before_source = 0;
    for (; pos + 8 <= w->to;
         before = pos, before_type = type, before_size = size, before_source = source, pos += size) {
        uint64_t head = ring_u64(d, r, pos);
        uint16_t misc = (uint16_t)(head >> 32);
        type          = (uint32_t)head;
        size          = (uint16_t)(head >> 48);
        if (size < 16 || size % 8 || size > w->to - pos)
            break; /* not written by the kernel: the data after it cannot be trusted */
        if (fits && pos + size - w->from > room) {
            fits   = false;
            w->cut = pos;
        }
        source =
            drain_source_of(d, cpu, ring_u64(d, r, type == PERF_RECORD_SAMPLE ? pos + SAMPLE_ID_AT : pos + size - 8));
        if (type == PERF_RECORD_THROTTLE)
            slot->throttled++;
        else if (type == PERF_RECORD_LOST)
            loss_ring(d->log, cpu,
                      before_size ? drain_record_time(d, r, before, before_type, before_size, before_source)
                                  : w->last_ns,
                      drain_record_time(d, r, pos, type, size, source));
        else if (type == PERF_RECORD_UNTHROTTLE || source >= RAW_SOURCES)
            ; /* not counted */
        else if (fits)
            w->kept += record_kept(slot, source);
        else
            loss_memory(d->log, cpu, source, 1, drain_record_time(d, r, pos, type, size, source));
        if (fits && source < RAW_SOURCES && deserves_note(d, r, pos, type, misc, source))
            trigger_add(d, chunk_pos + (pos - w->from), cpu, source);
    }
    if (before_size)
        w->last_ns = drain_record_time(d, r, before, before_type, before_size, before_source);
    if (fits)
        w->cut = pos;
}

static unsigned drain_ring_take(struct drain *d, unsigned cpu)
{
    struct ring      *r    = &d->rings->ring[cpu];
    struct raw_slot  *slot = d->log->work;
    struct drain_walk w    = {.from = slot->tail[cpu], .last_ns = rawlog_loss(d->log, slot, cpu)->last_ns};
    w.to                   = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    if (w.to == w.from)
        return 0;
    uint64_t room = rawlog_room(d->log), over = sizeof(struct raw_chunk) + PASS_RESERVE;
    room = room > over ? room - over : 0;
    ring_walk(d, cpu, room, slot->write_pos + sizeof(struct raw_chunk), &w);
    slot->tail[cpu]                         = w.to;
    rawlog_loss(d->log, slot, cpu)->last_ns = w.last_ns;
    if (w.cut == w.from)
        return 0;
    struct raw_chunk chunk = {RAW_CHUNK_MAGIC, (uint32_t)(w.cut - w.from), (uint16_t)cpu, RAW_CHUNK_PERF, w.kept};
    rawlog_append(d->log, &chunk, sizeof chunk);
    size_t at = w.from & (d->rings->bytes - 1), first = d->rings->bytes - at;
    if (first > chunk.bytes)
        first = chunk.bytes;
    rawlog_append(d->log, r->data + at, first);
    rawlog_append(d->log, r->data, chunk.bytes - first);
    uint8_t *records = rawlog_at(d->log, slot->write_pos - chunk.bytes);
    sources_mark(d, cpu, records, records + chunk.bytes);
    return w.kept;
}

/* Must records wait for later ones? */
static bool is_held(const struct drain *d)
{
    return __atomic_load_n(&d->hold, __ATOMIC_ACQUIRE) ||
           (__atomic_load_n(&d->walking, __ATOMIC_ACQUIRE) && rawlog_room(d->log) > d->log->size / 2);
}

unsigned drain_pass(struct drain *d, bool last)
{
    struct raw_pass pass = {.chunk = {RAW_CHUNK_MAGIC, sizeof pass - sizeof pass.chunk, 0, RAW_CHUNK_PASS, 0}};
    unsigned        kept = 0;

    pthread_mutex_lock(&d->lock);
    if (d->log->header->stopped) {
        pthread_mutex_unlock(&d->lock);
        return 0;
    }
    pass.error_ns   = clock_pair(&d->clock, &pass.raw_ns, &pass.value);
    pass.horizon_ns = last ? UINT64_MAX : is_held(d) ? 0 : pass.raw_ns - HORIZON_SLACK_NS;
    if (d->hold_ns && pass.horizon_ns > d->hold_ns)
        pass.horizon_ns = d->hold_ns;
    for (unsigned c = 0; c < d->rings->cpus; c++)
        if (d->rings->ring[c].page)
            kept += drain_ring_take(d, c);
    enrich_triggers(d, last);
    pass.horizon_ns = enrich_horizon(d, pass.horizon_ns);
    if (!last)
        memory_sample(d);
    own_flush(d, d->notes);
    devices_take(d);
    losses_tell(d, last);
    if (rawlog_room(d->log) >= (last ? sizeof pass : PASS_RESERVE)) /* when full, the slot alone carries the horizon */
        rawlog_append(d->log, &pass, sizeof pass);
    d->log->work->horizon_ns = pass.horizon_ns;
    rawlog_publish(d->log);
    const struct raw_slot *slot = rawlog_published(d->log);
    for (unsigned c = 0; c < d->rings->cpus; c++)
        if (d->rings->ring[c].page)
            __atomic_store_n(&d->rings->ring[c].page->data_tail, slot->tail[c], __ATOMIC_RELEASE);
    if (last)
        __atomic_store_n(&d->log->header->stopped, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&d->lock);
    return kept;
}

void own_add(struct drain *d, struct own_buffer *b, const void *record, size_t size, const char *const *texts,
             unsigned count)
{
    size_t total = size;
    for (unsigned i = 0; i < count; i++)
        total += strlen(texts[i]) + 1;
    size_t padded = (total + 7) & ~(size_t)7;
    if (padded > OWN_BUFFER - sizeof(struct raw_chunk)) {
        d->log->work->own_lost++;
        return;
    }
    if (padded > OWN_BUFFER - sizeof(struct raw_chunk) - b->used)
        own_flush(d, b);
    uint8_t *at = b->data + b->used;
    memcpy(at, record, size);
    ((struct raw_own *)(void *)at)->size = (uint16_t)padded;
    for (unsigned i = 0, w = (unsigned)size; i < count; i++) {
        size_t n = strlen(texts[i]) + 1;
        memcpy(at + w, texts[i], n);
        w += (unsigned)n;
    }
    memset(at + total, 0, padded - total);
    b->used += padded;
    b->records++;
}

void own_flush(struct drain *d, struct own_buffer *b)
{
    struct raw_chunk chunk = {RAW_CHUNK_MAGIC, (uint32_t)b->used, 0, RAW_CHUNK_OWN, b->records};
    size_t           spare = b->mark ? sizeof(struct raw_pass) : PASS_RESERVE;
    if (b->used && rawlog_room(d->log) < b->used + sizeof chunk + spare) {
        d->log->work->own_lost += b->records; /* D3 */
    } else if (b->used) {
        rawlog_append(d->log, &chunk, sizeof chunk);
        rawlog_append(d->log, b->data, b->used);
    }
    b->used    = 0;
    b->records = 0;
}
