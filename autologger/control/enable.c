/* enable.c - CTL_ENABLE_PROVIDER: providers of running sessions. A controller may wait until every program that has the
 * provider registered has run its callback: its request is answered when the last of their tickets has come back, or
 * its program is gone.
 * Invariants: a wait holds only tickets of living connections, and has a time by which it ends, so that every wait
 * ends. A connection has few of them, a user as many as quota.def says.
 * Threads: one. See server.h. */
#include "autologger/control/access.h"
#include "autologger/control/conditions.h"
#include "autologger/control/registrations.h"
#include "autologger/control/users.h"
#include "autologger/control/server_parts.h"
#include "autologger/wire/etl.h"
#include "autologger/wire/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ticket {
    uint32_t number, connection;
};
struct enable_wait {
    struct enable_wait *next;
    unsigned            controller; /* its connection */
    struct ctl_header   header;     /* of the request */
    uint64_t            until_ms;
    bool                short_of_memory; /* a program is not waited for */
    unsigned            count, room;
    struct ticket      *left;
};
/* A client waits 10 minutes at most (client_private.h); one without rights beyond its own session waits less. */
enum { WAIT_MS = 30 * 1000, WAIT_OWNER_MS = 10 * 60 * 1000 };

static void wait_free(struct enable_wait *w)
{
    if (w)
        free(w->left);
    free(w);
}

static void wait_add(struct enable_wait *w, struct ticket t)
{
    if (w->count == w->room) {
        const unsigned more = w->room ? w->room * 2 : 8;
        struct ticket *left = realloc(w->left, more * sizeof *left);
        if (!left) {
            w->short_of_memory = true;
            return;
        }
        w->left = left;
        w->room = more;
    }
    w->left[w->count++] = t;
}

/* server_tell_enable for a capture of the state, with the request's filter. */
static uint32_t tell_capture(struct control_server *v, const struct state_registration *r, const struct session *s,
                             unsigned entry)
{
    struct {
        struct ctl_enable m;
        uint8_t           filter[FILTER_SCHEMATIZED_MAX];
    } t = {.m = {.header       = {(uint32_t)sizeof t.m + v->capture_bytes, CTL_ENABLE, CTL_VERSION, 0, 0},
                 .index        = r->index,
                 .enable_index = entry,
                 .control_code = CTL_CODE_CAPTURE_STATE,
                 .source       = s->state->guid,
                 .ticket       = ++v->ticket,
                 .filter_bytes = v->capture_bytes}};
    const struct shm_enable *e = &v->table->directory->shm->provider[r->slot].enable[entry];
    t.m.level = e->level, t.m.any = e->any, t.m.all = e->all;
    memcpy(t.filter, v->capture, v->capture_bytes);
    server_tell(v, r->connection, &t, t.m.header.size, NULL, 0);
    return t.m.ticket;
}

void enable_tell_all(struct control_server *v, struct session *s, uint32_t slot, unsigned entry, uint32_t code,
                     struct enable_wait *wait)
{
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (!r->in_use || r->slot != slot || !server_attach_registered(v, r, s))
            continue;
        const struct ticket t = {.connection = r->connection,
                                 .number     = v->capture ? tell_capture(v, r, s, entry)
                                                          : server_tell_enable(v, r, s, entry, code)};
        if (wait && v->fd[t.connection] >= 0)
            wait_add(wait, t);
    }
}

static void wait_unlink(struct control_server *v, struct enable_wait **at)
{
    v->waiting[(*at)->controller]--;
    *at = (*at)->next;
}

/* Answers the waits that are over or late. An answer may drop a connection, and so change the list: starts again each
 * time. */
static void answer_done(struct control_server *v, uint64_t now_ms)
{
    for (struct enable_wait **at = &v->waits; *at;) {
        struct enable_wait *w = *at;
        if (w->count && now_ms < w->until_ms) {
            at = &w->next;
            continue;
        }
        wait_unlink(v, at);
        server_answer(v, w->controller, &w->header,
                      w->count             ? W_TIMEOUT
                      : w->short_of_memory ? W_NOT_ENOUGH_MEMORY
                                           : W_SUCCESS);
        wait_free(w);
        at = &v->waits;
    }
}

static bool expired(struct control_server *v, uint64_t now_ms, uint64_t *next_ms)
{
    answer_done(v, now_ms);
    *next_ms = UINT64_MAX;
    for (const struct enable_wait *w = v->waits; w; w = w->next)
        *next_ms = w->until_ms < *next_ms ? w->until_ms : *next_ms;
    const bool held = held_expired(v, next_ms);
    return v->waits || held;
}

