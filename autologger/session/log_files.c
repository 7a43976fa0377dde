/* log_files.c - more files of a running session: snapshots, the next file of a NEWFILE session, a new file in place of
 * the old one; and whether consumers get its events. See session.h.
 * All are errands of the logger's thread, which alone may touch the writer: it flushes first, so that everything
 * written so far is included. */
#include "autologger/session/anchor.h"
#include "autologger/session/internal.h"
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t now_filetime(const struct session *s)
{
    return filetime_from_unix_ns(s->env->os->realtime_ns(s->env->os));
}

/* ---- on the logger's thread ---- */

wstatus logger_next_file(struct logger *l, struct reason *why)
{
    struct session    *s    = l->s;
    struct etl_writer *full = l->writer;
    char               path[CTL_PATH];

    session_anchor_stamp(s, full);
    wstatus st = etl_writer_finish(full, now_filetime(s), logger_events_lost(l), true, why);
    if (st)
        return st;
    session_file_path(s->state, l->master->file_number + 1, path);
    if (!(st = session_owner_begin(s->env, &s->state->owner, why))) {
        st = logger_file_make(l, &s->state->owner, path, why);
        session_owner_end(s->env, &s->state->owner);
    }
    if (st) {
        l->writer = full; /* it stays the session's file, and is completed again at the end */
        return st;
    }
    etl_writer_destroy(full);
    l->master->file_number++;
    logger_file_ended(l);
    logger_publish_file(l); /* a successor that comes before this creates the file once more */
    return W_SUCCESS;
}

static wstatus run_next_file(struct logger *l, struct logger_errand *e)
{
    if (!l->writer || l->failed)
        return reason_set(&e->why, W_NOT_READY, "the session writes no file now");
    return logger_next_file(l, &e->why);
}

/* A user's folder may be on slow storage: it is checked here, not on the thread that serves all clients. */
static wstatus snapshot_folder(const struct session *s, const struct logger_errand *e, struct reason *why)
{
    wstatus   st = session_owner_path(s->env, &e->owner, e->file, why);
    const int r  = st ? 0 : os_mkdir_parents(session_owner_os(s->env, &e->owner), e->file, 0755);
    return r < 0 ? reason_set(why, wstatus_from_errno(-r), "cannot create the folder of %s: %s", e->file, strerror(-r))
                 : st;
}

static wstatus run_snapshot(struct logger *l, struct logger_errand *e)
{
    struct session *s = l->s;
    if (!l->writer)
        return reason_set(&e->why, W_NOT_READY, "the session has no file and no ring yet");
    wstatus st = logger_links_refuse(s->env, e->file, &e->why);
    st         = st ? st : session_owner_begin(s->env, &e->owner, &e->why);
    if (st)
        return st;
    st = snapshot_folder(s, e, &e->why);
    session_anchor_stamp(s, l->writer);
    if (!st && session_overwrites(s)) { /* drops and counts the events before the last gap */
        st = etl_writer_trim(l->writer, &e->why);
        logger_publish_file(l);
    }
    st = st ? st
            : etl_writer_copy_by(l->writer, session_owner_os(s->env, &e->owner), e->file, s->env->free_floor,
                                 now_filetime(s), logger_events_lost(l) - l->master->lost_before, &e->why);
    session_owner_end(s->env, &e->owner);
    return st;
}

/* Makes `path` the session's path; a successor sees it together with the file's position. */
static void path_change(struct logger *l, const char *path)
{
    struct state_session *st = l->s->state;
    snprintf(l->master->path ? st->log_path : st->other_path, sizeof st->log_path, "%s", path);
    l->master->path ^= 1;
    l->master->file_number = 1;
}

