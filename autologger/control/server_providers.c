/* server_providers.c - provider libraries: registrations, and what is enabled for them (V2). See server.h. */
#include "autologger/control/server_parts.h"

#include "autologger/control/access.h"
#include "autologger/control/peer.h"
#include "autologger/control/places.h"
#include "autologger/wire/etl.h"
#include "registry-sim/win32/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void server_registration_drop(struct control_server *v, struct state_registration *r)
{
    if (!r->in_use)
        return;
    const int group = state_group(r);
    r->in_use       = 0;
    v->registered[r->connection]--;
    registered_give(&v->registrations, r->connection, (unsigned)(r - v->state->registration));
    directory_register(v->table->directory, r->slot, -1);
    if (group >= 0)
        directory_register(v->table->directory, (unsigned)group, -1);
}

void server_note_once(struct session *s, wstatus number, const char *item, const char *what, const char *advice)
{
    session_user_condition(s, number, true, item, item, advice, what);
}

static void secure_refused(struct session *s, uint32_t uid)
{
    char item[32];
    snprintf(item, sizeof item, "uid %u", uid);
    server_note_once(s, W_ACCESS_DENIED, item, "the session is SECURE: events of this user's programs are not recorded",
                     "autologger access SESSION --allow USER=log");
}

/* A user whose programs have touched too much memory of sessions gets none of another one. Checked now and then: memory
 * is used by writing, not by the attachment. */
static bool has_memory(struct control_server *v, struct session *s, uint32_t uid)
{
    enum { AGAIN_MS = 100 };
    const uint64_t now = quota_now_ms();
    if (session_has_user(s, uid))
        return true;
    if (now - v->mapped_ms < AGAIN_MS)
        return true;
    v->mapped_ms = now;
    return quota_allows(v, QUOTA_MAPPED, uid, 0);
}

/* If the program's user has changed since the session began (exec of a setuid program), the session gets none of its
 * events. */
static bool may_attach_private(struct control_server *v, unsigned c, struct session *s)
{
    const struct state_connection *who = &v->state->connection[c];
    if (server_is_private_to(v, c, s))
        return true;
    if (peer_is(who, s->state->private_pid, s->state->private_process, s->state->private_start))
        server_note_once(
            s, W_ACCESS_DENIED, "program",
            "the program has another user, group or more capabilities than when it started the session: its events are not recorded",
            "start the session after the change of the user, and register providers after it");
    return false;
}

bool server_attach(struct control_server *v, unsigned c, struct session *s)
{
    const uint64_t bit = UINT64_C(1) << s->state->index;
    const uint32_t uid = v->state->connection[c].uid;

    if (v->state->connection[c].attached & bit)
        return v->fd[c] >= 0;
    if (s->state->private_pid && !may_attach_private(v, c, s))
        return false;
    if (s->state->log_file_mode & ETL_MODE_SECURE && !server_granted(v, c, &s->state->guid, ACCESS_LOG_EVENT)) {
        secure_refused(s, uid);
        return false;
    }
    struct session *to = s->state->processes.kind != STATE_WHOLE ? s
                         : v->hooks.enabling                     ? v->hooks.enabling->part(v, c, s)
                                                                 : NULL;
    if (!to)
        return false; /* not for this process, or there was no place for it */
    if (!has_memory(v, to, uid))
        return false;
    const struct session_uid *u = session_admit(to, uid);
    if (!u)
        return false;
    struct ctl_attach m = {.header             = {sizeof m, CTL_ATTACH, CTL_VERSION, 0, 0},
                           .session            = s->state->index,
                           .session_generation = s->state->generation,
                           .session_guid       = s->state->guid};
    int fds[3]          = {stream_set_data_fd(u->streams), stream_set_control_fd_readonly(u->streams), u->event_fd};
    server_tell(v, c, &m, sizeof m, fds, 3);
    v->state->connection[c].attached |= bit; /* after it: a successor may repeat it, the program takes it once */
    return v->fd[c] >= 0;
}

bool server_attach_registered(struct control_server *v, const struct state_registration *r, struct session *s)
{
    char text[GUID_TEXT_SIZE];
    if (!(r->in_use & STATE_REGISTERED_CLASSIC && s->state->log_file_mode & ETL_MODE_SECURE))
        return server_attach(v, r->connection, s);
    server_note_once(
        s, W_ACCESS_DENIED, guid_format(&v->table->directory->shm->provider[r->slot].guid, text),
        "the session is SECURE: a provider of the older API (MOF, WPP) is not enabled in it, and its TraceEvent fails",
        "record it in a session without SECURE");
    return false;
}

uint32_t server_tell_enable(struct control_server *v, const struct state_registration *r, const struct session *s,
                            unsigned entry, uint32_t code)
{
    const struct shm_enable *e = &v->table->directory->shm->provider[r->slot].enable[entry];
    struct ctl_enable        m = {.header       = {sizeof m, CTL_ENABLE, CTL_VERSION, 0, 0},
                                  .index        = r->index,
                                  .enable_index = entry,
                                  .control_code = code,
                                  .level        = e->level,
                                  .any          = e->any,
                                  .all          = e->all,
                                  .source       = s->state->guid,
                                  .ticket       = ++v->ticket};
    server_tell(v, r->connection, &m, sizeof m, NULL, 0);
    return m.ticket;
}

