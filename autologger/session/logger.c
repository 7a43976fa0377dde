/* logger.c - the logger thread of one session: merges all sources of each CPU by time into ETL buffers and writes them.
 * Sources of a CPU: its stream of every UID, the records of that CPU on the fallback streams, the kernel logger.
 * Invariants
 *   G1 nothing is emitted beyond the horizon: a clock value read before the write positions were loaded (and not after
 *      the kernel logger's). Older events have then been committed, so time never goes back within a CPU.
 *   G2 ring memory is released, and positions published, only for events in the file (S2).
 *   G3 an event that can't be written (no file, disk full) is counted in lost_file; nothing blocks the writers.
 *   G4 late events (ring_write_told) have a buffer of their own, with the CPU number after the last. It is in time
 *      order too, because it waits TOLD_HOLD_MS for late events. Only the daemon's own user may write them.
 *   G5 where an enablement asks for users' SIDs, an event that carries a SID carries that of the user in whose stream
 *      it was.
 *   G6 a program's time lies between the last horizon and a second after its snapshot: any other becomes the nearer of these, and
 *      is counted. So an event with a forged time neither stays in memory for ever nor goes back in time in a buffer.
 * Threads: the session's logger thread alone, except creation. The files: logger.h. */
#include "autologger/ring/quiesce.h"
#include "autologger/session/anchor.h"
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void logger_snapshot(struct logger *l)
{
    for (unsigned u = 0; u < l->uids; u++)
        stream_snapshot(l->streams[u]);
    const uint64_t limit = clock_read(&l->s->clock) + l->s->clock.freq;
    for (unsigned u = 0; u < l->uids; u++)
        stream_set_limit(l->streams[u], limit);
}

static const struct state_slot *slot_current(const struct session *s)
{
    return (const void *)((const uint8_t *)s->state + s->state->slot_offset[s->state->current & 1]);
}

/* A large buffer uses large pages if possible: a write to the disk visits each page. */
static uint8_t *buffer_new(uint32_t bytes)
{
    enum { PAGE = 4096, LARGE = 2 << 20 };
    const size_t unit = bytes >= LARGE ? LARGE : PAGE, size = (bytes + unit - 1) / unit * unit;
    uint8_t     *buffer = aligned_alloc(unit, size);
    if (buffer && unit == LARGE)
        madvise(buffer, size, MADV_HUGEPAGE); /* when refused, small pages do */
    return buffer;
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
    l->collected_to     = UINT64_MAX;
    l->single           = session_single(s);
    l->numbers      = s->env->modes && s->state->log_file_mode & (ETL_MODE_GLOBAL_SEQUENCE | ETL_MODE_LOCAL_SEQUENCE);
    l->fill         = calloc(l->cpus + 1u, sizeof *l->fill);
    l->master       = malloc(s->state->slot_size);
    l->writers      = malloc((size_t)l->cpus * STATE_UIDS);
    l->writer_count = calloc(l->cpus, sizeof *l->writer_count);
    bool whole      = l->master && l->fill && l->writers && l->writer_count;
    for (unsigned c = 0; whole && c <= l->cpus; c++) {
        l->fill[c].data   = buffer_new(l->buffer_bytes);
        l->fill[c].filled = sizeof(struct etl_buffer_header);
        whole             = l->fill[c].data != NULL;
    }
    if (!whole) {
        logger_destroy(l);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %u buffers of %u KB", s->state->cpus,
                          s->state->buffer_kb);
    }
    memcpy(l->master, slot_current(s), s->state->slot_size);
    for (unsigned c = 0; c <= l->cpus; c++) {
        for (unsigned u = 0; u < STATE_UIDS; u++) {
            l->fill[c].pos[u]            = c < l->cpus ? slot_pos(l, u)[c] : 0;
            l->fill[c].fallback[u]       = slot_fallback(l, u)[c];
            l->fill[c].fallback_first[u] = UINT64_MAX;
        }
        l->fill[c].kernel_time = c < l->cpus ? slot_kernel(l)[c] : 0;
        l->fill[c].last_time   = slot_last(l)[c];
    }
    memcpy(l->fallback_seen, l->master->fallback_released, sizeof l->fallback_seen);
    logger_totals(l); /* of predecessors, and of former users */
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
    free(l->writers);
    free(l->writer_count);
    free(l->master);
    free(l);
}

