/* log_files.c - more files of a session that runs: snapshots of what it has, and the next one of a NEWFILE session. See session.h.
 * Both are errands of the logger's thread, which alone may touch the writer: it flushes first, so that what was written until now is in. */
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"
#include "registry-sim/win32/filetime.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_filetime(const struct session *s) { return filetime_from_unix_ns(s->env->os->realtime_ns(s->env->os)); }

/* ---- on the logger's thread ---- */

wstatus logger_next_file(struct logger *l, struct reason *why)
{
    struct session    *s    = l->s;
    struct etl_writer *full = l->writer;
    char               path[CTL_PATH];

    wstatus st = etl_writer_finish(full, now_filetime(s), logger_events_lost(l), true, why);
    if (st)
        return st;
    session_file_path(s->state, l->master->file_number + 1, path);
    if (!(st = session_owner_begin(s->env, &s->state->owner, why))) {
        st = logger_file_make(l, path, why);
        session_owner_end(s->env, &s->state->owner);
    }
    if (st) {
        l->writer = full; /* it stays the file of the session, and is made whole again at its end */
        return st;
    }
    etl_writer_destroy(full);
    l->master->file_number++;
    logger_publish_file(l); /* a successor that comes before this makes the file once more */
    return W_SUCCESS;
}

static wstatus run_next_file(struct logger *l, struct logger_errand *e)
{
    if (!l->writer || l->failed)
        return reason_set(&e->why, W_NOT_READY, "the session writes no file now");
    return logger_next_file(l, &e->why);
}

static wstatus run_snapshot(struct logger *l, struct logger_errand *e)
{
    struct session *s = l->s;
    if (!l->writer)
        return reason_set(&e->why, W_NOT_READY, "the session has no file and no ring yet");
    wstatus st = session_owner_begin(s->env, &e->owner, &e->why);
    if (st)
        return st;
    st = etl_writer_copy(l->writer, e->file, s->env->free_floor, now_filetime(s), logger_events_lost(l), &e->why);
    session_owner_end(s->env, &e->owner);
    return st;
}

/* ---- for the controlling thread ---- */

static wstatus ask(struct session *s, wstatus (*run)(struct logger *l, struct logger_errand *e), const char *file, struct reason *why)
{
    enum { WAIT_MS = 60000 };
    uint64_t              one = 1;
    struct logger_errand *e   = calloc(1, sizeof *e), *none = NULL;
    if (!e || (file && !(e->file = strdup(file)))) {
        free(e);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "not enough memory");
    }
    e->run = run;
    if (s->env->asks)
        e->owner = *s->env->asks;
    if (atomic_load(&s->phase) >= SESSION_STOPPING || !s->logger_runs || !atomic_compare_exchange_strong(&s->errand, &none, e)) {
        free(e->file);
        free(e);
        return reason_set(why, W_NOT_READY, "session \"%s\" does not run, or is busy with another file", s->state->name);
    }
    (void)!write(s->wake_fd, &one, sizeof one);
    for (int ms = 0; ms < WAIT_MS && atomic_load(&e->state) == ERRAND_WAITS; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_exchange(&e->state, ERRAND_GIVEN_UP) == ERRAND_WAITS)
        return reason_set(why, W_TIMEOUT, "the file was not complete within %d s", WAIT_MS / 1000);
    wstatus st = e->status;
    *why       = e->why;
    free(e->file);
    free(e);
    return st;
}

wstatus session_snapshot(struct session *s, const char *path, struct reason *why)
{
    if (!atomic_load(&s->fs_ready))
        return reason_set(why, W_NOT_READY, "no file may be created yet");
    if (s->ring_fd < 0 && !*s->state->log_path)
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" has neither a file nor a ring in memory", s->state->name);
    if (strcmp(path, s->state->log_path) == 0)
        return reason_set(why, W_SHARING_VIOLATION, "%s is the file that session \"%s\" writes. Do: choose another name", path, s->state->name);
    wstatus st = logger_links_refuse(s->env, path, why);
    if (st)
        return st;
    static const struct state_owner nobody;
    const struct state_owner       *asks = s->env->asks ? s->env->asks : &nobody;
    if ((st = session_owner_begin(s->env, asks, why)))
        return st;
    int r = os_mkdir_parents(s->env->os, path, 0755);
    session_owner_end(s->env, asks);
    if (r < 0)
        return reason_set(why, wstatus_from_errno(-r), "cannot create the folder of %s: %s", path, strerror(-r));
    return ask(s, run_snapshot, path, why);
}

wstatus session_next_file(struct session *s, struct reason *why)
{
    if (!(s->state->log_file_mode & ETL_MODE_NEWFILE))
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" is not of the mode NEWFILE: it has one file", s->state->name);
    return ask(s, run_next_file, NULL, why);
}
