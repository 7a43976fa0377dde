/* server_files.c - what is created at once for a controller, with that user's rights: a session, one more file of a
 * session, new terms for one; also what a session was created from, and which providers there are. The early program
 * has server_none.c instead. See server.h. */
#include "autologger/control/access.h"
#include "autologger/control/declaration.h"
#include "autologger/control/peer.h"
#include "autologger/control/server_parts.h"
#include "autologger/wire/etl.h"

#include <stdio.h>
#include <string.h>

struct starter {
    struct control_server *v;
    unsigned               c;
    struct state_processes whole; /* PRIVATE_LOGGER alone: the processes it is for */
};

/* Limits for users without rights, of what all users share. */
enum {
    NOBODY              = 65534 /* the kernel's overflowuid: owns the files of another namespace's root */,
    PRIVATE_OF_USER     = 4,
    PRIVATE_OF_USERS    = 16,
    PRIVATE_IN_PROVIDER = SHM_PROVIDER_SESSIONS / 2,
    PRIVATE_BYTES       = 16 << 20
};

static bool users_private(const struct session *s)
{
    return s && s->state->private_pid && s->state->processes.kind != STATE_PART && s->state->owner.set;
}

wstatus server_private_room(const struct control_server *v, const struct guid *provider, struct reason *why)
{
    unsigned n = 0, slot, entry;
    char     text[GUID_TEXT_SIZE];
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        n += users_private(v->table->slot[i]) && session_provider_find(v->table->slot[i], provider, &slot, &entry);
    return n < PRIVATE_IN_PROVIDER
               ? W_SUCCESS
               : reason_set(why, W_NO_SYSTEM_RESOURCES, "the provider %s is enabled in %u private sessions already",
                            guid_format(provider, text), n);
}

static wstatus users_room(const struct starter *s, const struct plan *plan, struct reason *why)
{
    const uint32_t uid = s->v->state->connection[s->c].uid;
    unsigned       own = 0, all = 0;
    wstatus        st = W_SUCCESS;
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        const struct session *other = s->v->table->slot[i];
        all += users_private(other);
        own += users_private(other) && other->state->owner.uid == uid;
    }
    if (own >= PRIVATE_OF_USER || all >= PRIVATE_OF_USERS)
        return reason_set(why, W_NO_SYSTEM_RESOURCES,
                          "there are %u private sessions of this user, and %u of all; at most %d and %d. Do: stop one",
                          own, all, PRIVATE_OF_USER, PRIVATE_OF_USERS);
    if (plan->memory_bytes > PRIVATE_BYTES)
        return reason_set(why, W_NO_SYSTEM_RESOURCES,
                          "a private session's buffers have at most %d MB. Do: lower MaximumBuffers or BufferSize",
                          PRIVATE_BYTES >> 20);
    for (unsigned i = 0; i < plan->provider_count && !st; i++)
        if (plan->providers[i].enabled)
            st = server_private_room(s->v, &plan->providers[i].guid, why);
    return st;
}

/* Does the session's user have quota for what it needs? */
static wstatus server_files_has_quota(const struct starter *s, const struct plan *plan, struct reason *why)
{
    const uint32_t uid    = s->v->state->connection[s->c].uid;
    uint64_t       places = 0, bytes = 0;
    for (unsigned i = 0; i < plan->provider_count; i++) {
        const struct plan_provider *p = &plan->providers[i];
        places += p->enabled && directory_find(s->v->table->directory, &p->guid) < 0;
        bytes += p->enabled && filter_needed(p->filter) ? p->filter->size : 0;
    }
    if (places && !quota_allows(s->v, QUOTA_PROVIDERS, uid, places))
        return reason_set(
            why, W_NO_SYSTEM_RESOURCES,
            "uid %u would have more provider places than are left for one user. Do: enable fewer providers", uid);
    if (bytes && !quota_allows(s->v, QUOTA_FILTERS, uid, bytes))
        return reason_set(
            why, W_NO_SYSTEM_RESOURCES,
            "uid %u would have more bytes of filters than are left for one user. Do: stop a session, or filter less",
            uid);
    return W_SUCCESS;
}

