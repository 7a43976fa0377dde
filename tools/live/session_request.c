/* session_request.c - see session_request.h. */
#include "tools/live/session_request.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"

struct request_args {
    struct cmdline                common;
    const struct session_request *request;
    const char                   *name;
    bool                          option;
};

static error_t session_request_parse(int key, char *arg, struct argp_state *state)
{
    struct request_args *a = state->input;
    if (a->request->option && key == a->request->option->key) {
        a->option = true;
        return 0;
    }
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->name)
            argp_error(state, "one session at a time");
        a->name = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->name)
            argp_error(state, "the session's NAME is missing. Do: autologger sessions");
        return 0;
    default: return cmdline_option(&a->common, key, arg);
    }
}

int session_request_run(const struct session_request *request, int argc, char **argv)
{
    static const struct argp_option none = {0};
    const struct argp_option options[]   = {OPT_RUNTIME_DIR, OPT_JSON, request->option ? *request->option : none, {0}};
    const struct argp        argp        = {options, session_request_parse, "NAME", request->doc, NULL, NULL, NULL};
    struct request_args      a           = {.request = request};
    struct control_client   *client      = NULL;
    struct ctl_session_info  info        = {0};
    struct reason            why         = {0};
    int                      code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = control_open(a.common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, request->verb, st, &why);
    st = (a.option ? request->ask_option : request->ask)(client, a.name, &info, &why);
    control_close(client);
    if (st)
        return failure_print(request->verb, st, &why);
    request->report(&info, &a.common);
    return VERB_FINE;
}
