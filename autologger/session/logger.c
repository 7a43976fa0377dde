/* logger.c - the logger thread of one session: merges all sources of each CPU by time into ETL buffers and writes them.
 * Sources of a CPU: its stream of every UID, the records of that CPU on the fallback streams, the kernel logger.
 * Invariants
 *   G1 nothing is emitted beyond the horizon: a clock value read before the write positions were loaded (and not after the
 *      kernel logger's). What is older has then been committed, so time never goes back within a CPU.
 *   G2 ring memory is released, and positions published, only for what is in the file (S2).
 *   G3 an event that can't be written (no file, disk full) is counted in lost_file; nothing blocks the writers.
 *   G4 what happened at another time than it was written (ring_write_told) has a buffer of its own, of the CPU number behind the last:
 *      in time order too, because it waits TOLD_HOLD_MS for what is told late. Only the daemon's own user may tell.
 * Threads: the session's logger thread alone, except creation. */
#include "autologger/session/provider_count.h"
#include "autologger/session/session.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/filetime.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One record of a fallback stream, waiting for its CPU's turn. */
struct pending {
    struct pending *next;
    uint64_t        time, start, end; /* positions: the reader's before it, and after it */
    unsigned        uid;
    uint32_t        size;
    uint8_t         data[];
};

/* The ETL buffer being filled for one CPU, and how far each source is in it. */
struct fill {
    uint8_t  *data;
    uint32_t  filled;
    uint64_t  events, last_time;
    uint64_t  pos[STATE_UIDS];      /* stream position after the last record of this uid in it */
    uint64_t  fallback[STATE_UIDS]; /* same, for the fallback stream's records of this CPU */
    uint64_t  fallback_first[STATE_UIDS]; /* start of the first of them in it; UINT64_MAX = none */
    uint64_t  kernel_time;
    struct pending *pending; /* sorted by time */
};

struct logger {
    struct session    *s;
    struct etl_writer *writer;
    struct fill       *fill; /* [cpus + 1]: the last is of events that no CPU wrote (G4) */
    uint32_t           buffer_bytes, cpus;
    struct state_slot *master; /* what will be published next; same layout as a slot */
    uint64_t           next_flush_ns;
    uint64_t           fallback_seen[STATE_UIDS]; /* position up to which fallback records were taken into pending lists */
    bool               failed; /* no file: events are counted as lost */
    bool               opened; /* what events go to */
    uint64_t           corrupt_before, abandoned_before; /* by predecessors */
    unsigned           uids; /* UIDs of this pass: the controlling thread may add more meanwhile */
    struct provider_count providers;
};

enum { TOLD_HOLD_MS = 1000 };

static uint64_t *slot_pos(struct logger *l, unsigned uid) { return (uint64_t *)(l->master + 1) + (size_t)uid * (2 * l->cpus + 1); }
static uint64_t *slot_fallback(struct logger *l, unsigned uid) { return slot_pos(l, uid) + l->cpus; }
static uint64_t *slot_kernel(struct logger *l) { return (uint64_t *)(l->master + 1) + (size_t)STATE_UIDS * (2 * l->cpus + 1); }

static const struct state_slot *slot_current(const struct session *s)
{
    return (const void *)((const uint8_t *)s->state + s->state->slot_offset[s->state->current & 1]);
}

static void slot_flip(struct logger *l)
{
    struct state_session *st   = l->s->state;
    uint64_t              next = st->current + 1;
    memcpy((uint8_t *)st + st->slot_offset[next & 1], l->master, st->slot_size);
    __atomic_store_n(&st->current, next, __ATOMIC_RELEASE);
}

