/* logger_output.c - where a logger's buffers go: the log file, the consumers; and the positions from which a successor
 * goes on. See logger.h, and G2 and G3 of logger.c. */
#include "autologger/etl/xpress.h"
#include "autologger/session/anchor.h"
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"
#include "registry-sim/base/invariant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void slot_flip(struct logger *l)
{
    struct state_session *st   = l->s->state;
    uint64_t              next = st->current + 1;
    uint64_t             *to   = (uint64_t *)(void *)((uint8_t *)st + st->slot_offset[next & 1]);
    /* only the rows of existing users; each slot started as zeros, and the number of users only grows */
    const size_t words =
        sizeof(struct state_slot) / sizeof *to + (size_t)(l->uids + 1) * (2 * l->cpus + 1) + l->cpus + 1;
    INVARIANT(l->uids < STATE_UIDS + 1 && words * sizeof *to <= st->slot_size);
    /* a reader that sees one of the words below also sees that this slot is no longer current */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t i = 0; i < words; i++)
        __atomic_store_n(&to[i], state_slot_word(l->master, i), __ATOMIC_RELAXED);
    __atomic_store_n(&st->current, next, __ATOMIC_RELEASE);
}
void logger_file_info(const struct session *s, const char *path, struct etl_file_info *i)
{
    const struct state_session *st = s->state;
    *i                             = (struct etl_file_info){
                                    .logger_name = st->name,
                                    .file_name   = path,
                                    .buffer_size = st->buffer_kb * 1024u,
                                    .processors  = session_single(s) ? 1 : st->cpus,
                                    .logger_id   = (uint16_t)st->index,
                                    .log_file_mode =
            session_single(s) ? st->log_file_mode : st->log_file_mode & ~(uint32_t)ETL_MODE_NO_PER_PROCESSOR,
                                    .max_file_size = st->max_file_size,
                                    .clock_type    = s->clock.type,
                                    .perf_freq     = s->clock.freq,
                                    .cpu_mhz       = s->env->machine.cpu_mhz,
                                    .boot_time     = st->anchor.boot_filetime,
                                    .start_time    = st->anchor.filetime,
                                    .start_raw     = (int64_t)st->anchor.value,
                                    .thread_id     = (uint32_t)getpid(),
                                    .process_id    = (uint32_t)getpid(),
                                    .ring_buffers  = st->log_file_mode & ETL_MODE_BUFFERING ? st->minimum_buffers : 0,
                                    .direct        = true,
    };
    if (st->log_file_mode & ETL_MODE_COMPRESSED && i->ring_buffers) {
        i->compress    = xpress_compress;
        i->compression = ETL_XPRESS;
    }
}

wstatus logger_links_refuse(const struct session_env *env, const char *path, struct reason *why)
{
    struct os *os   = env->owner ? env->owner->os(env->os) : env->os; /* users may have folders there */
    size_t     root = env->log_dir ? strlen(env->log_dir) : 0;
    char      *copy = strdup(path);
    wstatus    st =
        copy ? W_SUCCESS : reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to look at the folders of %s", path);

    if (copy && root && strncmp(path, env->log_dir, root) == 0)
        for (char *p = strchr(copy + root + 1, '/'); p && !st; p = strchr(p + 1, '/')) {
            struct os_stat at;
            *p = 0;
            if (os->lstat(os, copy, &at) == 0 && S_ISLNK(at.mode))
                st = reason_set(why, W_BAD_PATHNAME, "%s is a link; links below the log folder are not followed", copy);
            *p = '/';
        }
    free(copy);
    return st;
}

/* The header is on the disk before anything else is written: after a power cut there is a readable file or none, never
 * an empty one. */
wstatus logger_file_make(struct logger *l, const struct state_owner *owner, const char *path, struct reason *why)
{
    struct session      *s  = l->s;
    struct os           *os = session_owner_os(s->env, owner);
    struct os_stat       there;
    struct etl_file_info info;
    session_anchor_renew(s);
    logger_file_info(s, path, &info);
    const bool goes_on = info.log_file_mode & ETL_MODE_APPEND && os->lstat(os, path, &there) == 0;
    wstatus    st      = etl_writer_create(os, path, &info, s->env->free_floor, &l->writer, why);

    if (!st && !etl_writer_locked(l->writer))
        visible_line(
            stderr, "autologgerd: %s: its file system has no locks, so another daemon could write the same file", path);
    if (st || (st = etl_writer_sync(l->writer, why)) == W_SUCCESS)
        return st;
    etl_writer_destroy(l->writer);
    l->writer = NULL;
    if (!goes_on)
        os->unlink(os, path);
    return st;
}

