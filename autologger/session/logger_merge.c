/* logger_merge.c - merges the sources of each CPU, oldest record first, into its buffer. See logger.h, and G1 and G4 of
 * logger.c. */
#include "autologger/ring/classic.h"
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/invariant.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- G5 ---- */

/* Windows has the times in the header, in ticks. */
static void times_take(struct etl_event_header *h, const uint8_t *data)
{
    enum { NS = 100 };
    uint64_t ns[2];
    memcpy(ns, data, sizeof ns);
    h->kernel_time = (uint32_t)(ns[0] / (ETL_TIMER_RESOLUTION * NS));
    h->user_time   = (uint32_t)(ns[1] / (ETL_TIMER_RESOLUTION * NS));
}

/* A program can forge the SID item: overwrites it with the SID of the stream's UID, as provider/identity.c builds it.
 * CPU times go into the header. */
static void items_correct(uint8_t *record, uint32_t size, uint32_t uid)
{
    static const uint8_t root[12]      = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0},
                         unix_user[12] = {1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0};
    struct etl_event_header h;
    struct etl_ext_item     item = {.linkage = 1};
    uint32_t                at   = sizeof h;
    if (size < sizeof h)
        return;
    memcpy(&h, record, sizeof h);
    if (h.header_type != ETL_EVENT64 && h.header_type != ETL_EVENT32)
        return;
    for (; h.flags & ETL_EVENT_EXTENDED && item.linkage & 1 && size - at >= sizeof item; at += item.total) {
        memcpy(&item, record + at, sizeof item);
        if (item.total < sizeof item || item.total > size - at)
            return;
        if (item.type == ETL_EXT_CPU_TIMES && item.total >= sizeof item + 2 * sizeof(uint64_t)) {
            times_take(&h, record + at + sizeof item);
            memcpy(record, &h, sizeof h);
        }
        if (item.type != ETL_EXT_SID)
            continue;
        if (item.data_size != (uid ? 16 : 12) || item.data_size > item.total - sizeof item) {
            item.type = 0; /* not of the size of its user's SID: removed */
            memcpy(record + at, &item, sizeof item);
            continue;
        }
        memcpy(record + at + sizeof item, uid ? unix_user : root, sizeof root);
        if (uid)
            memcpy(record + at + sizeof item + sizeof root, &uid, sizeof uid);
    }
}

/* Drops a record that no buffer can hold, or that is malformed. */
static uint8_t *logger_merge_drop(struct logger *l)
{
    l->master->corrupt++;
    l->master->lost_file++;
    return NULL;
}

/* Returns the record's place in the buffer; NULL: dropped. */
static uint8_t *logger_merge_append(struct logger *l, unsigned cpu, const uint8_t *record, uint32_t size, uint64_t time,
                                    bool from_program)
{
    struct fill *f    = &l->fill[cpu = buffer_of(l, cpu)];
    uint32_t     need = (size + 7u) & ~7u;

    if (f->filled + need > l->buffer_bytes)
        logger_write(l, cpu, false);
    if (f->filled + need > l->buffer_bytes) /* larger than a whole buffer: a hostile or kernel record */
        return logger_merge_drop(l);
    uint8_t *at = f->data + f->filled;
    if (from_program && classic_is(record)) {
        size = classic_unwrap(record, size, at);
        need = (size + 7u) & ~7u;
        if (!size)
            return logger_merge_drop(l);
        provider_count_classic(&l->providers, l->s->state, classic_slot(record), f->provider_events);
        if (l->numbers && at[3] == ETL_MARKER_MESSAGE && at[6] & MESSAGE_SEQUENCE) {
            const uint32_t number = l->s->env->modes->message_number(l);
            memcpy(at + 8, &number, sizeof number);
        }
    } else {
        memcpy(at, record, size);
    }
    memset(f->data + f->filled + size, 0, need - size);
    f->filled += need;
    f->events++;
    f->last_time = time;
    INVARIANT(f->filled <= l->buffer_bytes);
    return at;
}