wstatus logger_create(struct session *s, struct logger **out, struct reason *why)
{
    struct logger *l = calloc(1, sizeof *l);
    if (!l)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the logger");
    l->s                = s;
    l->cpus             = s->state->cpus;
    l->corrupt_before   = s->state->stream_corrupt;
    l->abandoned_before = s->state->stream_abandoned;
    l->buffer_bytes     = s->state->buffer_kb * 1024u;
    l->fill             = calloc(l->cpus + 1u, sizeof *l->fill);
    l->master           = malloc(s->state->slot_size);
    bool whole          = l->master && l->fill;
    for (unsigned c = 0; whole && c <= l->cpus; c++) {
        l->fill[c].data   = aligned_alloc(4096, (l->buffer_bytes + 4095u) & ~4095u);
        l->fill[c].filled = sizeof(struct etl_buffer_header);
        whole             = l->fill[c].data != NULL;
    }
    if (!whole) {
        logger_destroy(l);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u buffers of %u KB", s->state->cpus, s->state->buffer_kb);
    }
    memcpy(l->master, slot_current(s), s->state->slot_size);
    for (unsigned c = 0; c <= l->cpus; c++) {
        for (unsigned u = 0; u < STATE_UIDS; u++) {
            l->fill[c].pos[u]      = c < l->cpus ? slot_pos(l, u)[c] : 0;
            l->fill[c].fallback[u] = slot_fallback(l, u)[c];
            l->fill[c].fallback_first[u] = UINT64_MAX;
        }
        l->fill[c].kernel_time = c < l->cpus ? slot_kernel(l)[c] : 0;
    }
    memcpy(l->fallback_seen, l->master->fallback_released, sizeof l->fallback_seen);
    *out = l;
    return W_SUCCESS;
}

void logger_destroy(struct logger *l)
{
    if (!l)
        return;
    etl_writer_destroy(l->writer);
    for (unsigned c = 0; l->fill && c <= l->cpus; c++) {
        for (struct pending *p = l->fill[c].pending, *next; p; p = next) {
            next = p->next;
            free(p);
        }
        free(l->fill[c].data);
    }
    free(l->fill);
    free(l->master);
    free(l);
}

/* ---- the file ---- */

static void file_info(const struct session *s, struct etl_file_info *i)
{
    const struct state_session *st = s->state;
    *i = (struct etl_file_info){
        .logger_name = st->name, .file_name = st->log_path, .buffer_size = st->buffer_kb * 1024u,
        .processors = st->cpus, .logger_id = (uint16_t)st->index, .log_file_mode = st->log_file_mode,
        .max_file_size = st->max_file_size, .clock_type = st->clock_type, .perf_freq = s->clock.freq,
        .cpu_mhz = s->env->machine.cpu_mhz, .boot_time = s->env->anchor.boot_filetime,
        .start_time = s->env->anchor.filetime, .start_raw = (int64_t)clock_anchor_on(&s->env->anchor, &s->clock),
        .thread_id = (uint32_t)getpid(), .process_id = (uint32_t)getpid(),
    };
}

static void file_failed(struct logger *l, const struct reason *why)
{
    struct session *s = l->s;
    uint64_t        one = 1;

    pthread_mutex_lock(&s->lock);
    s->file_reason = *why;
    pthread_mutex_unlock(&s->lock);
    snprintf(s->state->status_text, sizeof s->state->status_text, "%s", why->text);
    s->state->status = why->status;
    s->state->state  = SESSION_FAILED;
    l->failed        = true;
    atomic_store(&s->phase, SESSION_FAILED);
    (void)!write(s->env->changed_fd, &one, sizeof one);
}

/* Links below the log folder are not followed: who may write there must not choose where root writes. 0 or a Status. */
static wstatus links_refuse(const struct session_env *env, const char *path, struct reason *why)
{
    size_t  root = env->log_dir ? strlen(env->log_dir) : 0;
    char   *copy = strdup(path);
    wstatus st   = copy ? W_SUCCESS : W_NOT_ENOUGH_MEMORY;

    if (copy && root && strncmp(path, env->log_dir, root) == 0)
        for (char *p = strchr(copy + root + 1, '/'); p && !st; p = strchr(p + 1, '/')) {
            struct os_stat at;
            *p = 0;
            if (env->os->lstat(env->os, copy, &at) == 0 && S_ISLNK(at.mode))
                st = reason_set(why, W_BAD_PATHNAME, "%s is a link; links below the log folder are not followed", copy);
            *p = '/';
        }
    free(copy);
    return st;
}