void logger_failed(struct logger *l, const struct reason *why)
{
    struct session *s   = l->s;
    uint64_t        one = 1;

    pthread_mutex_lock(&s->lock);
    s->file_reason = *why;
    pthread_mutex_unlock(&s->lock);
    snprintf(s->state->status_text, sizeof s->state->status_text, "%s", why->text);
    s->state->status = why->status;
    s->state->state  = SESSION_FAILED;
    l->failed        = true;
    if (s->state->realtime.file_to > l->master->realtime_end ||
        s->state->realtime.file_from > s->state->realtime.file_to)
        s->state->realtime.file_to = l->master->realtime_end;
    atomic_store(&s->phase, SESSION_FAILED);
    (void)!write(s->env->changed_fd, &one, sizeof one);
}

uint32_t logger_share(struct logger *l)
{
    struct session *s    = l->s;
    uint64_t        used = 0, busy = 0;

    for (unsigned u = 0; u < l->uids; u++) {
        const uint64_t mine = (uint64_t)stream_set_busy(l->streams[u]) << s->chunk_shift;
        used += stream_set_used(l->streams[u]);
        busy += mine;
        if (mine > s->state->user_peak_bytes)
            s->state->user_peak_bytes = mine;
    }
    s->totals.used = used; /* after a pass has written: the next look may be long in coming */
    s->totals.busy = busy;
    l->hurry       = used > (uint64_t)s->budget_chunks << s->chunk_shift >> 1 || (s->klog && klog_tight(s->klog));
    if (busy > s->state->peak_bytes)
        s->state->peak_bytes = busy;
    return session_share(s);
}

void logger_totals(struct logger *l)
{
    struct session *s      = l->s;
    const uint64_t  now_ns = session_now_ns(s);
    memset(&s->totals, 0, sizeof s->totals);
    s->totals.corrupt          = l->corrupt_before;
    s->totals.filtered         = l->master->gone_filtered;
    s->totals.gone_lost        = l->master->gone_lost;
    s->totals.gone_overwritten = l->master->gone_overwritten;
    s->totals.lost = s->totals.lost_settled = l->abandoned_before + l->master->gone_lost;
    s->state->stream_abandoned              = l->abandoned_before;
    for (unsigned u = 0; u < l->uids; u++) {
        struct stream_counters c;
        stream_counters(l->streams[u], now_ns, &c);
        s->totals.lost += c.lost;
        s->totals.lost_settled += c.abandoned;
        s->totals.corrupt += c.corrupt;
        s->totals.filtered += c.filtered;
        s->state->stream_abandoned += c.abandoned;
        s->totals.used += stream_set_used(l->streams[u]);
        s->totals.busy += (uint64_t)stream_set_busy(l->streams[u]) << s->chunk_shift;
    }
    s->state->stream_corrupt = s->totals.corrupt;
}

enum { RETIRE_MS = 20 /* between two visits of all CPUs */, RETIRE_RING_MS = 200 };

/* A ring loses no events for want of chunks, but each flush can cost it buffers that are not full. When a user has
 * left, its rest is collected at once: if last chunks of such users held all memory, the next user would find nothing
 * to overwrite. */
static bool wants_room(struct logger *l, uint32_t left)
{
    struct os *os = l->s->env->os;
    if (!session_overwrites(l->s) || l->s->users_left != l->users_left)
        return left < l->s->budget_chunks / 2;
    return left < l->s->budget_chunks / 4 && os->raw_ns(os) - l->retired_ns >= RETIRE_RING_MS * UINT64_C(1000000);
}

/* Little memory is left, and chunks that were read to their end hold part of the rest: writes what waits in buffers,
 * and makes idle streams give up their last chunk. The positions alone tell both. */
