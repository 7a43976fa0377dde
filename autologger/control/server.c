#include "autologger/control/server_parts.h"

#include "autologger/control/access.h"
#include "autologger/control/foreign.h"
#include "autologger/control/message.h"
#include "autologger/control/peer.h"
#include "autologger/control/outcast.h"
#include "autologger/control/places.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- connections ---- */

/* A name that begins with "asks" stays with the keeper (daemon/keeper.c). */
static const char *kept_name(const struct control_server *v, unsigned c, enum connection_kept how, char name[64])
{
    snprintf(name, 64, "%s:%u", how == KEPT_ASKS ? "asks" : "conn", v->state->connection[c].id);
    return name;
}

static void keep_tell(const struct control_server *v, unsigned c, enum connection_kept how, int fd)
{
    char name[64];
    if (how && v->table->env->keep)
        v->table->env->keep(v->table->env->keep_ctx, kept_name(v, c, how, name), fd, 0);
}

void server_keep(struct control_server *v, unsigned c, enum connection_kept how)
{
    const enum connection_kept before = v->kept[c];
    if (how && (before >= how || v->fd[c] < 0))
        return;
    v->kept[c] = (uint8_t)how;
    keep_tell(v, c, how, v->fd[c]); /* before the other name is dropped: it always has one */
    keep_tell(v, c, before, -1);
}

void server_drop(struct control_server *v, unsigned c)
{
    server_consumer_drop(v, c);
    for (int next, i = registered_first(&v->registrations, c); i >= 0; i = next) {
        next = registered_next(&v->registrations, (unsigned)i);
        server_registration_drop(v, &v->state->registration[i]);
    }
    server_keep(v, c, KEPT_NOT);
    const bool was_there           = v->state->connection[c].in_use;
    v->state->connection[c].in_use = 0;
    if (v->fd[c] >= 0) {
        ready_remove(v, c);
        message_hang_up(v->fd[c]);
    }
    v->fd[c] = -1;
    free(v->ended[c]);
    v->ended[c] = NULL;
    server_peer_drop(v, c);
    if (was_there)
        server_program_left(v, v->state->connection[c].uid, v->state->connection[c].attached);
    if (v->hooks.enabling)
        v->hooks.enabling->gone(v, c);
}

void server_tell(struct control_server *v, unsigned c, void *message, size_t size, const int *fds, unsigned fd_count)
{
    if (v->fd[c] >= 0 && !message_send(v->fd[c], message, size, fds, fd_count))
        server_drop(v, c); /* V3 */
}

int server_connect(struct control_server *v, int fd, const struct state_connection *who)
{
    const int c = places_take(v, who->uid);
    if (c < 0) {
        places_refuse(v, who->uid, who->pid);
        return -1;
    }
    if (!ready_add(v, (unsigned)c, fd, who))
        return -1;
    struct state_connection *s = &v->state->connection[c];
    *s                         = *who;
    s->in_use                  = 0;
    s->attached                = 0;
    s->id                      = v->state->next_connection++;
    v->fd[c]                   = fd;
    v->greeted[c]              = false;
    v->more[c] = v->kept[c] = 0;
    v->unread[c]            = 0;
    v->rest[c]              = 0;
    __atomic_store_n(&s->in_use, 1, __ATOMIC_RELEASE);
    return c;
}

/* No descriptor is left: uses the spare one for a moment, so that the waiting client is refused, and does not keep the
 * daemon awake. */