/* The header is on the disk before anything follows: a power cut leaves a file that opens, or none, never an empty one. */
static wstatus file_make(struct logger *l, const struct etl_file_info *info, struct reason *why)
{
    struct session *s  = l->s;
    wstatus         st = etl_writer_create(s->env->os, s->state->log_path, info, s->env->free_floor, &l->writer, why);

    if (st || (st = etl_writer_sync(l->writer, why)) == W_SUCCESS)
        return st;
    etl_writer_destroy(l->writer);
    l->writer = NULL;
    s->env->os->unlink(s->env->os, s->state->log_path);
    return st;
}

/* First moment at which files may exist: creates the log file, or goes on with a predecessor's. */
static void file_open(struct logger *l)
{
    struct session      *s   = l->s;
    struct os           *os  = s->env->os;
    struct reason        why = {0};
    struct etl_file_info info;
    wstatus              st = W_SUCCESS;

    file_info(s, &info);
    if (!s->state->file_created) {
        st    = links_refuse(s->env, s->state->log_path, &why);
        int r = st ? 0 : os_mkdir_parents(os, s->state->log_path, 0755);
        if (r < 0)
            st = reason_set(&why, wstatus_from_errno(-r), "cannot create the folder of %s: %s", s->state->log_path, strerror(-r));
        else if (!st)
            st = file_make(l, &info, &why);
    } else {
        struct etl_write_state at = {l->master->file_offset, l->master->buffers_written, l->master->buffers_lost};
        st = etl_writer_resume(os, s->state->log_path, &info, &at, s->env->free_floor, &l->writer, &why);
    }
    if (!st && s->state->status) /* a predecessor failed already: the file is still made whole at the end */
        st = reason_set(&why, s->state->status, "%s", s->state->status_text);
    if (st) {
        file_failed(l, &why);
        return;
    }
    if (!s->state->file_created) {
        struct etl_write_state at  = etl_writer_state(l->writer);
        l->master->file_offset     = at.file_offset;
        l->master->buffers_written = at.buffers_written;
        slot_flip(l);
        __atomic_store_n(&s->state->file_created, 1, __ATOMIC_RELEASE);
    }
    s->state->state = SESSION_WRITING;
    int held        = SESSION_HELD;
    atomic_compare_exchange_strong(&s->phase, &held, SESSION_WRITING);
}

/* First moment at which files may exist: the file, real-time delivery, or both. */
static void outputs_open(struct logger *l)
{
    struct session      *s    = l->s;
    int                  held = SESSION_HELD;
    struct etl_file_info info;

    l->opened = true;
    if (s->realtime) {
        file_info(s, &info);
        s->env->realtime->open(s->realtime, &info, &l->master->realtime_end);
    }
    if (*s->state->log_path || !s->realtime) {
        file_open(l);
        return;
    }
    s->state->state = SESSION_WRITING;
    atomic_compare_exchange_strong(&s->phase, &held, SESSION_WRITING);
}

/* How far the fallback stream of a UID is in the file, of every CPU: up to the first record that still waits or is in a buffer. */
static uint64_t fallback_done(const struct logger *l, unsigned u)
{
    uint64_t least = l->fallback_seen[u];
    for (unsigned c = 0; c <= l->cpus; c++) {
        const struct fill *f = &l->fill[c];
        if (f->fallback_first[u] < least)
            least = f->fallback_first[u];
        for (const struct pending *p = f->pending; p; p = p->next)
            if (p->uid == u && p->start < least)
                least = p->start;
    }
    return least;
}

/* Whatever was lost, and where. */
static uint64_t events_lost(const struct logger *l)
{
    struct klog_counters k = {0};
    if (l->s->klog)
        klog_counters(l->s->klog, &k);
    return l->master->lost_file + l->s->totals.lost + k.lost_ring + k.lost_memory + k.lost_conversion;
}

