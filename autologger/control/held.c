/* held.c - requests whose answer waits for a logger: the end of a session, a flush, one more file, new terms. The
 * logger may wait for storage that is slow, or that never answers again; all other requests are served meanwhile.
 * Invariants
 *   H1 a held request belongs to a living connection, and ends with it, except a start and an update that has begun,
 *      which are completed.
 *   H2 a flush, a file and each step of an update have a time by which they are answered; the end of a session is
 *      answered when it has ended.
 *   H3 nothing points to a session that is gone: server_session_stopped comes before that.
 *   H4 an update waits for earlier ones of the same session. When these have ended it is treated as a new request, with
 *      all its checks.
 * Threads: one. The early program has server_none.c instead. See server.h, server_parts.h. */
#include "autologger/control/conditions.h"
#include "autologger/control/server_parts.h"
#include "autologger/control/update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One session of the request: the one it named, or a part of a private session. */
struct held_part {
    struct session       *s;      /* NULL: done */
    struct logger_errand *errand; /* of a file */
    unsigned              asked;  /* of a flush */
};
struct held_program {
    struct held_program       *next;
    unsigned                   connection;
    struct ctl_header          header; /* of the request */
    struct session            *s;      /* the one it named; NULL: it has ended */
    uint64_t                   until_ms;
    wstatus                    status; /* of the first part that failed */
    char                       text[CTL_PATH + 512];
    struct ctl_session_info    info;   /* of a file: session of the last one; of a stop: as it ended */
    struct ctl_update_answer  *begun;  /* of a start: the answer so far */
    struct session_update     *update; /* of an update */
    struct ctl_update_request *again;  /* of an update that waits for another one */
    bool                       over;   /* of an update: its session is about to end */
    bool                       failed; /* of a start that failed: its session is ending */
    unsigned                   told;   /* of a start: how many of the session's conditions are in `begun` */
    unsigned                   count;  /* 0: a stop, or an update */
    struct held_part           part[];
};
enum { FLUSH_MS = 5000, FILE_MS = 60000, GONE = STATE_CONNECTIONS /* instead of a connection that has ended */ };

/* The session if it is not a whole, and its parts. */
static unsigned parts_list(const struct control_server *v, struct session *s, struct session **out)
{
    unsigned n = 0;
    if (s->state->processes.kind != STATE_WHOLE)
        out[n++] = s;
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (session_is_part(v->table->slot[i], s))
            out[n++] = v->table->slot[i];
    return n;
}

static wstatus held_make(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s,
                         unsigned count, uint64_t ms, struct held_program **out)
{
    if (!quota_may_wait(v, c))
        return W_BUSY;
    struct held_program *h = calloc(1, sizeof *h + count * sizeof h->part[0]);
    if (!h)
        return W_NOT_ENOUGH_MEMORY;
    h->connection = c;
    h->header     = *m;
    h->s          = s;
    h->count      = count;
    h->until_ms   = ms ? quota_now_ms() + ms : UINT64_MAX;
    *out          = h;
    return W_SUCCESS;
}

static void held_begin(struct control_server *v, struct held_program *h)
{
    struct held_program **at = &v->held;
    while (*at) /* requests are answered in their order */
        at = &(*at)->next;
    *at = h;
    v->waiting[h->connection]++;
    if (!v->asks_again) /* else the caller looks itself: a row of updates must not become a pile of calls */
        server_held(v);
}

static void held_free(struct held_program *h)
{
    struct condition_list found = {0};
    struct reason         why;
    if (h->update)
        session_update_end(h->update, &found, &why);
    condition_list_finish(&found);
    for (unsigned i = 0; i < h->count; i++)
        if (h->part[i].s && h->part[i].errand)
            session_errand_end(h->part[i].s, h->part[i].errand);
    free(h->begun);
    free(h->again);
    free(h);
}

static void control_held_unlink(struct control_server *v, struct held_program **at)
{
    if ((*at)->connection != GONE)
        v->waiting[(*at)->connection]--;
    *at = (*at)->next;
}