static int accept_spare(struct control_server *v, enum ctl_socket at)
{
    close(v->spare_fd);
    int          fd = accept4(v->listen_fd[at], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred who;
    socklen_t    size = sizeof who;
    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
        places_refuse(v, who.uid, (uint32_t)who.pid);
    if (fd >= 0)
        message_hang_up(fd);
    v->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd;
}

bool server_accept(struct control_server *v, enum ctl_socket at)
{
    int                     fd = accept4(v->listen_fd[at], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct state_connection who;

    if (fd < 0)
        return (errno == EMFILE || errno == ENFILE) && v->spare_fd >= 0 && accept_spare(v, at) >= 0;
    /* programs that wait for a place try often: only those that get one cost more than a look at their user */
    const bool known = peer_user(fd, &who);
    who.socket       = at;
    const int c      = known && quota_may_connect(v, fd, who.uid) ? server_connect(v, fd, &who) : -1;
    if (c < 0)
        message_hang_up(fd); /* full: the client sees the end of the connection and tries again later */
    else
        server_peer_take(v, (unsigned)c);
    return true;
}

static void tell_foreign(struct control_server *v, unsigned c)
{
    const uint32_t     pid = v->state->connection[c].pid;
    uint32_t           inner;
    struct ctl_foreign m = {.header = {sizeof m, CTL_FOREIGN, CTL_VERSION, 0, 0}, .pid = pid};
    if (foreign_process(v->table->env->proc_fd, pid, &inner) < 2)
        return;
    v->near_thread[c] = pid;
    server_tell(v, c, &m, sizeof m, NULL, 0);
}

/* The place of `uid` among those reported; all users that find none share the last, so that the number of users needs
 * no memory. */
static unsigned version_place(const struct control_server *v, uint32_t uid)
{
    unsigned i = 0;
    while (i < VERSIONS_TOLD - 1 && v->version_told[i] && v->version_told[i] != uid + 1)
        i++;
    return i;
}

/* A program that still runs after an update, or is linked statically: it is never attached, so no session sees its
 * providers. Controllers use the other socket. */
static void note_version(struct control_server *v, unsigned c, unsigned major)
{
    static const char advice[] = "restart that program, and others of its kind; build anew what is linked statically";
    const struct state_connection *k      = &v->state->connection[c];
    const unsigned                 place  = version_place(v, k->uid);
    const bool                     others = place == VERSIONS_TOLD - 1, known = v->version_told[place] != 0;
    char                           item[48], what[160];

    if (k->socket != CTL_SOCKET_PROVIDER)
        return;
    if (others)
        snprintf(item, sizeof item, "libraries of other users");
    else
        snprintf(item, sizeof item, "libraries of uid %u", k->uid);
    snprintf(
        what, sizeof what,
        "process %u has a library of an earlier version (shared memory %u, here %d): none of its events are recorded",
        k->pid, major, SHM_MAJOR);
    for (unsigned s = 0; s < SHM_SESSIONS; s++)
        if (v->table->slot[s])
            server_note_once(v->table->slot[s], W_REVISION_MISMATCH, item, what, advice);
    if (!known)
        visible_line(stderr, "autologgerd: uid %u%s: %s. Do: %s", k->uid, others ? " and others" : "", what, advice);
    v->version_told[place] = k->uid + 1;
}

static wstatus server_on_hello(struct control_server *v, unsigned c, const struct provider_message *m)
{
    struct ctl_hello answer = {.header          = {sizeof answer, CTL_HELLO, CTL_VERSION, m->header.sequence, 0},
                               .highest_version = CTL_VERSION,
                               .shm_major       = SHM_MAJOR,
                               .processors      = v->table->env->cpus,
                               .daemon_instance = v->instance};
    v->greeted[c]           = true;
    /* others are kept once they ask for something: their hello costs the keeper nothing */
    if (access_may_control(v->state->connection[c].uid))
        server_keep(v, c, KEPT_ASKS);
    /* 0: a controller, which maps nothing */
    if (m->highest_version < CTL_VERSION || (m->shm_major && m->shm_major < SHM_MAJOR))
        answer.header.status = W_NOT_SUPPORTED;
    if (m->shm_major && m->shm_major < SHM_MAJOR)
        note_version(v, c, m->shm_major);
    if (m->shm_major)
        tell_foreign(v, c);
    if (v->fd[c] >= 0)
        server_tell(v, c, &answer, sizeof answer, &v->table->directory->fd_readonly, 1);
    return W_SUCCESS;
}

static wstatus server_on_thread(struct control_server *v, unsigned c, const struct provider_message *m)
{
    struct ctl_thread answer = {.inner = m->inner};
    answer.outer =
        foreign_thread(v->table->env->proc_fd, v->state->connection[c].pid, m->inner, v->near_thread[c], &v->foreign);
    if (answer.outer)
        v->near_thread[c] = answer.outer;
    return server_reply(v, c, &m->header, &answer, sizeof answer, W_SUCCESS);
}

/* Any message of a provider. */
static wstatus on_told(struct control_server *v, unsigned c, const void *message, size_t size)
{
    static server_told *const act[] = {[CTL_HELLO]      = server_on_hello,
                                       [CTL_REGISTER]   = server_on_register,
                                       [CTL_UNREGISTER] = server_on_unregister,
                                       [CTL_ENABLE_ACK] = server_on_enable_ack,
                                       [CTL_THREAD]     = server_on_thread};
    struct provider_message   m;
    const wstatus             st = provider_message_read(message, size, &m);
    return st ? st : act[m.header.type](v, c, &m);
}

void server_answer(struct control_server *v, unsigned c, const struct ctl_header *to, wstatus status)
{
    struct ctl_header m = {sizeof m, to->type, CTL_VERSION, to->sequence, status};
    server_tell(v, c, &m, sizeof m, NULL, 0);
}

wstatus server_reply(struct control_server *v, unsigned c, const void *to, void *answer, size_t size, wstatus status)
{
    const struct ctl_header *m = to;
    struct ctl_header       *h = answer;
    *h                         = (struct ctl_header){(uint32_t)size, m->type, CTL_VERSION, m->sequence, status};
    server_tell(v, c, answer, size, NULL, 0);
    return W_SUCCESS;
}

struct session *server_named(struct control_server *v, const struct ctl_session_request *m)
{
    char name[CTL_NAME];
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, m->name);
    return table_find(v->table, name);
}

/* ---- rights ---- */

bool server_session_granted(const struct control_server *v, unsigned c, const struct session *s, uint32_t wanted)
{
    static const struct guid system_trace = CTL_SYSTEM_TRACE; /* kernel events also need rights on it */
    const bool               kernel       = s->state->kernel || s->state->tracepoint_count;
    /* a program's own session; a part belongs to the whole's controller */
    const bool own = s->state->private_pid && s->state->processes.kind != STATE_PART;
    if (own)
        return server_is_private_to(v, c, s) || server_may_control(v, c);
    return server_granted(v, c, &s->state->guid, wanted) && (!kernel || server_granted(v, c, &system_trace, wanted));
}

/* ---- requests as a table ---- */

/* What a request needs besides Windows' rights on the session that it names. */
enum { ALWAYS = 0, OWNER = 1 << 30, BY_ITSELF = 1 << 29, CREATE = 1 << 28 /* also the rights to start the session */ };

static const struct server_request {
    uint16_t type;
    size_t   least; /* size of the fixed part; 0: provider_message.h checks it */
    uint32_t right; /* enum access_right, on the session whose name follows the header; or one of the above */
    /* would lose what an early program holds: it asks for its successor, and answers W_RETRY until that is there */
    bool            files;
    uint16_t        weight; /* how many requests it counts as (quota.h) */
    server_request *act;
} requests[] = {
    {CTL_HELLO, 0, ALWAYS, false, 2, on_told},
    {CTL_REGISTER, 0, ALWAYS, false, 2, on_told}, /* checks REGISTER_GUIDS itself */
    {CTL_UNREGISTER, 0, ALWAYS, false, 1, on_told},
    {CTL_ENABLE_ACK, 0, ALWAYS, false, 1, on_told},
    {CTL_THREAD, 0, ALWAYS, false, 1, on_told},
    /* returns the sessions that the caller may query */
    {CTL_QUERY, sizeof(struct ctl_session_request), ALWAYS, false, 1, server_on_query},
    {CTL_STOP, sizeof(struct ctl_session_request), ACCESS_GUID_ENABLE, true, 4, server_on_stop},
    {CTL_FLUSH, sizeof(struct ctl_session_request), ACCESS_GUID_ENABLE, true, 4, server_on_flush},
    {CTL_FS_READY, sizeof(struct ctl_header), OWNER, true, 1, server_on_fs_ready},
    {CTL_SHUTDOWN, sizeof(struct ctl_header), OWNER, false, 1, server_on_shutdown},
    {CTL_END_BOOT, sizeof(struct ctl_header), OWNER, true, 1, server_on_end_boot},
    {CTL_UPDATE, offsetof(struct ctl_update_request, maximum_buffers), ACCESS_GUID_ENABLE | CREATE, true, 20,
     server_on_update},
    {CTL_START, sizeof(struct ctl_start_request), BY_ITSELF, true, 50, server_on_start}, /* server_may_start */
    /* also on the provider */
    {CTL_ENABLE_PROVIDER, sizeof(struct ctl_enable_request), ACCESS_GUID_ENABLE, true, 4, server_on_enable_provider},
    {CTL_SNAPSHOT, sizeof(struct ctl_snapshot_request), ACCESS_CREATE_ONDISK, true, 20, server_on_snapshot},
    {CTL_NEXT_FILE, sizeof(struct ctl_session_request), ACCESS_GUID_ENABLE | CREATE, true, 20, server_on_next_file},
    {CTL_STATE, sizeof(struct ctl_header), ALWAYS, false, 4, server_on_state},
    {CTL_PROVIDERS, sizeof(struct ctl_session_request), ALWAYS, false, 4, server_on_providers},
    {CTL_PROVIDER, sizeof(struct ctl_provider_request), ALWAYS, false, 1, server_on_provider},
    {CTL_REGISTRATIONS, sizeof(struct ctl_session_request), ALWAYS, false, 4, server_on_registrations},
    {CTL_USERS, sizeof(struct ctl_session_request), ACCESS_QUERY, false, 1, server_on_users},
    {CTL_CONDITIONS, sizeof(struct ctl_session_request), ACCESS_QUERY, false, 1, server_on_conditions},
    {CTL_DECLARATION, sizeof(struct ctl_session_request), ACCESS_QUERY, false, 1, server_on_declaration},
    {CTL_TERMS, sizeof(struct ctl_session_request), ACCESS_QUERY, false, 1, server_on_terms},
    {CTL_CONSUME, sizeof(struct ctl_session_request), ACCESS_REALTIME, false, 1, server_on_consume},
    /* on the session of CTL_CONSUME */
    {CTL_CONSUME_NEXT, sizeof(struct ctl_consume_request), ALWAYS, false, 1, server_on_consume_next},
    {CTL_ACCESS, sizeof(struct ctl_access_request), ALWAYS, false, 4, server_on_access},
};

/* The rights needed to start the session. */
static uint32_t create_rights(const struct session *s)
{
    return (s->state->log_file_mode & ETL_MODE_REAL_TIME ? (uint32_t)ACCESS_CREATE_REALTIME : 0) |
           (*session_log_path(s->state) ? (uint32_t)ACCESS_CREATE_ONDISK : 0);
}

static bool may(struct control_server *v, unsigned c, const struct server_request *r, const void *message, size_t size)
{
    char name[CTL_NAME];
    if (v->state->connection[c].socket == CTL_SOCKET_PROVIDER && r->type > CTL_THREAD)
        return false; /* root, too: only code for providers answers there */
    if (r->right == ALWAYS || server_may_control(v, c))
        return true;
    if (r->right & BY_ITSELF)
        return v->hooks.rights != NULL;
    if (r->right & OWNER)
        return false;
    if (size < sizeof(struct ctl_header) + CTL_NAME)
        return true; /* it is answered W_BAD_LENGTH */
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, (const char *)message + sizeof(struct ctl_header));
    const struct session *s = table_find(v->table, name);
    if (!s)
        return r->right == ACCESS_QUERY; /* it is told that the session does not exist */
    return server_session_granted(v, c, s, (r->right & ~(uint32_t)CREATE) | (r->right & CREATE ? create_rights(s) : 0));
}

