/* update.c - new terms for a running session: kernel flags, stacks, FlushTimer, MaximumBuffers, file, real time. See
 * session.h. An update is a row of steps. Work for the logger is an errand. Work that a pass of the drain thread would
 * delay is done after that pass. The controlling thread checks now and then whether it can go on, and waits for
 * nothing.
 * Invariants: U1 one update of a session at a time. U2 during an update other sessions can have neither its file nor
 * the memory that it may get (path_next, table_memory_set). U3 once the session is ending, no step begins that needs
 * the kernel's part. */
#include "autologger/session/internal.h"
#include "autologger/session/logger.h"
#include "registry-sim/base/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session_update {
    struct session       *s;
    struct session_terms  t;
    struct session_terms  before;               /* flags and stacks before the update */
    char                 *log_path, *file_name; /* of t */
    struct state_owner    owner;                /* the requester; not set: the daemon */
    struct condition_list found;
    struct reason         why;
    wstatus               status;
    unsigned              step;
    struct logger_errand *errand;   /* of this step; NULL: none */
    unsigned              patience; /* s that a step may take */
    uint64_t              until_ns; /* end of this step's time; 0: not set yet */
    uint32_t              buffers;  /* the MaximumBuffers that it gets */
    bool kernel, begins /* real time */, counted /* buffers is known */, keys /* StackCaching, at the beginning */;
};

static bool update_known(const struct condition_list *list, const struct condition *c)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].number == c->number && !strcmp(list->items[i].item, c->item) &&
            !strcmp(list->items[i].reason, c->reason))
            return true;
    return false;
}

static void pass_on(struct condition_list *to, const struct condition *c)
{
    condition_add(to, c->number, c->note, c->item, c->source_file, c->source_line, c->advice, "%s", c->reason);
}

/* ---- notes ---- */

enum { UPDATES_TOLD = 32 };

/* The declaration keeps what was asked for; a note of the session says what is in force, and since when. */
__attribute__((format(printf, 2, 3))) static void note_change(struct session *s, const char *format, ...)
{
    char    item[32], text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (s->state->updates++ >= UPDATES_TOLD) { /* a program may change its session each second, for months */
        if (s->state->updates == UPDATES_TOLD + 1)
            condition_add(&s->conditions, W_REVISION_MISMATCH, true, "more updates", "", 0,
                          "autologger query says what is in force",
                          "changed more than %d times while the session ran: the first ones are listed", UPDATES_TOLD);
        return;
    }
    snprintf(item, sizeof item, "update %u", s->state->updates);
    condition_add(&s->conditions, W_REVISION_MISMATCH, true, item, "", 0, "nothing: it was asked for",
                  "changed while the session ran: %s", text);
}

static void note_kernel(struct session *s)
{
    const struct state_session *st          = s->state;
    char                        flags[1024] = "", stacks[1024] = "";
    group_mask_format(st->group_mask, flags, sizeof flags);
    hooks_format(st->hooks, st->hook_count, stacks, sizeof stacks);
    note_change(s, "from then on flags %.300s, stacks %.300s", *flags ? flags : "(none)", *stacks ? stacks : "(none)");
}

/* ---- what is possible ---- */

static bool is_ending(const struct session *s) { return atomic_load(&s->phase) >= SESSION_STOPPING; }
static bool delivers(const struct session *s) { return s->state->log_file_mode & ETL_MODE_REAL_TIME; }

static wstatus may_change_file(const struct session *s, const struct session_terms *t, struct reason *why)
{
    const struct state_session *st = s->state;
    if (!t->log_path && !t->realtime && !t->convert)
        return W_SUCCESS;
    if (!s->env->realtime)
        return reason_set(why, W_NOT_SUPPORTED, "this program has no files and no consumers");
    if (t->log_path && st->log_file_mode & ETL_MODE_NEWFILE)
        return reason_set(
            why, W_INVALID_PARAMETER,
            "session \"%s\" is of the mode NEWFILE: its files have one name with a number. Do: autologger flush "
            "--next-file",
            st->name);
    if (t->log_path && !strcmp(t->log_path, session_log_path(st)))
        return reason_set(why, W_BAD_PATHNAME, "%s is the file that session \"%s\" writes. Do: choose another name",
                          t->log_path, st->name);
    if (t->convert && (t->log_path || t->realtime || (!*session_log_path(st) && !session_converted(st))))
        return reason_set(why, W_INVALID_PARAMETER,
                          "to be converted to real time a session has a file, and is given no other one");
    if (t->realtime && !t->deliver && !t->log_path && !*session_log_path(st))
        return reason_set(why, W_INVALID_PARAMETER,
                          "session \"%s\" has no file: without real time its events would go nowhere", st->name);
    if (!atomic_load(&s->fs_ready))
        return reason_set(why, W_NOT_READY, "no file may be created yet");
    return t->log_path ? logger_links_refuse(s->env, t->log_path, why) : W_SUCCESS;
}