/* Is that part done? Then it no longer refers to the session. */
static bool part_done(struct held_program *h, struct held_part *p)
{
    wstatus st;
    if (!p->s)
        return true;
    if (p->errand ? !session_errand_done(p->s, p->errand) : !session_flush_end(p->s, p->asked, &st))
        return false;
    if (p->errand) {
        st = p->errand->status;
        session_info(p->s, &h->info);
        if (!h->status)
            snprintf(h->text, sizeof h->text, "%s",
                     st                ? p->errand->why.text
                     : p->errand->file ? p->errand->file
                                       : h->info.log_path);
        session_errand_end(p->s, p->errand);
    }
    h->status = h->status ? h->status : st;
    p->s      = NULL;
    return true;
}

static bool update_done(struct held_program *h)
{
    unsigned ms = 0;
    if (h->over || session_update_done(h->update, &ms))
        return true;
    h->until_ms = quota_now_ms() + ms;
    return false;
}

/* Is an update of that session under way? */
static bool is_updated(const struct control_server *v, const struct session *s)
{
    const struct held_program *h = v->held;
    while (h && !(h->update && h->s == s))
        h = h->next;
    return h;
}

static bool is_done(const struct control_server *v, struct held_program *h)
{
    bool all = h->count || !h->s;
    if (h->update)
        return update_done(h);
    if (h->failed)
        return !h->s;
    if (h->again)
        return h->over || !is_updated(v, h->s);
    for (unsigned i = 0; i < h->count; i++)
        all &= part_done(h, &h->part[i]);
    return all;
}

static void stop_answer(struct control_server *v, const struct held_program *h)
{
    struct ctl_query_answer *answer = (void *)v->out;
    memset(answer, 0, sizeof *answer);
    answer->total = answer->count = 1;
    answer->row[0]                = h->info;
    server_reply(v, h->connection, &h->header, answer, sizeof *answer + sizeof answer->row[0], W_SUCCESS);
}

/* Completes a start. A file that is not there yet is no failure: events wait for it. True: it has failed, and is
 * answered when its session has ended. */
static bool start_fails(struct control_server *v, struct held_program *h)
{
    h->status = v->hooks.started(v->hooks.ctx, h->s, h->told, h->begun);
    if (!h->status)
        return false;
    h->failed    = true;
    h->part[0].s = NULL;
    h->until_ms  = UINT64_MAX;
    return true;
}

static void start_answer(struct control_server *v, struct held_program *h)
{
    if (!h->s && !h->failed)
        snprintf(h->begun->text, sizeof h->begun->text, "the session was stopped before its file was made");
    if (h->connection != GONE)
        server_reply(v, h->connection, &h->header, h->begun, sizeof *h->begun, h->status);
}

static void update_told(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s, wstatus st,
                        const struct condition_list *found, const struct reason *why)
{
    struct ctl_update_answer *answer = (void *)v->out;
    update_answer(s, st, found, why, answer);
    server_reply(v, c, m, answer, sizeof *answer, st);
}

static void update_finish(struct control_server *v, struct held_program *h)
{
    struct session       *s     = h->s;
    struct condition_list found = {0};
    struct reason         why   = {0};
    const wstatus         st    = session_update_end(h->update, &found, &why);
    h->update                   = NULL;
    v->hooks.updated(v->hooks.ctx, s, st);
    /* switched off: consumers get the rest */
    if (!st && s->realtime && !(s->state->log_file_mode & ETL_MODE_REAL_TIME)) {
        server_session_ended(v, s, false);
        session_realtime_end(s);
    }
    if (h->connection != GONE)
        update_told(v, h->connection, &h->header, s, st, &found, &why);
    condition_list_finish(&found);
}

/* Repeats a waiting update. The requester of the request being served now (asks) is another one. */
static void ask_again(struct control_server *v, struct held_program *h)
{
    const struct state_owner *asks  = v->table->env->asks;
    const bool                again = v->asks_again;
    struct reason             why;
    if (h->over) {
        reason_set(&why, W_NOT_READY, "session \"%s\" has ended", h->again->name);
        update_told(v, h->connection, &h->header, h->s, why.status, NULL, &why);
        return;
    }
    v->asks_again       = true;
    v->table->env->asks = NULL;
    server_act(v, h->connection, h->again, sizeof *h->again);
    v->table->env->asks = asks;
    v->asks_again       = again;
}

