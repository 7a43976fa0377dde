#include "autologger/daemon/unit_provider.h"

#include "autologger/daemon/child.h"
#include "registry-sim/base/os.h"
#include "registry-sim/base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PROGRAM "autologger-units"
enum { KNOWN_BYTES = 1 << 20, ROWS = 64, ROW_TEXT = 40 + 8 + STATE_UNITS, AGAIN_FIRST_S = 1, AGAIN_MOST_S = 60 };

struct unit_provider {
    struct unit_provider_options options;
    struct beside                beside;
    struct beside_host           host;
    struct child                 child;
    int                          known_fd, timer_fd;
    unsigned                     again_s; /* before it is started again */
    bool                         begun;
    char                         rows[ROWS][ROW_TEXT]; /* what it was started for */
    unsigned                     count;
};

static const struct guid control_manager = UNITS_GUID;

static bool is_units(const struct state_enable *e)
{
    return e->in_use && (*e->units || memcmp(&e->guid, &control_manager, sizeof e->guid) == 0);
}

/* Calls `each` for the enablements that want units. */
static void for_each(struct unit_provider *p, void (*each)(struct unit_provider *p, const struct session *s, const struct state_enable *e, void *ctx),
                     void *ctx)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        const struct session *s = p->host.table->slot[i];
        for (unsigned k = 0; s && k < STATE_ENABLES && *s->state->enable[k].key; k++)
            if (is_units(&s->state->enable[k]))
                each(p, s, &s->state->enable[k], ctx);
    }
}

/* ---- conditions ---- */

struct trouble {
    const char *reason, *advice;
};

/* Once in a row: a successor finds it there. */
static void trouble_add(struct unit_provider *p, const struct session *s, const struct state_enable *e, void *ctx)
{
    const struct trouble *t   = ctx;
    struct result_row    *row = result_find_key(p->host.rows, e->key);
    (void)s;
    for (unsigned i = 0; row && i < row->conditions.count; i++)
        if (strcmp(row->conditions.items[i].item, UNITS_ITEM) == 0)
            row = NULL;
    if (!row)
        return;
    condition_add(&row->conditions, W_NOT_SUPPORTED, true, UNITS_ITEM, row->source_file, row->source_line, t->advice, "%s", t->reason);
    eventfd_write(p->host.changed_fd, 1);
}

static void trouble(struct unit_provider *p, const char *reason, const char *advice)
{
    struct trouble t = {reason, advice};
    for_each(p, trouble_add, &t);
}

/* ---- the program ---- */

static void row_add(struct unit_provider *p, const struct session *s, const struct state_enable *e, void *ctx)
{
    (void)p;
    char(*rows)[ROW_TEXT] = ctx;
    unsigned n            = 0;
    char     guid[40];

    while (n < ROWS && *rows[n])
        n++;
    if (n == ROWS)
        return;
    guid_format(&e->guid, guid);
    snprintf(rows[n], ROW_TEXT, "%s,%u,%s", guid, s->state->index, e->units);
}

static bool find(const struct unit_provider *p, char out[PROGRAM_PATH])
{
    if (!p->options.program)
        return program_beside(PROGRAM, out);
    snprintf(out, PROGRAM_PATH, "%s", p->options.program);
    return true;
}

static void timer_set(struct unit_provider *p, unsigned seconds)
{
    struct itimerspec t = {.it_value = {(time_t)seconds, 0}};
    timerfd_settime(p->timer_fd, 0, &t, NULL);
}

static void later(struct unit_provider *p)
{
    p->again_s = p->again_s ? 2 * p->again_s : AGAIN_FIRST_S;
    p->again_s = p->again_s < AGAIN_MOST_S ? p->again_s : AGAIN_MOST_S;
    timer_set(p, p->again_s);
}