static wstatus update_may_update(const struct session *s, const struct session_terms *t, struct reason *why)
{
    const bool  kernel = t->flags || t->stacks, ways = t->log_path || t->realtime || t->convert;
    const char *name = s->state->name;
    if (!kernel && !t->timer && !t->maximum && !ways)
        return reason_set(why, W_INVALID_PARAMETER, "nothing is named that should change");
    if (kernel && !s->state->kernel)
        return reason_set(why, W_INVALID_PARAMETER,
                          "session \"%s\" holds no kernel events. Do: name one that does, see autologger sessions",
                          name);
    if (s->state->processes.kind)
        return reason_set(why, W_NOT_SUPPORTED,
                          "session \"%s\" is a private one of several processes, which stay as they began", name);
    if (s->state->log_file_mode & ETL_MODE_NONSTOPPABLE)
        return reason_set(why, W_INVALID_PARAMETER, "session \"%s\" was declared NONSTOPPABLE: it can't be changed",
                          name);
    if ((t->timer || t->maximum || ways) && s->state->log_file_mode & ETL_MODE_BUFFERING)
        return reason_set(
            why, W_INVALID_PARAMETER,
            "session \"%s\" is in the mode BUFFERING: it keeps MinimumBuffers, and writes when it is asked to", name);
    if (t->maximum && !t->maximum_buffers)
        return reason_set(why, W_INVALID_PARAMETER, "MaximumBuffers 0 is no number of buffers");
    const bool records = kernel || (t->maximum && session_wants_kernel(s)); /* its sources may not be open yet */
    if (is_ending(s) || (records && (!s->klog || s->sealed)))
        return reason_set(why, W_NOT_READY, "session \"%s\" records no %sevents now", name, records ? "kernel " : "");
    return may_change_file(s, t, why);
}

/* ---- FlushTimer ---- */

/* The logger reads it each time that it wakes. Real time needs a timer, as at the start. */
static void update_timer_set(struct session *s, uint32_t asked)
{
    const uint64_t one   = 1;
    const uint32_t mode  = s->state->log_file_mode;
    const uint32_t timer = asked ? asked : session_timer_least(mode);
    if (timer == s->state->flush_timer)
        return;
    __atomic_store_n(&s->state->flush_timer, timer, __ATOMIC_RELAXED);
    (void)!write(s->wake_fd, &one, sizeof one);
    note_change(s, "FlushTimer is %u %s from then on", timer, mode & ETL_MODE_MS_FLUSH_TIMER ? "ms" : "s");
}

/* ---- MaximumBuffers ---- */

/* The most buffers that there is address space for: in programs, which map it once, and for the kernel's raw
 * records. */
static uint64_t most_buffers(const struct session *s)
{
    const uint64_t buffer = s->state->buffer_kb * UINT64_C(1024);
    /* the other half is for tracepoints */
    const unsigned half     = !s->state->kernel && s->state->tracepoint_count ? 1 : 0;
    const uint32_t capacity = s->uid_count ? stream_set_control(s->uid[0].streams)->chunk_count : 0;
    const uint64_t streams  = s->uid_count ? (uint64_t)capacity << (s->chunk_shift + half) : UINT64_MAX;
    uint64_t       raw      = UINT64_MAX;
    if (s->klog)
        klog_memory(s->klog, &raw);
    raw = raw < UINT64_MAX ? raw << half : raw;
    return (raw < streams ? raw : streams) / buffer;
}