static void logger_make_room(struct logger *l)
{
    struct session *s       = l->s;
    struct os      *os      = s->env->os;
    unsigned        retired = 0;

    logger_flush(l);
    pthread_mutex_lock(&s->lock);
    bool more = logger_share(l) < s->budget_chunks / 2 &&
                (s->users_left != l->users_left || os->raw_ns(os) - l->retired_ns >= RETIRE_MS * UINT64_C(1000000));
    l->users_left = s->users_left;
    for (unsigned u = 0; more && u < l->uids; u++)
        retired += stream_set_reclaim(l->streams[u], quiesce_all_cpus);
    pthread_mutex_unlock(&s->lock);
    if (!more)
        return;
    for (unsigned u = 0; u < l->uids; u++)
        retired += stream_set_retire(l->streams[u]);
    l->retired_ns = os->raw_ns(os);
    if (!retired)
        return;
    pthread_mutex_lock(&s->lock);
    logger_snapshot(l);
    pthread_mutex_unlock(&s->lock);
    logger_collect(l, os->raw_ns(os));
    logger_skip_retired(l);
    pthread_mutex_lock(&s->lock);
    logger_share(l);
    pthread_mutex_unlock(&s->lock);
}

/* FlushThreshold in force; 0: none. From the current MaximumBuffers and FlushTimer. */
static uint32_t flush_threshold(const struct logger *l)
{
    const struct state_session *st   = l->s->state;
    const uint32_t              most = __atomic_load_n(&st->maximum_buffers, __ATOMIC_RELAXED),
                   spare             = most > l->cpus + 1 ? most - l->cpus - 1 : 0;
    if (__atomic_load_n(&st->flush_timer, __ATOMIC_RELAXED) || st->log_file_mode & ETL_MODE_BUFFERING)
        return 0;
    return st->flush_threshold < spare ? st->flush_threshold : spare;
}

enum { TRIM_MS = 1000 };

/* G6. After the snapshot, which may show events younger than the horizon, by as long as this thread stood still. */
static void believe_times(struct logger *l, uint64_t horizon, bool final)
{
    const struct session_clock *clock = &l->s->clock;
    const uint64_t              seen = clock_read(clock), now = final ? seen : horizon,
                   floor = clock->read_kind == CLOCK_READ_COARSE ? 0 : l->horizon;
    for (unsigned u = 0; u < l->uids; u++)
        stream_set_times(l->streams[u], floor, seen + clock->freq, now - 1);
    l->horizon = now;
}

enum { SILENCE_NS = 5000000 };

/* Writers that overwrite lose nothing while nobody reads. If they fill more than a chunk in SILENCE_NS, the logger
 * reads them by the clock: a signal for each chunk, and a reader that takes the chunk's lines out of their caches, cost
 * them a tenth of their time. */
static bool writers_hurry(struct logger *l)
{
    const uint64_t now_ns = l->s->env->os->raw_ns(l->s->env->os), before = l->written, since = now_ns - l->written_ns;
    l->written    = 0;
    l->written_ns = now_ns;
    for (unsigned u = 0; u < l->uids; u++)
        l->written += stream_set_written(l->streams[u]);
    if (l->written <= before) /* a user's streams may have ended */
        return false;
    const uint64_t chunks = (l->written - before) >> l->s->chunk_shift;
    return chunks && since / chunks < SILENCE_NS;
}