/* Searches from the end: a new record is nearly always the youngest, and a program without rseq can have left many. */
static void pending_insert(struct logger *l, unsigned cpu, struct pending *p)
{
    struct fill    *f      = &l->fill[cpu];
    struct pending *before = f->pending_last;
    const uint64_t  last   = l->fill[buffer_of(l, cpu)].last_time;
    if (p->time < last) { /* published late, after younger events were written */
        p->time = last;
        memcpy(p->data + offsetof(struct etl_event_header, time), &p->time, sizeof p->time);
        l->master->time_adjusted++;
    }
    while (before && before->time > p->time)
        before = before->before;
    p->before                                        = before;
    p->next                                          = before ? before->next : f->pending;
    *(before ? &before->next : &f->pending)          = p;
    *(p->next ? &p->next->before : &f->pending_last) = p;
    INVARIANT(!p->next || p->time <= p->next->time);
}

/* Writers that overwrite must find a chunk that the reader does not hold: copied records go into the ring, if they are
 * worth a buffer. */
static void hold_few(struct logger *l, const struct stream_set *streams)
{
    enum { PART = 8 };
    const enum stream_holds holds = stream_set_holds(streams);
    if (__builtin_expect(holds == STREAM_HOLDS_FEW, 1))
        return;
    for (unsigned c = 0; c <= l->cpus; c++)
        if (holds == STREAM_HOLDS_ALL ? data_waits(&l->fill[c]) : l->fill[c].filled > l->buffer_bytes / PART)
            logger_write(l, c, false);
}

static void hold_few_of_all(struct logger *l)
{
    for (unsigned u = 0; session_overwrites(l->s) && u < l->uids; u++)
        hold_few(l, l->streams[u]);
}

bool logger_collect(struct logger *l, uint64_t now_ns)
{
    struct session *s   = l->s;
    bool            all = true;

    hold_few_of_all(l);
    l->collected_to = UINT64_MAX;
    for (unsigned u = 0; u < l->uids; u++) {
        struct stream_set   *streams = l->streams[u];
        const uint64_t       first   = stream_position(streams, l->cpus);
        const unsigned       last    = l->uid[u] == (uint32_t)geteuid() ? l->cpus : l->cpus - 1; /* G4 */
        struct stream_record r;
        for (uint64_t start; start = stream_position(streams, l->cpus), stream_peek(streams, l->cpus, &r);) {
            if (start != first && start % (UINT64_C(1) << s->chunk_shift) == 0 &&
                stream_set_holds(streams) != STREAM_HOLDS_FEW) {
                /* collected records are written first */
                l->collected_to = r.time < l->collected_to ? r.time : l->collected_to;
                break;
            }
            unsigned        cpu = r.cpu <= last ? r.cpu : 0;
            struct pending *p   = r.end <= slot_fallback(l, u)[cpu] ? NULL : malloc(sizeof *p + r.size);
            if (!p && r.end > slot_fallback(l, u)[cpu])
                return false;                   /* no memory: try again later, nothing is lost */
            l->master->corrupt += r.cpu > last; /* not allowed to this user (G4) */
            if (p) {                            /* else: an adopted stream's record that is in the file already */
                memcpy(p->data, r.data, r.size);
                p->time = r.time, p->start = start, p->end = r.end, p->uid = u, p->size = r.size;
                pending_insert(l, cpu, p);
            }
            l->fallback_seen[u] = r.end;
            stream_pop(streams, l->cpus);
        }
        l->fallback_seen[u] = stream_position(streams, l->cpus); /* a chunk's filler counts as seen */
        all &= !stream_fallback_blocked(streams, now_ns);
    }
    return all;
}

enum { SOURCE_NONE = -1, SOURCE_FALLBACK = -2, SOURCE_KERNEL = -3 };

/* The source of `cpu` with the oldest record below the horizon; uid index or one of the above. */
static int logger_merge_oldest(struct logger *l, unsigned cpu, uint64_t horizon, struct stream_record *record,
                               struct klog_record *kernel)
{
    struct session *s    = l->s;
    int             best = SOURCE_NONE;
    uint64_t        time = horizon;