static uint32_t maximum_possible(const struct session *s, const struct session_terms *t, struct condition_list *found)
{
    const uint64_t buffer = s->state->buffer_kb * UINT64_C(1024), most = most_buffers(s),
                   fit    = t->memory_limit ? t->memory_limit / buffer : UINT64_MAX;
    const uint32_t fewest = s->state->minimum_buffers;
    uint64_t       given  = t->maximum_buffers;
    if (given > fit)
        condition_add(found, W_NOT_ENOUGH_MEMORY, false, "MaximumBuffers", "", 0,
                      "ask for fewer, or raise MaxNonPagedPoolUsage",
                      "%llu buffers of %u KB were asked for, memory for %llu is left of what all sessions may have",
                      (unsigned long long)given, s->state->buffer_kb, (unsigned long long)fit);
    given = given < fit ? given : fit;
    if (given > most)
        condition_add(found, W_NOT_ENOUGH_MEMORY, false, "MaximumBuffers", "", 0,
                      "start the session anew with as many as it needs",
                      "address space for %llu buffers was set aside at the start of the session: it cannot have more",
                      (unsigned long long)most);
    given = given < most ? given : most;
    if (given < fewest)
        condition_add(found, W_INVALID_PARAMETER, false, "MaximumBuffers", "", 0, "nothing to do",
                      "the session has MinimumBuffers %u: it cannot have fewer", fewest);
    return given < fewest ? fewest : (uint32_t)given;
}

/* Memory of streams beyond MaximumBuffers comes back as it is written. False: some is left. */
static bool streams_fit(struct logger *l)
{
    struct session *s       = l->s;
    uint32_t        granted = 0;
    pthread_mutex_lock(&s->lock);
    logger_share(l);
    for (unsigned u = 0; u < s->uid_count; u++)
        granted += stream_set_granted(s->uid[u].streams);
    logger_totals(l);
    pthread_mutex_unlock(&s->lock);
    return granted <= s->budget_chunks;
}

static void maximum_store(struct session *s, uint32_t buffers)
{
    struct state_session *st = s->state;
    pthread_mutex_lock(&s->lock);
    __atomic_store_n(&st->maximum_buffers, buffers, __ATOMIC_RELAXED); /* the logger reads it without the lock */
    st->memory_bytes = (uint64_t)buffers * st->buffer_kb * 1024;
    s->budget_chunks = session_budget(st, s->chunk_shift);
    pthread_mutex_unlock(&s->lock);
}

enum { SHRINK_MS = 2000, RAW_MS = 20 };

/* All of it or nothing: the kernel's records exist nowhere else. Each pass writes its buffers, even nearly empty ones,
 * so there are few passes; nearly always one is enough. */
static wstatus shrink_raw(struct logger *l, uint64_t bytes, struct reason *why)
{
    struct klog   *k = l->s->klog;
    wstatus        st;
    struct os     *os    = l->s->env->os;
    const uint64_t until = os->raw_ns(os) + SHRINK_MS * UINT64_C(1000000);
    klog_goal_set(k, bytes);
    for (;; usleep(RAW_MS * 1000)) {
        logger_pass(l, false, true);
        if ((st = klog_resize(k, bytes, why)) != W_BUSY || os->raw_ns(os) >= until)
            break;
    }
    klog_goal_set(k, 0);
    return st;
}

/* On the logger's thread: writes events and records to the file, so that their memory can be taken back, even while
 * more come. A successor makes the kernel's memory as large as the state says: so the state changes after the memory
 * has become less, and before it becomes more. */
static wstatus run_shrink(struct logger *l, struct logger_errand *e)
{
    struct session *s       = l->s;
    struct os      *os      = s->env->os;
    const uint32_t *buffers = e->more;
    const uint64_t  raw     = session_raw_bytes(s->state) / s->state->maximum_buffers * *buffers;
    wstatus         st      = atomic_load(&e->state) == ERRAND_GIVEN_UP ? W_TIMEOUT
                              : s->klog                                 ? shrink_raw(l, raw, &e->why)
                                                                        : W_SUCCESS;
    if (st)
        return st;
    maximum_store(s, *buffers);
    for (const uint64_t until = os->raw_ns(os) + SHRINK_MS * UINT64_C(1000000); os->raw_ns(os) < until;) {
        logger_pass(l, false, true);
        if (streams_fit(l))
            return W_SUCCESS;
        usleep(1000);
    }
    return reason_set(&e->why, W_TIMEOUT,
                      "its programs use more than that at once: what they have is taken back when they use less");
}

static wstatus maximum_grow(struct session *s, uint32_t buffers, struct reason *why)
{
    const uint32_t before = s->state->maximum_buffers;
    maximum_store(s, buffers);
    wstatus status = s->klog ? klog_resize(s->klog, session_raw_bytes(s->state), why) : W_SUCCESS;
    if (status)
        maximum_store(s, before);
    return status;
}

/* ---- waiting ---- */

enum { WAIT_S = 60, WAIT_USER_S = 2 /* users may have many sessions, on storage of their own */, PASS_MS = 20 };