/* Completes the old file, whatever the outcome: an error is only reported. */
static void file_leave(struct logger *l, struct etl_writer *old, struct reason *why)
{
    const uint64_t lost = logger_events_lost(l);
    session_anchor_stamp(l->s, old);
    if (old && etl_writer_finish(old, now_filetime(l->s), lost - l->master->lost_before, true, why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: %s", why->text);
    l->master->lost_before = lost;
    etl_writer_destroy(old);
    logger_file_ended(l);
}

static wstatus file_change(struct logger *l, const char *path, const struct state_owner *owner, struct reason *why)
{
    struct session    *s   = l->s;
    struct etl_writer *old = l->writer;
    wstatus            st  = session_owner_begin(s->env, owner, why);

    l->writer = NULL;
    if (!st) {
        const int r = (st = session_owner_path(s->env, owner, path, why))
                          ? 0
                          : os_mkdir_parents(session_owner_os(s->env, owner), path, 0755);
        if (!st)
            st = r < 0
                     ? reason_set(why, wstatus_from_errno(-r), "cannot create the folder of %s: %s", path, strerror(-r))
                     : logger_file_make(l, owner, path, why);
        session_owner_end(s->env, owner);
    }
    if (st) {
        l->writer = old; /* nothing has changed */
        return st;
    }
    if (!old)
        s->state->realtime.file_from = l->master->realtime_end;
    file_leave(l, old, why);
    path_change(l, path);
    s->state->owner = *owner;
    logger_publish_file(l);
    __atomic_store_n(&s->state->file_created, 1, __ATOMIC_RELEASE);
    return W_SUCCESS;
}

static void log_files_convert(struct logger *l, struct reason *why)
{
    struct etl_writer *old        = l->writer;
    l->writer                     = NULL;
    l->s->state->realtime.file_to = l->master->realtime_end;
    file_leave(l, old, why);
    path_change(l, "");
    logger_publish_place(l);
}

static void key_put(void *ctx, const struct klog_record *r) { logger_put(ctx, 0, r); }

/* StackCaching: repeats the definitions that stacks refer to, at the end of one file, or at the beginning of another or
 * of what consumers get; no later event is older. */
static void keys_tell(struct logger *l)
{
    struct session *s     = l->s;
    const uint64_t  start = s->state->anchor.value, last = l->fill[0].last_time;
    if (!s->klog || !s->state->stack_cache_bytes)
        return;
    klog_stack_keys(s->klog, last > start ? last : start, key_put, l);
    logger_flush(l);
}

/* A full file must not end the session that leaves it. Its definitions are in it anyway, unless it is a ring. */
static bool has_room_for_keys(const struct logger *l)
{
    const struct state_session *st    = l->s->state;
    const uint64_t              limit = (uint64_t)st->max_file_size << (st->log_file_mode & ETL_MODE_KBYTES ? 10 : 20);
    return !limit || st->log_file_mode & ETL_MODE_CIRCULAR ||
           etl_writer_state(l->writer).file_offset + st->stack_cache_bytes + 2 * (uint64_t)l->buffer_bytes <= limit;
}

wstatus logger_change(struct logger *l, struct logger_errand *e)
{
    struct session             *s      = l->s;
    const struct logger_change *c      = e->more;
    struct state_session       *st     = s->state;
    wstatus                     status = W_SUCCESS;
    if (!l->opened || l->failed)
        return reason_set(&e->why, W_NOT_READY, "the session writes no file now");
    const bool begins = c->deliver && !l->delivers;
    if (l->writer && (e->file || c->convert) && has_room_for_keys(l))
        keys_tell(l);
    if (e->file && (status = file_change(l, e->file, &e->owner, &e->why)))
        return status;
    /* before the rest: a successor that comes in between delivers, and has a file of its kind */
    st->log_file_mode = c->convert ? st->log_file_mode | ETL_MODE_REAL_TIME : c->mode;
    if (c->deliver && !l->delivers) {
        st->realtime.file_from = l->writer ? 0 : UINT64_MAX;
        st->realtime.file_to   = UINT64_MAX;
        logger_deliver(l, session_log_path(st));
    } else if (!c->deliver && l->delivers) {
        logger_deliver_end(l, s->env->realtime->drop, "no consumer had read them when real time was switched off");
        l->delivers = false;
    }
    if (c->convert) {
        log_files_convert(l, &e->why);
        st->log_file_mode = c->mode;
    }
    if (e->file || begins)
        keys_tell(l);
    if (begins && st->stack_cache_bytes) { /* a later consumer could not know the definitions */
        klog_stack_keys_end(s->klog);
        st->stack_cache_bytes = 0;
    }
    return W_SUCCESS;
}

/* ---- for the controlling thread ---- */

static void errand_free(struct logger_errand *e)
{
    free(e->file);
    free(e->more);
    free(e);
}

/* `more` becomes the errand's; NULL: no memory. */
static struct logger_errand *errand_make(wstatus (*run)(struct logger *l, struct logger_errand *e), const char *file,
                                         void *more, struct reason *why)
{
    struct logger_errand *e = calloc(1, sizeof *e);
    if (!e || (file && !(e->file = strdup(file)))) {
        free(e);
        free(more);
        reason_set(why, W_NOT_ENOUGH_MEMORY, "not enough memory");
        return NULL;
    }
    e->run  = run;
    e->more = more;
    return e;
}

/* The logger does one errand at a time. */
static bool is_busy(const struct session *s) { return s->queue || s->errands_begun != atomic_load(&s->errands_done); }
static bool takes_errands(const struct session *s)
{
    return atomic_load(&s->phase) < SESSION_STOPPING && s->logger_runs;
}

static void log_files_queue_step(struct session *s)
{
    const uint64_t        one = 1;
    struct logger_errand *e   = s->queue;
    if (!e || s->errands_begun != atomic_load(&s->errands_done))
        return;
    s->queue = e->next;
    s->errands_begun++;
    if (takes_errands(s)) {
        atomic_store(&s->errand, e);
        (void)!write(s->wake_fd, &one, sizeof one);
        return;
    }
    e->status = reason_set(&e->why, W_NOT_READY, "the session has just stopped");
    atomic_store(&e->state, ERRAND_DONE);
    atomic_fetch_add(&s->errands_done, 1);
}

static wstatus errand_begin(struct session *s, wstatus (*run)(struct logger *l, struct logger_errand *e),
                            const char *file, void *more, const struct state_owner *asks, struct logger_errand **out,
                            struct reason *why)
{
    if (!takes_errands(s)) {
        free(more);
        return reason_set(why, W_NOT_READY, "session \"%s\" does not run", s->state->name);
    }
    struct logger_errand **at = &s->queue;
    if (!(*out = errand_make(run, file, more, why)))
        return W_NOT_ENOUGH_MEMORY;
    if (asks)
        (*out)->owner = *asks;
    while (*at)
        at = &(*at)->next;
    *at = *out;
    log_files_queue_step(s);
    return W_SUCCESS;
}

bool session_errand_done(struct session *s, const struct logger_errand *e)
{
    log_files_queue_step(s);
    return atomic_load(&e->state) == ERRAND_DONE;
}

void session_errand_end(struct session *s, struct logger_errand *e)
{
    for (struct logger_errand **at = &s->queue; *at; at = &(*at)->next)
        if (*at == e) { /* not begun yet */
            *at = e->next;
            errand_free(e);
            return;
        }
    if (atomic_exchange(&e->state, ERRAND_GIVEN_UP) == ERRAND_DONE)
        errand_free(e);
    log_files_queue_step(s);
}

wstatus session_ask(struct session *s, wstatus (*run)(struct logger *l, struct logger_errand *e), const char *file,
                    void *more, const struct state_owner *asks, struct logger_errand **out, struct reason *why)
{
    if (!is_busy(s))
        return errand_begin(s, run, file, more, asks, out, why);
    free(more);
    return reason_set(why, W_NOT_READY, "session \"%s\" is busy with another file", s->state->name);
}

wstatus session_snapshot(struct session *s, const char *path, struct logger_errand **out, struct reason *why)
{
    if (!atomic_load(&s->fs_ready))
        return reason_set(why, W_NOT_READY, "no file may be created yet");
    if (s->ring_fd < 0 && !*session_log_path(s->state))
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" has neither a file nor a ring in memory",
                          s->state->name);
    if (strcmp(path, session_log_path(s->state)) == 0)
        return reason_set(why, W_SHARING_VIOLATION,
                          "%s is the file that session \"%s\" writes. Do: choose another name", path, s->state->name);
    return errand_begin(s, run_snapshot, path, NULL, s->env->asks, out, why);
}

wstatus session_next_file(struct session *s, struct logger_errand **out, struct reason *why)
{
    if (!(s->state->log_file_mode & ETL_MODE_NEWFILE))
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" is not of the mode NEWFILE: it has one file",
                          s->state->name);
    return errand_begin(s, run_next_file, NULL, NULL, s->env->asks, out, why);
}