static void held_answer(struct control_server *v, struct held_program *h)
{
    struct ctl_update_answer *answer = (void *)v->out;
    if (h->update) {
        update_finish(v, h);
        return;
    }
    if (h->again) {
        ask_again(v, h);
        return;
    }
    if (h->begun) {
        start_answer(v, h);
        return;
    }
    if (!h->count) {
        stop_answer(v, h);
        return;
    }
    if (h->header.type == CTL_FLUSH) {
        server_answer(v, h->connection, &h->header, h->status);
        return;
    }
    memset(answer, 0, sizeof *answer);
    answer->session = h->info;
    snprintf(answer->text, sizeof answer->text, "%s", h->text);
    server_reply(v, h->connection, &h->header, answer, sizeof *answer, h->status);
}

static void took_long(struct held_program *h)
{
    if (h->begun) { /* events wait in memory meanwhile */
        const size_t used = strlen(h->begun->text);
        snprintf(h->begun->text + used, sizeof h->begun->text - used,
                 "%snote %d FileName: the file is not made yet, its storage takes long. Do: autologger query",
                 used ? "\n" : "", W_TIMEOUT);
        return;
    }
    h->status = h->status ? h->status : W_TIMEOUT;
    session_info(h->s, &h->info);
    snprintf(h->text, sizeof h->text, "it was not done within %d s: its storage does not answer, or takes long",
             FILE_MS / 1000);
}

/* Answers one request. That may drop a connection, and so change the list: starts again each time. */
static bool one_answered(struct control_server *v, uint64_t now_ms)
{
    for (struct held_program **at = &v->held; *at; at = &(*at)->next) {
        struct held_program *h    = *at;
        const bool           done = is_done(v, h);
        if (!done && (now_ms < h->until_ms || h->update))
            continue;
        if (!done)
            took_long(h);
        if (h->begun && h->s && start_fails(v, h))
            return true;
        control_held_unlink(v, at);
        held_answer(v, h);
        held_free(h);
        return true;
    }
    return false;
}

void server_held(struct control_server *v)
{
    while (one_answered(v, quota_now_ms()))
        ;
}

bool held_expired(struct control_server *v, uint64_t *next_ms)
{
    server_held(v);
    for (const struct held_program *h = v->held; h; h = h->next)
        *next_ms = h->until_ms < *next_ms ? h->until_ms : *next_ms;
    return v->held && *next_ms != UINT64_MAX;
}

void held_gone(struct control_server *v, unsigned c)
{
    for (struct held_program **at = &v->held; *at;) {
        struct held_program *h = *at;
        if (h->connection != c && !(v->ending && h->connection == GONE)) {
            at = &h->next;
        } else if ((h->begun || h->update) && !v->ending) {
            v->waiting[c]--;
            h->connection = GONE;
        } else {
            control_held_unlink(v, at);
            held_free(h);
        }
    }
}

/* The session has ended: ends what is not done of the request. */
static void held_break(struct held_program *h, struct session *s)
{
    h->over |= (h->update || h->again) && h->s == s;
    for (unsigned i = 0; i < h->count; i++)
        if (h->part[i].s && (h->part[i].s == s || h->s == s)) {
            if (h->part[i].errand)
                session_errand_end(h->part[i].s, h->part[i].errand);
            h->part[i].s = NULL;
            h->status    = h->status ? h->status : W_NOT_READY;
            session_info(s, &h->info);
            h->s = h->begun ? NULL : h->s;
        }
}

void server_session_stopped(struct control_server *v, struct session *s, const struct ctl_session_info *final)
{
    server_held(v);
    for (struct held_program *h = v->held; h; h = h->next)
        held_break(h, s);
    server_held(v);
    for (struct held_program *h = v->held; h; h = h->next)
        if (h->s == s) {
            if (h->header.type == CTL_STOP && h->connection != GONE)
                conditions_keep(v, h->connection, s);
            h->info = *final;
            h->s    = NULL;
        }
}

/* ---- the requests ---- */

wstatus held_stop(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s)
{
    struct reason        why;
    struct held_program *h;
    wstatus              st = held_make(v, c, m, s, 0, 0, &h);
    if (st)
        return st;
    if ((st = v->hooks.stop(v->hooks.ctx, s, &why)))
        held_free(h);
    else
        held_begin(v, h);
    return st;
}