static uint64_t update_now_ns(const struct session_update *u) { return u->s->env->os->raw_ns(u->s->env->os); }

static bool is_late(struct session_update *u)
{
    const uint64_t now = update_now_ns(u);
    if (!u->until_ns)
        u->until_ns = now + u->patience * UINT64_C(1000000000);
    return now >= u->until_ns;
}

/* The drain thread is in a pass: a call that takes the kernel's records would wait for it. *st is set when that has
 * taken too long. */
static bool pass_waits(struct session_update *u, wstatus *st, struct reason *why)
{
    const bool busy = u->s->klog && klog_in_pass(u->s->klog), late = busy && is_late(u);
    if (late)
        *st = reason_set(why, W_TIMEOUT, "what the kernel recorded was not taken within %u s", u->patience);
    return busy && !late;
}

static wstatus session_update_ask(struct session_update *u, wstatus (*run)(struct logger *l, struct logger_errand *e),
                                  const char *file, void *more, struct reason *why)
{
    return session_ask(u->s, run, file, more, u->owner.set ? &u->owner : NULL, &u->errand, why);
}

/* True: the errand is over; *st and *why are its result. */
static bool errand_over(struct session_update *u, wstatus *st, struct reason *why)
{
    const bool done = session_errand_done(u->s, u->errand);
    if (!done && !is_late(u))
        return false;
    *st = done ? u->errand->status : reason_set(why, W_TIMEOUT, "the file was not complete within %u s", u->patience);
    if (done)
        *why = u->errand->why;
    session_errand_end(u->s, u->errand);
    u->errand = NULL;
    return true;
}

/* ---- the step of MaximumBuffers ---- */

static void maximum_note(struct session_update *u, wstatus st, const char *what, const char *advice,
                         const struct reason *why)
{
    struct session *s = u->s;
    if (st)
        condition_add(&u->found, st, false, "MaximumBuffers", "", 0, advice, "%s: %s", what, why->text);
    if (s->state->maximum_buffers != u->before.maximum_buffers)
        note_change(s, "MaximumBuffers is %u from then on, it was %u", s->state->maximum_buffers,
                    u->before.maximum_buffers);
}

static bool grow_step(struct session_update *u)
{
    struct reason why = {0};
    wstatus       st  = W_SUCCESS;
    if (is_ending(u->s)) /* its drain thread holds the lock for long */
        st = reason_set(&why, W_NOT_READY, "the session ends");
    else if (pass_waits(u, &st, &why))
        return false;
    st = st ? st : maximum_grow(u->s, u->buffers, &why);
    maximum_note(u, st, "there is no more memory", "ask for fewer", &why);
    return true;
}

static wstatus shrink_begin(struct session_update *u, struct reason *why)
{
    uint32_t *asked = malloc(sizeof *asked);
    if (!asked)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "not enough memory");
    *asked = u->buffers;
    return session_update_ask(u, run_shrink, NULL, asked, why);
}

static bool shrink_step(struct session_update *u)
{
    struct reason why = {0};
    wstatus       st  = u->errand ? W_SUCCESS : shrink_begin(u, &why);
    if (!st && !errand_over(u, &st, &why))
        return false;
    maximum_note(u, st, "not all memory was given back",
                 u->s->state->maximum_buffers == u->buffers ? "nothing to do" : "ask again when less is written", &why);
    return true;
}

static bool maximum_step(struct session_update *u)
{
    if (!u->t.maximum)
        return true;
    if (!u->counted) {
        u->buffers                = maximum_possible(u->s, &u->t, &u->found);
        u->before.maximum_buffers = u->s->state->maximum_buffers;
        u->counted                = true;
    }
    return u->buffers == u->before.maximum_buffers ||
           (u->buffers > u->before.maximum_buffers ? grow_step : shrink_step)(u);
}

/* ---- file and real time ---- */

static wstatus ways_begin(struct session_update *u)
{
    struct session             *s       = u->s;
    const struct session_terms *t       = &u->t;
    const bool                  deliver = t->convert || (t->realtime ? t->deliver : delivers(s));
    uint32_t                    mode    = deliver ? s->state->log_file_mode | ETL_MODE_REAL_TIME
                                                  : s->state->log_file_mode & ~(uint32_t)ETL_MODE_REAL_TIME;
    struct logger_change       *c       = malloc(sizeof *c);
    if (!c)
        return reason_set(&u->why, W_NOT_ENOUGH_MEMORY, "not enough memory");
    if (t->convert)
        mode &= ~(uint32_t)SESSION_FILE_KINDS;
    *c         = (struct logger_change){mode, deliver, t->convert};
    u->begins  = deliver && !s->realtime;
    wstatus st = u->begins ? s->env->realtime->create(s, &s->realtime, &u->why) : W_SUCCESS;
    u->begins &= !st;
    if (st)
        free(c);
    return st ? st : session_update_ask(u, logger_change, t->log_path, c, &u->why);
}