/* A process' part of a private session can be queried; all else is done to the whole. */
static bool server_is_part(struct control_server *v, const struct server_request *r, const void *message, size_t size)
{
    char name[CTL_NAME];
    if (r->right == ALWAYS || r->right & (OWNER | BY_ITSELF) || r->right == ACCESS_QUERY ||
        size < sizeof(struct ctl_header) + CTL_NAME)
        return false;
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, (const char *)message + sizeof(struct ctl_header));
    const struct session *s = table_find(v->table, name);
    return s && s->state->processes.kind == STATE_PART;
}

static const struct server_request *request_of(uint16_t type)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (requests[i].type == type)
            return &requests[i];
    return NULL;
}

void server_act(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct server_request *r  = NULL;
    wstatus                      st = W_BAD_LENGTH;
    struct ctl_header            m;

    if (!message_header_read(message, size, &m))
        return; /* server_receive has checked it */
    r = request_of(m.type);
    if (!r)
        st = W_INVALID_FUNCTION;
    else if (!may(v, c, r, message, size))
        st = W_ACCESS_DENIED;
    else if (server_is_part(v, r, message, size))
        st = W_INVALID_PARAMETER;
    else if (r->files && v->table->env->tight_file && !v->state->fs_ready) {
        session_tight(v->table->env);
        st = W_RETRY;
    } else if (size >= r->least)
        st = r->act(v, c, message, size);
    if (st && v->fd[c] >= 0)
        server_answer(v, c, &m, st);
}