bool logger_pass(struct logger *l, bool final, bool flush)
{
    struct session *s = l->s;
    /* G1: the horizon is read before any write position */
    uint64_t horizon = final ? UINT64_MAX : clock_read(&s->clock);

    pthread_mutex_lock(&s->lock);
    l->uids = s->uid_count;
    for (unsigned u = 0; u < l->uids; u++) {
        l->streams[u] = s->uid[u].streams;
        l->uid[u]     = s->uid[u].uid;
    }
    logger_snapshot(l);
    const uint32_t left = logger_share(l);
    logger_totals(l);
    const uint64_t now_ns = s->env->os->raw_ns(s->env->os);
    if (now_ns - l->trimmed_ns >= TRIM_MS * UINT64_C(1000000)) {
        session_users_trim(s);
        l->trimmed_ns = now_ns;
    }
    pthread_mutex_unlock(&s->lock);
    /* an early program writes to no ring */
    if (!atomic_load(&s->fs_ready) && !final && (s->ring_fd < 0 || s->env->tight_file)) {
        if (!left && l->uids)
            session_tight(s->env);
        return true;
    }
    if (!l->opened)
        logger_open(l);
    believe_times(l, horizon, final);
    bool all = logger_collect(l, s->env->os->raw_ns(s->env->os));
    if (horizon > l->collected_to)
        l->horizon = horizon = l->collected_to;
    if (!s->klog)
        logger_merge(l, horizon);
    else if (final)
        logger_merge_last(l, horizon);
    else
        logger_merge_kernel(l, horizon);
    logger_merge_told(l, final);
    bool tight = s->klog && klog_tight(s->klog);
    if (l->delivers)
        tight |= s->env->realtime->tight(s->realtime, l->master->realtime_end);
    const uint32_t threshold = flush_threshold(l);
    if (final || flush || tight || (threshold && l->full >= threshold))
        logger_flush(l);
    pthread_mutex_lock(&s->lock);
    const bool little = l->uids && wants_room(l, logger_share(l));
    pthread_mutex_unlock(&s->lock);
    if (little)
        logger_make_room(l);
    if (session_overwrites(s))
        logger_window(l);
    l->silent = session_overwrites(s) && !final && writers_hurry(l);
    /* writers went on meanwhile: a pool that was emptied unnoticed would never wake the logger */
    pthread_mutex_lock(&s->lock);
    for (unsigned u = 0; u < l->uids; u++)
        (l->silent ? stream_set_want_silence : stream_set_want_signals)(l->streams[u]);
    pthread_mutex_unlock(&s->lock);
    if (!final)
        logger_places(l);
    return all;
}

/* ---- the thread ---- */

enum { FINISH_WAIT_MS = 5000, THRESHOLD_MS = 250 /* how soon full buffers are counted */ };

/* The final pass. A write position that still moves after the quiesce means late events: they are written, and counted
 * in late_events, so that their absence can be checked. */
static void finish_streams(struct logger *l)
{
    struct session *s    = l->s;
    uint64_t        late = 0, before;

    /* waits for reserved events: each is published, or given up and counted (1 s each) */
    struct os     *os    = s->env->os;
    const uint64_t until = os->raw_ns(os) + FINISH_WAIT_MS * UINT64_C(1000000);
    while (!logger_pass(l, true, true) && os->raw_ns(os) < until)
        usleep(5000);
    do {
        before = l->master->events_written + l->master->lost_file;
        logger_pass(l, true, true);
        late += l->master->events_written + l->master->lost_file - before;
    } while ((l->master->events_written + l->master->lost_file != before && !s->klog) || l->collected_to != UINT64_MAX);
    pthread_mutex_lock(&s->lock);
    s->late_events = s->klog ? 0 : late;
    logger_totals(l);
    pthread_mutex_unlock(&s->lock);
}

static int wait_ms(struct logger *l)
{
    struct session *s   = l->s;
    uint64_t        now = s->env->os->raw_ns(s->env->os);
    int             ms  = l->collected_to != UINT64_MAX ? 0 : -1; /* no periodic wake-ups unless asked for */

    if (__atomic_load_n(&s->state->flush_timer, __ATOMIC_RELAXED) && atomic_load(&s->fs_ready))
        ms = now >= l->next_flush_ns ? 0 : (int)((l->next_flush_ns - now) / 1000000 + 1);
    if (l->silent) {
        const uint64_t until = l->written_ns + SILENCE_NS;
        const int      left  = now >= until ? 0 : (int)((until - now) / 1000000 + 1);
        ms                   = ms < 0 || ms > left ? left : ms;
    }
    for (unsigned u = 0; u < l->uids; u++)
        if (stream_fallback_blocked(l->streams[u], now))
            ms = ms < 0 || ms > 20 ? 20 : ms;
    /* writers wake the logger only when memory is half full */
    if (flush_threshold(l) && atomic_load(&s->fs_ready) && (ms < 0 || ms > THRESHOLD_MS))
        ms = THRESHOLD_MS;
    /* until the hold is over nothing else may wake the logger, and the events keep memory */
    if (l->fill[l->cpus].pending && (ms < 0 || ms > TOLD_HOLD_MS))
        ms = TOLD_HOLD_MS;
    return ms;
}

