#include "autologger/control/server.h"

#include "autologger/control/access.h"
#include "autologger/control/declaration.h"
#include "autologger/control/message.h"
#include "autologger/control/update.h"
#include "registry-sim/base/cursor.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A connection that reads a real-time session. */
struct consumer {
    bool                       waits; /* for the buffer that `request` wants */
    struct ctl_consume_request request;
    struct ctl_consume_answer  farewell; /* its session has ended: flags is not 0 */
    int                        fds[REALTIME_FILES];
    unsigned                   fd_count;
};

struct control_server {
    int                   listen_fd;
    struct session_table *table;
    struct state_daemon  *state;
    struct control_hooks  hooks;
    int                   fd[STATE_CONNECTIONS]; /* -1 = none */
    struct consumer      *consumer[STATE_CONNECTIONS]; /* NULL: reads no session */
    bool                  quit;
    uint64_t              instance;
    uint32_t              ticket;
    _Alignas(8) uint8_t   in[CTL_MAX];
    _Alignas(8) uint8_t   out[CTL_MAX];
};

/* ---- connections ---- */

static void keep_connection(struct control_server *v, unsigned c, int fd)
{
    char name[64];
    snprintf(name, sizeof name, "conn:%u", v->state->connection[c].id);
    if (v->table->env->keep)
        v->table->env->keep(v->table->env->keep_ctx, name, fd, 0);
}

static void drop_registration(struct control_server *v, struct state_registration *r)
{
    if (!r->in_use)
        return;
    r->in_use = 0;
    directory_register(v->table->directory, r->slot, -1);
}

static struct session *consumed(struct control_server *v, unsigned c)
{
    for (unsigned i = 0; i < SHM_SESSIONS; i++)
        if (v->table->slot[i] && realtime_attached(v->table->slot[i], v->state->connection[c].id))
            return v->table->slot[i];
    return NULL;
}

static void consumer_drop(struct control_server *v, unsigned c)
{
    struct session *s = consumed(v, c);
    if (s && v->table->env->realtime)
        v->table->env->realtime->gone(s, v->state->connection[c].id);
    for (unsigned i = 0; v->consumer[c] && i < v->consumer[c]->fd_count; i++)
        close(v->consumer[c]->fds[i]);
    free(v->consumer[c]);
    v->consumer[c] = NULL;
}

static void connection_drop(struct control_server *v, unsigned c)
{
    consumer_drop(v, c);
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        if (v->state->registration[i].connection == c)
            drop_registration(v, &v->state->registration[i]);
    keep_connection(v, c, -1);
    v->state->connection[c].in_use = 0;
    if (v->fd[c] >= 0)
        close(v->fd[c]);
    v->fd[c] = -1;
}

static void tell(struct control_server *v, unsigned c, void *message, size_t size, const int *fds, unsigned fd_count)
{
    if (v->fd[c] >= 0 && !message_send(v->fd[c], message, size, fds, fd_count))
        connection_drop(v, c); /* V3 */
}

int server_connect(struct control_server *v, int fd, uint32_t uid, uint32_t pid)
{
    unsigned own = 0;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        own += v->state->connection[c].in_use && v->state->connection[c].uid == uid;
    if (own >= STATE_CONNECTIONS / 2 && uid != 0)
        return -1; /* no user may keep all others out */
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        struct state_connection *s = &v->state->connection[c];
        if (s->in_use)
            continue;
        *s       = (struct state_connection){.id = v->state->next_connection++, .uid = uid, .pid = pid};
        v->fd[c] = fd;
        keep_connection(v, c, fd);
        __atomic_store_n(&s->in_use, 1, __ATOMIC_RELEASE);
        return (int)c;
    }
    return -1;
}

static void connection_accept(struct control_server *v)
{
    int          fd = accept4(v->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred who;
    socklen_t    size = sizeof who;

    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || server_connect(v, fd, who.uid, (uint32_t)who.pid) < 0)
        close(fd); /* full: the client sees the end of the connection and tries again later */
}

/* ---- providers ---- */