/* Notes the changes that the logger has made. */
static void ways_note(struct session_update *u)
{
    struct session             *s = u->s;
    const struct session_terms *t = &u->t;
    if (u->why.status)
        condition_add(&u->found, u->why.status, false, "FileName", "", 0, "check the disk",
                      "the file before could not be completed: %s", u->why.text);
    if (t->log_path) {
        snprintf(s->state->file_name, sizeof s->state->file_name, "%s", t->file_name ? t->file_name : t->log_path);
        note_change(s, "events go to %.500s from then on", t->log_path);
    }
    if (t->convert)
        note_change(s, "real time from then on, its file has ended");
    else if (t->realtime)
        note_change(s, "real time is %s from then on", t->deliver ? "on" : "off");
    if (u->keys && !s->state->stack_cache_bytes)
        note_change(s,
                    "stacks are written whole from then on: who listens later could not know the keys of StackCaching");
}

void session_realtime_end(struct session *s)
{
    struct state_realtime *r = &s->state->realtime;
    s->env->realtime->leave(s, false);
    s->env->realtime->destroy(s->realtime);
    s->realtime = NULL;
    /* the numbers continue if real time is switched on again */
    r->delivered = state_slot_word(session_slot(s->state), offsetof(struct state_slot, realtime_end) / 8);
}

/* ---- flags and stacks ---- */

/* Removes conditions of stacks that the new flags and stacks no longer give. */
static void kernel_conditions_end(struct session *s, const struct condition_list *found)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < s->conditions.count; i++) {
        const struct condition *c = &s->conditions.items[i];
        if (c->number != W_NOT_SUPPORTED || !klog_is_hook_reason(c->reason) || update_known(found, c))
            s->conditions.items[kept++] = *c;
    }
    s->conditions.count = kept;
}

static wstatus kernel_change(struct session *s, const struct session_terms *terms, struct condition_list *found,
                             struct reason *why)
{
    struct klog_config config;
    session_cpus(s); /* flags that cannot be opened are not asked for */
    session_klog_config(s, found, &config);
    if (terms->flags)
        memcpy(config.mask, terms->group_mask, sizeof config.mask);
    if (terms->stacks) {
        memcpy(config.hooks, terms->hooks, sizeof config.hooks);
        config.hook_count = terms->hook_count;
    }
    wstatus status = klog_update(s->klog, &config, s->env->keep ? session_keep_klog : NULL, s, why);
    if (status)
        return status;
    memcpy(s->state->group_mask, config.mask, sizeof config.mask);
    memcpy(s->state->hooks, config.hooks, sizeof config.hooks);
    s->state->hook_count = config.hook_count;
    plan_events_report(config.mask, config.hooks, config.hook_count, found);
    return W_SUCCESS;
}

/* Restores flags and stacks. U3: if the session is ending, notes the change instead. */
static void kernel_restore(struct session_update *u)
{
    struct session       *s       = u->s;
    struct condition_list ignored = {0};
    struct reason         why;
    if (is_ending(s))
        note_kernel(s);
    else if (kernel_change(s, &u->before, &ignored, &why) != W_SUCCESS)
        condition_add(&s->conditions, why.status, false, "EnableKernelFlags", "", 0, "update them again",
                      "a change could not be taken back: %s", why.text);
    condition_list_finish(&ignored);
}

static bool kernel_step(struct session_update *u)
{
    if (!u->kernel)
        return true;
    if (pass_waits(u, &u->status, &u->why))
        return false;
    if (!u->status && is_ending(u->s))
        u->status = reason_set(&u->why, W_NOT_READY, "session \"%s\" records no kernel events now", u->s->state->name);
    if (!u->status)
        u->status = kernel_change(u->s, &u->t, &u->found, &u->why);
    if (!u->status)
        kernel_conditions_end(u->s, &u->found);
    return true;
}