static void logger_answer(const struct session *s)
{
    const uint64_t one = 1;
    if (s->env->answers_fd > 0)
        (void)!write(s->env->answers_fd, &one, sizeof one);
}

static void errand_run(struct logger *l, struct logger_errand *e, bool runs)
{
    if (!e)
        return;
    e->status = runs ? e->run(l, e) : reason_set(&e->why, W_NOT_READY, "the session has just stopped");
    atomic_fetch_add(&l->s->errands_done, 1); /* first: the caller that sees this one done may ask for the next */
    if (atomic_exchange(&e->state, ERRAND_DONE) == ERRAND_GIVEN_UP) {
        free(e->file);
        free(e->more);
        free(e);
    }
    logger_answer(l->s);
}

void *logger_main(void *ctx)
{
    struct session *s      = ctx;
    struct logger  *l      = s->logger;
    uint32_t        timer  = 0;
    uint64_t        period = 0;

    if (s->env->threads) {
        char name[16];
        snprintf(name, sizeof name, "%.15s", s->state->name);
        pthread_setname_np(pthread_self(), name);
    }
    atomic_store(&s->logger_tid, (int)syscall(SYS_gettid));
    while (!atomic_load(&s->stop)) {
        struct epoll_event e[8];
        uint64_t           count;
        const int          n             = epoll_wait(s->epoll_fd, e, 8, wait_ms(l));
        bool               writers_alone = n > 0;
        for (int i = 0; i < n; i++)
            if (e[i].data.u64 == 0) { /* this process's own; a UID's is never read, its edges are enough */
                (void)!read(s->wake_fd, &count, sizeof count);
                writers_alone = false;
            }
        if (atomic_load(&s->stop))
            break;
        uint64_t now = s->env->os->raw_ns(s->env->os);
        if (l->silent && writers_alone && now < l->written_ns + SILENCE_NS)
            continue; /* signals sent before the silence */
        uint32_t timer_now = __atomic_load_n(&s->state->flush_timer, __ATOMIC_RELAXED);
        if (timer_now != timer) { /* may change while the session runs: session_update */
            timer  = timer_now;
            period = (uint64_t)timer * (s->state->log_file_mode & ETL_MODE_MS_FLUSH_TIMER ? 1000000u : 1000000000u);
            l->next_flush_ns = now + period;
        }
        unsigned asked = atomic_load(&s->flush_asked);
        /* before the pass: an errand that comes during it waits for the next pass, which flushes everything written
         * until then */
        struct logger_errand *errand = atomic_exchange(&s->errand, NULL);
        bool                  flush  = asked != atomic_load(&s->flush_done) || errand;
        if (period && now >= l->next_flush_ns) {
            flush            = true;
            l->next_flush_ns = now + period;
        }
        logger_pass(l, false, flush);
        if (atomic_exchange(&s->date_set, false))
            session_anchor_stamp(s, l->writer);
        if (atomic_exchange(&s->flush_done, asked) != asked)
            logger_answer(s);
        errand_run(l, errand, true);
    }
    errand_run(l, atomic_exchange(&s->errand, NULL), false);
    /* stopped while still held: no file may be created, all events are lost and counted */
    if (!atomic_load(&s->fs_ready) && s->ring_fd < 0) {
        struct reason why = {0};
        reason_set(&why, W_NOT_READY, "the session was stopped before the file system was ready");
        logger_failed(l, &why);
    }
    finish_streams(l);
    logger_complete(l);
    int phase = atomic_load(&s->phase);
    if (phase != SESSION_FAILED) {
        atomic_store(&s->phase, SESSION_STOPPED);
        s->state->state = SESSION_STOPPED;
    }
    uint64_t one = 1;
    atomic_store(&s->logger_ended, true); /* before the report: its receiver must not find the logger still running */
    (void)!write(s->env->changed_fd, &one, sizeof one);
    return NULL;
}