static void acknowledged(struct control_server *v, unsigned c, uint32_t number)
{
    for (struct enable_wait *w = v->waits; w; w = w->next)
        for (unsigned i = 0; i < w->count; i++)
            if (w->left[i].connection == c && w->left[i].number == number) {
                w->left[i] = w->left[--w->count];
                answer_done(v, 0);
                return;
            }
}

static void enable_gone(struct control_server *v, unsigned c)
{
    for (struct enable_wait **at = &v->waits; *at;) {
        struct enable_wait *w = *at;
        if (w->controller == c) {
            wait_unlink(v, at);
            wait_free(w);
            continue;
        }
        for (unsigned i = 0; i < w->count;)
            if (w->left[i].connection == c)
                w->left[i] = w->left[--w->count];
            else
                i++;
        at = &w->next;
    }
    answer_done(v, 0);
    held_gone(v, c);
}

/* ---- classic providers: one session at a time; the last to enable one takes it from the others ---- */

static bool has_classic(const struct control_server *v, uint32_t slot)
{
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        if (v->state->registration[i].in_use & STATE_REGISTERED_CLASSIC && v->state->registration[i].slot == slot)
            return true;
    return false;
}

/* Disables the provider in every session but that of entry `keep`. */
static void take_from_others(struct control_server *v, uint32_t slot, unsigned keep)
{
    const struct shm_provider *p  = &v->table->directory->shm->provider[slot];
    const struct guid          id = p->guid;
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s = e != keep && p->mask & 1u << e ? v->table->slot[p->enable[e].session % SHM_SESSIONS] : NULL;
        if (!s)
            continue;
        enable_tell_all(v, s, slot, e, CTL_CODE_DISABLE, NULL);
        session_provider_clear(s, &id);
    }
}

/* A classic provider filters its events itself: sessions that ask for more get a condition. */
static void note_unfiltered(struct control_server *v, uint32_t slot)
{
    const struct shm_provider *p = &v->table->directory->shm->provider[slot];
    char                       text[GUID_TEXT_SIZE];
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s =
            p->mask & p->filtered & 1u << e ? v->table->slot[p->enable[e].session % SHM_SESSIONS] : NULL;
        if (s)
            server_note_once(s, W_NOT_SUPPORTED, guid_format(&p->guid, text),
                             "a provider of the older API: programs are chosen, its events are not filtered",
                             "choose by level and keywords");
    }
}

/* A provider was registered. If several sessions want a classic one, the session with the last entry keeps it. */
static void registered(struct control_server *v, unsigned registration, const struct guid *group)
{
    const struct state_registration *r    = &v->state->registration[registration];
    const struct shm_provider       *p    = &v->table->directory->shm->provider[r->slot];
    const uint8_t                    mask = p->mask;
    parts_registered(v, registration);
    group_join(v, registration, group);
    if (r->in_use & STATE_REGISTERED_CLASSIC && mask & (mask - 1))
        take_from_others(v, r->slot, 31u - (unsigned)__builtin_clz(mask));
    if (r->in_use & STATE_REGISTERED_CLASSIC)
        note_unfiltered(v, r->slot);
}

static wstatus enable_act(struct control_server *v, const struct ctl_enable_request *m,
                          const struct filter_block *filter, struct session *s, struct enable_wait *wait)
{
    const struct enable_terms terms = {
        .level = m->level, .any = m->any, .all = m->all, .flags = directory_flags(m->property), .filter = filter};
    struct reason why;
    unsigned      slot, entry;
    if (m->code == CTL_CODE_ENABLE) {
        const int known = directory_find(v->table->directory, &m->provider);
        /* as on Windows: such providers filter by themselves */
        if (known >= 0 && filter_needed(filter) && has_classic(v, (uint32_t)known))
            return W_NOT_SUPPORTED;
        session_expect(s, filter);
        parts_expect(v, s);
        wstatus st = session_provider_set(s, &m->provider, &terms, &slot, &entry, &why);
        if (!st && has_classic(v, slot))
            take_from_others(v, slot, entry);
        if (!st) {
            enable_tell_all(v, s, slot, entry, CTL_CODE_ENABLE, wait);
            group_change(v, s, slot, entry, CTL_CODE_ENABLE, wait);
        }
        return st;
    }
    if (!session_provider_find(s, &m->provider, &slot, &entry))
        return W_WMI_GUID_NOT_FOUND;
    v->capture = m->code == CTL_CODE_CAPTURE_STATE ? filter_part(filter, FILTER_SCHEMATIZED, &v->capture_bytes) : NULL;
    enable_tell_all(v, s, slot, entry, m->code, wait);
    group_change(v, s, slot, entry, m->code, wait);
    v->capture = NULL;
    if (m->code == CTL_CODE_DISABLE)
        session_provider_clear(s, &m->provider);
    return W_SUCCESS;
}

