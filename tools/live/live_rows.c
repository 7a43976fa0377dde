/* live_rows.c - see live_rows.h. */
#include "tools/live/live_rows.h"
#include "tools/live/provider_names.h"

#include <stdio.h>
#include <string.h>

static void live_rows_session_fill(const struct ctl_session_info *s, const struct ctl_terms_answer *a,
                                   struct result_row *row)
{
    snprintf(row->session, sizeof row->session, "%s", s->name);
    snprintf(row->key, sizeof row->key, "%s",
             *a->session.key ? a->session.key : "autologger start, or another controller");
    snprintf(row->log_path, sizeof row->log_path, "%s", s->log_path);
    row->start           = true;
    row->status          = s->status;
    row->kernel          = s->kernel != 0;
    row->file_created    = true;
    row->written         = s->events_written;
    row->overwritten     = s->overwritten;
    row->lost_ring       = s->lost_ring;
    row->lost_memory     = s->lost_memory;
    row->lost_conversion = s->lost_conversion;
    row->lost_file       = s->lost_file;
    row->withheld        = s->withheld;
    row->filtered        = s->filtered;
}

static void live_rows_provider_fill(const struct ctl_terms_answer *a, const struct names_of_providers *names,
                                    const char *session, struct result_row *row)
{
    const char *given = *a->row.key == '{' ? strchr(a->row.key, ' ') : NULL,
               *known = provider_names_find(names, &a->row.guid);
    snprintf(row->session, sizeof row->session, "%s", session);
    guid_format(&a->row.guid, row->provider);
    snprintf(row->name, sizeof row->name, "%s", given ? given + 1 : *a->row.name ? a->row.name : known ? known : "");
    row->start               = true;
    row->level               = (uint8_t)a->row.level;
    row->match_any           = a->row.any;
    row->match_all           = a->row.all;
    row->registrations       = a->registrations;
    row->written             = a->events;
    row->tracepoint          = *a->tracepoint != 0;
    row->tracepoints         = a->tracepoints;
    row->refused_by_level    = a->refused_by_level != 0;
    row->refused_by_keywords = a->refused_by_keywords != 0;
    row->refused_by_filter   = a->refused_by_filter != 0;
    row->refused_level       = a->refused_level;
    row->refused_keywords    = a->refused_keywords;
    if (a->denied) {
        char advice[160];
        snprintf(advice, sizeof advice, "autologger access %s --allow %u=register", row->provider, a->denied - 1);
        condition_add(&row->conditions, W_ACCESS_DENIED, true, row->provider, "", 0, advice,
                      "programs of uid %u may not register this provider: EventRegister returns ERROR_ACCESS_DENIED",
                      a->denied - 1);
    }
}

wstatus live_rows_add(struct result_list *list, struct control_client *client, const struct ctl_session_info *session,
                      struct reason *why)
{
    const struct ctl_terms_answer *a;
    struct names_of_providers      names;
    wstatus                        st    = control_terms(client, session->name, 0, &a, why);
    const uint32_t                 total = st ? 0 : a->total;
    struct result_row             *row   = st ? NULL : result_add(list);
    if (!row)
        return st ? st : reason_set(why, W_OUTOFMEMORY, "not enough memory");
    live_rows_session_fill(session, a, row);
    provider_names_load(&names, NULL);
    for (uint32_t i = 0; i < total && !st; i++) {
        st = control_terms(client, session->name, i, &a, why);
        if (st || !a->count)
            break;
        if (!(row = result_add(list)))
            st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
        else
            live_rows_provider_fill(a, &names, session->name, row);
    }
    provider_names_finish(&names);
    return st;
}