static wstatus private_check(const struct plan *plan, struct reason *why)
{
    bool more = plan->kernel || plan->log_file_mode & (ETL_MODE_REAL_TIME | ETL_MODE_PREALLOCATE | ETL_MODE_SECURE |
                                                       ETL_MODE_NONSTOPPABLE);
    for (unsigned i = 0; i < plan->provider_count; i++)
        more |= plan->providers[i].enabled && plan->providers[i].tracepoint;
    if (more)
        return reason_set(
            why, W_INVALID_PARAMETER,
            "a private session has events of programs: no kernel events, no REAL_TIME, PREALLOCATE, SECURE, NONSTOPPABLE");
    return W_SUCCESS;
}

static wstatus may_start_whole(struct starter *s, const struct plan *plan, struct reason *why)
{
    const wstatus st            = private_check(plan, why);
    s->whole.kind               = STATE_WHOLE;
    s->v->table->env->processes = &s->whole;
    return st;
}

/* A session of the requesting program alone: it needs no right, and its file is made with that user's rights. */
static wstatus may_start_private(const struct starter *s, const struct plan *plan, struct reason *why)
{
    const struct control_server   *v   = s->v;
    const struct state_connection *who = &v->state->connection[s->c];
    wstatus                        st  = private_check(plan, why);
    if (st)
        return st;
    if (!who->pid)
        return reason_set(
            why, W_NOT_SUPPORTED,
            "the program is of a process namespace that this daemon does not see: its events could not be told from others'");
    if (server_foreign_root(v, s->c))
        return reason_set(why, W_ACCESS_DENIED,
                          "root of another user or process namespace than the daemon's starts no private session here");
    if (!peer_unchanged(v->table->env->proc_fd, v->pidfd[s->c], who))
        return reason_set(
            why, W_ACCESS_DENIED,
            "the program that connected has ended, or has another user, group or more capabilities since. Do: connect again");
    if (!server_may_control(v, s->c) && !v->table->env->asks)
        return reason_set(why, W_ACCESS_DENIED, "this daemon makes no files for other users");
    return server_may_control(v, s->c) ? W_SUCCESS : users_room(s, plan, why);
}

/* Rights in the syntax of autologger access. */
static const char *rights_words(uint32_t wanted)
{
    const bool live = wanted & ACCESS_CREATE_REALTIME, file = wanted & ACCESS_CREATE_ONDISK;
    return live && file ? "enable,realtime,ondisk" : live ? "enable,realtime" : file ? "enable,ondisk" : "enable";
}

/* A file at a path chosen by the caller is made with the caller's rights; a daemon that cannot take these on refuses
 * it. */
static wstatus may_name(const struct control_server *v, unsigned c, const char *file, struct reason *why)
{
    if (!file || *file != '/' || server_may_control(v, c) || v->table->env->asks)
        return W_SUCCESS;
    return reason_set(
        why, W_ACCESS_DENIED,
        "this daemon makes no files of other users outside of its log folder. Do: name a file without a folder");
}

static wstatus has_rights(void *ctx, const struct plan *plan, struct reason *why)
{
    static const struct guid system_trace = CTL_SYSTEM_TRACE;
    struct starter          *s            = ctx;
    char                     text[GUID_TEXT_SIZE];
    const uint32_t           uid    = s->v->state->connection[s->c].uid;
    const uint32_t           wanted = ACCESS_GUID_ENABLE |
                            (plan->log_file_mode & ETL_MODE_REAL_TIME ? (uint32_t)ACCESS_CREATE_REALTIME : 0) |
                            (plan->log_path ? (uint32_t)ACCESS_CREATE_ONDISK : 0);
    bool kernel = plan->kernel;
    if (plan->log_file_mode & ETL_MODE_PRIVATE_IN_PROC)
        return may_start_private(s, plan, why);
    if (!server_granted(s->v, s->c, &plan->guid, wanted))
        return reason_set(
            why, W_ACCESS_DENIED,
            "uid %u needs the rights %s on the session \"%s\". Do: as root, autologger access '%s' --allow %u=%s", uid,
            rights_words(wanted), plan->name, guid_format(&plan->guid, text), uid, rights_words(wanted));
    for (unsigned i = 0; i < plan->provider_count; i++) {
        const struct plan_provider *p = &plan->providers[i];
        kernel |= p->enabled && p->tracepoint;
        if (p->enabled && !server_granted(s->v, s->c, &p->guid, ACCESS_GUID_ENABLE))
            return reason_set(
                why, W_ACCESS_DENIED,
                "uid %u needs the right enable on the provider %s. Do: as root, autologger access '%s' --allow %u=enable",
                uid, p->name ? p->name : "of that GUID", guid_format(&p->guid, text), uid);
    }
    wstatus st = may_name(s->v, s->c, plan->file_name, why);
    if (st)
        return st;
    if (kernel && !server_granted(s->v, s->c, &system_trace, wanted))
        return reason_set(
            why, W_ACCESS_DENIED,
            "events of the kernel are root's. Do: run as root, or, as root, autologger access kernel --allow %u=%s",
            uid, rights_words(wanted));
    if (plan->log_file_mode & ETL_MODE_PRIVATE)
        return may_start_whole(s, plan, why);
    return s->whole.pid_count || *s->whole.names
               ? reason_set(why, W_INVALID_PARAMETER, "only a private session of several processes is for some of them")
               : W_SUCCESS;
}

