/* autologger snapshot: the present content of a session, as a file of its own. */
#include "autologger/control/client.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/cmdline.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/view/session_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct snapshot_args {
    struct cmdline common;
    const char    *name, *output;
};

static error_t snapshot_parse(int key, char *arg, struct argp_state *state)
{
    struct snapshot_args *a = state->input;
    switch (key) {
    case 'o': a->output = arg; return 0;
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

/* NAME-20261122T101500.etl */
static const char *default_name(const char *session, char *out, size_t size)
{
    char      when[32];
    time_t    now = time(NULL);
    struct tm tm;
    strftime(when, sizeof when, "%Y%m%dT%H%M%S", localtime_r(&now, &tm));
    snprintf(out, size, "%s-%s.etl", session, when);
    return out;
}

static void snapshot_report(const struct ctl_update_answer *answer, bool as_json)
{
    struct json *j = as_json ? json_create(stdout, true) : NULL;
    if (!j) {
        visible_printf(stdout, "snapshot of \"%s\": %s\n", answer->session.name, answer->text);
        return;
    }
    json_object(j, NULL);
    json_text(j, "file", answer->text);
    session_view_json(&answer->session, NULL, NULL, "session", j);
    json_object_end(j);
    json_destroy(j);
}

int cmd_snapshot(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "the file, in the daemon's log folder (default NAME and the time)", 0},
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp = {
        options,
        snapshot_parse,
        "NAME",
        CMDLINE_DOC(
            "Write what a session has now into a file of its own: the ring of a BUFFERING session, or all of its log file so far. The session "
            "goes on, and its content stays as it is: two snapshots share events.",
            "  autologger snapshot blackbox --output crash.etl"),
        NULL,
        NULL,
        NULL};
    struct snapshot_args   a      = {0};
    struct control_client *client = NULL;
    struct reason          why    = {0};
    char                   made[CTL_NAME + 64];
    int                    code;
    if (!cmdline_parse(&argp, argc, argv, &a, &code))
        return code;
    wstatus st = control_open(a.common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger snapshot", st, &why);
    struct ctl_update_answer *answer = calloc(1, sizeof *answer);
    st                               = answer
                                           ? control_file(client, a.name, a.output ? a.output : default_name(a.name, made, sizeof made), answer, &why)
                                           : reason_set(&why, W_OUTOFMEMORY, "not enough memory");
    control_close(client);
    code = VERB_FINE;
    if (st)
        code = failure_print("autologger snapshot", st, &why);
    else
        snapshot_report(answer, a.common.json);
    free(answer);
    return code;
}