static void start(struct unit_provider *p)
{
    char               program[PROGRAM_PATH], known[64];
    char              *argv[10 + 2 * ROWS];
    unsigned           n = 0;
    struct epoll_event e = {.events = EPOLLIN};

    if (!find(p, program)) {
        trouble(p, "units are not known: the program " PROGRAM " is not installed", "install all of autologger's packages");
        return;
    }
    snprintf(known, sizeof known, "/proc/%d/fd/%d", (int)getpid(), p->known_fd);
    argv[n++] = program;
    argv[n++] = (char *)"--known";
    argv[n++] = known;
    argv[n++] = (char *)"--runtime-dir";
    argv[n++] = (char *)(uintptr_t)p->host.runtime_dir;
    if (p->options.bus) {
        argv[n++] = (char *)"--bus";
        argv[n++] = (char *)(uintptr_t)p->options.bus;
    }
    for (unsigned i = 0; i < p->count; i++) {
        argv[n++] = (char *)"--provider";
        argv[n++] = p->rows[i];
    }
    argv[n] = NULL;
    if (!child_start(&p->child, argv)) {
        later(p);
        return;
    }
    e.data.fd = p->child.end_fd;
    epoll_ctl(p->host.epoll_fd, EPOLL_CTL_ADD, p->child.end_fd, &e);
}

static void ended(struct unit_provider *p)
{
    char text[CHILD_TEXT], reason[220];
    int  code;

    if (!child_ended(&p->child, &code, text))
        return;
    text[strcspn(text, "\n")] = 0;
    snprintf(reason, sizeof reason, "the provider of units ended (%d) and is started again%s%s", code, *text ? ": " : "", text);
    trouble(p, reason, "nothing, if this was a moment; else see whether systemctl answers");
    later(p);
}

/* ---- for the service ---- */

static void step(void *ctx)
{
    struct unit_provider *p = ctx;
    uint64_t              expired;
    char                  rows[ROWS][ROW_TEXT];

    if (!p->begun)
        return;
    for (unsigned i = 0; i < ROWS; i++)
        *rows[i] = 0;
    for_each(p, row_add, rows);
    unsigned count = 0;
    bool     same  = true;
    for (; count < ROWS && *rows[count]; count++)
        same &= count < p->count && strcmp(rows[count], p->rows[count]) == 0;
    if (p->child.pid)
        ended(p);
    if (same && count == p->count) {
        if (count && !p->child.pid && read(p->timer_fd, &expired, sizeof expired) == sizeof expired)
            start(p);
        return;
    }
    child_finish(&p->child);
    memcpy(p->rows, rows, sizeof rows);
    p->count = count;
    if (!count)
        return;
    if (access(p->options.systemd_dir, F_OK) < 0)
        trouble(p, "units are not known: systemd does not run here; what there is of services is their processes",
                "nothing: kernel events (PROC_THREAD) show the processes");
    else
        start(p);
}

static void begin(void *ctx, const struct beside_host *host)
{
    struct unit_provider *p = ctx;
    struct epoll_event    e = {.events = EPOLLIN, .data.fd = p->timer_fd};

    p->host     = *host;
    p->known_fd = handed_take(host->handed, "units");
    if (p->known_fd < 0 && (p->known_fd = os_linux()->shm_create(os_linux(), "autologger-units", KNOWN_BYTES, 0)) >= 0)
        handed_keep(host->handed, "units", p->known_fd, 0);
    p->begun = p->known_fd >= 0 && epoll_ctl(host->epoll_fd, EPOLL_CTL_ADD, p->timer_fd, &e) == 0;
    step(p);
}

static void end(void *ctx)
{
    struct unit_provider *p = ctx;
    child_finish(&p->child);
    p->begun = false;
}

struct unit_provider *unit_provider_create(const struct unit_provider_options *options)
{
    struct unit_provider *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->options  = *options;
    p->beside   = (struct beside){p, begin, step, end};
    p->child    = (struct child){0, -1, -1};
    p->known_fd = -1;
    p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return p;
}

const struct beside *unit_provider_beside(struct unit_provider *p) { return &p->beside; }

void unit_provider_destroy(struct unit_provider *p)
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
