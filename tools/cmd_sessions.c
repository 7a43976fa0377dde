/* autologger sessions: what runs now. */
#include "tools/session_view.h"
#include "tools/store_access.h"
#include "tools/text_table.h"
#include "tools/verb.h"

#include <inttypes.h>
#include <stdlib.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\": sessions takes no arguments. Do: autologger query NAME", arg);
    return cmdline_option(state->input, key, arg);
}

static void table_print(const struct ctl_session_info *rows, unsigned count)
{
    static const char *const titles[] = {"SESSION", "STATE", "STATUS", "BUFFERS", "WRITTEN", "LOST", "FILE", NULL};
    struct text_table        t;
    text_table_init(&t, titles);
    for (unsigned i = 0; i < count; i++) {
        const struct ctl_session_info *s = &rows[i];
        char status[16], buffers[48], written[24], lost[24];
        snprintf(status, sizeof status, "%u", s->status);
        snprintf(buffers, sizeof buffers, "%u x %u KB", s->number_of_buffers, s->buffer_kb);
        snprintf(written, sizeof written, "%" PRIu64, s->events_written);
        snprintf(lost, sizeof lost, "%" PRIu64, ctl_events_lost(s));
        text_table_row(&t, s->name, session_state_name(s->state), status, buffers, written, lost, session_file_text(s));
    }
    text_table_print(&t, stdout);
    printf("\n(%s)\n", SESSION_WRITTEN_NOTE);
    text_table_finish(&t);
}

static int rows_json(const struct ctl_session_info *rows, unsigned count, const struct ctl_state_answer *state)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    json_array(j, "sessions");
    for (unsigned i = 0; i < count; i++)
        session_view_json(&rows[i], NULL, j);
    json_array_end(j);
    session_refused_json(state, j);
    json_object_end(j);
    json_destroy(j);
    return VERB_FINE;
}

int cmd_sessions(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_RUNTIME_DIR, OPT_JSON, {0}};
    static const struct argp        argp      = {
        options, parse, "", CMDLINE_DOC("The sessions that run now, one line each.", "  autologger sessions --json"), NULL, NULL,
        NULL};
    struct cmdline           c      = {0};
    struct control_client   *client = NULL;
    struct ctl_session_info *rows   = NULL;
    unsigned                 count  = 0;
    struct ctl_state_answer  state  = {0};
    struct reason            why    = {0};
    int                      code;
    if (!cmdline_parse(&argp, argc, argv, &c, &code))
        return code;
    wstatus st = control_open(c.runtime_dir, &client, &why);
    if (!st)
        st = control_query_all(client, &rows, &count, &why);
    if (!st)
        st = control_state(client, &state, &why);
    control_close(client);
    if (st)
        return failure_print_about(ABOUT_DAEMON, "autologger sessions", st, &why);
    if (c.json)
        code = rows_json(rows, count, &state);
    else if (count)
        table_print(rows, count);
    else
        puts("no session runs");
    if (!c.json)
        session_refused_print(&state, stdout);
    free(rows);
    return code;
}