/* A successor starts after the gaps passed before these positions: they are recorded only here. */
static uint64_t gaps_passed(const struct logger *l)
{
    uint64_t from = 0;
    for (unsigned u = 0; session_overwrites(l->s) && u < l->uids; u++) {
        const uint64_t one = stream_set_gap(l->streams[u], clock_read(&l->s->clock));
        from               = one > from ? one : from;
    }
    return from;
}

/* The file's position, to be published next. */
static void file_state(struct logger *l)
{
    const uint64_t         gaps = gaps_passed(l);
    struct etl_write_state at   = etl_writer_state(l->writer);
    l->master->file_offset      = at.file_offset;
    l->master->buffers_written  = at.buffers_written;
    l->master->buffers_lost     = at.buffers_lost;
    l->master->slots            = at.slots;
    l->master->overwritten      = at.overwritten;
    l->master->oldest_events    = at.oldest_events;
    l->master->oldest_last      = at.oldest_last;
    l->master->complete_from    = gaps > at.complete_from ? gaps : at.complete_from;
    l->master->trimmed_to       = at.trimmed_to;
    for (unsigned c = 0; c <= l->cpus; c++)
        slot_open(l)[c] = etl_writer_open(l->writer, buffer_cpu(l, c));
}

void logger_file_ended(struct logger *l)
{
    struct state_slot *m = l->master;
    m->buffers_before += m->buffers_written;
    m->buffers_lost_before += m->buffers_lost;
    m->overwritten_before += m->overwritten;
    m->file_offset = m->overwritten = 0;
    m->buffers_written = m->buffers_lost = m->slots = m->oldest_events = 0;
}

void logger_publish_file(struct logger *l)
{
    file_state(l);
    slot_flip(l);
}

void logger_publish_place(struct logger *l) { slot_flip(l); }

static struct etl_write_state published_state(const struct state_slot *m)
{
    return (struct etl_write_state){.file_offset     = m->file_offset,
                                    .buffers_written = m->buffers_written,
                                    .buffers_lost    = m->buffers_lost,
                                    .slots           = m->slots,
                                    .overwritten     = m->overwritten,
                                    .oldest_events   = m->oldest_events,
                                    .oldest_last     = m->oldest_last,
                                    .complete_from   = m->complete_from,
                                    .trimmed_to      = m->trimmed_to};
}

/* BUFFERING: the ring in memory takes the file's place. */
static wstatus logger_output_ring_open(struct logger *l, struct reason *why)
{
    static const char    shown[] = "the ring in memory";
    struct session      *s       = l->s;
    struct etl_file_info info;
    int                  fd = fcntl(s->ring_fd, F_DUPFD_CLOEXEC, 0);
    logger_file_info(s, "", &info);
    if (fd < 0)
        return reason_set(why, wstatus_from_errno(errno), "%s could not be opened: %s", shown, strerror(errno));
    if (!s->state->file_created)
        return etl_writer_create_in(s->env->os, fd, shown, &info, &l->writer, why);
    const struct etl_write_state at = published_state(l->master);
    wstatus                      st = etl_writer_resume_in(s->env->os, fd, shown, &info, &at, &l->writer, why);
    for (unsigned c = 0; !st && c <= l->cpus; c++)
        st = etl_writer_reopen(l->writer, buffer_cpu(l, c), slot_open(l)[c], why);
    return st;
}

void logger_window(struct logger *l)
{
    const uint64_t now = clock_read(&l->s->clock);
    for (unsigned u = 0; l->writer && u < l->uids; u++)
        etl_writer_gap(l->writer, stream_set_complete_from(l->streams[u], now));
}

/* Continues a predecessor's file, or creates the file. */
static wstatus file_begin(struct logger *l, struct reason *why)
{
    struct session      *s  = l->s;
    struct os           *os = session_owner_os(s->env, &s->state->owner);
    struct etl_file_info info;
    char                 path[CTL_PATH];

    session_file_path(s->state, l->master->file_number, path);
    if (s->state->file_created) {
        const struct etl_write_state at = published_state(l->master);
        logger_file_info(s, path, &info);
        return etl_writer_resume(os, path, &info, &at, s->env->free_floor, &l->writer, why);
    }
    wstatus st = logger_links_refuse(s->env, path, why);
    if (!st)
        st = session_owner_path(s->env, &s->state->owner, path, why);
    int r = st ? 0 : os_mkdir_parents(os, path, 0755);
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "cannot create the folder of %s: %s", path, strerror(-r));
    return st ? st : logger_file_make(l, &s->state->owner, path, why);
}

