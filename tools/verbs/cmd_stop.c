/* autologger stop: ends a session; its file is complete when the command returns. */
#include "tools/view/result_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/live/session_request.h"
#include "tools/view/session_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MERGE_DOC \
    CMDLINE_DOC( \
        "Without NAME: stop all sessions of the machine's boot and merge their files into one, as the end of a boot does by " \
        "itself; where no session of a boot runs, the sessions with kernel events. With NAMEs: stop these, and merge their files.", \
        "  autologger stop --merge\n  autologger stop --merge \"NT Kernel Logger\" web --output trace.etl")

static struct session_conditions stop_conditions; /* of the session at its end */

static wstatus stop_ask(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why)
{
    struct session_conditions ended;
    struct reason             none;
    session_conditions_take(c, name, &stop_conditions, &none); /* the right to query is not needed */
    const wstatus st = control_stop(c, name, out, why);
    /* an older daemon keeps no conditions of ended sessions */
    if (!st && session_conditions_take(c, name, &ended, &none) == W_SUCCESS && ended.count) {
        session_conditions_finish(&stop_conditions);
        stop_conditions = ended;
    }
    return st;
}

static void stop_report(const struct ctl_session_info *s, const struct cmdline *c)
{
    if (c->json) {
        session_view_show(s, &stop_conditions, true);
        session_conditions_finish(&stop_conditions);
        return;
    }
    visible_printf(stdout, "stopped \"%s\": %" PRIu64 " event%s written, %" PRIu64 " lost\n", s->name,
                   s->events_written, plural(s->events_written), ctl_events_lost(s));
    if (s->overwritten)
        printf(OVERWRITTEN_TEXT "\n", s->overwritten, s->events_written);
    if (s->log_path[0])
        visible_printf(stdout, "file: %s\n", s->log_path);
    session_conditions_print(&stop_conditions, stdout);
    session_conditions_finish(&stop_conditions);
}

/* ---- stop --merge: ends the machine's boot now, or sessions that controllers started ---- */

enum { MERGED_MOST = 64 };
struct merging {
    struct cmdline common;
    const char    *out, *name[MERGED_MOST];
    unsigned       count;
};

static error_t parse_merge(int key, char *arg, struct argp_state *state)
{
    struct merging *m = state->input;
    if (key == 'm')
        return 0;
    if (key == 'o') {
        m->out = arg;
        return 0;
    }
    if (key == ARGP_KEY_ARG && m->count == MERGED_MOST)
        argp_error(state, "at most %d sessions", MERGED_MOST);
    if (key == ARGP_KEY_ARG) {
        m->name[m->count++] = arg;
        return 0;
    }
    return cmdline_option(&m->common, key, arg);
}

/* "x/kernel.etl" -> "x/kernel-merged.etl" */
static void merged_name(const char *file, char out[CTL_PATH + 16])
{
    size_t n = strlen(file);
    if (n > 4 && !strcmp(file + n - 4, ".etl"))
        n -= 4;
    snprintf(out, CTL_PATH + 16, "%.*s-merged.etl", (int)n, file);
}

/* Stops the sessions and merges their files, in the order of m->name. */
static int sessions_merge(struct merging *m, struct control_client *client)
{
    static char   file[MERGED_MOST][CTL_PATH], own[CTL_PATH + 16];
    char         *line[MERGED_MOST + 5] = {(char *)(uintptr_t) "autologger merge", (char *)(uintptr_t) "-o"};
    int           n                     = 3;
    struct reason why                   = {0};
    for (unsigned i = 0; i < m->count; i++) {
        struct ctl_session_info last;
        wstatus                 st = stop_ask(client, m->name[i], &last, &why);
        if (st)
            return failure_print("autologger stop", st, &why);
        if (m->common.json)
            session_conditions_finish(&stop_conditions);
        else
            stop_report(&last, &m->common);
        if (!last.log_path[0]) {
            visible_printf(stderr, "autologger stop: session \"%s\" had no file, so there is nothing of it to merge\n",
                           m->name[i]);
            continue;
        }
        snprintf(file[i], sizeof file[i], "%s", last.log_path);
        line[n++] = file[i];
    }
    if (n == 3)
        return VERB_FAILED;
    if (!m->out)
        merged_name(line[3], own);
    line[2] = (char *)(uintptr_t)(m->out ? m->out : own);
    if (m->common.json)
        line[n++] = (char *)(uintptr_t) "--json";
    fflush(stdout);
    return cmd_merge(n, line);
}

