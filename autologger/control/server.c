#include "autologger/control/server_parts.h"

#include "autologger/control/access.h"
#include "autologger/control/message.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- connections ---- */

static void keep_connection(struct control_server *v, unsigned c, int fd)
{
    char name[64];
    snprintf(name, sizeof name, "conn:%u", v->state->connection[c].id);
    if (v->table->env->keep)
        v->table->env->keep(v->table->env->keep_ctx, name, fd, 0);
}

static void connection_drop(struct control_server *v, unsigned c)
{
    server_consumer_drop(v, c);
    for (unsigned i = 0; i < STATE_REGISTRATIONS; i++)
        if (v->state->registration[i].connection == c)
            server_registration_drop(v, &v->state->registration[i]);
    keep_connection(v, c, -1);
    v->state->connection[c].in_use = 0;
    if (v->fd[c] >= 0)
        close(v->fd[c]);
    v->fd[c] = -1;
    if (v->hooks.enabling)
        v->hooks.enabling->gone(v, c);
}

void server_tell(struct control_server *v, unsigned c, void *message, size_t size, const int *fds, unsigned fd_count)
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

static wstatus on_hello(struct control_server *v, unsigned c, const void *message, size_t size)
{
    const struct ctl_hello *m = message;
    struct ctl_hello answer = {.header = {sizeof answer, CTL_HELLO, CTL_VERSION, m->header.sequence, 0},
                               .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR, .processors = v->table->env->cpus,
                               .daemon_instance = v->instance};
    (void)size;
    if (m->highest_version < CTL_VERSION || (m->shm_major && m->shm_major < SHM_MAJOR)) /* 0: a controller, maps nothing */
        answer.header.status = W_NOT_SUPPORTED;
    server_tell(v, c, &answer, sizeof answer, &v->table->directory->fd_readonly, 1);
    return W_SUCCESS;
}

void server_answer(struct control_server *v, unsigned c, const struct ctl_header *to, wstatus status)
{
    struct ctl_header m = {sizeof m, to->type, CTL_VERSION, to->sequence, status};
    server_tell(v, c, &m, sizeof m, NULL, 0);
}

struct session *server_named(struct control_server *v, const struct ctl_session_request *m)
{
    char name[CTL_NAME];
    snprintf(name, sizeof name, "%.*s", CTL_NAME - 1, m->name);
    return table_find(v->table, name);
}

/* ---- requests as a table ---- */

static const struct request {
    uint16_t type;
    size_t   least; /* size of the fixed part */
    bool     control; /* needs the right to control sessions */
    bool     files;   /* would lose what an early program holds: it asks for its successor, and says 1237 until that is there */
    server_request *act;
} requests[] = {
    {CTL_HELLO, sizeof(struct ctl_hello), false, false, on_hello},
    {CTL_REGISTER, sizeof(struct ctl_register), false, false, server_on_register},
    {CTL_UNREGISTER, sizeof(struct ctl_unregister), false, false, server_on_unregister},
    {CTL_ENABLE_ACK, sizeof(struct ctl_enable_ack), false, false, server_on_enable_ack},
    {CTL_QUERY, sizeof(struct ctl_session_request), false, false, server_on_query},
    {CTL_STOP, sizeof(struct ctl_session_request), true, true, server_on_stop},
    {CTL_FLUSH, sizeof(struct ctl_session_request), true, true, server_on_flush},
    {CTL_FS_READY, sizeof(struct ctl_header), true, true, server_on_fs_ready},
    {CTL_SHUTDOWN, sizeof(struct ctl_header), true, false, server_on_shutdown},
    {CTL_END_BOOT, sizeof(struct ctl_header), true, true, server_on_end_boot},
    {CTL_UPDATE, sizeof(struct ctl_update_request), true, true, server_on_update},
    {CTL_START, sizeof(struct ctl_start_request), true, true, server_on_start},
    {CTL_ENABLE_PROVIDER, sizeof(struct ctl_enable_request), true, true, server_on_enable_provider},
    {CTL_SNAPSHOT, sizeof(struct ctl_snapshot_request), true, true, server_on_snapshot},
    {CTL_NEXT_FILE, sizeof(struct ctl_session_request), true, true, server_on_next_file},
    {CTL_STATE, sizeof(struct ctl_header), false, false, server_on_state},
    {CTL_PROVIDERS, sizeof(struct ctl_session_request), false, false, server_on_providers},
    {CTL_PROVIDER, sizeof(struct ctl_provider_request), false, false, server_on_provider},
    {CTL_DECLARATION, sizeof(struct ctl_session_request), false, false, server_on_declaration},
    {CTL_CONSUME, sizeof(struct ctl_session_request), true, false, server_on_consume},
    {CTL_CONSUME_NEXT, sizeof(struct ctl_consume_request), true, false, server_on_consume_next},
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
        server_answer(v, c, m, st);
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
            server_tell(v, c, &m, sizeof m, NULL, 0);
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