/* When files may first exist: creates the log file, or continues a predecessor's. */
static void logger_output_file_open(struct logger *l)
{
    struct session *s   = l->s;
    struct reason   why = {0};

    if (!l->master->file_number)
        l->master->file_number = 1;
    wstatus st = session_owner_begin(s->env, &s->state->owner, &why);
    if (!st) {
        st = s->ring_fd >= 0 ? logger_output_ring_open(l, &why) : file_begin(l, &why);
        session_owner_end(s->env, &s->state->owner);
    }
    if (!st && s->state->status) /* a predecessor failed already: the file is still completed at the end */
        st = reason_set(&why, s->state->status, "%s", s->state->status_text);
    if (st) {
        logger_failed(l, &why);
        return;
    }
    if (!s->state->file_created) {
        logger_publish_file(l);
        __atomic_store_n(&s->state->file_created, 1, __ATOMIC_RELEASE);
    }
    s->state->state = SESSION_WRITING;
    int held        = SESSION_HELD;
    atomic_compare_exchange_strong(&s->phase, &held, SESSION_WRITING);
}

void logger_deliver(struct logger *l, const char *path)
{
    struct etl_file_info info;
    session_anchor_renew(l->s);
    logger_file_info(l->s, path, &info);
    l->s->env->realtime->open(l->s->realtime, &info, &l->master->realtime_end);
    l->delivers = true;
}

void logger_open(struct logger *l)
{
    struct session *s    = l->s;
    int             held = SESSION_HELD;

    l->opened = true;
    if (s->realtime)
        logger_deliver(l, session_log_path(s->state));
    if (s->state->processes.kind != STATE_WHOLE && (*session_log_path(s->state) || !s->realtime)) {
        logger_output_file_open(l);
        return;
    }
    s->state->state = SESSION_WRITING;
    atomic_compare_exchange_strong(&s->phase, &held, SESSION_WRITING);
}

/* Position up to which a UID's fallback stream is in the file, for every CPU: the first record that still waits or is
 * in a buffer. */
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

/* EventsLost, see ctl_events_lost(). */
uint64_t logger_events_lost(const struct logger *l)
{
    struct klog_counters k = {0};
    if (l->s->klog)
        klog_counters(l->s->klog, &k);
    return l->master->lost_file + l->s->totals.lost + k.lost_ring + k.lost_memory + k.lost_conversion + k.withheld;
}

/* Publishes positions, file offset and counters together; then gives memory back. */
static void logger_output_publish(struct logger *l, unsigned cpu)
{
    struct session *s   = l->s;
    const unsigned  end = l->single && cpu == 0 ? l->cpus : cpu + 1; /* the CPUs whose events are in it */

    for (unsigned c = cpu; c < end; c++) {
        struct fill *f = &l->fill[c];
        for (unsigned u = 0; u < l->uids; u++) {
            if (c < l->cpus)
                slot_pos(l, u)[c] = f->pos[u];
            slot_fallback(l, u)[c] = f->fallback[u];
            f->fallback_first[u]   = UINT64_MAX;
        }
        if (c < l->cpus)
            slot_kernel(l)[c] = f->kernel_time;
        slot_last(l)[c] = f->last_time;
    }
    for (unsigned u = 0; u < l->uids; u++)
        l->master->fallback_released[u] = fallback_done(l, u);
    l->master->uid_count = l->uids;
    if (l->writer)
        file_state(l);
    slot_flip(l);

    pthread_mutex_lock(&s->lock);
    for (unsigned u = 0; u < l->uids; u++) {
        for (unsigned c = cpu; c < end && c < l->cpus; c++)
            stream_release(l->streams[u], c, l->fill[c].pos[u]);
        stream_release(l->streams[u], l->cpus, l->master->fallback_released[u]);
    }
    pthread_mutex_unlock(&s->lock);
    for (unsigned c = cpu; s->klog && c < end; c++)
        if (l->fill[c].kernel_time)
            klog_release(s->klog, c, l->fill[c].kernel_time);
    if (l->delivers)
        s->env->realtime->show(s->realtime, l->master->realtime_end, l->master->realtime_lost, logger_events_lost(l));
}

void logger_skip_retired(struct logger *l)
{
    struct stream_record r;
    for (unsigned c = 0; c <= l->cpus; c++) {
        for (unsigned u = 0; c < l->cpus && u < l->uids; u++)
            if (!stream_peek(l->streams[u], c, &r)) /* a chunk's filler is skipped */
                l->fill[c].pos[u] = stream_position(l->streams[u], c);
        if (!data_waits(&l->fill[c]))
            logger_output_publish(l, c);
    }
}

/* To the consumers; `window`: all CPUs are being flushed, and this is the last. False: the buffer was dropped. */
static bool buffer_deliver(struct logger *l, unsigned cpu, bool window)
{
    struct session *s = l->s;
    struct fill    *f = &l->fill[cpu];
    struct reason   why;

    if (s->env->realtime->put(s->realtime, f->data, f->filled, buffer_cpu(l, cpu), (int64_t)clock_read(&s->clock),
                              l->master->realtime_end, window, &why) == W_SUCCESS) {
        l->master->realtime_end++;
        return true;
    }
    l->master->realtime_lost++;
    pthread_mutex_lock(&s->lock);
    s->realtime_reason = why;
    pthread_mutex_unlock(&s->lock);
    return false;
}

