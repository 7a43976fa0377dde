/* autologger sessions: the running sessions. */
#include "tools/view/quota_view.h"
#include "tools/view/result_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"
#include "tools/base/verb.h"
#include "tools/view/session_view.h"

#include <inttypes.h>
#include <stdlib.h>

static error_t sessions_parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\": sessions takes no arguments. Do: autologger query NAME", arg);
    return cmdline_option(state->input, key, arg);
}

/* The running sessions. */
struct running {
    struct ctl_session_info   *rows;
    struct session_users      *users;
    struct session_conditions *conditions;
    unsigned                   count;
    struct ctl_state_answer    state;
};

static void sessions_losses_print(struct text_table *t, const struct ctl_session_info *s,
                                  const struct session_users *users)
{
    struct condition loss;
    char             misuse[400];
    for (unsigned i = 0; i < users->count; i++) {
        if (user_loss(s, &users->row[i], &loss))
            text_table_line(t, "    condition %u %s: %s. Do: %s", loss.number, loss.item, loss.reason, loss.advice);
        if (user_misuse(&users->row[i], misuse, sizeof misuse))
            text_table_line(t, "    note %u uid %u: %s. Do: look at the programs of this user", W_INVALID_DATA,
                            users->row[i].uid, misuse);
    }
}

static void conditions_print(struct text_table *t, const struct session_conditions *conditions)
{
    char text[sizeof(struct ctl_condition_row) + 32];
    for (unsigned i = 0; i < conditions->count; i++)
        if (session_condition_line(&conditions->row[i], text, sizeof text))
            text_table_line(t, "    %s", text);
}

static void table_print(const struct running *r)
{
    static const char *const titles[] = {"SESSION", "STATE", "STATUS", "BUFFERS", "WRITTEN", "LOST", "FILE", NULL};
    struct text_table        t;
    text_table_init(&t, titles);
    for (unsigned i = 0; i < r->count; i++) {
        const struct ctl_session_info *s = &r->rows[i];
        char                           status[16], buffers[48], written[24], lost[24];
        snprintf(status, sizeof status, "%u", s->status);
        snprintf(buffers, sizeof buffers, "%u x %u KB", s->number_of_buffers, s->buffer_kb);
        snprintf(written, sizeof written, "%" PRIu64, s->events_written);
        snprintf(lost, sizeof lost, "%" PRIu64, ctl_events_lost(s));
        text_table_row(&t, s->name, session_state_name(s->state), status, buffers, written, lost, session_file_text(s));
        if (s->overwritten)
            text_table_line(&t, OVERWRITTEN_TEXT, s->overwritten, s->events_written);
        sessions_losses_print(&t, s, &r->users[i]);
        conditions_print(&t, &r->conditions[i]);
    }
    text_table_print(&t, stdout);
    visible_printf(stdout, "\n(%s)\n", SESSION_WRITTEN_NOTE);
    text_table_finish(&t);
}

static int rows_json(const struct running *r)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return VERB_REFUSED;
    json_object(j, NULL);
    json_array(j, "sessions");
    for (unsigned i = 0; i < r->count; i++)
        session_view_json(&r->rows[i], &r->users[i], &r->conditions[i], NULL, j);
    json_array_end(j);
    session_refused_json(&r->state, j);
    quota_json(&r->state, j);
    json_object_end(j);
    json_destroy(j);
    return VERB_FINE;
}

static wstatus cmd_sessions_take(const char *runtime_dir, struct running *r, struct reason *why)
{
    struct control_client *client = NULL;
    wstatus                st     = control_open(runtime_dir, &client, why);
    st                            = st ? st : control_query_all(client, &r->rows, &r->count, why);
    if (!st && (!(r->users = calloc(r->count + 1, sizeof *r->users)) ||
                !(r->conditions = calloc(r->count + 1, sizeof *r->conditions))))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the users of %u sessions", r->count);
    for (unsigned i = 0; i < r->count && !st; i++) {
        st = session_users_take(client, r->rows[i].name, &r->users[i], why);
        st = st ? st : session_conditions_take(client, r->rows[i].name, &r->conditions[i], why);
    }
    st = st ? st : control_state(client, &r->state, why);
    control_close(client);
    return st;
}

static void sessions_finish(struct running *r)
{
    for (unsigned i = 0; r->users && i < r->count; i++)
        session_users_finish(&r->users[i]);
    for (unsigned i = 0; r->conditions && i < r->count; i++)
        session_conditions_finish(&r->conditions[i]);
    free(r->conditions);
    free(r->users);
    free(r->rows);
}

int cmd_sessions(int argc, char **argv)
{
    static const struct argp_option options[] = {OPT_RUNTIME_DIR, OPT_JSON, {0}};
    static const struct argp        argp      = {
                    options,
                    sessions_parse,
                    "",
                    CMDLINE_DOC("The sessions that run now, one line each, and the users whose programs lost events there.",
                                "  autologger sessions --json"),
                    NULL,
                    NULL,
                    NULL};
    struct cmdline c   = {0};
    struct running r   = {0};
    struct reason  why = {0};
    int            code;
    if (!cmdline_parse(&argp, argc, argv, &c, &code))
        return code;
    const wstatus st = cmd_sessions_take(c.runtime_dir, &r, &why);
    if (st)
        code = failure_print_about(ABOUT_DAEMON, "autologger sessions", st, &why);
    else if (c.json)
        code = rows_json(&r);
    else if (r.count)
        table_print(&r);
    else
        puts("no session runs");
    if (!st && !c.json) {
        session_refused_print(&r.state, stdout);
        quota_print(&r.state, stdout);
    }
    sessions_finish(&r);
    return code;
}