/* The processes that a private session is for. Filters of other types are about events: W_NOT_SUPPORTED. */
static wstatus processes_of(const struct filter_block *b, size_t size, struct state_processes *out)
{
    struct reason why;
    uint32_t      bytes = 0, names = 0;
    if (!size)
        return W_SUCCESS;
    wstatus st = filter_check(b, size, &why);
    if (st)
        return st;
    const void *pids = filter_part(b, FILTER_PID, &bytes), *text = filter_part(b, FILTER_EXECUTABLE, &names);
    _Static_assert((int)STATE_WHOLE_PIDS == (int)FILTER_PIDS && (int)STATE_WHOLE_NAMES >= (int)FILTER_TEXT_UTF8,
                   "what a filter holds");
    if (b->parts != (pids != NULL) + (text != NULL) + 0u)
        return W_NOT_SUPPORTED;
    if (pids)
        memcpy(out->pid, pids, bytes);
    out->pid_count = bytes / (uint32_t)sizeof out->pid[0];
    if (text)
        snprintf(out->names, sizeof out->names, "%.*s", (int)names, (const char *)text);
    return W_SUCCESS;
}

/* Whatever is created from now on is that user's, until `asks` is NULL again. */
static void asks_set(struct control_server *v, unsigned c, struct state_owner *owner)
{
    if (server_may_control(v, c) || !v->hooks.rights || !v->hooks.rights->owner)
        return;
    if (server_foreign_root(v, c))
        *owner = (struct state_owner){.set = 1, .uid = NOBODY, .gid = NOBODY};
    else
        v->hooks.rights->owner(v->fd[c], v->state->connection[c].uid, owner);
    v->table->env->asks = owner;
}

/* Checks a plan before its session is created. */
static wstatus server_files_may_start(void *ctx, const struct plan *plan, struct reason *why)
{
    const wstatus st = has_rights(ctx, plan, why);
    return st ? st : server_files_has_quota(ctx, plan, why);
}

wstatus server_on_start(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct state_owner              owner;
    struct starter                  who    = {.v = v, .c = c};
    const struct ctl_start_request *m      = message;
    struct ctl_update_answer       *answer = (void *)v->out;
    if (!v->hooks.start)
        return W_NOT_SUPPORTED;
    const size_t room = size - sizeof *m, filter_at = ((size_t)m->bytes + 7) & ~(size_t)7;
    if (m->bytes > room || (m->filter_bytes && (filter_at > room || m->filter_bytes > room - filter_at)))
        return W_BAD_LENGTH;
    wstatus st = processes_of((const void *)((const uint8_t *)(m + 1) + filter_at), m->filter_bytes, &who.whole);
    if (st)
        return st;
    memset(answer, 0, sizeof *answer);
    v->table->may_add = server_files_may_start;
    v->table->may_ctx = &who;
    asks_set(v, c, &owner);
    v->table->env->program   = &v->state->connection[c];
    struct session *wait     = NULL;
    st                       = v->hooks.start(v->hooks.ctx, m + 1, m->bytes, answer, &wait);
    v->table->env->program   = NULL;
    v->table->env->processes = NULL;
    v->table->may_add        = NULL;
    v->table->env->asks      = NULL;
    return wait ? held_start(v, c, &m->header, wait, answer) : server_reply(v, c, m, answer, sizeof *answer, st);
}