/* V2. False when the client is gone. */
static bool attach(struct control_server *v, unsigned c, struct session *s)
{
    uint64_t                  bit = UINT64_C(1) << s->state->index;
    const struct session_uid *u   = v->state->connection[c].attached & bit ? NULL : session_admit(s, v->state->connection[c].uid);

    if (!u)
        return v->fd[c] >= 0;
    struct ctl_attach m = {.header = {sizeof m, CTL_ATTACH, CTL_VERSION, 0, 0}, .session = s->state->index,
                           .session_generation = s->state->generation, .session_guid = s->state->guid};
    int fds[3] = {stream_set_data_fd(u->streams), stream_set_control_fd_readonly(u->streams), u->event_fd};
    tell(v, c, &m, sizeof m, fds, 3);
    v->state->connection[c].attached |= bit; /* after: a successor may say it twice, the program takes it once */
    return v->fd[c] >= 0;
}

static void tell_enable(struct control_server *v, const struct state_registration *r, const struct session *s, unsigned entry,
                        uint32_t code)
{
    const struct shm_enable *e = &v->table->directory->shm->provider[r->slot].enable[entry];
    struct ctl_enable        m = {.header = {sizeof m, CTL_ENABLE, CTL_VERSION, 0, 0}, .index = r->index, .enable_index = entry,
                                  .control_code = code, .level = e->level, .any = e->any, .all = e->all,
                                  .source = s->state->guid, .ticket = ++v->ticket};
    tell(v, r->connection, &m, sizeof m, NULL, 0);
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

static void remember_name(struct directory *d, uint32_t slot, const uint8_t *traits, size_t size)
{
    struct cursor c = cur_make(traits, size);
    cur_u16(&c);
    const char *name = cur_zstring(&c);
    if (name && *name && !d->name[slot])
        d->name[slot] = strndup(name, CTL_NAME - 1);
}

enum { REGISTRATIONS_OF_ONE = 1024 }; /* per program, as on Windows */

/* The place for (connection, index): the one it has, or a free one; NULL when there is none for this program. */
static struct state_registration *registration_place(struct control_server *v, unsigned c, uint32_t index)
{
    struct state_registration *place = NULL;
    unsigned                   own   = 0;
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        struct state_registration *at = &v->state->registration[i];
        if (at->in_use && at->connection == c && at->index == index)
            return at;
        own += at->in_use && at->connection == c;
        if (!at->in_use && !place)
            place = at;
    }
    return own < REGISTRATIONS_OF_ONE ? place : NULL;
}

static wstatus on_register(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_register *m      = message;
    struct state_registration *r      = m->traits_size > size - sizeof *m ? NULL : registration_place(v, c, m->index);
    struct ctl_registered      answer = {.header = {sizeof answer, CTL_REGISTER, CTL_VERSION, m->header.sequence, 0},
                                         .index = m->index};

    /* asked again after an adoption: the same provider. Another one under the same index: the former is given up */
    if (r && r->in_use && !guid_equal(&v->table->directory->shm->provider[r->slot].guid, &m->provider))
        drop_registration(v, r);
    int slot = !r ? -1 : r->in_use ? (int)r->slot : directory_get(v->table->directory, &m->provider);
    if (slot < 0) {
        answer.header.status = W_NO_SYSTEM_RESOURCES;
        tell(v, c, &answer, sizeof answer, NULL, 0);
        return W_SUCCESS;
    }
    if (!r->in_use) {
        *r = (struct state_registration){.connection = c, .index = m->index, .slot = (uint32_t)slot};
        __atomic_store_n(&r->in_use, 1, __ATOMIC_RELEASE);
        directory_register(v->table->directory, r->slot, 1);
        remember_name(v->table->directory, r->slot, (const uint8_t *)(m + 1), m->traits_size);
        count_registration(v, r->slot);
    }
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS; e++) {
        struct session *s = enabled_session(v, r->slot, e);
        if (s && !attach(v, c, s))
            return W_SUCCESS;
        answer.enabled_count += s != NULL;
    }
    answer.slot       = r->slot;
    answer.generation = v->table->directory->shm->provider[r->slot].generation;
    tell(v, c, &answer, sizeof answer, NULL, 0);
    for (unsigned e = 0; e < SHM_PROVIDER_SESSIONS && v->fd[c] >= 0; e++) {
        struct session *s = enabled_session(v, r->slot, e);
        if (s)
            tell_enable(v, r, s, e, 1);
    }
    return W_SUCCESS;
}

static wstatus on_unregister(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_unregister *m = message;
    (void)size;
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        if (v->state->registration[i].in_use && v->state->registration[i].connection == c &&
            v->state->registration[i].index == m->index)
            drop_registration(v, &v->state->registration[i]);
    return W_SUCCESS;
}

