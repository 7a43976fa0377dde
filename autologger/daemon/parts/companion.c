#include "autologger/daemon/parts/companion.h"

#include "autologger/daemon/child.h"
#include "autologger/kernel/source/reach.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { KNOWN_BYTES = 1 << 20, ROWS = 64, AGAIN_FIRST_S = 1, AGAIN_MOST_S = 60 };

struct companion {
    const struct companion_kind *kind;
    struct companion_options     options;
    struct beside                beside;
    struct beside_host           host;
    struct child                 child;
    int                          known_fd, timer_fd;
    unsigned                     again_s; /* delay before it is started again */
    bool                         begun;
    char                         rows[ROWS][COMPANION_ROW]; /* what it was started for */
    unsigned                     count;
};

/* Calls `each` for the enablements that want the provider. */
static void for_each(struct companion *p,
                     void (*each)(struct companion *p, const struct session *s, const struct state_enable *e,
                                  void *ctx),
                     void *ctx)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        const struct session *s = p->host.table->slot[i];
        for (unsigned k = 0; s && k < STATE_ENABLES && *s->state->enable[k].key; k++)
            if (s->state->enable[k].in_use && p->kind->wants(&s->state->enable[k]))
                each(p, s, &s->state->enable[k], ctx);
    }
}

/* ---- conditions ---- */

struct trouble {
    const char *reason, *advice;
};

/* One condition a row: a successor finds it there. */
static void trouble_add(struct companion *p, const struct session *s, const struct state_enable *e, void *ctx)
{
    const struct trouble *t   = ctx;
    struct result_row    *row = result_find_key(p->host.rows, e->key);
    (void)s;
    for (unsigned i = 0; row && i < row->conditions.count; i++)
        if (strcmp(row->conditions.items[i].item, p->kind->item) == 0)
            row = NULL;
    if (!row)
        return;
    condition_add(&row->conditions, W_NOT_SUPPORTED, true, p->kind->item, row->source_file, row->source_line, t->advice,
                  "%s", t->reason);
    eventfd_write(p->host.changed_fd, 1);
}

static void trouble(struct companion *p, const char *reason, const char *advice)
{
    struct trouble t = {reason, advice};
    for_each(p, trouble_add, &t);
}

/* ---- the program ---- */

static void companion_row_add(struct companion *p, const struct session *s, const struct state_enable *e, void *ctx)
{
    char(*rows)[COMPANION_ROW] = ctx;
    char     text[COMPANION_ROW];
    unsigned n = 0;

    p->kind->row(s, e, text);
    while (n < ROWS && *rows[n] && strcmp(rows[n], text) != 0)
        n++;
    if (n < ROWS)
        memcpy(rows[n], text, sizeof text);
}

static void companion_timer_set(struct companion *p, unsigned seconds)
{
    struct itimerspec t = {.it_value = {(time_t)seconds, 0}};
    timerfd_settime(p->timer_fd, 0, &t, NULL);
}

static void companion_later(struct companion *p)
{
    p->again_s = p->again_s ? 2 * p->again_s : AGAIN_FIRST_S;
    p->again_s = p->again_s < AGAIN_MOST_S ? p->again_s : AGAIN_MOST_S;
    companion_timer_set(p, p->again_s);
}