/* NEWFILE: a buffer that does not fit into this file begins the next one; without a next file it is lost. */
static wstatus logger_output_file_put(struct logger *l, struct fill *f, unsigned cpu, struct reason *why)
{
    const struct session_env *env = l->s->env;
    const int64_t             now = (int64_t)clock_read(&l->s->clock);

    if (l->s->state->log_file_mode & ETL_MODE_NEWFILE && env->next_file && etl_writer_full(l->writer)) {
        const wstatus st = env->next_file(l, why);
        if (st) {
            etl_writer_add_lost(l->writer, 1);
            return st;
        }
    }
    etl_writer_hurry(l->writer, l->hurry);
    return etl_writer_put(l->writer, f->data, f->filled, buffer_cpu(l, cpu), now, why);
}

/* Counts the records while they are in the cache: those of a large buffer would have to be fetched again later. */
void logger_count_providers(struct logger *l, struct fill *f)
{
    const uint32_t from = f->counted ? f->counted : (uint32_t)sizeof(struct etl_buffer_header);
    if (f->filled > from)
        provider_count_add(&l->providers, l->s->state, f->data + from, f->filled - from, f->provider_events);
    f->counted = f->filled;
}

void logger_write(struct logger *l, unsigned cpu, bool window)
{
    struct fill  *f   = &l->fill[cpu];
    struct reason why = {0};

    if (f->filled == sizeof(struct etl_buffer_header))
        return;
    logger_count_providers(l, f);
    l->full++;
    bool kept = l->writer && !l->failed;
    if (kept && logger_output_file_put(l, f, cpu, &why) != W_SUCCESS) {
        kept = false;
        logger_failed(l, &why);
    }
    if (l->delivers)
        kept |= buffer_deliver(l, cpu, window);
    if (kept) {
        l->master->events_written += f->events;
        l->master->bytes_written += f->filled - sizeof(struct etl_buffer_header);
        for (unsigned i = 0; i < STATE_ENABLES; i++)
            l->master->provider_events[i] += f->provider_events[i];
    } else {
        l->master->lost_file += f->events;
    }
    logger_output_publish(l, cpu);
    memset(f->provider_events, 0, sizeof f->provider_events);
    f->filled = sizeof(struct etl_buffer_header);
    f->events = f->counted = 0;
    /* during a write, writers may use up what they were granted */
    pthread_mutex_lock(&l->s->lock);
    logger_snapshot(l);
    logger_share(l);
    pthread_mutex_unlock(&l->s->lock);
}

void logger_flush(struct logger *l)
{
    unsigned last = 0;

    for (unsigned c = 0; c <= l->cpus; c++)
        if (data_waits(&l->fill[c]))
            last = c;
    for (unsigned c = 0; c <= l->cpus; c++)
        logger_write(l, c, c == last);
    l->full = 0;
    if (l->delivers)
        l->s->env->realtime->tidy(l->s->realtime);
}

/* Buffers that can't wait for a consumer are lost, unless they are in a file too. */
void logger_deliver_end(struct logger *l, void (*end)(struct realtime *r, uint32_t *buffers, uint64_t *events),
                        const char    *why_lost)
{
    struct session *s       = l->s;
    uint32_t        buffers = 0;
    uint64_t        events  = 0;

    end(s->realtime, &buffers, &events);
    if (!buffers)
        return;
    l->master->realtime_lost += buffers;
    l->master->events_written -= events < l->master->events_written ? events : l->master->events_written;
    l->master->lost_file += events;
    pthread_mutex_lock(&s->lock);
    reason_set(&s->realtime_reason, W_CANCELLED, "%s", why_lost);
    pthread_mutex_unlock(&s->lock);
    logger_output_publish(l, 0);
}

void logger_complete(struct logger *l)
{
    if (l->delivers)
        logger_deliver_end(l, l->s->env->realtime->finish,
                           "no consumer had read them when the session ended, and they are not to be kept");
    struct session *s    = l->s;
    struct reason   why  = {0};
    uint64_t        lost = logger_events_lost(l);

    lost -= l->master->lost_before < lost ? l->master->lost_before : lost;
    if (s->ring_fd >= 0) { /* the ring's events are gone with it */
        l->master->overwritten = l->master->events_written;
        slot_flip(l);
        return;
    }
    /* also after a failure: the file is completed, and its header counts what is missing */
    session_anchor_stamp(s, l->writer);
    if (l->writer &&
        etl_writer_finish(l->writer, filetime_from_unix_ns(s->env->os->realtime_ns(s->env->os)), lost, true, &why) !=
            W_SUCCESS &&
        !l->failed)
        logger_failed(l, &why);
}
