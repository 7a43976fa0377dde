/* client_sessions.c - requests about a session: its state, its changes, its enablements, rights, its buffers in real
 * time. */
#include "autologger/control/client_private.h"
#include "autologger/wire/filter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A refusal for want of rights as what is wanted, and how root gives it. `provider` NULL: the session's alone. */
static wstatus client_denied(wstatus st, const char *name, const char *right, const struct guid *provider,
                             struct reason *why)
{
    const unsigned uid    = geteuid();
    const char    *plural = strchr(right, ',') ? "s" : "";
    const char    *shown  = strchr(name, '\'') ? "NAME" : name; /* a command that another user could have made */
    char           guid[GUID_TEXT_SIZE];
    if (st != W_ACCESS_DENIED || !uid || !*name) /* root of another namespace has the rights of everybody */
        return st;
    if (!provider)
        return reason_set(
            why, st,
            "uid %u needs the right%s %s on the session \"%s\". Do: as root, autologger access '%s' --allow %u=%s", uid,
            plural, right, name, shown, uid, right);
    guid_format(provider, guid);
    return reason_set(why, st,
                      "uid %u needs the right%s %s on the session \"%s\" and on the provider %s. Do: as root, "
                      "autologger access '%s' --allow %u=%s; autologger access '%s' --allow %u=%s",
                      uid, plural, right, name, guid, shown, uid, right, guid, uid, right);
}

/* A request about one session, answered by exactly one row (`out` NULL: the answer need hold none). */
static wstatus session_ask(struct control_client *c, enum ctl_type type, const char *name, int wait_ms,
                           struct ctl_session_info *out, struct reason *why)
{
    struct ctl_session_request r  = {.header = {.size = sizeof r, .type = (uint16_t)type}};
    wstatus                    st = client_name_set(&r, name, why);
    if (st)
        return st;
    size_t least = out ? sizeof(struct ctl_query_answer) : sizeof(struct ctl_header);
    if ((st = client_ask(c, &r.header, least, wait_ms, why))) {
        if (st == W_WMI_INSTANCE_NOT_FOUND)
            reason_set(why, st, "no session named \"%s\" is running", name);
        return client_denied(st, name, type == CTL_QUERY ? "query" : "enable", NULL, why);
    }
    if (!out)
        return W_SUCCESS;
    const struct ctl_query_answer *a = (const struct ctl_query_answer *)c->buffer;
    if ((st = client_rows_check(c, a->total, a->count, sizeof *a, sizeof a->row[0], why)))
        return st;
    if (a->count != 1)
        return reason_set(why, W_INVALID_DATA, "the daemon answered with %u sessions where one was asked for",
                          a->count);
    *out = a->row[0];
    client_session_end(out);
    return W_SUCCESS;
}

wstatus control_query(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why)
{
    return session_ask(c, CTL_QUERY, name, WAIT_MS, out, why);
}

wstatus control_stop(struct control_client *c, const char *name, struct ctl_session_info *final, struct reason *why)
{
    wstatus st = session_ask(c, CTL_STOP, name, WAIT_LONG_MS, final, why);
    return st == W_INVALID_PARAMETER && *name
               ? reason_set(why, st, "session \"%s\" was declared NONSTOPPABLE. Do: end the boot, or the daemon", name)
               : st;
}
wstatus control_flush(struct control_client *c, const char *name, struct reason *why)
{
    return session_ask(c, CTL_FLUSH, name, WAIT_LONG_MS, NULL, why);
}

/* Sends `request`. An answer with an error Status has the reason as its text, but where a right is missing: `right` on
 * the session `name`; NULL: the text is always there. */
static wstatus told_ask(struct control_client *c, struct ctl_header *request, const char *name, const char *right,
                        struct ctl_update_answer *out, struct reason *why)
{
    wstatus st = client_ask(c, request, sizeof(struct ctl_header), WAIT_LONG_MS, why);
    if (c->size >= sizeof *out && (!st || ((const struct ctl_header *)(const void *)c->buffer)->status == st)) {
        memcpy(out, c->buffer, sizeof *out);
        out->text[sizeof out->text - 1] = 0;
        client_session_end(&out->session);
        if (st)
            reason_set(why, st, "%s", out->text);
    } else if (!st) {
        st = reason_set(why, W_INVALID_DATA, "the daemon answered with %zu bytes", c->size);
    } else if (right) {
        client_denied(st, name, right, NULL, why);
    }
    return st;
}

wstatus control_update(struct control_client *c, struct ctl_update_request *r, const char *name,
                       struct ctl_update_answer *out, struct reason *why)
{
    struct ctl_session_request named = {0};
    wstatus                    st    = client_name_set(&named, name, why);
    if (st)
        return st;
    memcpy(r->name, named.name, sizeof r->name);
    r->header = (struct ctl_header){.size = sizeof *r, .type = CTL_UPDATE};
    return told_ask(c, &r->header, name, "enable,realtime,ondisk", out, why);
}