static void companion_start(struct companion *p)
{
    char               program[PROGRAM_PATH], known[64];
    char              *argv[12 + 2 * ROWS];
    unsigned           n = 0;
    struct epoll_event e = {.events = EPOLLIN};

    if (!program_beside(p->kind->program, program)) {
        snprintf(known, sizeof known, "the program %s is not installed", p->kind->program);
        trouble(p, known, "install all of autologger's packages");
        return;
    }
    snprintf(known, sizeof known, "/proc/%d/fd/%d", (int)getpid(), p->known_fd);
    argv[n++] = program;
    argv[n++] = (char *)"--runtime-dir";
    argv[n++] = (char *)(uintptr_t)p->host.runtime_dir;
    if (p->kind->keeps) {
        argv[n++] = (char *)"--known";
        argv[n++] = known;
    }
    if (p->options.option_value) {
        argv[n++] = (char *)(uintptr_t)p->options.option;
        argv[n++] = (char *)(uintptr_t)p->options.option_value;
    }
    for (unsigned i = 0; p->kind->row_option && i < p->count; i++) {
        argv[n++] = (char *)(uintptr_t)p->kind->row_option;
        argv[n++] = p->rows[i];
    }
    const int given = p->kind->reaches && reach_is_far() ? reach_again() : -1;
    if (given >= 0) {
        argv[n++] = (char *)"--reach";
        argv[n++] = (char *)"3"; /* CHILD_GIVEN */
    }
    argv[n]            = NULL;
    const bool started = child_start(&p->child, argv, given);
    if (given >= 0)
        close(given);
    if (!started) {
        companion_later(p);
        return;
    }
    e.data.fd = p->child.end_fd;
    epoll_ctl(p->host.epoll_fd, EPOLL_CTL_ADD, p->child.end_fd, &e);
}

static void companion_ended(struct companion *p)
{
    char text[CHILD_TEXT], reason[220];
    int  code;

    if (!child_ended(&p->child, &code, text))
        return;
    text[strcspn(text, "\n")] = 0;
    snprintf(reason, sizeof reason, "the provider of %s ended (%d) and is started again%s%s", p->kind->what, code,
             *text ? ": " : "", text);
    trouble(p, reason, p->kind->ended_advice);
    companion_later(p);
}

/* ---- for the service ---- */

static void companion_step(void *ctx)
{
    struct companion *p = ctx;
    uint64_t          expired;
    char              rows[ROWS][COMPANION_ROW];

    if (!p->begun)
        return;
    for (unsigned i = 0; i < ROWS; i++)
        *rows[i] = 0;
    for_each(p, companion_row_add, rows);
    unsigned count = 0;
    bool     same  = true;
    for (; count < ROWS && *rows[count]; count++)
        same &= count < p->count && strcmp(rows[count], p->rows[count]) == 0;
    if (p->child.pid)
        companion_ended(p);
    if (same && count == p->count) {
        if (count && !p->child.pid && read(p->timer_fd, &expired, sizeof expired) == sizeof expired)
            companion_start(p);
        return;
    }
    child_finish(&p->child);
    memcpy(p->rows, rows, sizeof rows);
    p->count = count;
    if (!count)
        return;
    if (p->options.needs && access(p->options.needs, F_OK) < 0)
        trouble(p, p->kind->needs_reason, p->kind->needs_advice);
    else
        companion_start(p);
}

static void companion_begin(void *ctx, const struct beside_host *host)
{
    struct companion  *p = ctx;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = p->timer_fd};

    p->host = *host;
    if (p->kind->keeps) {
        p->known_fd = handed_take(host->handed, p->kind->keeps);
        if (p->known_fd < 0 &&
            (p->known_fd = os_linux()->shm_create(os_linux(), p->kind->program, KNOWN_BYTES, 0)) >= 0)
            handed_keep(host->handed, p->kind->keeps, p->known_fd, 0);
    }
    p->begun = (p->known_fd >= 0 || !p->kind->keeps) && epoll_ctl(host->epoll_fd, EPOLL_CTL_ADD, p->timer_fd, &e) == 0;
    companion_step(p);
}

static void companion_end(void *ctx)
{
    struct companion *p = ctx;
    child_finish(&p->child);
    p->begun = false;
}

struct companion *companion_create(const struct companion_kind *kind, const struct companion_options *options,
                                   const struct beside *next)
{
    struct companion *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->kind     = kind;
    p->options  = *options;
    p->beside   = (struct beside){p, companion_begin, companion_step, companion_end, next};
    p->child    = (struct child){0, -1, -1};
    p->known_fd = -1;
    p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return p;
}

const struct beside *companion_part(const struct companion *p) { return p ? &p->beside : NULL; }

void companion_destroy(struct companion *p)
{
    if (!p)
        return;
    child_finish(&p->child);
    if (p->known_fd >= 0)
        close(p->known_fd);
    if (p->timer_fd >= 0)
        close(p->timer_fd);
    free(p);
}