void server_receive(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct ctl_header m;

    if (!message_header_read(message, size, &m)) { /* not a message of the protocol */
        server_drop(v, c);
        return;
    }
    const struct server_request *r = request_of(m.type);
    quota_spend(v, c, r ? r->weight : 1, size);
    if (r && r->type != CTL_HELLO && r->type != CTL_REGISTER) /* a registration is kept when it is granted */
        server_keep(v, c, KEPT_ASKS);
    server_act(v, c, message, size);
}

bool server_read(struct control_server *v, unsigned c)
{
    if (!quota_may_read(v, c))
        return false;
    ssize_t n = message_receive(v->fd[c], v->in, sizeof v->in);

    if (n == -EAGAIN || n == -EINTR)
        return false;
    if (n <= 0) {
        server_drop(v, c);
        return true;
    }
    const uint64_t before = quota_work_ns();
    server_receive(v, c, v->in, (size_t)n);
    const unsigned work = (unsigned)((quota_work_ns() - before) / QUOTA_WORK_NS);
    if (work) /* charged after a drop, too: the place keeps the uid until its next connection */
        quota_spend(v, c, work, 0);
    return true;
}

bool server_quit(const struct control_server *v) { return v->quit; }

unsigned server_clients(const struct control_server *v)
{
    unsigned n = 0;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        n += v->fd[c] >= 0;
    return n;
}

