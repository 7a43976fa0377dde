/* autologger status: what became of every declared session and provider. */
#include "autologger/boot/changed.h"
#include "tools/result_view.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <stdio.h>

struct status_args {
    struct cmdline     common;
    struct result_view how;
    bool               check;
};
enum { KEY_WIDE = 0x600, KEY_CHECK };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct status_args *a = state->input;
    switch (key) {
    case KEY_WIDE: a->how.wide = true; return 0;
    case KEY_CHECK: a->check = a->how.failed_only = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "\"%s\": status takes no arguments. Do: name another store with --store", arg); return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

static int show(const struct result_list *list, const struct status_args *a)
{
    unsigned failed = result_view_failed(list);
    if (!a->common.json) {
        if (failed || !a->check)
            result_view_print(list, &a->how, stdout);
        return failed ? VERB_FAILED : VERB_FINE;
    }
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    result_view_json(list, j);
    json_object_end(j);
    json_destroy(j);
    return failed ? VERB_FAILED : VERB_FINE;
}

int cmd_status(int argc, char **argv)
{
    static const struct argp_option options[] = {
        OPT_STORE,
        {"wide", KEY_WIDE, NULL, 0, "names and reasons whole, however long the lines", 0},
        {"check", KEY_CHECK, NULL, 0, "for a unit or a script: only what failed, and nothing when nothing did", 0},
        OPT_JSON,
        {0},
    };
    static const struct argp argp = {
        options, parse, "",
        CMDLINE_DOC("What became of every session and provider at the last boot or rehearsal: events, losses, buffers, Status, "
                    "why, what to do, where it was declared; what was asked for and given.",
                    "  autologger status --store r.db"),
        NULL, NULL, NULL};
    struct status_args a     = {0};
    struct regstore   *store = NULL;
    struct result_list list  = {0};
    struct reason      why   = {0};
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = store_access_open(&a.common, false, &store, &why);
    st         = st ? st : result_load(store, &list, &why);
    if (st == W_FILE_NOT_FOUND && a.check) {
        puts("nothing was booted yet");
        code = VERB_FINE;
    } else if (st == W_FILE_NOT_FOUND && store) {
        fprintf(stderr, "autologger status: nothing was booted yet with %s. Do: autologger rehearse --store %s\n", a.common.store,
                a.common.store);
        code = VERB_FAILED;
    } else if (st) {
        code = failure_print_about(ABOUT_STORE, "autologger status", st, &why);
    } else {
        changed_note(&list, store);
        code = show(&list, &a);
    }
    result_list_finish(&list);
    regstore_close(store);
    return code;
}