static wstatus on_hello(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_hello *m = message;
    struct ctl_hello answer = {.header = {sizeof answer, CTL_HELLO, CTL_VERSION, m->header.sequence, 0},
                               .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR, .processors = v->table->env->cpus,
                               .daemon_instance = v->instance};
    (void)size;
    if (m->highest_version < CTL_VERSION || (m->shm_major && m->shm_major < SHM_MAJOR)) /* 0: a controller, maps nothing */
        answer.header.status = W_NOT_SUPPORTED;
    tell(v, c, &answer, sizeof answer, &v->table->directory->fd_readonly, 1);
    return W_SUCCESS;
}

static wstatus on_nothing(struct control_server *v, unsigned c, const void *message, size_t size)
{
    (void)v, (void)c, (void)message, (void)size;
    return W_SUCCESS;
}

/* ---- controllers ---- */

static void answer_status(struct control_server *v, unsigned c, const struct ctl_header *to, wstatus status)
{
    struct ctl_header m = {sizeof m, to->type, CTL_VERSION, to->sequence, status};
    tell(v, c, &m, sizeof m, NULL, 0);
}

static struct session *named(struct control_server *v, const struct ctl_session_request *m)
{
    char name[CTL_NAME];
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, m->name);
    return table_find(v->table, name);
}

static wstatus on_query(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_query_answer          *answer = (void *)v->out;
    struct session                   *one    = *m->name ? named(v, m) : NULL;
    unsigned                          skip   = m->start, room = (CTL_MAX - sizeof *answer) / sizeof answer->row[0];
    (void)size;

    if (*m->name && !one)
        return W_WMI_INSTANCE_NOT_FOUND;
    memset(answer, 0, sizeof *answer);
    for (unsigned i = 0; i < SHM_SESSIONS; i++) {
        struct session *s = v->table->slot[i];
        if (!s || (one && s != one))
            continue;
        answer->total++;
        if (skip) {
            skip--;
            continue;
        }
        if (answer->count < room)
            session_info(s, &answer->row[answer->count++]);
    }
    answer->header = (struct ctl_header){(uint32_t)(sizeof *answer + answer->count * sizeof answer->row[0]), CTL_QUERY,
                                         CTL_VERSION, m->header.sequence, 0};
    tell(v, c, answer, answer->header.size, NULL, 0);
    return W_SUCCESS;
}

static wstatus on_stop(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct session                   *s      = named(v, m);
    struct ctl_query_answer          *answer = (void *)v->out;
    struct reason                     why;
    (void)size;

    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    memset(answer, 0, sizeof *answer + sizeof answer->row[0]);
    wstatus st     = v->hooks.stop(v->hooks.ctx, s, &answer->row[0], &why);
    answer->header = (struct ctl_header){sizeof *answer + sizeof answer->row[0], CTL_STOP, CTL_VERSION, m->header.sequence, st};
    answer->total = answer->count = 1;
    tell(v, c, answer, answer->header.size, NULL, 0);
    return W_SUCCESS;
}

static wstatus on_flush(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m = message;
    struct session                   *s = named(v, m);
    (void)size;
    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    answer_status(v, c, &m->header, session_flush(s));
    return W_SUCCESS;
}

static wstatus on_fs_ready(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct reason why;
    (void)size;
    answer_status(v, c, message, v->hooks.fs_ready(v->hooks.ctx, &why));
    return W_SUCCESS;
}

static wstatus on_shutdown(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct reason why;
    (void)size;
    answer_status(v, c, message, v->hooks.shutdown(v->hooks.ctx, &why));
    v->quit = true;
    return W_SUCCESS;
}

static wstatus on_end_boot(struct control_server *v, unsigned c, const void *message, size_t size)
{
    struct reason why;
    (void)size;
    answer_status(v, c, message, v->hooks.end_boot ? v->hooks.end_boot(v->hooks.ctx, &why) : W_NOT_SUPPORTED);
    return W_SUCCESS;
}

static wstatus on_update(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_update_request *m      = message;
    struct ctl_update_answer        *answer = (void *)v->out;
    (void)size;
    update_answer(v->table, &v->hooks, m, answer);
    tell(v, c, answer, sizeof *answer, NULL, 0);
    return W_SUCCESS;
}

