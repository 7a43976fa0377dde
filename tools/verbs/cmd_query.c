/* autologger query: one running session in full. */
#include "autologger/boot/explain.h"
#include "tools/base/verb.h"
#include "tools/live/live_rows.h"
#include "tools/live/session_request.h"
#include "tools/view/quota_view.h"
#include "tools/view/session_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct session_enabled *at;
    unsigned                count;
} query_enabled;
static struct result_list        rows_now; /* the session's, and its providers' */
static struct ctl_state_answer   daemon_state;
static struct session_users      users;
static struct session_conditions query_conditions;

/* Adds the session's enablement of this provider, if there is one. */
static wstatus provider_take(struct control_client *c, const struct ctl_provider_row *row, const char *name,
                             struct reason *why)
{
    const struct ctl_provider_answer *p;
    wstatus                           st = control_provider(c, &row->guid, &p, why);
    for (uint32_t i = 0; !st && i < p->enable_count; i++)
        if (strcmp(p->enable[i].session, name) == 0) {
            struct session_enabled *e = &query_enabled.at[query_enabled.count++];
            e->guid                   = row->guid;
            e->terms                  = p->enable[i];
            memcpy(e->name, p->name, sizeof e->name);
            break;
        }
    return st == W_WMI_GUID_NOT_FOUND ? W_SUCCESS : st; /* gone meanwhile */
}

static wstatus query_ask(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why)
{
    struct ctl_provider_row *rows  = NULL;
    unsigned                 count = 0;
    wstatus                  st    = control_query(c, name, out, why);
    st                             = st ? st : control_providers(c, &rows, &count, why);
    if (!st && !(query_enabled.at = calloc(count + 1, sizeof *query_enabled.at)))
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for what it enables");
    for (unsigned i = 0; i < count && !st; i++)
        if (rows[i].enabled_count)
            st = provider_take(c, &rows[i], out->name, why);
    free(rows);
    st = st ? st : session_users_take(c, out->name, &users, why);
    st = st ? st : session_conditions_take(c, out->name, &query_conditions, why);
    if (!st && (st = live_rows_add(&rows_now, c, out, why)) == W_NOT_SUPPORTED)
        st = W_SUCCESS; /* an older daemon: no notes */
    return st ? st : control_state(c, &daemon_state, why);
}

/* The reasons why the session's providers have no events so far. */
static unsigned notes_take(const char *session, struct condition **out)
{
    struct condition *notes = calloc(rows_now.count + 1, sizeof *notes);
    unsigned          n     = 0;
    for (unsigned i = 0; notes && i < rows_now.count; i++) {
        const struct result_row *r = &rows_now.rows[i];
        if (!*r->provider || !explain_provider_live(r, session, &notes[n]))
            continue;
        snprintf(notes[n].item, sizeof notes[n].item, "%s", *r->name ? r->name : r->provider);
        n++;
    }
    *out = notes;
    return n;
}

static void query_report(const struct ctl_session_info *s, const struct cmdline *c)
{
    struct condition *notes;
    const unsigned    count = notes_take(s->name, &notes);
    session_view_show_enabled(s, &users, &query_conditions, query_enabled.at, query_enabled.count, notes, count,
                              c->json);
    free(notes);
    session_refused_print(&daemon_state, c->json ? stderr : stdout);
    quota_print(&daemon_state, c->json ? stderr : stdout);
    free(query_enabled.at);
    session_users_finish(&users);
    session_conditions_finish(&query_conditions);
    result_list_finish(&rows_now);
}

int cmd_query(int argc, char **argv)
{
    static const struct session_request request = {
        "autologger query",
        CMDLINE_DOC(
            "One running session in full: state, Status, buffers, events written and lost, and what it enables, with filters; of a provider without events, why.",
            "  autologger query \"NT Kernel Logger\""),
        query_ask,
        query_report,
        NULL,
        NULL};
    return session_request_run(&request, argc, argv);
}