/* The request's filters, with its property; malloc. */
static wstatus filter_of(const struct ctl_enable_request *m, size_t size, struct filter_block **out)
{
    struct reason why;
    wstatus       st = m->filter_bytes > size - sizeof *m ? W_BAD_LENGTH
                       : m->filter_bytes                  ? filter_check(m + 1, m->filter_bytes, &why)
                                                          : W_SUCCESS;
    if (st)
        return st;
    if (!(*out = calloc(1, m->filter_bytes ? m->filter_bytes : sizeof **out)))
        return W_NOT_ENOUGH_MEMORY;
    if (m->filter_bytes)
        memcpy(*out, m + 1, m->filter_bytes);
    else
        (*out)->size = sizeof **out;
    (*out)->property = m->property;
    return W_SUCCESS;
}

/* Users without rights leave room for the sessions of others. */
static bool private_room(const struct control_server *v, const struct session *s, const struct ctl_enable_request *m)
{
    struct reason why;
    unsigned      slot, entry;
    return m->code != CTL_CODE_ENABLE || !s->state->private_pid || !s->state->owner.set ||
           session_provider_find(s, &m->provider, &slot, &entry) || !server_private_room(v, &m->provider, &why);
}

/* Does the session's user have quota for it? */
static wstatus enable_has_quota(struct control_server *v, const struct session *s, const struct ctl_enable_request *m,
                                const struct filter_block *filter)
{
    const uint32_t uid = quota_payer(s);
    if (m->code != CTL_CODE_ENABLE)
        return W_SUCCESS;
    const bool fine = quota_provider(v, uid, &m->provider) &&
                      (!filter_needed(filter) || quota_allows(v, QUOTA_FILTERS, uid, filter->size));
    return fine ? W_SUCCESS : W_NO_SYSTEM_RESOURCES;
}

static wstatus wait_make(struct control_server *v, unsigned c, const struct ctl_header *m, struct enable_wait **out)
{
    const uint32_t uid = v->state->connection[c].uid;
    if (!quota_may_wait(v, c))
        return W_BUSY;
    if (!(*out = calloc(1, sizeof **out)))
        return W_NOT_ENOUGH_MEMORY;
    (*out)->controller = c;
    (*out)->header     = *m;
    (*out)->until_ms   = quota_now_ms() + (access_may_control(uid) ? WAIT_OWNER_MS : WAIT_MS);
    return W_SUCCESS;
}

/* The answer waits for the programs that were told. A program that does not read has lost its connection by now. */
static void wait_begin(struct control_server *v, struct enable_wait *wait)
{
    unsigned living = 0;
    for (unsigned i = 0; i < wait->count; i++)
        if (v->fd[wait->left[i].connection] >= 0)
            wait->left[living++] = wait->left[i];
    wait->count = living;
    wait->next  = v->waits;
    v->waits    = wait;
    v->waiting[wait->controller]++;
    answer_done(v, 0);
}

static wstatus enable_request(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_enable_request *m = message;
    char                             name[CTL_NAME];
    struct enable_wait              *wait   = NULL;
    struct filter_block             *filter = NULL;

    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, m->name);
    struct session *s = table_find(v->table, name);
    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    if (m->code > CTL_CODE_CAPTURE_STATE || guid_equal(&m->provider, &(const struct guid)CTL_SYSTEM_TRACE))
        return W_INVALID_PARAMETER; /* kernel events are asked for by EnableFlags */
    if (!(s->state->private_pid && server_session_granted(v, c, s, ACCESS_GUID_ENABLE)) &&
        !server_granted(v, c, &m->provider, ACCESS_GUID_ENABLE))
        return W_ACCESS_DENIED;
    if (m->property & ~(uint32_t)PROPERTY_KNOWN)
        return W_NOT_SUPPORTED;
    if (!private_room(v, s, m))
        return W_NO_SYSTEM_RESOURCES;
    wstatus st = filter_of(m, size, &filter);
    st         = st ? st : enable_has_quota(v, s, m, filter);
    st         = st || !m->wait ? st : wait_make(v, c, &m->header, &wait);
    st         = st ? st : enable_act(v, m, filter, s, wait);
    free(filter);
    if (st)
        wait_free(wait);
    else if (wait)
        wait_begin(v, wait);
    else
        server_answer(v, c, &m->header, W_SUCCESS);
    return st;
}

/* ---- CTL_PROVIDER ---- */