static void count_registration(struct control_server *v, uint32_t slot)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        for (unsigned k = 0; v->table->slot[i] && k < STATE_ENABLES; k++) {
            struct state_enable *e = &v->table->slot[i]->state->enable[k];
            if (e->in_use && e->slot == slot)
                e->registrations++;
        }
}

static struct session *enabled_session(struct control_server *v, uint32_t slot, unsigned entry)
{
    const struct shm_provider *p = &v->table->directory->shm->provider[slot];
    return p->mask & 1u << entry ? v->table->slot[p->enable[entry].session % SHM_SESSIONS] : NULL;
}

/* Adds a condition to each session that enables the provider. */
static void tell_sessions(struct control_server *v, const struct guid *provider, wstatus number, const char *what,
                          const char *advice)
{
    const int slot = directory_find(v->table->directory, provider);
    char      item[GUID_TEXT_SIZE];
    guid_format(provider, item);
    for (unsigned e = 0; slot >= 0 && e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s = enabled_session(v, (uint32_t)slot, e);
        if (s)
            server_note_once(s, number, item, what, advice);
    }
}

static void registration_refused(struct control_server *v, unsigned c, const struct guid *provider)
{
    char item[GUID_TEXT_SIZE], what[160], advice[160];
    snprintf(what, sizeof what,
             "programs of uid %u may not register this provider: EventRegister returns ERROR_ACCESS_DENIED",
             v->state->connection[c].uid);
    snprintf(advice, sizeof advice, "autologger access %s --allow %u=register", guid_format(provider, item),
             v->state->connection[c].uid);
    tell_sessions(v, provider, W_ACCESS_DENIED, what, advice);
}

/* The first program to register a provider chooses the name that everyone sees. */
static bool name_fit(struct control_server *v, unsigned c, const struct provider_message *m)
{
    char shown[96], what[224];
    if (!m->name || visible_is(m->name))
        return true;
    visible_escape(m->name, m->name_length, shown, sizeof shown);
    snprintf(what, sizeof what,
             "a program of uid %u registers it with a name that has control characters, and is refused: %s",
             v->state->connection[c].uid, shown);
    tell_sessions(v, &m->provider, W_INVALID_NAME, what, "give the provider a name of visible characters");
    return false;
}

/* Only for a name that name_fit accepted. */
static void remember_name(struct directory *d, uint32_t slot, const char *name)
{
    if (name && *name && !d->name[slot])
        d->name[slot] = strndup(name, CTL_NAME - 1);
}

enum { REGISTRATIONS_OF_ONE = 1024 }; /* per program, as on Windows */

/* The place for (connection, index): its own, or a free one; NULL when this program can have none. */
static struct state_registration *registration_place(struct control_server *v, unsigned c, uint32_t index)
{
    int place = registered_find(&v->registrations, v->state, c, index);
    if (place < 0 && v->registered[c] < REGISTRATIONS_OF_ONE)
        place = registered_free(&v->registrations);
    return place < 0 ? NULL : &v->state->registration[place];
}

/* Does the user have quota for it? An existing registration needs no more. */
static bool server_providers_has_quota(struct control_server *v, unsigned c, const struct state_registration *r,
                                       const struct guid *provider)
{
    const uint32_t uid = v->state->connection[c].uid;
    return r->in_use || (quota_allows(v, QUOTA_REGISTRATIONS, uid, 1) && quota_provider(v, uid, provider));
}

static void has_come(struct control_server *v, const struct state_registration *r, const struct provider_message *m)
{
    const unsigned     number = (unsigned)(r - v->state->registration);
    const struct guid *group  = m->grouped ? &m->group : NULL;
    if (v->hooks.enabling)
        v->hooks.enabling->registered(v, number, group);
    else
        group_join(v, number, group);
}