/* Positions, file offset and counters become one fact; then memory is given back. */
static void publish(struct logger *l, unsigned cpu)
{
    struct session *s = l->s;
    struct fill    *f = &l->fill[cpu];

    for (unsigned u = 0; u < l->uids; u++) {
        if (cpu < l->cpus)
            slot_pos(l, u)[cpu] = f->pos[u];
        slot_fallback(l, u)[cpu]        = f->fallback[u];
        f->fallback_first[u]            = UINT64_MAX;
        l->master->fallback_released[u] = fallback_done(l, u);
    }
    if (cpu < l->cpus)
        slot_kernel(l)[cpu] = f->kernel_time;
    l->master->uid_count = l->uids;
    if (l->writer) {
        struct etl_write_state at  = etl_writer_state(l->writer);
        l->master->file_offset     = at.file_offset;
        l->master->buffers_written = at.buffers_written;
        l->master->buffers_lost    = at.buffers_lost;
    }
    slot_flip(l);

    pthread_mutex_lock(&s->lock);
    for (unsigned u = 0; u < l->uids; u++) {
        if (cpu < l->cpus)
            stream_release(s->uid[u].streams, cpu, f->pos[u]);
        stream_release(s->uid[u].streams, l->cpus, l->master->fallback_released[u]);
    }
    pthread_mutex_unlock(&s->lock);
    if (s->klog && f->kernel_time)
        klog_release(s->klog, cpu, f->kernel_time);
    if (s->realtime)
        s->env->realtime->show(s->realtime, l->master->realtime_end, l->master->realtime_lost, events_lost(l));
}

static bool grow(struct logger *l);

/* To the consumers; `window`: all CPUs are being flushed, and this is the last. False: dropped. */
static bool buffer_deliver(struct logger *l, unsigned cpu, bool window)
{
    struct session *s = l->s;
    struct fill    *f = &l->fill[cpu];
    struct reason   why;

    if (s->env->realtime->put(s->realtime, f->data, f->filled, (uint16_t)cpu, (int64_t)clock_read(&s->clock), l->master->realtime_end,
                              window, &why) == W_SUCCESS) {
        l->master->realtime_end++;
        return true;
    }
    l->master->realtime_lost++;
    pthread_mutex_lock(&s->lock);
    s->realtime_reason = why;
    pthread_mutex_unlock(&s->lock);
    return false;
}

static void buffer_write(struct logger *l, unsigned cpu, bool window)
{
    struct fill   *f   = &l->fill[cpu];
    struct reason  why = {0};

    if (f->filled == sizeof(struct etl_buffer_header))
        return;
    bool kept = l->writer && !l->failed;
    if (kept && etl_writer_put(l->writer, f->data, f->filled, (uint16_t)cpu, (int64_t)clock_read(&l->s->clock), &why) != W_SUCCESS) {
        kept = false;
        file_failed(l, &why);
    }
    if (l->s->realtime)
        kept |= buffer_deliver(l, cpu, window);
    if (kept) {
        l->master->events_written += f->events;
        l->master->bytes_written += f->filled - sizeof(struct etl_buffer_header);
        provider_count_add(&l->providers, l->s->state, f->data + sizeof(struct etl_buffer_header),
                           f->filled - (uint32_t)sizeof(struct etl_buffer_header), l->master->provider_events);
    } else {
        l->master->lost_file += f->events;
    }
    publish(l, cpu);
    f->filled = sizeof(struct etl_buffer_header);
    f->events = 0;
    /* a write takes long enough for writers to fill what they were granted */
    pthread_mutex_lock(&l->s->lock);
    for (unsigned u = 0; u < l->uids; u++)
        stream_snapshot(l->s->uid[u].streams);
    grow(l);
    pthread_mutex_unlock(&l->s->lock);
}

/* ---- merging ---- */

static void append(struct logger *l, unsigned cpu, const uint8_t *record, uint32_t size, uint64_t time)
{
    struct fill *f    = &l->fill[cpu];
    uint32_t     need = (size + 7u) & ~7u;

    if (f->filled + need > l->buffer_bytes)
        buffer_write(l, cpu, false);
    if (f->filled + need > l->buffer_bytes) { /* larger than a whole buffer: a hostile or kernel record */
        l->master->corrupt++;
        return;
    }
    memcpy(f->data + f->filled, record, size);
    memset(f->data + f->filled + size, 0, need - size);
    f->filled += need;
    f->events++;
    f->last_time = time;
}