static wstatus on_state(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_header *m = message;
    struct ctl_state_answer  a = {.header = {sizeof a, CTL_STATE, CTL_VERSION, m->sequence, 0}, .pid = (uint32_t)getpid(),
                                  .sessions = table_count(v->table), .clients = server_clients(v),
                                  .fs_ready = v->state->fs_ready, .adopted = v->state->adopted,
                                  .uptime_ns = v->table->env->os->raw_ns(v->table->env->os) - v->state->start_raw_ns,
                                  .files_created_early = v->state->files_created_early,
                                  .files_created = v->state->files_created};
    (void)size;
    for (int i = 0; i < v->table->directory->used; i++)
        a.providers += v->table->directory->shm->provider[i].generation & 1;
    snprintf(a.store, sizeof a.store, "%s", v->state->store);
    snprintf(a.log_dir, sizeof a.log_dir, "%s", v->state->log_dir);
    tell(v, c, &a, sizeof a, NULL, 0);
    return W_SUCCESS;
}

static wstatus on_providers(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    struct ctl_providers_answer      *answer = (void *)v->out;
    const struct directory           *d      = v->table->directory;
    unsigned                          skip   = m->start, room = (CTL_MAX - sizeof *answer) / sizeof answer->row[0];
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
        *row = (struct ctl_provider_row){.guid = p->guid, .registrations = d->registrations[i],
                                         .enabled_count = (uint32_t)__builtin_popcount(p->mask)};
        snprintf(row->name, sizeof row->name, "%s", d->name[i] ? d->name[i] : "");
    }
    answer->header = (struct ctl_header){(uint32_t)(sizeof *answer + answer->count * sizeof answer->row[0]), CTL_PROVIDERS,
                                         CTL_VERSION, m->header.sequence, 0};
    tell(v, c, answer, answer->header.size, NULL, 0);
    return W_SUCCESS;
}

static wstatus on_declaration(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m      = message;
    const struct session             *s      = named(v, m);
    struct ctl_declaration_answer    *answer = (void *)v->out;
    (void)size;

    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    declaration_answer(s, v->table->directory, m->start, answer, CTL_MAX);
    answer->header = (struct ctl_header){(uint32_t)(sizeof *answer + answer->count * sizeof answer->row[0]), CTL_DECLARATION,
                                         CTL_VERSION, m->header.sequence, 0};
    tell(v, c, answer, answer->header.size, NULL, 0);
    return W_SUCCESS;
}

/* ---- consumers ---- */

static struct consumer *consumer_of(struct control_server *v, unsigned c)
{
    return v->consumer[c] ? v->consumer[c] : (v->consumer[c] = calloc(1, sizeof *v->consumer[c]));
}

static wstatus on_consume(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_session_request *m = message;
    struct session                   *s = named(v, m);
    struct ctl_consume_answer         a = {.header = {sizeof a, CTL_CONSUME, CTL_VERSION, m->header.sequence, 0}};
    (void)size;

    if (!s)
        return W_WMI_INSTANCE_NOT_FOUND;
    if (!v->table->env->realtime)
        return W_NOT_SUPPORTED; /* an early program */
    if (consumed(v, c) && consumed(v, c) != s)
        return W_WMI_ALREADY_ENABLED;
    if (!consumer_of(v, c))
        return W_NOT_ENOUGH_MEMORY;
    v->table->env->realtime->gone(s, v->state->connection[c].id); /* asked again: a predecessor's answer did not arrive */
    wstatus st = v->table->env->realtime->attach(s, v->state->connection[c].id, &a);
    if (!st)
        tell(v, c, &a, sizeof a, NULL, 0);
    return st;
}

/* Its session has ended: it gets what is left, once. */
static void farewell_tell(struct control_server *v, unsigned c, uint32_t sequence)
{
    struct consumer *k         = v->consumer[c];
    k->farewell.header         = (struct ctl_header){sizeof k->farewell, CTL_CONSUME_NEXT, CTL_VERSION, sequence, 0};
    tell(v, c, &k->farewell, sizeof k->farewell, k->fds, k->fd_count);
    consumer_drop(v, c);
}

static wstatus on_consume_next(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_consume_request *m = message;
    struct session                   *s = consumed(v, c);
    struct ctl_consume_answer        *a = (void *)v->out;
    bool                              wait;
    (void)size;

    if (v->consumer[c] && v->consumer[c]->farewell.flags && m->what == CTL_CONSUME_BUFFER) {
        farewell_tell(v, c, m->header.sequence);
        return W_SUCCESS;
    }
    if (!s || !v->table->env->realtime)
        return W_WMI_INSTANCE_NOT_FOUND;
    *a         = (struct ctl_consume_answer){0};
    wstatus st = v->table->env->realtime->next(s, v->state->connection[c].id, m, a, CTL_MAX - sizeof *a, &wait);
    if (st)
        return st;
    if (wait) {
        struct consumer *k = consumer_of(v, c); /* a predecessor's consumer has none here yet */
        if (!k)
            return W_NOT_ENOUGH_MEMORY;
        k->waits   = true;
        k->request = *m;
        return W_SUCCESS;
    }
    a->header = (struct ctl_header){(uint32_t)(sizeof *a + a->bytes), CTL_CONSUME_NEXT, CTL_VERSION, m->header.sequence, 0};
    tell(v, c, a, a->header.size, NULL, 0);
    return W_SUCCESS;
}

