/* autologger status: what became of every declared session and provider. */
#include "tools/result_view.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <stdio.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\": status takes no arguments. Do: name another store with --store", arg);
    return cmdline_option(state->input, key, arg);
}

static int show(const struct result_list *list, bool as_json)
{
    if (!as_json) {
        result_view_print(list, stdout);
        return result_view_failed(list) ? VERB_FAILED : VERB_FINE;
    }
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    result_view_json(list, j);
    json_object_end(j);
    json_destroy(j);
    return result_view_failed(list) ? VERB_FAILED : VERB_FINE;
}

int cmd_status(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_STORE, OPT_JSON, {0}};
    static const struct argp        argp      = {
        options, parse, "",
        CMDLINE_DOC("What became of every session and provider at the last boot or rehearsal: Status, why, what to do, where "
                    "it was declared; what was asked for and given; losses.",
                    "  autologger status --store r.db"),
        NULL, NULL, NULL};
    struct cmdline     c     = {0};
    struct regstore   *store = NULL;
    struct result_list list  = {0};
    struct reason      why   = {0};
    int                code;
    if (!cmdline_parse(&argp, argc, argv, &c, &code))
        return code;
    wstatus st = store_access_open(&c, false, &store, &why);
    if (!st && (st = result_load(store, &list, &why)) == W_FILE_NOT_FOUND) {
        fprintf(stderr, "autologger status: nothing was booted yet with %s. Do: autologger rehearse --store %s\n", c.store,
                c.store);
        code = VERB_FAILED;
    } else if (st) {
        code = failure_print_about(ABOUT_STORE, "autologger status", st, &why);
    } else {
        code = show(&list, c.json);
    }
    result_list_finish(&list);
    regstore_close(store);
    return code;
}