wstatus held_start(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s,
                   const struct ctl_update_answer *answer)
{
    struct ctl_update_answer *begun = malloc(sizeof *begun);
    struct held_program      *h     = calloc(1, sizeof *h + sizeof h->part[0]);
    if (!begun || !h) { /* the session runs; its controller gets an error */
        free(begun);
        free(h);
        return W_NOT_ENOUGH_MEMORY;
    }
    *begun     = *answer;
    *h         = (struct held_program){.connection = c,
                                       .header     = *m,
                                       .s          = s,
                                       .begun      = begun,
                                       .told       = s->conditions.count,
                                       .count      = 1,
                                       .until_ms   = quota_now_ms() + FLUSH_MS};
    h->part[0] = (struct held_part){.s = s, .asked = session_flush_begin(s)};
    held_begin(v, h);
    return W_SUCCESS;
}

wstatus held_flush(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s)
{
    struct session      *parts[SHM_SESSIONS + 1];
    const unsigned       count = parts_list(v, s, parts);
    struct held_program *h;
    if (!count) {
        server_answer(v, c, m, session_flush(s));
        return W_SUCCESS;
    }
    const wstatus st = held_make(v, c, m, s, count, FLUSH_MS, &h);
    if (st)
        return st;
    for (unsigned i = 0; i < count; i++)
        h->part[i] = (struct held_part){.s = parts[i], .asked = session_flush_begin(parts[i])};
    held_begin(v, h);
    return W_SUCCESS;
}

/* For each part. Files of all processes but the first have the pid behind their names, as log files do. */
static wstatus files_begin(struct control_server *v, struct held_program *h, struct session **parts, const char *file,
                           struct ctl_update_answer *answer)
{
    char    name[CTL_PATH + 16], own[16];
    wstatus st = W_SUCCESS;
    for (unsigned i = 0; i < h->count && !st; i++) {
        const struct state_session *part = parts[i]->state;
        snprintf(own, sizeof own, "_%u", part->private_pid);
        snprintf(name, sizeof name, "%s%s", file ? file : "",
                 part->processes.kind == STATE_PART && part->processes.begun > 1 ? own : "");
        if (!(st = v->hooks.file(v->hooks.ctx, parts[i], file ? name : NULL, answer, &h->part[i].errand)))
            h->part[i].s = parts[i];
    }
    return st;
}

wstatus held_files(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s,
                   const char *file)
{
    struct ctl_update_answer *answer = (void *)v->out;
    struct session           *parts[SHM_SESSIONS + 1];
    const unsigned            count = parts_list(v, s, parts);
    struct held_program      *h;

    memset(answer, 0, sizeof *answer);
    session_info(s, &answer->session);
    if (!count) {
        snprintf(answer->text, sizeof answer->text, "no process has a part of session \"%s\" now", s->state->name);
        return server_reply(v, c, m, answer, sizeof *answer, W_NOT_FOUND);
    }
    wstatus st = held_make(v, c, m, s, count, FILE_MS, &h);
    if (st)
        return st;
    if ((st = files_begin(v, h, parts, file, answer))) {
        held_free(h);
        return server_reply(v, c, m, answer, sizeof *answer, st);
    }
    held_begin(v, h);
    return W_SUCCESS;
}

/* Keeps an update until those before it have ended (H4). */
static wstatus update_again(struct control_server *v, unsigned c, const struct ctl_update_request *m, struct session *s)
{
    struct held_program *h;
    const wstatus        st = held_make(v, c, &m->header, s, 0, 0, &h);
    if (st)
        return st;
    if (!(h->again = malloc(sizeof *h->again))) {
        held_free(h);
        return W_NOT_ENOUGH_MEMORY;
    }
    *h->again             = *m;
    h->again->header.size = sizeof *m;
    held_begin(v, h);
    return W_SUCCESS;
}

wstatus held_update(struct control_server *v, unsigned c, const struct ctl_update_request *m, struct session *s)
{
    struct session_terms terms;
    struct reason        why = {0};
    struct held_program *h;
    if (s && is_updated(v, s))
        return update_again(v, c, m, s);
    wstatus st = s ? update_terms(m, &terms, &why)
                   : reason_set(&why, W_WMI_INSTANCE_NOT_FOUND, "no session named \"%s\" is running", m->name);
    if (st) {
        update_told(v, c, &m->header, s, st, NULL, &why);
        return W_SUCCESS;
    }
    if ((st = held_make(v, c, &m->header, s, 0, 0, &h)))
        return st;
    if ((st = v->hooks.update(v->hooks.ctx, s, &terms, &h->update, &why))) {
        held_free(h);
        update_told(v, c, &m->header, s, st, NULL, &why);
        return W_SUCCESS;
    }
    held_begin(v, h);
    return W_SUCCESS;
}