    for (uint32_t i = 0; i < l->writer_count[cpu]; i++) {
        const unsigned       u = l->writers[(size_t)cpu * STATE_UIDS + i];
        struct stream_record r;
        if (stream_peek(l->streams[u], cpu, &r) && r.time < time)
            time = r.time, best = (int)u, *record = r;
    }
    if (l->fill[cpu].pending && l->fill[cpu].pending->time < time)
        time = l->fill[cpu].pending->time, best = SOURCE_FALLBACK;
    if (s->klog && klog_peek(s->klog, cpu, kernel) && kernel->time < time)
        best = SOURCE_KERNEL;
    return best;
}

/* The oldest record of the list. */
static void append_pending(struct logger *l, unsigned cpu)
{
    struct fill    *f = &l->fill[cpu];
    struct pending *p = f->pending;

    if (l->sids)
        items_correct(p->data, p->size, l->uid[p->uid]);
    logger_merge_append(l, cpu, p->data, p->size, p->time, true);
    f->fallback[p->uid] = p->end;
    if (f->fallback_first[p->uid] == UINT64_MAX)
        f->fallback_first[p->uid] = p->start;
    f->pending                                       = p->next;
    *(p->next ? &p->next->before : &f->pending_last) = NULL;
    free(p);
}

/* G4. The list is in time order; records younger than the hold wait for late events. */
void logger_merge_told(struct logger *l, bool final)
{
    const uint64_t now = final ? 0 : clock_read(&l->s->clock), hold = l->s->clock.freq * TOLD_HOLD_MS / 1000;

    while (l->fill[l->cpus].pending && (final || l->fill[l->cpus].pending->time + hold < now))
        append_pending(l, l->cpus);
}

static void logger_merge_take(struct logger *l, unsigned cpu, int from, const struct stream_record *r,
                              const struct klog_record *k)
{
    struct session *s = l->s;
    struct fill    *f = &l->fill[cpu];
    if (from == SOURCE_KERNEL) {
        logger_merge_append(l, cpu, k->data, k->size, k->time, false);
        f->kernel_time = k->time;
        l->kernel_taken++;
        klog_pop(s->klog, cpu);
    } else if (from == SOURCE_FALLBACK) {
        append_pending(l, cpu);
    } else {
        uint8_t *at = logger_merge_append(l, cpu, r->data, r->size, r->time, true);
        if (l->sids && at)
            items_correct(at, r->size, l->uid[from]);
        f->pos[from] = r->end;
        stream_pop(l->streams[from], cpu);
    }
}

/* Fillers and skipped damage after the last event count as done. */
static void passed(struct logger *l, unsigned cpu)
{
    for (unsigned u = 0; u < l->uids; u++)
        l->fill[cpu].pos[u] = stream_position(l->streams[u], cpu);
}

static void merge_cpu(struct logger *l, unsigned cpu, uint64_t horizon)
{
    struct stream_record r;
    struct klog_record   k;

    for (int from; (from = logger_merge_oldest(l, cpu, horizon, &r, &k)) != SOURCE_NONE; hold_few_of_all(l))
        logger_merge_take(l, cpu, from, &r, &k);
    passed(l, cpu);
}

uint64_t logger_oldest(struct logger *l, unsigned cpu, uint64_t horizon)
{
    struct stream_record r;
    struct klog_record   k;
    int                  from = logger_merge_oldest(l, cpu, horizon, &r, &k);
    return from == SOURCE_NONE       ? UINT64_MAX
           : from == SOURCE_KERNEL   ? k.time
           : from == SOURCE_FALLBACK ? l->fill[cpu].pending->time
                                     : r.time;
}

void logger_take(struct logger *l, unsigned cpu, uint64_t horizon)
{
    struct stream_record r;
    struct klog_record   k;
    int                  from = logger_merge_oldest(l, cpu, horizon, &r, &k);
    if (from != SOURCE_NONE)
        logger_merge_take(l, cpu, from, &r, &k);
    hold_few_of_all(l);
}

void logger_put(struct logger *l, unsigned cpu, const struct klog_record *r)
{
    logger_merge_append(l, cpu, r->data, r->size, r->time, false);
}

struct count {
    const struct provider_count *known;
    uint64_t                    *events;
};
static void count_events(void *ctx, const uint64_t guid[2], uint32_t count)
{
    const struct count *c = ctx;
    provider_count_row(c->known, guid, count, c->events);
}

/* The common case: one UID writes, no kernel, nothing on the fallback stream. Copies straight from shared memory into
 * the ETL buffer. */