wstatus control_start(struct control_client *c, const void *snapshot, size_t size, struct ctl_update_answer *out,
                      struct reason *why)
{
    return control_start_for(c, snapshot, size, NULL, out, why);
}

wstatus control_start_for(struct control_client *c, const void *snapshot, size_t size,
                          const struct filter_block *processes, struct ctl_update_answer *out, struct reason *why)
{
    struct ctl_start_request *r      = NULL;
    const size_t              filter = processes ? processes->size : 0, at = filter ? (size + 7) & ~(size_t)7 : size,
                 whole = sizeof *r + at + filter;
    if (size > CTL_MAX || whole > CTL_MAX)
        return reason_set(
            why, W_INVALID_PARAMETER,
            "the declaration has %zu bytes, more than a message of %d holds. Do: declare it in the store, "
            "for the next boot",
            size, CTL_MAX);
    if (!(r = calloc(1, whole)))
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    *r = (struct ctl_start_request){.header       = {.size = (uint32_t)whole, .type = CTL_START},
                                    .bytes        = (uint32_t)size,
                                    .filter_bytes = (uint32_t)filter};
    memcpy(r + 1, snapshot, size);
    if (filter)
        memcpy((uint8_t *)(r + 1) + at, processes, filter);
    wstatus st = told_ask(c, &r->header, NULL, NULL, out, why);
    free(r);
    return st;
}

wstatus control_file(struct control_client *c, const char *name, const char *file, struct ctl_update_answer *out,
                     struct reason *why)
{
    struct ctl_session_request  named = {.header = {.size = sizeof named, .type = CTL_NEXT_FILE}};
    struct ctl_snapshot_request r     = {.header = {.size = sizeof r, .type = CTL_SNAPSHOT}};
    wstatus                     st    = client_name_set(&named, name, why);
    if (!st && file && strlen(file) >= sizeof r.file)
        st = reason_set(why, W_FILENAME_EXCED_RANGE, "the file's name has %zu bytes, more than %zu", strlen(file),
                        sizeof r.file - 1);
    if (st)
        return st;
    memcpy(r.name, named.name, sizeof r.name);
    if (file)
        memcpy(r.file, file, strlen(file) + 1);
    st = told_ask(c, file ? &r.header : &named.header, name, file ? "ondisk" : "enable,realtime,ondisk", out, why);
    if (st == W_WMI_INSTANCE_NOT_FOUND)
        reason_set(why, st, "no session named \"%s\" is running", name);
    return st;
}

wstatus control_enable(struct control_client *c, struct ctl_enable_request *r, const char *name, unsigned wait_ms,
                       struct reason *why)
{
    return control_enable_filtered(c, r, NULL, name, wait_ms, why);
}

wstatus control_enable_filtered(struct control_client *c, struct ctl_enable_request *r,
                                const struct filter_block *filter, const char *name, unsigned wait_ms,
                                struct reason *why)
{
    struct ctl_session_request named = {0};
    wstatus                    st    = client_name_set(&named, name, why);
    if (st)
        return st;
    memcpy(r->name, named.name, sizeof r->name);
    r->filter_bytes = filter && filter->parts ? filter->size : 0;
    r->header       = (struct ctl_header){.size = (uint32_t)sizeof *r + r->filter_bytes, .type = CTL_ENABLE_PROVIDER};
    r->wait         = wait_ms != 0;
    struct ctl_enable_request *whole = malloc(r->header.size);
    if (!whole)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the request");
    memcpy(whole, r, sizeof *r);
    if (r->filter_bytes)
        memcpy(whole + 1, filter, r->filter_bytes);
    st = client_ask(c, &whole->header, sizeof(struct ctl_header),
                    wait_ms && wait_ms < WAIT_LONG_MS ? (int)wait_ms : WAIT_LONG_MS, why);
    free(whole);
    if (st == W_TIMEOUT && r->wait)
        return reason_set(why, st, "it was asked for, and not every program's callback has come back within %u ms",
                          wait_ms);
    if (st == W_WMI_INSTANCE_NOT_FOUND)
        return reason_set(why, st, "no session named \"%s\" is running", name);
    if (st == W_WMI_GUID_NOT_FOUND)
        return reason_set(why, st, "the provider is not enabled in session \"%s\"", name);
    if (st == W_INVALID_PARAMETER && guid_equal(&r->provider, &(const struct guid)CTL_SYSTEM_TRACE))
        return reason_set(why, st,
                          "the kernel is no provider that is enabled: its events are those of the session's flags. "
                          "Do: autologger update '%s' --flags FLAGS",
                          name);
    const uint32_t unknown = r->property & ~(uint32_t)PROPERTY_KNOWN;
    if (st == W_NOT_SUPPORTED && unknown)
        return reason_set(why, st,
                          "EnableProperty 0x%x: its bits 0x%x do not work in this version; nothing was changed",
                          r->property, unknown);
    if (st == W_NOT_SUPPORTED)
        return reason_set(
            why, st,
            "the provider is of the older API or of WPP, which filter by themselves: it takes level and flags alone. Do: leave out filters and properties");
    return client_denied(st, name, "enable", &r->provider, why);
}