/* Of sessions that the caller may query. */
static unsigned enables_of(const struct control_server *v, unsigned c, int slot, struct ctl_provider_enable *out)
{
    const struct shm_provider *p = &v->table->directory->shm->provider[slot];
    unsigned                   n = 0;
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        const struct session *s = p->mask & 1u << e ? v->table->slot[p->enable[e].session % SHM_SESSIONS] : NULL;
        if (!s || !server_session_granted(v, c, s, ACCESS_QUERY))
            continue;
        const struct filter_block *filter = directory_filter(v->table->directory, (unsigned)slot, e);
        out[n]                            = (struct ctl_provider_enable){.logger_id = s->state->index,
                                                                         .any       = p->enable[e].any,
                                                                         .all       = p->enable[e].all,
                                                                         .level     = p->enable[e].level,
                                                                         .property  = directory_property(v->table->directory, (unsigned)slot, e)};
        if (filter)
            filter_describe(filter, out[n].filters, sizeof out[n].filters);
        snprintf(out[n++].session, sizeof out->session, "%s", s->state->name);
    }
    return n;
}

static unsigned enable_programs_of(const struct control_server *v, unsigned c, int slot,
                                   struct ctl_provider_program *out)
{
    const bool all = server_granted(v, c, &v->table->directory->shm->provider[slot].guid, ACCESS_QUERY);
    unsigned   n   = 0;
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        const struct state_registration *r = &v->state->registration[i];
        if (!r->in_use || (r->slot != (uint32_t)slot && state_group(r) != slot)) /* of a group: its members */
            continue;
        if (!all && v->state->connection[r->connection].uid != v->state->connection[c].uid)
            continue; /* a caller without the right does not learn which programs other users run */
        const uint32_t pid = v->state->connection[r->connection].pid;
        unsigned       k   = 0;
        while (k < n && out[k].pid != pid)
            k++;
        if (k == n && n < CTL_PROVIDER_PROGRAMS)
            out[n++] = (struct ctl_provider_program){.pid = pid};
        if (k == n)
            continue;
        out[k].registrations++;
        out[k].classic |= (r->in_use & STATE_REGISTERED_CLASSIC) != 0;
    }
    return n;
}

static wstatus enable_provider(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_provider_request *m      = message;
    struct ctl_provider_answer        *answer = (void *)v->out;
    const int                          slot   = directory_find(v->table->directory, &m->provider);
    _Static_assert(sizeof *answer + CTL_PROVIDER_PROGRAMS * sizeof answer->program[0] <= CTL_MAX, "one message");
    (void)size;
    if (slot < 0)
        return W_WMI_GUID_NOT_FOUND;
    memset(answer, 0, sizeof *answer);
    answer->enable_count  = enables_of(v, c, slot, answer->enable);
    answer->program_count = enable_programs_of(v, c, slot, answer->program);
    snprintf(answer->name, sizeof answer->name, "%s",
             v->table->directory->name[slot] ? v->table->directory->name[slot] : "");
    return server_reply(v, c, m, answer, sizeof *answer + answer->program_count * sizeof answer->program[0], W_SUCCESS);
}

/* Attaches programs that the predecessor kept out of a secure session because it had no descriptors. */
static void adopted(struct control_server *v)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *s = v->table->slot[i];
        if (s)
            parts_expect(v, s);
        if (!s || !(s->state->log_file_mode & ETL_MODE_SECURE))
            continue;
        const uint64_t bit = UINT64_C(1) << s->state->index;
        for (unsigned k = 0; k < STATE_ENABLES && *s->state->enable[k].key; k++)
            for (unsigned at = 0; s->state->enable[k].in_use && at < STATE_REGISTRATIONS; at++) {
                const struct state_registration *r = &v->state->registration[at];
                if (r->in_use && r->slot == s->state->enable[k].slot &&
                    !(v->state->connection[r->connection].attached & bit) && server_attach_registered(v, r, s))
                    server_tell_enable(v, r, s, s->state->enable[k].entry, CTL_CODE_ENABLE);
            }
    }
}

const struct control_enabling control_enabling = {
    enable_request, acknowledged,    enable_gone, expired, enable_provider, registrations_page,
    users_page,     conditions_page, registered,  adopted, parts_of,        parts_living};

void server_session_begun(struct control_server *v, struct session *s)
{
    unsigned declared = 0; /* enablements for groups come after these, and are told by group_change */
    parts_begin(v, s);
    while (declared < STATE_ENABLES && *s->state->enable[declared].key)
        declared++;
    for (unsigned k = 0; k < declared; k++)
        if (s->state->enable[k].in_use) {
            enable_tell_all(v, s, s->state->enable[k].slot, s->state->enable[k].entry, CTL_CODE_ENABLE, NULL);
            group_change(v, s, s->state->enable[k].slot, s->state->enable[k].entry, CTL_CODE_ENABLE, NULL);
        }
}