static void copy_cpu(struct logger *l, unsigned cpu, struct stream_set *streams, unsigned u, uint64_t horizon)
{
    struct fill              *f     = &l->fill[cpu];
    struct count              count = {&l->providers, f->provider_events};
    const struct stream_tally tally = {count_events, &count};

    logger_count_providers(l, f); /* records that came another way */
    provider_count_learn(&l->providers, l->s->state);
    for (;;) {
        hold_few(l, streams);
        struct stream_run run =
            stream_copy_chunk(streams, cpu, f->data + f->filled, l->buffer_bytes - f->filled, horizon, &tally);
        f->filled += run.bytes;
        f->counted = f->filled;
        f->events += run.events;
        if (run.events) {
            f->pos[u]    = run.end;
            f->last_time = run.last_time;
        }
        if (run.more)
            continue;
        struct stream_record r;
        if (!stream_peek(streams, cpu, &r) || r.time >= horizon) {
            f->pos[u] = stream_position(streams, cpu); /* fillers and skipped damage count as done */
            return;
        }
        if (((r.size + 7u) & ~7u) > l->buffer_bytes - f->filled)
            logger_write(l, cpu, false); /* full: the next record starts a new buffer */
        else if (!run.events) {          /* the copy and the peek disagree: take it the slow way */
            logger_merge_append(l, cpu, r.data, r.size, r.time, true);
            logger_count_providers(l, f);
            f->pos[u] = r.end;
            stream_pop(streams, cpu);
        }
    }
}

static int sole_source(const struct logger *l, unsigned cpu)
{
    if (l->s->klog || l->fill[cpu].pending || l->sids || l->writer_count[cpu] != 1)
        return -1;
    return l->writers[(size_t)cpu * STATE_UIDS];
}

/* Many users may be attached, of which few have written on a CPU since the last merge. Events that come while this
 * merge writes buffers are not older than the horizon, or are the youngest of their CPU (G1): they wait for the next
 * merge. */
static void writers_find(struct logger *l)
{
    _Static_assert(STATE_UIDS <= 256, "a user's number is a byte");
    for (unsigned c = 0; c < l->cpus; c++) {
        uint32_t n = 0;
        for (unsigned u = 0; u < l->uids; u++)
            if (stream_waits(l->streams[u], c))
                l->writers[(size_t)c * STATE_UIDS + n++] = (uint8_t)u;
        l->writer_count[c] = n;
    }
}

void logger_merge(struct logger *l, uint64_t horizon)
{
    /* after the snapshot: an event with a SID is not older than the terms that ask for SIDs */
    l->sids = atomic_load(&l->s->sids);
    writers_find(l);
    if (l->single) {
        l->s->env->modes->merge(l, horizon);
        return;
    }
    for (unsigned c = 0; c < l->cpus; c++) {
        int sole = sole_source(l, c);
        if (sole >= 0)
            copy_cpu(l, c, l->streams[sole], (unsigned)sole, horizon);
        else
            merge_cpu(l, c, horizon);
    }
}

/* The converter's horizon moves as it is read: merges one drain pass at a time, until it has caught up with the
 * drainer. */
void logger_merge_kernel(struct logger *l, uint64_t clock)
{
    uint64_t before, horizon = klog_horizon(l->s->klog);
    do {
        before = horizon;
        logger_merge(l, horizon < clock ? horizon : clock);
        horizon = klog_horizon(l->s->klog);
    } while (horizon > before && before < clock);
    if (l->horizon > before)
        l->horizon = before;
}

/* While the converter makes progress, merges up to its horizon, so that user events keep their order among kernel
 * events; then the rest. One merge is not enough: a CPU's turn ends when enough is converted for the others, and the
 * last CPU's turn may convert events of the first. It is over when a merge takes no event and leaves as many as it
 * found. */
void logger_merge_last(struct logger *l, uint64_t horizon)
{
    uint64_t taken, queued;
    logger_merge_kernel(l, horizon);
    do {
        taken  = l->kernel_taken;
        queued = klog_queued(l->s->klog);
        logger_merge(l, horizon);
    } while (l->kernel_taken != taken || klog_queued(l->s->klog) != queued);
}