static bool ways_step(struct session_update *u)
{
    struct session *s  = u->s;
    wstatus         st = W_SUCCESS;
    if (!u->t.log_path && !u->t.realtime && !u->t.convert)
        return true;
    if (!u->errand) {
        u->why = (struct reason){0};
        st     = ways_begin(u);
    }
    if (!st && !errand_over(u, &st, &u->why))
        return false;
    if (st && u->begins && st != W_TIMEOUT) {
        s->env->realtime->destroy(s->realtime);
        s->realtime = NULL;
    }
    u->status = st;
    if (!st)
        ways_note(u);
    else if (u->kernel)
        kernel_restore(u);
    return true;
}

static bool told_step(struct session_update *u)
{
    if (u->kernel)
        note_kernel(u->s);
    return true;
}

static bool last_step(struct session_update *u)
{
    struct session *s = u->s;
    if (u->t.timer || delivers(s))
        update_timer_set(s, u->t.timer ? u->t.flush_timer : s->state->flush_timer);
    for (unsigned i = 0; i < u->found.count; i++)
        if (!update_known(&s->conditions, &u->found.items[i]))
            pass_on(&s->conditions, &u->found.items[i]);
    return true;
}

/* ---- all of it ---- */

static bool (*const update_steps[])(struct session_update *u) = {kernel_step, ways_step, told_step, maximum_step,
                                                                 last_step};
enum { STEPS = sizeof update_steps / sizeof *update_steps };

static bool texts_keep(struct session_update *u)
{
    const struct session_terms *t = &u->t;
    if (t->log_path)
        u->log_path = strdup(t->log_path);
    if (t->file_name)
        u->file_name = strdup(t->file_name);
    const bool all = (!t->log_path || u->log_path) && (!t->file_name || u->file_name);
    u->t.log_path  = u->log_path;
    u->t.file_name = u->file_name;
    return all;
}

static void update_free(struct session_update *u)
{
    condition_list_finish(&u->found);
    free(u->log_path);
    free(u->file_name);
    free(u);
}

wstatus session_update_begin(struct session *s, const struct session_terms *terms, struct session_update **out,
                             struct reason *why)
{
    const struct state_session *st     = s->state;
    wstatus                     status = update_may_update(s, terms, why);
    if (!status && s->update)
        status = reason_set(why, W_BUSY, "session \"%s\" is being updated already", st->name);
    if (status)
        return status;
    struct session_update *u = calloc(1, sizeof *u);
    if (!u)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "not enough memory");
    u->s        = s;
    u->t        = *terms;
    u->patience = st->owner.set && st->owner.uid ? WAIT_USER_S : WAIT_S;
    u->kernel   = terms->flags || terms->stacks;
    u->before   = (struct session_terms){.flags = true, .stacks = true, .hook_count = st->hook_count};
    u->keys     = st->stack_cache_bytes != 0;
    memcpy(u->before.group_mask, st->group_mask, sizeof u->before.group_mask);
    memcpy(u->before.hooks, st->hooks, sizeof u->before.hooks);
    if (s->env->asks)
        u->owner = *s->env->asks;
    if (!texts_keep(u)) {
        update_free(u);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "not enough memory");
    }
    u->t.realtime &= u->t.deliver != delivers(s); /* it is in this state already */
    /* also because a predecessor did it, and died before it answered */
    u->t.convert &= !session_converted(st);
    s->update    = u;
    s->path_next = u->log_path;
    *out         = u;
    return W_SUCCESS;
}

static bool update_is_over(const struct session_update *u) { return u->status || u->step == STEPS; }

bool session_update_done(struct session_update *u, unsigned *ms)
{
    while (!update_is_over(u)) {
        if (!update_steps[u->step](u)) {
            const uint64_t now = update_now_ns(u), left = u->until_ns > now ? (u->until_ns - now) / 1000000 + 1 : 1;
            *ms = u->errand ? (unsigned)left : PASS_MS;
            return false;
        }
        u->until_ns = 0;
        u->step++;
    }
    return true;
}

wstatus session_update_end(struct session_update *u, struct condition_list *found, struct reason *why)
{
    struct session *s = u->s;
    const wstatus   status =
        update_is_over(u) ? u->status : reason_set(&u->why, W_NOT_READY, "session \"%s\" has ended", s->state->name);
    if (u->errand)
        session_errand_end(s, u->errand);
    for (unsigned i = 0; i < u->found.count; i++)
        pass_on(found, &u->found.items[i]);
    *why         = u->why;
    s->update    = NULL;
    s->path_next = NULL;
    update_free(u);
    return status;
}