void server_consumers(struct control_server *v)
{
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->consumer[c] && v->consumer[c]->waits) {
            struct ctl_consume_request again = v->consumer[c]->request;
            v->consumer[c]->waits            = false;
            wstatus st                       = on_consume_next(v, c, &again, sizeof again);
            if (st && v->fd[c] >= 0)
                answer_status(v, c, &again.header, st);
        }
}

void server_session_ended(struct control_server *v, struct session *s, bool keep)
{
    const struct realtime_part *part = v->table->env->realtime;

    if (!s->realtime)
        return;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        struct consumer *k = v->fd[c] >= 0 && realtime_attached(s, v->state->connection[c].id) ? consumer_of(v, c) : NULL;
        if (!k)
            continue;
        part->farewell(s, v->state->connection[c].id, &k->farewell, k->fds, &k->fd_count);
    }
    part->leave(s, keep);
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->consumer[c] && v->consumer[c]->waits && v->consumer[c]->farewell.flags)
            farewell_tell(v, c, v->consumer[c]->request.header.sequence);
}

/* ---- requests as a table ---- */

static const struct request {
    uint16_t type;
    size_t   least; /* size of the fixed part */
    bool     control; /* needs the right to control sessions */
    bool     files;   /* would lose what an early program holds: it asks for its successor, and says 1237 until that is there */
    wstatus (*act)(struct control_server *v, unsigned c, const void *message, size_t size);
} requests[] = {
    {CTL_HELLO, sizeof(struct ctl_hello), false, false, on_hello},
    {CTL_REGISTER, sizeof(struct ctl_register), false, false, on_register},
    {CTL_UNREGISTER, sizeof(struct ctl_unregister), false, false, on_unregister},
    {CTL_ENABLE_ACK, sizeof(struct ctl_enable_ack), false, false, on_nothing},
    {CTL_QUERY, sizeof(struct ctl_session_request), false, false, on_query},
    {CTL_STOP, sizeof(struct ctl_session_request), true, true, on_stop},
    {CTL_FLUSH, sizeof(struct ctl_session_request), true, true, on_flush},
    {CTL_FS_READY, sizeof(struct ctl_header), true, false, on_fs_ready},
    {CTL_SHUTDOWN, sizeof(struct ctl_header), true, false, on_shutdown},
    {CTL_END_BOOT, sizeof(struct ctl_header), true, true, on_end_boot},
    {CTL_UPDATE, sizeof(struct ctl_update_request), true, true, on_update},
    {CTL_STATE, sizeof(struct ctl_header), false, false, on_state},
    {CTL_PROVIDERS, sizeof(struct ctl_session_request), false, false, on_providers},
    {CTL_DECLARATION, sizeof(struct ctl_session_request), false, false, on_declaration},
    {CTL_CONSUME, sizeof(struct ctl_session_request), true, false, on_consume},
    {CTL_CONSUME_NEXT, sizeof(struct ctl_consume_request), true, false, on_consume_next},
};

void server_receive(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_header *m  = message;
    const struct request    *r  = NULL;
    wstatus                  st = W_BAD_LENGTH;

    if (size < sizeof *m || m->size != size) { /* not even a header: not one of ours */
        connection_drop(v, c);
        return;
    }
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (requests[i].type == m->type)
            r = &requests[i];
    if (!r)
        st = W_INVALID_FUNCTION;
    else if (r->control && !access_may_control(v->state->connection[c].uid))
        st = W_ACCESS_DENIED;
    else if (r->files && v->table->env->tight_file && !v->state->fs_ready) {
        session_tight(v->table->env);
        st = W_RETRY;
    } else if (size >= r->least)
        st = r->act(v, c, message, size);
    if (st && v->fd[c] >= 0)
        answer_status(v, c, m, st);
}

