/* autologger status: what became of every declared session and provider. */
#include "autologger/boot/changed.h"
#include "tools/result_view.h"
#include "tools/store_access.h"
#include "tools/untraced.h"
#include "tools/verb.h"

#include <stdio.h>
#include <string.h>

struct status_args {
    struct cmdline     common;
    struct result_view how;
    bool               check;
    const char        *root;
    uint32_t           boot; /* 0 = the last one */
    char               store_path[MACHINE_PATH]; /* the machine's */
};
enum { KEY_WIDE = 0x600, KEY_CHECK };

/* What there is to show. */
struct shown {
    const struct status_args *args;
    struct result_list        list;
    bool                      booted;   /* the list is of some boot or rehearsal */
    bool                      untraced; /* the machine's present boot is not the one of the list */
    struct untraced           why_not;  /* of `untraced` */
};

static error_t parse(int key, char *arg, struct argp_state *state)
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
    case ARGP_KEY_ARG: argp_error(state, "\"%s\": status takes no arguments. Do: name another store with --store", arg); return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

/* Rows of another boot are not what a unit of this one asks for. */
static unsigned failures(const struct shown *s)
{
    unsigned failed = s->args->check && s->untraced ? 0 : result_view_undone(&s->list);
    return failed + (s->untraced && s->why_not.failed);
}

static int show_text(const struct shown *s)
{
    const struct status_args *a = s->args;
    unsigned                  failed = failures(s);
    fflush(stdout);
    if (s->untraced && (a->check || !s->booted))
        fprintf(a->check ? stdout : stderr, "%s%s: %s. Do: %s\n", a->check ? "" : "autologger status: ",
                s->booted ? "this boot was not traced" : "no boot was traced yet", s->why_not.reason, s->why_not.advice);
    else if (!s->booted && a->check)
        puts("nothing was booted yet");
    else if (!s->booted)
        fprintf(stderr, "autologger status: nothing was booted yet with %s. Do: autologger rehearse --store %s\n", a->common.store,
                a->common.store);
    else if (failed || !a->check)
        result_view_print(&s->list, &a->how, stdout);
    if (s->untraced && s->booted && !a->check)
        printf("\nNot of this boot, which was not traced: %s\n    do:  %s\n", s->why_not.reason, s->why_not.advice);
    return failed || (!s->booted && !a->check) ? VERB_FAILED : VERB_FINE;
}

static int show_json(const struct shown *s)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    result_view_json(&s->list, j);
    json_flag(j, "this_boot", s->booted && !s->untraced);
    json_object(j, "untraced");
    json_text(j, "reason", s->why_not.reason);
    json_text(j, "advice", s->why_not.advice);
    json_flag(j, "failed", s->why_not.failed);
    json_object_end(j);
    json_object_end(j);
    json_destroy(j);
    return failures(s) || (!s->booted && !s->args->check) ? VERB_FAILED : VERB_FINE;
}

/* Only the machine's own store has anything to do with the machine's boots. */
static wstatus look(struct status_args *a, struct regstore **store, struct shown *s, struct reason *why)
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
    untraced_boot_id(&m, boot_id);
    a->how.alive = s->booted && strcmp(s->list.boot_id, boot_id) == 0;
    s->untraced = machines && (!s->booted || s->list.rehearsal || strcmp(s->list.boot_id, boot_id) != 0);
    if (s->untraced) {
        struct untraced_facts facts;
        untraced_look(&m, *store, &facts);
        untraced_explain(&facts, &s->why_not);
    }
    return W_SUCCESS;
}

int cmd_status(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"wide", KEY_WIDE, NULL, 0, "names and reasons whole, however long the lines", 0},
        {"check", KEY_CHECK, NULL, 0, "for a unit or a script: only what failed, and nothing when nothing did", 0},
        {"boot", 'b', "N", 0, "of boot N, as 'autologger boots' lists them (default: the last one)", 0},
        {"root", 'R', "DIR", 0, "of the machine whose root is DIR (an image)", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options, parse, "",
        CMDLINE_DOC("What became of every session and provider at the last boot or rehearsal: events, losses, buffers, Status, "
                    "why, what to do, where it was declared; what was asked for and given. When this boot was not traced: why not.",
                    "  autologger status\n  autologger status --store r.db"),
        NULL, NULL, NULL};
    struct status_args a     = {0};
    struct shown       s     = {.args = &a};
    struct regstore   *store = NULL;
    struct reason      why   = {0};
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = look(&a, &store, &s, &why);
    if (st == W_FILE_NOT_FOUND && a.check && !a.boot) {
        puts("nothing was booted yet");
        code = VERB_FINE;
    } else if (st) {
        code = failure_print_about(ABOUT_STORE, "autologger status", st, &why);
    } else {
        code = a.common.json ? show_json(&s) : show_text(&s);
    }
    result_list_finish(&s.list);
    regstore_close(store);
    return code;
}
