/* autologger status: the result of every declared session and provider. */
#include "autologger/boot/changed.h"
#include "tools/view/quota_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/setup/under_way.h"
#include "tools/setup/untraced.h"
#include "tools/view/result_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct status_args {
    struct cmdline     common;
    struct result_view how;
    bool               check;
    const char        *root;
    uint32_t           boot; /* 0 = the last one */
    bool               wait;
    unsigned           wait_s;
    char               store_path[MACHINE_PATH]; /* the machine's */
};
enum { KEY_WIDE = 0x600, KEY_CHECK, WAIT_S = 900, WAIT_MOST_S = 86400, TELL_S = 10 };

/* What there is to show. */
struct shown {
    const struct status_args *args;
    struct result_list        list;
    bool                      booted;   /* the list is of some boot or rehearsal */
    bool                      untraced; /* the machine's present boot is not the one of the list */
    struct untraced           why_not;  /* of `untraced` */
    bool                      used_up;  /* the machine's present boot was the one that was requested: why_not says so */
    struct under_way          under_way; /* the machine's present boot */
    struct live_user_losses   live;      /* of running sessions */
};

static error_t status_parse(int key, char *arg, struct argp_state *state)
{
    struct status_args *a = state->input;
    switch (key) {
    case KEY_WIDE: a->how.wide = true; return 0;
    case KEY_CHECK: a->check = a->how.failed_only = true; return 0;
    case 'R': a->root = arg; return 0;
    case 'b':
        a->boot = result_number(arg);
        if (!a->boot)
            argp_error(state, "--boot takes the number of a boot, not \"%s\". Do: autologger boots lists them", arg);
        return 0;
    case 'w':
        a->wait   = true;
        a->wait_s = arg ? result_number(arg) : WAIT_S;
        if (!a->wait_s || a->wait_s > WAIT_MOST_S)
            argp_error(state, "--wait takes 1 to %u seconds, not \"%s\"", WAIT_MOST_S, arg);
        return 0;
    case ARGP_KEY_END:
        if (a->wait && a->boot)
            argp_error(state, "--wait is for the present boot, not with --boot");
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\": status takes no arguments. Do: name another store with --store", arg);
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* With --check, rows of another boot do not count: a unit asks about the present one. */
static unsigned failures(const struct shown *s)
{
    unsigned failed = s->args->check && s->untraced ? 0 : result_view_undone(&s->list);
    return failed + (s->untraced && !s->under_way.now && s->why_not.failed);
}

/* True: there are rows to judge, or a boot is under way that will give some. */
static bool anything(const struct shown *s) { return s->booted || s->under_way.now; }

static void show_under_way(const struct shown *s)
{
    visible_printf(stdout, "boot %u is being traced; %s\n    do:  autologger status --wait, or look at it later\n",
                   s->under_way.number, s->under_way.ends);
}

static int show_text(const struct shown *s)
{
    const struct status_args *a      = s->args;
    unsigned                  failed = failures(s);
    struct result_view        how    = a->how;
    how.live                         = &s->live;
    fflush(stdout);
    if (s->under_way.now && !s->booted)
        show_under_way(s);
    else if (s->untraced && !s->under_way.now && (a->check || !s->booted))
        visible_printf(a->check ? stdout : stderr, "%s%s: %s. Do: %s\n", a->check ? "" : "autologger status: ",
                       s->booted ? "this boot was not traced" : "no boot was traced yet", s->why_not.reason,
                       s->why_not.advice);
    else if (!s->booted && a->check)
        puts("nothing was booted yet");
    else if (!s->booted)
        visible_printf(stderr,
                       "autologger status: nothing was booted yet with %s. Do: autologger rehearse --store %s\n",
                       a->common.store, a->common.store);
    else if (failed || !a->check)
        result_view_print(&s->list, &how, stdout);
    if (s->booted && s->under_way.now && !a->check) {
        putchar('\n');
        show_under_way(s);
    } else if (s->untraced && s->booted && !a->check) {
        visible_printf(stdout, "\nNot of this boot, which was not traced: %s\n    do:  %s\n", s->why_not.reason,
                       s->why_not.advice);
    } else if (s->used_up && !a->check) {
        visible_printf(stdout, "\nThis boot was %s\n    do:  %s\n", s->why_not.reason, s->why_not.advice);
    }
    if (!a->check)
        quota_print(&s->live.state, stdout);
    return failed || (!anything(s) && !a->check) ? VERB_FAILED : VERB_FINE;
}

static int show_json(const struct shown *s)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    result_view_json(&s->list, &s->live, j);
    json_flag(j, "this_boot", s->booted && !s->untraced);
    json_object(j, "untraced");
    json_text(j, "reason", s->why_not.reason);
    json_text(j, "advice", s->why_not.advice);
    json_flag(j, "failed", s->why_not.failed);
    json_object_end(j);
    json_flag(j, "used_up", s->used_up);
    quota_json(&s->live.state, j);
    json_object(j, "under_way");
    json_flag(j, "now", s->under_way.now);
    json_number(j, "number", s->under_way.number);
    json_text(j, "ends", s->under_way.ends);
    json_object_end(j);
    json_object_end(j);
    json_destroy(j);
    return failures(s) || (!anything(s) && !s->args->check) ? VERB_FAILED : VERB_FINE;
}