static void connection_read(struct control_server *v, unsigned c)
{
    ssize_t n = message_receive(v->fd[c], v->in, sizeof v->in);

    if (n == -EAGAIN || n == -EINTR)
        return;
    if (n <= 0)
        connection_drop(v, c);
    else
        server_receive(v, c, v->in, (size_t)n);
}

bool server_step(struct control_server *v, int extra_fd, int timeout_ms)
{
    struct pollfd *p     = calloc(STATE_CONNECTIONS + 2, sizeof *p);
    unsigned       count = 0, who[STATE_CONNECTIONS + 2];
    bool           extra = false;

    if (!p)
        return false;
    p[count++] = (struct pollfd){.fd = v->listen_fd, .events = POLLIN};
    p[count++] = (struct pollfd){.fd = extra_fd, .events = POLLIN};
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->fd[c] >= 0) {
            who[count] = c;
            p[count++] = (struct pollfd){.fd = v->fd[c], .events = POLLIN};
        }
    if (poll(p, count, timeout_ms) > 0) {
        if (p[0].revents)
            connection_accept(v);
        extra = p[1].revents != 0;
        for (unsigned i = 2; i < count; i++)
            if (p[i].revents && v->fd[who[i]] == p[i].fd)
                connection_read(v, who[i]);
    }
    free(p);
    return extra;
}

bool server_quit(const struct control_server *v) { return v->quit; }

void server_session_gone(struct control_server *v, const struct session *s)
{
    struct ctl_detach m   = {.header = {sizeof m, CTL_DETACH, CTL_VERSION, 0, 0}, .session = s->state->index,
                             .session_generation = s->state->generation};
    uint64_t          bit = UINT64_C(1) << s->state->index;

    for (unsigned k = 0; k < STATE_ENABLES; k++)
        for (unsigned i = 0; s->state->enable[k].in_use && i < STATE_REGISTRATIONS; i++) {
            const struct state_registration *r = &v->state->registration[i];
            if (r->in_use && r->slot == s->state->enable[k].slot)
                tell_enable(v, r, s, s->state->enable[k].entry, 0);
        }
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->state->connection[c].in_use && v->state->connection[c].attached & bit) {
            v->state->connection[c].attached &= ~bit;
            tell(v, c, &m, sizeof m, NULL, 0);
        }
}

unsigned server_clients(const struct control_server *v)
{
    unsigned n = 0;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        n += v->fd[c] >= 0;
    return n;
}

wstatus server_create(int listen_fd, struct session_table *table, struct state_daemon *state, const struct control_hooks *hooks,
                      struct control_server **out, struct reason *why)
{
    struct control_server *v = calloc(1, sizeof *v);
    struct timespec        t;
    if (!v)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the control server");
    v->listen_fd = listen_fd;
    v->table     = table;
    v->state     = state;
    v->hooks     = *hooks;
    clock_gettime(CLOCK_MONOTONIC, &t);
    v->instance = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    memset(v->fd, 0xFF, sizeof v->fd);
    *out = v;
    return W_SUCCESS;
}

void server_adopt(struct control_server *v, int (*find)(void *ctx, const char *name), void *ctx)
{
    /* before any connection is dropped: dropping counts down */
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++) {
        struct state_registration *r = &v->state->registration[i];
        if (r->in_use && (r->slot >= SHM_PROVIDERS || r->connection >= STATE_CONNECTIONS))
            r->in_use = 0; /* torn by the predecessor's end */
        if (r->in_use)
            directory_register(v->table->directory, r->slot, 1);
    }
    directory_counted(v->table->directory);
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        char name[64];
        if (!v->state->connection[c].in_use)
            continue;
        snprintf(name, sizeof name, "conn:%u", v->state->connection[c].id);
        v->fd[c] = find(ctx, name);
        if (v->fd[c] < 0)
            connection_drop(v, c);
    }
    /* a new instance number: clients ask again for what was not answered */
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++) {
        struct ctl_hello m = {.header = {sizeof m, CTL_HELLO, CTL_VERSION, 0, 0}, .highest_version = CTL_VERSION,
                              .shm_major = SHM_MAJOR, .processors = v->table->env->cpus, .daemon_instance = v->instance};
        if (v->fd[c] >= 0)
            tell(v, c, &m, sizeof m, NULL, 0);
    }
}

void server_destroy(struct control_server *v)
{
    if (!v)
        return;
    for (unsigned c = 0; c < STATE_CONNECTIONS; c++)
        if (v->fd[c] >= 0)
            connection_drop(v, c);
    free(v);
}