static void pending_insert(struct logger *l, struct fill *f, struct pending *p)
{
    struct pending **at;
    if (p->time < f->last_time) { /* published late, after younger events were written */
        p->time = f->last_time;
        memcpy(p->data + offsetof(struct etl_event_header, time), &p->time, sizeof p->time);
        l->master->time_adjusted++;
    }
    for (at = &f->pending; *at && (*at)->time <= p->time;)
        at = &(*at)->next;
    p->next = *at;
    *at     = p;
}

/* Takes what the snapshot shows of the fallback streams into the lists of their CPUs. A record that is reserved and not yet
 * published holds up nobody: it comes late, with its time adjusted and counted. False: something is still to come. */
static bool fallback_collect(struct logger *l, uint64_t now_ns)
{
    struct session *s   = l->s;
    bool            all = true;

    for (unsigned u = 0; u < l->uids; u++) {
        struct stream_set   *streams = s->uid[u].streams;
        const unsigned       last    = s->uid[u].uid == (uint32_t)geteuid() ? l->cpus : l->cpus - 1; /* G4 */
        struct stream_record r;
        for (uint64_t start; start = stream_position(streams, l->cpus), stream_peek(streams, l->cpus, &r);) {
            unsigned        cpu = r.cpu <= last ? r.cpu : 0;
            struct pending *p   = r.end <= slot_fallback(l, u)[cpu] ? NULL : malloc(sizeof *p + r.size);
            if (!p && r.end > slot_fallback(l, u)[cpu])
                return false; /* no memory: try again later, nothing is lost */
            l->master->corrupt += r.cpu > last; /* not theirs to tell */
            if (p) { /* else: an adopted stream, already in the file */
                memcpy(p->data, r.data, r.size);
                p->time = r.time, p->start = start, p->end = r.end, p->uid = u, p->size = r.size;
                pending_insert(l, &l->fill[cpu], p);
            }
            l->fallback_seen[u] = r.end;
            stream_pop(streams, l->cpus);
        }
        l->fallback_seen[u] = stream_position(streams, l->cpus); /* what filled up a chunk counts as seen */
        all &= !stream_fallback_blocked(streams, now_ns);
    }
    return all;
}

enum { SOURCE_NONE = -1, SOURCE_FALLBACK = -2, SOURCE_KERNEL = -3 };

/* The source of `cpu` with the oldest record below the horizon; uid index or one of the above. */
static int oldest(struct logger *l, unsigned cpu, uint64_t horizon, struct stream_record *record, struct klog_record *kernel)
{
    struct session *s    = l->s;
    int             best = SOURCE_NONE;
    uint64_t        time = horizon;

    for (unsigned u = 0; u < l->uids; u++) {
        struct stream_record r;
        if (stream_peek(s->uid[u].streams, cpu, &r) && r.time < time)
            time = r.time, best = (int)u, *record = r;
    }
    if (l->fill[cpu].pending && l->fill[cpu].pending->time < time)
        time = l->fill[cpu].pending->time, best = SOURCE_FALLBACK;
    if (s->klog && klog_peek(s->klog, cpu, kernel) && kernel->time < time)
        best = SOURCE_KERNEL;
    return best;
}

/* The oldest of the list. */
static void append_pending(struct logger *l, unsigned cpu)
{
    struct fill    *f = &l->fill[cpu];
    struct pending *p = f->pending;

    append(l, cpu, p->data, p->size, p->time);
    f->fallback[p->uid] = p->end;
    if (f->fallback_first[p->uid] == UINT64_MAX)
        f->fallback_first[p->uid] = p->start;
    f->pending = p->next;
    free(p);
}

/* G4. The list is in time order; what is younger than the hold waits for what is told late. */
static void merge_told(struct logger *l, bool final)
{
    const uint64_t now = final ? 0 : clock_read(&l->s->clock), hold = l->s->clock.freq * TOLD_HOLD_MS / 1000;

    while (l->fill[l->cpus].pending && (final || l->fill[l->cpus].pending->time + hold < now))
        append_pending(l, l->cpus);
}