/* Adds the running sessions with kernel events, where no name was given. False: there is none. */
static bool kernel_sessions(struct merging *m, struct control_client *client, struct ctl_session_info **all)
{
    unsigned count = 0;
    if (control_query_all(client, all, &count, NULL))
        return false;
    for (unsigned i = 0; i < count && m->count < MERGED_MOST; i++)
        if ((*all)[i].kernel)
            m->name[m->count++] = (*all)[i].name;
    return m->count != 0;
}

/* Asks until the files are merged: the daemon answers W_BUSY while its child merges. */
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
    int          code        = st ? failure_print_about(ABOUT_STORE, "autologger stop", st, &why)
                               : result_view_merged(&list)[0] ? VERB_FINE
                                                              : VERB_FAILED;
    struct json *j           = !st && as_json ? json_create(stdout, true) : NULL;
    if (j) {
        json_object(j, NULL);
        result_view_json(&list, NULL, j);
        json_object_end(j);
        json_destroy(j);
    } else if (!code) {
        visible_printf(stdout, "stopped; merged file: %s\n", result_view_merged(&list));
    } else if (!st) {
        visible_printf(
            stderr,
            "autologger stop: the sessions are stopped, and no merged file was made. Do: autologger status --store %s\n",
            store_path);
    }
    result_list_finish(&list);
    regstore_close(store);
    return code;
}

/* Ends and merges the machine's boot or, where none is traced, the sessions with kernel events. */
static int boot_merge(struct merging *m, struct control_client *client)
{
    struct ctl_state_answer  state;
    struct ctl_session_info *all  = NULL;
    struct reason            why  = {0};
    int                      code = VERB_FAILED;
    wstatus                  st   = control_state(client, &state, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger stop", st, &why);
    st = boot_end_wait(client, &why);
    if (!st)
        return merged_show(state.store, m->common.json);
    if ((st == W_NOT_SUPPORTED || st == W_WMI_INSTANCE_NOT_FOUND) && kernel_sessions(m, client, &all)) {
        code = sessions_merge(m, client);
    } else {
        if (st == W_NOT_SUPPORTED)
            reason_set(
                &why, st,
                "this daemon was not started for the machine's boot, and no session with kernel events runs. Do: autologger stop "
                "--merge NAME");
        if (st == W_WMI_INSTANCE_NOT_FOUND)
            reason_set(&why, st, "no session of this boot runs or ran. Do: autologger status");
        code = failure_print("autologger stop", st, &why);
    }
    free(all);
    return code;
}

static int merge_run(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"merge", 'm', NULL, 0, "stop the sessions and merge their files", 0},
        {"output", 'o', "FILE", 0, "the merged file (default: beside the first session's, NAME-merged.etl)", 0},
        OPT_RUNTIME_DIR,
        OPT_JSON,
        {0}};
    static const struct argp argp   = {options, parse_merge, "--merge [NAME...]", MERGE_DOC, NULL, NULL, NULL};
    struct merging           m      = {.count = 0};
    struct control_client   *client = NULL;
    struct reason            why    = {0};
    int                      code;
    if (!cmdline_parse(&argp, argc, argv, &m, &code))
        return code;
    wstatus st = control_open(m.common.runtime_dir, &client, &why);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger stop", st, &why);
    code = m.count ? sessions_merge(&m, client) : boot_merge(&m, client);
    control_close(client);
    return code;
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
        CMDLINE_DOC(
            "Stop a running session. Its file is complete when the command returns. With --merge: stop all sessions of the "
            "machine's boot, or those that are named, and merge their files into one (autologger stop --merge --help).",
            "  autologger stop web\n  autologger stop --merge\n  autologger stop --merge \"NT Kernel Logger\" web --output trace.etl"),
        stop_ask,
        stop_report,
        NULL,
        NULL};
    return asks_for_merge(argc, argv) ? merge_run(argc, argv) : session_request_run(&request, argc, argv);
}
