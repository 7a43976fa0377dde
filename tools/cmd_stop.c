/* autologger stop: ends a session; its file is complete when the command returns. */
#include "tools/result_view.h"
#include "tools/session_request.h"
#include "tools/session_view.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define MERGE_DOC                                                                                                  \
    CMDLINE_DOC("Stop all sessions of the machine's boot and merge their files into one, as the end of a boot does by itself.", \
                "  autologger stop --merge")

static void report(const struct ctl_session_info *s, const struct cmdline *c)
{
    if (c->json) {
        session_view_show(s, true);
        return;
    }
    printf("stopped \"%s\": %" PRIu64 " event%s written, %" PRIu64 " lost\n", s->name, s->events_written, plural(s->events_written), ctl_events_lost(s));
    if (s->log_path[0])
        printf("file: %s\n", s->log_path);
}

/* ---- stop --merge: the end of the machine's boot, now ---- */

static error_t parse_merge(int key, char *arg, struct argp_state *state)
{
    if (key == 'm')
        return 0;
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\": --merge stops all sessions of the boot, not one", arg);
    return cmdline_option(state->input, key, arg);
}

/* Asks until the files are merged: the daemon answers "busy" while its child does that. */
static wstatus boot_end_wait(struct control_client *client, struct reason *why)
{
    wstatus st;
    while ((st = control_end_boot(client, why)) == W_BUSY)
        usleep(100000);
    return st;
}

static int merged_show(const char *store_path, bool as_json)
{
    struct regstore   *store = NULL;
    struct result_list list  = {0};
    struct reason      why   = {0};
    wstatus            st    = regstore_open(store_path, false, &store, &why);
    st                       = st ? st : result_load(store, &list, &why);
    int code = st ? failure_print_about(ABOUT_STORE, "autologger stop", st, &why) : result_view_merged(&list)[0] ? VERB_FINE : VERB_FAILED;
    struct json *j = !st && as_json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        result_view_json(&list, j);
        json_object_end(j);
        json_destroy(j);
    } else if (!code) {
        printf("stopped; merged file: %s\n", result_view_merged(&list));
    } else if (!st) {
        fprintf(stderr, "autologger stop: the sessions are stopped, and no merged file was made. Do: autologger status --store %s\n", store_path);
    }
    result_list_finish(&list);
    regstore_close(store);
    return code;
}

static int merge_run(int argc, char **argv)
{
    static const struct argp_option options[] = {{"merge", 'm', NULL, 0, "stop all sessions of the boot and merge their files", 0}, OPT_RUNTIME_DIR, OPT_JSON, {0}};
    static const struct argp        argp      = {options, parse_merge, "--merge", MERGE_DOC, NULL, NULL, NULL};
    struct cmdline                  c         = {0};
    struct control_client          *client    = NULL;
    struct ctl_state_answer         state;
    struct reason                   why = {0};
    int                             code;
    if (!cmdline_parse(&argp, argc, argv, &c, &code))
        return code;
    wstatus st = control_open(c.runtime_dir, &client, &why);
    st         = st ? st : control_state(client, &state, &why);
    if (st) {
        control_close(client);
        return failure_print_about(ABOUT_DAEMON, "autologger stop", st, &why);
    }
    st = boot_end_wait(client, &why);
    control_close(client);
    if (st == W_NOT_SUPPORTED)
        reason_set(&why, st, "this daemon was not started for the machine's boot. Do: autologger stop NAME, then autologger merge FILE...");
    if (st == W_WMI_INSTANCE_NOT_FOUND)
        reason_set(&why, st, "no session of this boot runs or ran. Do: autologger status");
    return st ? failure_print("autologger stop", st, &why) : merged_show(state.store, c.json);
}

static bool asks_for_merge(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--merge") || !strcmp(argv[i], "-m"))
            return true;
    return false;
}

int cmd_stop(int argc, char **argv)
{
    static const struct session_request request = {
        "autologger stop",
        CMDLINE_DOC("Stop a running session. Its file is complete when the command returns. With --merge: stop all sessions of the "
                    "machine's boot and merge their files into one, as the end of a boot does by itself.",
                    "  autologger stop web\n  autologger stop --merge"),
        control_stop, report, NULL, NULL};
    return asks_for_merge(argc, argv) ? merge_run(argc, argv) : session_request_run(&request, argc, argv);
}