static void merge_cpu(struct logger *l, unsigned cpu, uint64_t horizon)
{
    struct session      *s = l->s;
    struct fill         *f = &l->fill[cpu];
    struct stream_record r;
    struct klog_record   k;

    for (int from; (from = oldest(l, cpu, horizon, &r, &k)) != SOURCE_NONE;) {
        if (from == SOURCE_KERNEL) {
            append(l, cpu, k.data, k.size, k.time);
            f->kernel_time = k.time;
            klog_pop(s->klog, cpu);
        } else if (from == SOURCE_FALLBACK) {
            append_pending(l, cpu);
        } else {
            append(l, cpu, r.data, r.size, r.time);
            f->pos[from] = r.end;
            stream_pop(s->uid[from].streams, cpu);
        }
    }
}

/* The common case: one UID, no kernel, nothing on the fallback stream. Straight from shared memory into the ETL buffer. */
static void copy_cpu(struct logger *l, unsigned cpu, struct stream_set *streams, unsigned u, uint64_t horizon)
{
    struct fill *f = &l->fill[cpu];
    for (;;) {
        struct stream_run run = stream_copy(streams, cpu, f->data + f->filled, l->buffer_bytes - f->filled, horizon);
        f->filled += run.bytes;
        f->events += run.events;
        if (run.events) {
            f->pos[u]    = run.end;
            f->last_time = run.last_time;
        }
        struct stream_record r;
        if (!stream_peek(streams, cpu, &r) || r.time >= horizon) {
            f->pos[u] = stream_position(streams, cpu); /* fillers and skipped damage count as done */
            return;
        }
        if (((r.size + 7u) & ~7u) > l->buffer_bytes - f->filled)
            buffer_write(l, cpu, false); /* full: the next record starts a new one */
        else if (!run.events) {   /* the copy and the peek disagree: take it the slow way */
            append(l, cpu, r.data, r.size, r.time);
            f->pos[u] = r.end;
            stream_pop(streams, cpu);
        }
    }
}

static int sole_source(const struct logger *l, unsigned cpu)
{
    const struct session *s = l->s;
    if (s->klog || l->fill[cpu].pending)
        return -1;
    return l->uids == 1 ? 0 : -1;
}

/* Memory: grows streams that are more than half full while the budget lasts (also while nothing may be written). */
static bool grow(struct logger *l)
{
    struct session *s     = l->s;
    uint64_t        used  = 0;
    uint32_t        taken = 0;
    bool            tight = false;

    for (unsigned u = 0; u < l->uids; u++) {
        used += stream_set_used(s->uid[u].streams);
        taken += stream_set_granted(s->uid[u].streams);
    }
    if (used > s->state->peak_bytes)
        s->state->peak_bytes = used;
    for (unsigned u = 0; u < l->uids; u++)
        for (unsigned i = 0; s->uid[u].admitted && i < stream_set_count(s->uid[u].streams); i++) {
            if (!stream_wants_more(s->uid[u].streams, i))
                continue;
            uint32_t step = taken / l->cpus + 1, left = s->budget_chunks > taken ? s->budget_chunks - taken : 0;
            unsigned got  = stream_set_grow(s->uid[u].streams, i, step < left ? step : left);
            taken += got;
            tight |= got == 0;
        }
    return tight;
}

/* What other threads may know of the streams; under lock. */
static void totals_show(struct logger *l)
{
    struct session *s = l->s;
    memset(&s->totals, 0, sizeof s->totals);
    s->totals.corrupt = l->corrupt_before;
    s->totals.lost    = s->state->stream_abandoned = l->abandoned_before;
    for (unsigned u = 0; u < l->uids; u++) {
        struct stream_counters c;
        stream_counters(s->uid[u].streams, &c);
        s->totals.lost += c.lost;
        s->totals.corrupt += c.corrupt;
        s->state->stream_abandoned += c.abandoned;
        s->totals.used += stream_set_used(s->uid[u].streams);
        s->totals.granted += (uint64_t)stream_set_granted(s->uid[u].streams) << s->chunk_shift;
    }
    s->state->stream_corrupt = s->totals.corrupt;
}