wstatus server_create(const int listen_fd[CTL_SOCKETS], struct session_table *table, struct state_daemon *state,
                      const struct control_hooks *hooks, struct control_server **out, struct reason *why)
{
    struct control_server *v = calloc(1, sizeof *v);
    struct timespec        t;
    if (!v)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the control server");
    memcpy(v->listen_fd, listen_fd, sizeof v->listen_fd);
    v->spare_fd = -1;
    v->table    = table;
    v->state    = state;
    v->hooks    = *hooks;
    clock_gettime(CLOCK_MONOTONIC, &t);
    v->instance = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    memset(v->fd, 0xFF, sizeof v->fd);
    if (!(v->quotas = quotas_create())) {
        free(v);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the control server");
    }
    memset(v->pidfd, 0xFF, sizeof v->pidfd);
    v->ends_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!ready_begin(v)) {
        server_destroy(v);
        return reason_set(why, W_NO_SYSTEM_RESOURCES, "no descriptors for the control server");
    }
    registered_begin(&v->registrations, state);
    peer_self(table->env->proc_fd, &v->self);
    v->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    places_begin(v);
    *out = v;
    return W_SUCCESS;
}

void server_adopt(struct control_server *v, int (*find)(void *ctx, const char *name), void *ctx)
{
    /* before any connection is dropped: dropping counts down */
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        struct state_registration *r = &v->state->registration[i];
        if (r->in_use &&
            (r->slot >= SHM_PROVIDERS || r->connection >= STATE_CONNECTIONS || state_group(r) >= SHM_PROVIDERS))
            r->in_use = 0; /* torn by the predecessor's end */
        if (r->in_use) {
            directory_register(v->table->directory, r->slot, 1);
            v->registered[r->connection]++;
        }
        if (state_group(r) >= 0)
            directory_register(v->table->directory, (unsigned)state_group(r), 1);
    }
    registered_begin(&v->registrations, v->state);
    directory_counted(v->table->directory);
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        char name[64];
        if (!v->state->connection[c].in_use)
            continue;
        for (enum connection_kept how = KEPT_HOLDS; how && v->fd[c] < 0; how--) {
            v->fd[c]   = find(ctx, kept_name(v, c, how, name));
            v->kept[c] = v->fd[c] >= 0 ? (uint8_t)how : 0;
        }
        v->greeted[c] = true;
        int pidfd     = -1;
        if (v->fd[c] < 0 || !ready_add(v, c, v->fd[c], &v->state->connection[c]) ||
            !peer_again(v->fd[c], v->table->env->proc_fd, &v->state->connection[c], &pidfd))
            server_drop(v, c);
        else {
            server_peer_set(v, c, pidfd);
            message_refuse_descriptors(v->fd[c]); /* a predecessor may not have done so */
        }
    }
    server_users_check(v);
    if (v->hooks.enabling)
        v->hooks.enabling->adopted(v);
    /* a new instance number: clients repeat requests that were not answered */
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        struct ctl_hello m = {.header          = {sizeof m, CTL_HELLO, CTL_VERSION, 0, 0},
                              .highest_version = CTL_VERSION,
                              .shm_major       = SHM_MAJOR,
                              .processors      = v->table->env->cpus,
                              .daemon_instance = v->instance};
        if (v->fd[c] >= 0)
            server_tell(v, c, &m, sizeof m, NULL, 0);
    }
}

void server_destroy(struct control_server *v)
{
    if (!v)
        return;
    v->ending = true; /* sessions may have a successor; until it is there, writers need their memory */
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->fd[c] >= 0)
            server_drop(v, c);
    if (v->spare_fd >= 0)
        close(v->spare_fd);
    if (v->ends_fd >= 0)
        close(v->ends_fd);
    ready_end(v);
    free(v->refused_pids);
    quotas_destroy(v->quotas);
    free(v);
}