/* Only the machine's own store concerns the machine's boots. */
static wstatus status_look(struct status_args *a, struct regstore **store, struct shown *s, struct reason *why)
{
    struct machine m;
    char           boot_id[64];
    bool           machines = !a->boot && (a->root || !a->common.store_given);
    wstatus        st       = store_access_machine(&a->common, a->root, &m, a->store_path, why);
    st                      = st ? st : store_access_open(&a->common, false, store, why);
    if (st)
        return st;
    st        = a->boot ? result_load_number(*store, a->boot, &s->list, why) : result_load(*store, &s->list, why);
    s->booted = st == W_SUCCESS;
    if (st && (a->boot || st != W_FILE_NOT_FOUND))
        return st;
    if (!a->boot)
        changed_note(&s->list, *store);
    under_way_boot_id(&m, boot_id);
    a->how.alive = s->booted && strcmp(s->list.boot_id, boot_id) == 0;
    if (a->how.alive && !a->root)
        live_losses_take(a->common.store, &s->list, &s->live);
    s->untraced = machines && (!s->booted || s->list.rehearsal || strcmp(s->list.boot_id, boot_id) != 0);
    if (machines)
        under_way_look(&m, *store, s->booted ? &s->list : NULL, &s->under_way);
    if (machines && !s->under_way.now) {
        struct untraced_facts facts;
        untraced_look(&m, *store, &facts);
        s->used_up = !s->untraced && facts.used_up;
        if (s->untraced)
            untraced_explain(&facts, &s->why_not);
        else if (s->used_up)
            untraced_used_up(&facts, &s->why_not);
    }
    return W_SUCCESS;
}

/* ---- waiting ---- */

static void look_away(struct regstore **store, struct shown *s)
{
    live_losses_finish(&s->live);
    result_list_finish(&s->list);
    regstore_close(*store);
    *store = NULL;
    *s     = (struct shown){.args = s->args};
}

/* Shows the time waited: on a terminal each second in one line, else a line every TELL_S seconds. */
static void status_tell(const struct shown *s, unsigned waited)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (terminal)
        fprintf(stderr, "\rboot %u is being traced; waiting for its end: %u s ", s->under_way.number, waited);
    else if (waited % TELL_S == 0)
        visible_printf(stderr, "boot %u is being traced; %s (waited %u s)\n", s->under_way.number, s->under_way.ends,
                       waited);
}

/* With --wait, looks until the present boot is over. W_TIMEOUT: it was not over in time. */
static wstatus look_and_wait(struct status_args *a, struct regstore **store, struct shown *s, struct reason *why)
{
    unsigned waited = 0;
    wstatus  st     = status_look(a, store, s, why);
    for (; a->wait && !st && s->under_way.now && waited < a->wait_s; waited++) {
        status_tell(s, waited);
        look_away(store, s);
        sleep(1);
        st = status_look(a, store, s, why);
    }
    if (waited && isatty(STDERR_FILENO) == 1)
        visible_printf(stderr, "\r%*s\r", 70, "");
    if (a->wait && !st && s->under_way.now)
        return reason_set(
            why, W_TIMEOUT,
            "boot %u is still being traced after %u s. Do: wait longer (--wait=SECONDS), or end it: autologger stop --merge",
            s->under_way.number, waited);
    return st;
}

int cmd_status(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"wide", KEY_WIDE, NULL, 0, "names and reasons whole, however long the lines", 0},
        {"check", KEY_CHECK, NULL, 0, "for a unit or a script: only what failed, and nothing when nothing did", 0},
        {"boot", 'b', "N", 0, "of boot N, as 'autologger boots' lists them (default: the last one)", 0},
        {"root", 'R', "DIR", 0, "of the machine whose root is DIR (an image)", 0},
        {"wait", 'w', "SECONDS", OPTION_ARG_OPTIONAL,
         "while the present boot is being traced: wait for its end, so long at most (900)", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options,
        status_parse,
        "",
        CMDLINE_DOC(
            "What became of every session and provider at the last boot or rehearsal: events, losses, buffers, Status, "
            "why, what to do, where it was declared; what was asked for and given. When this boot was not traced: why not. "
            "While it is being traced: that, and when it ends.",
            "  autologger status\n  autologger status --wait\n  autologger status --store r.db"),
        NULL,
        NULL,
        NULL};
    struct status_args a     = {0};
    struct shown       s     = {.args = &a};
    struct regstore   *store = NULL;
    struct reason      why   = {0};
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = look_and_wait(&a, &store, &s, &why);
    if (st == W_FILE_NOT_FOUND && a.check && !a.boot) {
        puts("nothing was booted yet");
        code = VERB_FINE;
    } else if (st) {
        code = failure_print_about(ABOUT_STORE, "autologger status", st, &why);
        code = st == W_TIMEOUT ? VERB_FAILED : code; /* nothing was refused */
    } else {
        code = a.common.json ? show_json(&s) : show_text(&s);
    }
    live_losses_finish(&s.live);
    result_list_finish(&s.list);
    regstore_close(store);
    return code;
}