static bool data_waits(const struct fill *f) { return f->filled > sizeof(struct etl_buffer_header); }

static void merge_all(struct logger *l, uint64_t horizon)
{
    for (unsigned c = 0; c < l->cpus; c++) {
        int sole = sole_source(l, c);
        if (sole >= 0)
            copy_cpu(l, c, l->s->uid[sole].streams, (unsigned)sole, horizon);
        else
            merge_cpu(l, c, horizon);
    }
}

/* The converter moves its horizon as it is read: one drain pass at a time, until it has caught up with the drainer. */
static void merge_kernel(struct logger *l, uint64_t clock)
{
    uint64_t before, horizon = klog_horizon(l->s->klog);
    do {
        before = horizon;
        merge_all(l, horizon < clock ? horizon : clock);
        horizon = klog_horizon(l->s->klog);
    } while (horizon > before && before < clock);
}

static void flush_all(struct logger *l)
{
    unsigned last = 0;

    for (unsigned c = 0; c <= l->cpus; c++)
        if (data_waits(&l->fill[c]))
            last = c;
    for (unsigned c = 0; c <= l->cpus; c++)
        buffer_write(l, c, c == last);
    if (l->s->realtime)
        l->s->env->realtime->tidy(l->s->realtime);
}

bool logger_pass(struct logger *l, bool final, bool flush)
{
    struct session *s = l->s;
    /* G1: the horizon is read before any write position */
    uint64_t horizon = final ? UINT64_MAX : clock_read(&s->clock);

    pthread_mutex_lock(&s->lock);
    l->uids = s->uid_count;
    for (unsigned u = 0; u < l->uids; u++)
        stream_snapshot(s->uid[u].streams);
    bool tight = grow(l);
    totals_show(l);
    pthread_mutex_unlock(&s->lock);
    if (!atomic_load(&s->fs_ready) && !final) {
        if (tight)
            session_tight(s->env);
        return true;
    }
    if (!l->opened)
        outputs_open(l);
    bool all = fallback_collect(l, s->env->os->raw_ns(s->env->os));
    if (s->klog && !final)
        merge_kernel(l, horizon);
    else
        merge_all(l, horizon);
    merge_told(l, final);
    tight |= s->klog && klog_tight(s->klog);
    if (s->realtime)
        tight |= s->env->realtime->tight(s->realtime, l->master->realtime_end);
    if (final || flush || tight)
        flush_all(l);
    return all;
}

/* ---- the thread ---- */

enum { FINISH_WAIT_MS = 5000 };

/* The final pass. A write position that still moves after the quiesce is a late event: written all the same, and counted, so
 * that it can be seen that there was none. */
static void finish_streams(struct logger *l)
{
    struct session *s = l->s;
    uint64_t        late = 0, before;

    /* what is reserved and not yet published is waited for: it comes, or is given up and counted (1 s each) */
    for (int waited = 0; !logger_pass(l, true, true) && waited < FINISH_WAIT_MS; waited += 5)
        usleep(5000);
    do {
        before = l->master->events_written + l->master->lost_file;
        logger_pass(l, true, true);
        late += l->master->events_written + l->master->lost_file - before;
    } while (l->master->events_written + l->master->lost_file != before && !s->klog);
    pthread_mutex_lock(&s->lock);
    s->late_events = s->klog ? 0 : late;
    totals_show(l);
    pthread_mutex_unlock(&s->lock);
}

/* What can't wait for a consumer is lost, unless it is in a file too. */
static void realtime_complete(struct logger *l)
{
    struct session *s       = l->s;
    uint32_t        buffers = 0;
    uint64_t        events  = 0;

    s->env->realtime->finish(s->realtime, &buffers, &events);
    if (!buffers)
        return;
    l->master->realtime_lost += buffers;
    if (!l->writer) {
        l->master->events_written -= events < l->master->events_written ? events : l->master->events_written;
        l->master->lost_file += events;
    }
    pthread_mutex_lock(&s->lock);
    reason_set(&s->realtime_reason, W_CANCELLED, "no consumer had read them when the session ended, and they are not to be kept");
    pthread_mutex_unlock(&s->lock);
    publish(l, 0);
}