/* ---- CTL_ACCESS ---- */

static wstatus access_ask(struct control_client *c, struct ctl_access_request *r, size_t least, struct reason *why)
{
    r->header  = (struct ctl_header){.size = sizeof *r, .type = CTL_ACCESS};
    wstatus st = client_ask(c, &r->header, least, WAIT_MS, why);
    if (!st && least > sizeof r->header &&
        ((const struct ctl_access_answer *)(const void *)c->buffer)->bytes != c->size - least)
        st = reason_set(why, W_INVALID_DATA, "the daemon answered with %zu bytes", c->size);
    if (st == W_INVALID_FUNCTION)
        return reason_set(why, W_NOT_SUPPORTED,
                          "the daemon that runs is of an older version: it knows no security descriptors");
    return st;
}

wstatus control_access_query(struct control_client *c, const struct guid *object, bool *own, uint8_t **out,
                             size_t *size, struct reason *why)
{
    struct ctl_access_request       r  = {.object = *object, .what = CTL_ACCESS_QUERY};
    const struct ctl_access_answer *a  = (const void *)c->buffer;
    wstatus                         st = access_ask(c, &r, sizeof *a, why);
    if (st)
        return st;
    if (!(*out = malloc(a->bytes + 1)))
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    memcpy(*out, a + 1, a->bytes);
    *size = a->bytes;
    *own  = a->own != 0;
    return W_SUCCESS;
}

wstatus control_access_change(struct control_client *c, struct ctl_access_request *r, struct reason *why)
{
    return access_ask(c, r, sizeof(struct ctl_header), why);
}

wstatus control_access_list(struct control_client *c, struct guid **out, unsigned *count, struct reason *why)
{
    const struct ctl_access_answer *a   = (const void *)c->buffer;
    struct guid                    *all = NULL, *more;
    unsigned                        n   = 0, page;
    do {
        struct ctl_access_request r  = {.what = CTL_ACCESS_LIST, .start = n};
        wstatus                   st = access_ask(c, &r, sizeof *a, why);
        page                         = st ? 0 : (unsigned)(a->bytes / sizeof *all);
        if (!st && !(more = realloc(all, (n + page + 1) * sizeof *all)))
            st = reason_set(why, W_OUTOFMEMORY, "not enough memory");
        if (st) {
            free(all);
            return st;
        }
        all = more;
        memcpy(all + n, a + 1, page * sizeof *all);
        n += page;
    } while (page && n < a->total && n < MAX_ROWS);
    *out   = all;
    *count = n;
    return W_SUCCESS;
}

wstatus control_consume(struct control_client *c, const char *name, struct ctl_consume_answer *out, struct reason *why)
{
    struct ctl_session_request r  = {.header = {.size = sizeof r, .type = CTL_CONSUME}};
    wstatus                    st = client_name_set(&r, name, why);
    if (st)
        return st;
    if ((st = client_ask(c, &r.header, sizeof *out, WAIT_MS, why)) == W_WMI_INSTANCE_NOT_FOUND)
        reason_set(why, st, "no real-time session named \"%s\" is running", name);
    if (!st)
        memcpy(out, c->buffer, sizeof *out);
    return client_denied(st, name, "consume", NULL, why);
}

wstatus control_consume_next(struct control_client *c, struct ctl_consume_request *r,
                             const struct ctl_consume_answer **out, int fds[CONTROL_FDS], unsigned *count,
                             struct reason *why)
{
    r->header     = (struct ctl_header){.size = sizeof *r, .type = CTL_CONSUME_NEXT};
    c->fds_wanted = true;
    c->fd_count   = 0;
    wstatus st    = client_ask(c, &r->header, sizeof **out, r->what == CTL_CONSUME_BUFFER ? WAIT_EVER : WAIT_MS, why);
    c->fds_wanted = false;
    const struct ctl_consume_answer *a = (const void *)c->buffer;
    if (!st && (a->bytes > c->size - sizeof *a || a->bytes > a->size || a->offset > a->size - a->bytes))
        st = reason_set(why, W_INVALID_DATA, "the daemon announces %u bytes of a buffer in a message of %zu", a->bytes,
                        c->size);
    for (unsigned i = 0; st && i < c->fd_count; i++)
        close(c->fds[i]);
    if (st)
        return st;
    memcpy(fds, c->fds, sizeof c->fds);
    *count = c->fd_count;
    *out   = a;
    return W_SUCCESS;
}