wstatus server_on_register(struct control_server *v, unsigned c, const struct provider_message *m)
{
    const bool                 may     = server_granted(v, c, &m->provider, ACCESS_REGISTER_GUIDS);
    const bool                 room    = v->registered[c] || places_for_program(v);
    struct state_registration *r       = !m->whole || !may || !room ? NULL : registration_place(v, c, m->index);
    uint32_t                   enabled = 0; /* bits, by entry */
    struct ctl_registered      answer  = {.header = {sizeof answer, CTL_REGISTER, CTL_VERSION, m->header.sequence, 0},
                                          .index  = m->index};

    if (r && !name_fit(v, c, m)) {
        answer.header.status = W_INVALID_NAME;
        if (r->in_use && m->header.status & CTL_REGISTER_TRAITS)
            return W_SUCCESS; /* TRAITS is not answered: the registration stays as it was */
        server_registration_drop(v, r);
        server_tell(v, c, &answer, sizeof answer, NULL, 0);
        return W_SUCCESS;
    }
    /* repeated after an adoption: the same provider. A different one under the same index replaces it */
    if (r && r->in_use && !guid_equal(&v->table->directory->shm->provider[r->slot].guid, &m->provider))
        server_registration_drop(v, r);
    if (r && r->in_use && m->header.status & CTL_REGISTER_TRAITS) {
        r->in_use |= STATE_REGISTERED_TRAITS;
        remember_name(v->table->directory, r->slot, m->name);
        has_come(v, r, m);
        return W_SUCCESS;
    }
    const bool over = r && !server_providers_has_quota(v, c, r, &m->provider);
    int        slot = !r || over ? -1 : r->in_use ? (int)r->slot : directory_get(v->table->directory, &m->provider);
    if (slot < 0) {
        if (!may)
            registration_refused(v, c, &m->provider);
        else if (!over) /* has_quota has reported it */
            places_refuse(v, v->state->connection[c].uid, v->state->connection[c].pid);
        answer.header.status = may ? W_NO_SYSTEM_RESOURCES : W_ACCESS_DENIED;
        server_tell(v, c, &answer, sizeof answer, NULL, 0);
        if (may && !room && v->fd[c] >= 0)
            server_drop(v, c); /* it has one of the last places, which are kept for controllers */
        return W_SUCCESS;
    }
    if (!r->in_use) {
        *r                  = (struct state_registration){.connection = c, .index = m->index, .slot = (uint32_t)slot};
        const uint32_t kind = (m->header.status & CTL_REGISTER_CLASSIC ? STATE_REGISTERED_CLASSIC : 0u) |
                              (m->header.status & CTL_REGISTER_CALLBACK ? STATE_REGISTERED_CALLBACK : 0u) |
                              (m->traits_size ? STATE_REGISTERED_TRAITS : 0u);
        __atomic_store_n(&r->in_use, STATE_REGISTERED | kind, __ATOMIC_RELEASE);
        v->registered[c]++;
        registered_take(&v->registrations, c);
        server_keep(v, c, KEPT_HOLDS);
        directory_register(v->table->directory, r->slot, 1);
        remember_name(v->table->directory, r->slot, m->name);
        count_registration(v, r->slot);
    }
    has_come(v, r, m);
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s = enabled_session(v, r->slot, e);
        if (s && server_attach_registered(v, r, s))
            enabled |= 1u << e;
        if (v->fd[c] < 0)
            return W_SUCCESS;
    }
    answer.enabled_count = (uint32_t)__builtin_popcount(enabled);
    answer.slot          = r->slot;
    answer.generation    = v->table->directory->shm->provider[r->slot].generation;
    server_tell(v, c, &answer, sizeof answer, NULL, 0);
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS && v->fd[c] >= 0; e++) {
        if (enabled & 1u << e)
            server_tell_enable(v, r, enabled_session(v, r->slot, e), e, 1);
    }
    return W_SUCCESS;
}

wstatus server_on_enable_ack(struct control_server *v, unsigned c, const struct provider_message *m)
{
    if (v->hooks.enabling)
        v->hooks.enabling->acknowledged(v, c, m->ticket);
    return W_SUCCESS;
}

wstatus server_on_unregister(struct control_server *v, unsigned c, const struct provider_message *m)
{
    const int place = registered_find(&v->registrations, v->state, c, m->index);
    if (place >= 0)
        server_registration_drop(v, &v->state->registration[place]);
    return W_SUCCESS;
}

/* A private session's parts end with their process, and have no other user. */
static void user_left(struct control_server *v, unsigned session, uint32_t uid)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->state->connection[c].in_use && v->state->connection[c].uid == uid &&
            v->state->connection[c].attached >> session & 1)
            return;
    session_user_left(v->table->slot[session], uid);
}

void server_program_left(struct control_server *v, uint32_t uid, uint64_t attached)
{
    for (unsigned i = 0; i < SHM_SESSIONS && !v->ending; i++)
        if (attached >> i & 1 && v->table->slot[i])
            user_left(v, i, uid);
}

void server_users_check(struct control_server *v)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        for (unsigned u = 0; v->table->slot[i] && u < v->table->slot[i]->uid_count; u++)
            user_left(v, i, v->table->slot[i]->uid[u].uid);
}

void server_session_gone(struct control_server *v, const struct session *s)
{
    struct ctl_detach m   = {.header             = {sizeof m, CTL_DETACH, CTL_VERSION, 0, 0},
                             .session            = s->state->index,
                             .session_generation = s->state->generation};
    uint64_t          bit = UINT64_C(1) << s->state->index;

    for (unsigned k = 0; k < STATE_ENABLES; k++)
        for (unsigned i = 0; s->state->enable[k].in_use && i < STATE_REGISTRATIONS; i++) {
            const struct state_registration *r = &v->state->registration[i];
            if (r->in_use && r->slot == s->state->enable[k].slot && v->state->connection[r->connection].attached & bit)
                server_tell_enable(v, r, s, s->state->enable[k].entry, 0);
        }
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->state->connection[c].in_use && v->state->connection[c].attached & bit) {
            v->state->connection[c].attached &= ~bit;
            server_tell(v, c, &m, sizeof m, NULL, 0);
        }
}