static void complete(struct logger *l)
{
    if (l->s->realtime)
        realtime_complete(l);
    struct session      *s    = l->s;
    struct reason        why  = {0};
    uint64_t             lost = l->master->lost_file + l->master->corrupt + s->totals.lost;
    struct klog_counters k    = {0};

    if (s->klog) {
        klog_counters(s->klog, &k);
        lost += k.lost_ring + k.lost_memory + k.lost_conversion + k.withheld; /* not in the file, whoever kept it */
    }
    /* also after a failure: what is in the file is made whole, and its header says what is not */
    if (l->writer &&
        etl_writer_finish(l->writer, filetime_from_unix_ns(s->env->os->realtime_ns(s->env->os)), lost, true, &why) != W_SUCCESS &&
        !l->failed)
        file_failed(l, &why);
}

static int wait_ms(struct logger *l)
{
    struct session *s  = l->s;
    uint64_t        now = s->env->os->raw_ns(s->env->os);
    int             ms  = -1; /* no periodic wake-ups unless asked for */

    if (s->state->flush_timer && atomic_load(&s->fs_ready))
        ms = now >= l->next_flush_ns ? 0 : (int)((l->next_flush_ns - now) / 1000000 + 1);
    for (unsigned u = 0; u < l->uids; u++)
        if (stream_fallback_blocked(s->uid[u].streams, now))
            ms = ms < 0 || ms > 20 ? 20 : ms;
    if (l->fill[l->cpus].pending && (ms < 0 || ms > TOLD_HOLD_MS)) /* until its hold is over nothing else may wake us, and it keeps memory */
        ms = TOLD_HOLD_MS;
    return ms;
}

void *logger_main(void *ctx)
{
    struct session *s = ctx;
    struct logger  *l = s->logger;
    uint64_t        period = (uint64_t)s->state->flush_timer * (s->state->log_file_mode & ETL_MODE_MS_FLUSH_TIMER ? 1000000u : 1000000000u);

    if (s->env->threads) {
        char name[16];
        snprintf(name, sizeof name, "%.15s", s->state->name);
        pthread_setname_np(pthread_self(), name);
    }
    atomic_store(&s->logger_tid, (int)syscall(SYS_gettid));
    while (!atomic_load(&s->stop)) {
        struct epoll_event e[8];
        uint64_t           count;
        int                n = epoll_wait(s->epoll_fd, e, 8, wait_ms(l));
        for (int i = 0; i < n; i++)
            if (e[i].data.u64 == 0) /* our own; a UID's is never read, its edges are enough */
                (void)!read(s->wake_fd, &count, sizeof count);
        if (atomic_load(&s->stop))
            break;
        uint64_t now   = s->env->os->raw_ns(s->env->os);
        unsigned asked = atomic_load(&s->flush_asked);
        bool     flush = asked != atomic_load(&s->flush_done);
        if (period && now >= l->next_flush_ns) {
            flush            = true;
            l->next_flush_ns = now + period;
        }
        logger_pass(l, false, flush);
        atomic_store(&s->flush_done, asked);
    }
    if (!atomic_load(&s->fs_ready)) { /* stopped while still held: nothing may be created, all is lost and counted */
        struct reason why = {0};
        reason_set(&why, W_NOT_READY, "the session was stopped before the file system was ready");
        file_failed(l, &why);
    }
    finish_streams(l);
    complete(l);
    int phase = atomic_load(&s->phase);
    if (phase != SESSION_FAILED) {
        atomic_store(&s->phase, SESSION_STOPPED);
        s->state->state = SESSION_STOPPED;
    }
    uint64_t one = 1;
    (void)!write(s->env->changed_fd, &one, sizeof one);
    return NULL;
}