/* Rights for the change, beyond those to start the session. */
static bool server_files_may_update(const struct control_server *v, unsigned c, const struct session *s, uint32_t what)
{
    const uint32_t wanted =
        (what & CTL_UPDATE_FILE ? (uint32_t)ACCESS_CREATE_ONDISK : 0) |
        (what & (CTL_UPDATE_REALTIME_ON | CTL_UPDATE_CONVERT) ? (uint32_t)ACCESS_CREATE_REALTIME : 0);
    return !wanted || server_session_granted(v, c, s, wanted);
}

wstatus server_on_update(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct ctl_update_request m = {.what = 0};
    struct state_owner        owner;
    memcpy(&m, message, size < sizeof m ? size : sizeof m);
    if (m.what & CTL_UPDATE_LATER && size < sizeof m)
        return W_BAD_LENGTH;
    if (!v->hooks.update)
        return W_NOT_SUPPORTED;
    m.name[sizeof m.name - 1] = m.file[sizeof m.file - 1] = 0;
    struct session *s                                     = table_find(v->table, m.name);
    if (s && !server_files_may_update(v, c, s, m.what))
        return W_ACCESS_DENIED;
    asks_set(v, c, &owner);
    const wstatus st    = held_update(v, c, &m, s);
    v->table->env->asks = NULL;
    return st;
}

wstatus server_on_access(struct control_server *v, unsigned c, const void *message, size_t size)
{
    return v->hooks.access ? v->hooks.access(v, c, message, size) : W_NOT_SUPPORTED;
}

static wstatus server_file_more(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s,
                                const char *file)
{
    struct state_owner owner;
    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    if (!v->hooks.file)
        return W_NOT_SUPPORTED;
    asks_set(v, c, &owner);
    const wstatus st    = held_files(v, c, m, s, file);
    v->table->env->asks = NULL;
    return st;
}

wstatus server_on_snapshot(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_snapshot_request *m = message;
    struct ctl_session_request         named;
    (void)size;
    memcpy(named.name, m->name, sizeof named.name);
    if (!memchr(m->file, 0, sizeof m->file) || !*m->file)
        return W_INVALID_NAME;
    return server_file_more(v, c, &m->header, server_named(v, &named), m->file);
}

wstatus server_on_next_file(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m = message;
    (void)size;
    return server_file_more(v, c, &m->header, server_named(v, m), NULL);
}

wstatus server_on_declaration(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct session                   *s      = server_named(v, m);
    struct ctl_declaration_answer    *answer = (void *)v->out;
    (void)size;

    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    declaration_answer(s, v->table->directory, m->start, answer, CTL_MAX);
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}

wstatus server_on_terms(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct session                   *s      = server_named(v, m);
    struct ctl_terms_answer          *answer = (void *)v->out;
    (void)size;

    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    terms_answer(s, v->table->directory, m->start, answer);
    return server_reply(v, c, m, answer, sizeof *answer + answer->filter_bytes, W_SUCCESS);
}

static bool is_group(const struct control_server *v, int slot)
{
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        if (v->state->registration[i].in_use && state_group(&v->state->registration[i]) == slot)
            return true;
    return false;
}

wstatus server_on_providers(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_providers_answer      *answer = (void *)v->out;
    const struct directory           *d      = v->table->directory;
    unsigned                          skip = m->start, room = (CTL_MAX - sizeof *answer) / sizeof answer->row[0];
    (void)size;

    memset(answer, 0, sizeof *answer);
    for (int i = 0; i < d->used; i++) {
        const struct shm_provider *p = &d->shm->provider[i];
        if (!(p->generation & 1))
            continue;
        answer->total++;
        if (skip) {
            skip--;
            continue;
        }
        if (answer->count == room)
            continue;
        struct ctl_provider_row *row = &answer->row[answer->count++];
        *row                         = (struct ctl_provider_row){.guid          = p->guid,
                                                                 .registrations = d->registrations[i],
                                                                 .enabled_count = (uint16_t)__builtin_popcount(p->mask),
                                                                 .group         = is_group(v, i)};
        snprintf(row->name, sizeof row->name, "%s", d->name[i] ? d->name[i] : "");
    }
    return server_reply(v, c, m, answer, sizeof *answer + answer->count * sizeof answer->row[0], W_SUCCESS);
}
