/* server_fixture.h - a control server over one real session, without daemon, threads or files. */
#ifndef AUTOLOGGER_CONTROL_TESTS_SERVER_FIXTURE_H
#define AUTOLOGGER_CONTROL_TESTS_SERVER_FIXTURE_H
#include "autologger/control/server_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct server_fixture {
    struct session_env     env;
    struct session_table   table;
    struct state_daemon   *state;
    struct control_server *server;
    unsigned               stops, readies, shutdowns;
    struct session        *stopping; /* NULL: none */
};

static wstatus fixture_stop(void *ctx, struct session *s, struct reason *why)
{
    (void)why;
    ((struct server_fixture *)ctx)->stopping = s;
    ((struct server_fixture *)ctx)->stops++;
    return W_SUCCESS;
}
/* Hands one message to the server, and does what follows the end of a session. */
static inline void fixture_receive(struct server_fixture *f, int c, const void *message, size_t size)
{
    struct ctl_session_info final;
    server_receive(f->server, (unsigned)c, message, size);
    if (f->stopping) {
        session_info(f->stopping, &final);
        server_session_stopped(f->server, f->stopping, &final);
        server_held(f->server);
    }
    f->stopping = NULL;
}
static wstatus fixture_ready(void *ctx, struct reason *why)
{
    (void)why;
    ((struct server_fixture *)ctx)->readies++;
    return W_SUCCESS;
}
static wstatus fixture_shutdown(void *ctx, struct reason *why)
{
    (void)why;
    ((struct server_fixture *)ctx)->shutdowns++;
    return W_SUCCESS;
}

static const struct guid fixture_provider = {0x11111111, 0x2222, 0x3333, {4, 4, 4, 4, 4, 4, 4, 4}};

static bool server_fixture_init(struct server_fixture *f)
{
    struct plan          plan = {.start = true, .clock_type = 1, .memory_bytes = 64 << 14};
    struct enable_terms  all  = {0};
    struct session      *s    = NULL;
    unsigned             slot, entry;
    struct control_hooks hooks = {
        .ctx = f, .stop = fixture_stop, .fs_ready = fixture_ready, .shutdown = fixture_shutdown};

    memset(f, 0, sizeof *f);
    f->env.os                  = os_linux();
    f->env.cpus                = 2;
    f->env.changed_fd          = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->env.machine.cpu_mhz     = 1000;
    f->table.env               = &f->env;
    f->table.ceiling           = 1 << 30;
    f->state                   = calloc(1, sizeof *f->state);
    plan.name                  = (char *)"one";
    plan.key                   = (char *)"key";
    plan.guid                  = guid_from_name("one");
    plan.given.buffer_kb       = 4;
    plan.given.minimum_buffers = plan.given.maximum_buffers = 16;
    return f->state && directory_create(f->env.os, &f->table.directory, NULL) == 0 &&
           table_add(&f->table, &plan, &s, NULL) == 0 &&
           session_enable(s, &fixture_provider, "key", &all, &slot, &entry, NULL) == 0 &&
           server_create((const int[CTL_SOCKETS]){-1, -1, -1}, &f->table, f->state, &hooks, &f->server, NULL) == 0;
}

static inline void server_fixture_finish(struct server_fixture *f)
{
    server_destroy(f->server);
    table_finish(&f->table);
    directory_destroy(f->table.directory);
    close(f->env.changed_fd);
    free(f->state);
}

/* A process of the daemon's own namespaces, whose start time follows from its pid. */
static inline struct state_connection fixture_peer(const struct server_fixture *f, uint32_t uid, uint32_t pid)
{
    return (struct state_connection){.uid     = uid,
                                     .gid     = uid,
                                     .pid     = pid,
                                     .start   = 1000 + pid,
                                     .user_ns = f->server->self.user_ns,
                                     .pid_ns  = f->server->self.pid_ns};
}

/* Connects a client of `uid`; *peer is its end. Returns the connection's index. */
static inline int server_fixture_client(struct server_fixture *f, uint32_t uid, int *peer)
{
    int pair[2];
    *peer = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -1;
    *peer                             = pair[1];
    const struct state_connection who = fixture_peer(f, uid, 1234);
    return server_connect(f->server, pair[0], &who);
}
#endif
