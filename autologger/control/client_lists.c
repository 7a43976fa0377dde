/* client_lists.c - long or paged answers: sessions, providers, registrations, users, the terms of a session, the
 * daemon's state. */
#include "autologger/control/client_private.h"

#include <stdlib.h>
#include <string.h>

/* Gets all pages of a list: `head` and `row` are the sizes of the answer's head and of one row; `name` is a session's,
 * or NULL for global lists. *rows is malloc; c->buffer keeps the last page. */
static wstatus client_lists_pages(struct control_client *c, enum ctl_type type, const char *name, size_t head,
                                  size_t row, void **rows, unsigned *count, struct reason *why)
{
    uint8_t *all  = NULL;
    uint32_t have = 0, total = 0;
    do {
        struct ctl_session_request r    = {.header = {.size = sizeof r, .type = (uint16_t)type}, .start = have};
        wstatus                    st   = name ? client_name_set(&r, name, why) : W_SUCCESS;
        uint32_t                   page = 0;
        st                              = st ? st : client_ask(c, &r.header, head, WAIT_MS, why);
        if (!st) {
            memcpy(&total, c->buffer + sizeof(struct ctl_header), sizeof total);
            memcpy(&page, c->buffer + sizeof(struct ctl_header) + sizeof total, sizeof page);
            st = client_rows_check(c, total, page, head, row, why);
        }
        uint8_t *more = NULL;
        if (!st && page && !(more = realloc(all, (have + page) * row)))
            st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
        if (st) {
            free(all);
            return st;
        }
        if (!page)
            break; /* sessions ended between two pages */
        all = more;
        memcpy(all + have * row, c->buffer + head, page * row);
        have += page;
    } while (have < total && have < MAX_ROWS);
    *rows  = all;
    *count = have;
    return W_SUCCESS;
}

/* W_INVALID_FUNCTION: the daemon does not know the request. */
static wstatus client_lists_known(wstatus st) { return st == W_INVALID_FUNCTION ? W_NOT_SUPPORTED : st; }

wstatus control_query_all(struct control_client *c, struct ctl_session_info **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st =
        client_lists_pages(c, CTL_QUERY, NULL, sizeof(struct ctl_query_answer), sizeof **rows, &all, count, why);
    if (st)
        return st;
    *rows = all;
    for (unsigned i = 0; i < *count; i++)
        client_session_end(&(*rows)[i]);
    return W_SUCCESS;
}

wstatus control_providers(struct control_client *c, struct ctl_provider_row **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = client_lists_pages(c, CTL_PROVIDERS, NULL, sizeof(struct ctl_providers_answer), sizeof **rows, &all,
                                     count, why);
    if (st)
        return st;
    *rows = all;
    for (unsigned i = 0; i < *count; i++)
        (*rows)[i].name[sizeof(*rows)[i].name - 1] = 0;
    return W_SUCCESS;
}

wstatus control_declaration(struct control_client *c, const char *name, struct ctl_declaration *out,
                            struct ctl_enabled_row **rows, unsigned *count, struct reason *why)
{
    void   *all = NULL;
    wstatus st  = client_lists_pages(c, CTL_DECLARATION, name, sizeof(struct ctl_declaration_answer), sizeof **rows,
                                     &all, count, why);
    if (st)
        return st;
    *rows                                     = all;
    *out                                      = ((const struct ctl_declaration_answer *)c->buffer)->session;
    out->name[sizeof out->name - 1]           = 0;
    out->key[sizeof out->key - 1]             = 0;
    out->file_name[sizeof out->file_name - 1] = 0;
    if (out->hook_count > sizeof out->hooks / sizeof *out->hooks)
        out->hook_count = sizeof out->hooks / sizeof *out->hooks;
    for (unsigned i = 0; i < *count; i++) {
        (*rows)[i].name[sizeof(*rows)[i].name - 1] = 0;
        (*rows)[i].key[sizeof(*rows)[i].key - 1]   = 0;
    }
    return W_SUCCESS;
}

static void terms_terminate(struct ctl_terms_answer *a)
{
    char *const  texts[] = {a->session.name, a->session.key, a->session.file_name, a->row.name,
                            a->row.key,      a->units,       a->tracepoint,        a->tracepoint_filter};
    const size_t sizes[] = {sizeof a->session.name, sizeof a->session.key,      sizeof a->session.file_name,
                            sizeof a->row.name,     sizeof a->row.key,          sizeof a->units,
                            sizeof a->tracepoint,   sizeof a->tracepoint_filter};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        texts[i][sizes[i] - 1] = 0;
    if (a->session.hook_count > sizeof a->session.hooks / sizeof *a->session.hooks)
        a->session.hook_count = sizeof a->session.hooks / sizeof *a->session.hooks;
}

wstatus control_terms(struct control_client *c, const char *name, uint32_t which, const struct ctl_terms_answer **out,
                      struct reason *why)
{
    struct ctl_session_request r  = {.header = {.size = sizeof r, .type = CTL_TERMS}, .start = which};
    struct ctl_terms_answer   *a  = (void *)c->buffer;
    wstatus                    st = client_name_set(&r, name, why);
    st                            = st ? st : client_ask(c, &r.header, sizeof *a, WAIT_MS, why);
    if (st == W_NOT_SUPPORTED)
        return reason_set(
            why, st,
            "the daemon is of an older version, which does not give all terms of a session. Do: restart autologgerd; its "
            "sessions go on");
    if (st)
        return st;
    terms_terminate(a);
    if (a->filter_bytes && a->filter_bytes > c->size - sizeof *a)
        return reason_set(why, W_INVALID_DATA, "the daemon sent a filter of %u bytes in an answer of %zu",
                          a->filter_bytes, c->size);
    *out = a;
    return W_SUCCESS;
}

wstatus control_state(struct control_client *c, struct ctl_state_answer *out, struct reason *why)
{
    enum { SESSIONS_MOST = 64 }; /* an older daemon does not report it */
    wstatus st = client_plain_ask(c, CTL_STATE, offsetof(struct ctl_state_answer, sessions_most), WAIT_MS, why);
    if (st)
        return st;
    *out                        = (struct ctl_state_answer){.sessions_most = SESSIONS_MOST};
    static const size_t whole[] = {offsetof(struct ctl_state_answer, sessions_most),
                                   offsetof(struct ctl_state_answer, places), offsetof(struct ctl_state_answer, quota),
                                   sizeof *out};
    size_t              known   = 0;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        known = c->size >= whole[i] ? whole[i] : known;
    memcpy(out, c->buffer, known);
    out->store[sizeof out->store - 1]     = 0;
    out->log_dir[sizeof out->log_dir - 1] = 0;
    return W_SUCCESS;
}

wstatus control_registrations(struct control_client *c, struct ctl_registration_row **rows, unsigned *count,
                              struct reason *why)
{
    void   *all = NULL;
    wstatus st  = client_lists_pages(c, CTL_REGISTRATIONS, NULL, sizeof(struct ctl_registrations_answer), sizeof **rows,
                                     &all, count, why);
    *rows       = all;
    return st;
}

wstatus control_users(struct control_client *c, const char *name, struct ctl_user_row **rows, unsigned *count,
                      struct reason *why)
{
    void   *all = NULL;
    wstatus st  = client_lists_known(
         client_lists_pages(c, CTL_USERS, name, sizeof(struct ctl_users_answer), sizeof **rows, &all, count, why));
    *rows = all;
    return st;
}

wstatus control_conditions(struct control_client *c, const char *name, struct ctl_condition_row **rows, unsigned *count,
                           struct reason *why)
{
    void   *all = NULL;
    wstatus st  = client_lists_known(client_lists_pages(c, CTL_CONDITIONS, name, sizeof(struct ctl_conditions_answer),
                                                        sizeof **rows, &all, count, why));
    *rows       = all;
    if (st)
        return st;
    for (unsigned i = 0; i < *count; i++) {
        (*rows)[i].item[sizeof(*rows)[i].item - 1]     = 0;
        (*rows)[i].reason[sizeof(*rows)[i].reason - 1] = 0;
        (*rows)[i].advice[sizeof(*rows)[i].advice - 1] = 0;
    }
    return W_SUCCESS;
}

wstatus control_provider(struct control_client *c, const struct guid *provider, const struct ctl_provider_answer **out,
                         struct reason *why)
{
    struct ctl_provider_request r  = {.header = {.size = sizeof r, .type = CTL_PROVIDER}, .provider = *provider};
    struct ctl_provider_answer *a  = (void *)c->buffer;
    wstatus                     st = client_ask(c, &r.header, sizeof *a, WAIT_MS, why);
    if (st)
        return st;
    if (a->program_count > (c->size - sizeof *a) / sizeof a->program[0] || a->enable_count > CTL_PROVIDER_ENABLES)
        return reason_set(why, W_INVALID_DATA, "the daemon announces %u programs in %zu bytes", a->program_count,
                          c->size);
    a->name[sizeof a->name - 1] = 0;
    for (uint32_t i = 0; i < a->enable_count; i++)
        a->enable[i].session[sizeof a->enable[i].session - 1] = 0;
    *out = a;
    return W_SUCCESS;
}
