/* server_parts.h - shared by the files of the server: server.c (connections, the table of requests), server_step.c
 * (waiting), server_providers.c, server_controllers.c, server_consumers.c. Nothing else includes it. A request's
 * function returns a Status, which is its answer, or answers itself and returns 0; V1 holds: the size was checked.
 * Threads: one. */
#ifndef AUTOLOGGER_CONTROL_SERVER_PARTS_H
#define AUTOLOGGER_CONTROL_SERVER_PARTS_H
#include "autologger/control/foreign.h"
#include "autologger/control/provider_message.h"
#include "autologger/control/quota.h"
#include "autologger/control/registered.h"
#include "autologger/control/server.h"

/* A connection that reads a real-time session. */
struct consumer {
    bool                       waits; /* for the buffer that `request` wants */
    struct ctl_consume_request request;
    struct ctl_consume_answer  farewell; /* flags is not 0: its session has ended */
    int                        fds[REALTIME_FILES];
    unsigned                   fd_count;
};

/* KEPT_ASKS: by the keeper alone: it has asked, and a successor answers. KEPT_HOLDS: by the service manager too: it has
 * registered something, or reads a session. */
enum connection_kept { KEPT_NOT, KEPT_ASKS, KEPT_HOLDS };
/* READY_OWNER is read first. */
enum ready_kind { READY_OWNER, READY_OTHERS, READY_KINDS };
enum quota_kind { QUOTA_UNKNOWN, QUOTA_NO_MORE, QUOTA_MORE };

enum { VERSIONS_TOLD = 16 };
struct control_server {
    int                   listen_fd[CTL_SOCKETS];
    struct session_table *table;
    struct state_daemon  *state;
    struct control_hooks  hooks;
    int                   fd[STATE_CONNECTIONS];       /* -1 = none */
    struct consumer      *consumer[STATE_CONNECTIONS]; /* NULL: reads no session */
    bool                  greeted[STATE_CONNECTIONS];  /* has said hello */
    uint8_t           kept[STATE_CONNECTIONS]; /* enum connection_kept: whether and where it is kept for a successor */
    uint16_t          registered[STATE_CONNECTIONS]; /* number of its registrations */
    struct registered registrations;                 /* the registrations of each */
    /* its requests that wait for programs (enable.c) or loggers (held.c) */
    uint16_t       waiting[STATE_CONNECTIONS];
    uint32_t       unread[STATE_CONNECTIONS];        /* bytes of unread answers, at the last look */
    uint8_t        more[STATE_CONNECTIONS];          /* enum quota_kind */
    uint64_t       held_until_ms[STATE_CONNECTIONS]; /* it is not read before; 0: it may be read */
    uint64_t       held_next_ms;                     /* no held connection is due before this */
    unsigned       held_first, held_last;            /* list of held connections, in that order: numbers + 1, 0: none */
    uint16_t       held_behind[STATE_CONNECTIONS];
    int            ready_fd[READY_KINDS];       /* epolls of the connections that may be read */
    uint8_t        ready_in[STATE_CONNECTIONS]; /* enum ready_kind + 1; 0: in none */
    struct quotas *quotas;
    uint64_t       mapped_ms; /* last look at what programs have mapped */
    /* of a foreign program: the last thread that asked (foreign.h) */
    uint32_t                near_thread[STATE_CONNECTIONS];
    struct foreign_threads  foreign;
    uint64_t                since_ms[STATE_CONNECTIONS]; /* when it connected */
    int                     pidfd[STATE_CONNECTIONS];    /* of its process (peer.h); -1 = none */
    uint16_t                rest[STATE_CONNECTIONS];     /* its messages that were read after that process had ended */
    int                     ends_fd;                     /* epoll of the pidfds: a process has ended */
    struct state_connection self;                        /* the daemon's own namespaces */
    unsigned                places;                      /* for connections (places.h) */
    uint64_t               *refused_pids;                /* a bit for each refused program; NULL: none */
    /* users with programs of an earlier library that were reported: uid + 1; 0: free */
    uint32_t                 version_told[VERSIONS_TOLD];
    int                      spare_fd; /* closed to refuse a connection when no descriptor is left */
    bool                     quit, ending;
    uint64_t                 instance;
    uint32_t                 ticket;
    struct enable_wait      *waits;                    /* enable.c's */
    struct held_program     *held;                     /* held.c's */
    struct conditions_ended *ended[STATE_CONNECTIONS]; /* conditions.c's */
    bool                     asks_again;               /* held.c repeats a request */
    const void              *capture;                  /* enable.c's: filter of the message being sent; NULL: none */
    uint32_t                 capture_bytes;
    _Alignas(8) uint8_t in[CTL_MAX];
    _Alignas(8) uint8_t out[CTL_MAX];
};

enum { ROUND_NS = 2000000 }; /* processor time of a round, before the owner's turn comes again */

typedef wstatus server_request(struct control_server *v, unsigned c, const void *message, size_t size);
typedef wstatus server_told(struct control_server *v, unsigned c, const struct provider_message *m); /* by a provider */

/* ---- server.c ---- */
/* Keeps that connection for a successor. */
void server_keep(struct control_server *v, unsigned c, enum connection_kept how);
void server_drop(struct control_server *v, unsigned c); /* a connection, with everything it had */
/* Sends a message. A client that does not read is dropped (V3), with everything it had. */
void server_tell(struct control_server *v, unsigned c, void *message, size_t size, const int *fds, unsigned fd_count);
/* Fills in the header of `answer` and sends it with that Status. Returns W_SUCCESS: there is nothing more to answer. */
wstatus server_reply(struct control_server *v, unsigned c, const void *to, void *answer, size_t size, wstatus status);
/* the same with a Status alone */
void server_answer(struct control_server *v, unsigned c, const struct ctl_header *to, wstatus status);
/* Root, or the daemon's own user, in the daemon's own namespaces: may do everything. */
bool server_may_control(const struct control_server *v, unsigned c);
/* That user's number in other namespaces: has the rights of everybody, and makes files as nobody. */
bool server_foreign_root(const struct control_server *v, unsigned c);
/* The connection is of the private session's program: the same living process, with the user it had when the session
 * began. */
bool server_is_private_to(const struct control_server *v, unsigned c, const struct session *s);
/* True when all of `wanted` is granted to the connection's user on `object`. */
bool server_granted(const struct control_server *v, unsigned c, const struct guid *object, uint32_t wanted);
/* The same for a session; one with kernel events also needs the rights on SystemTraceControlGuid. */
bool server_session_granted(const struct control_server *v, unsigned c, const struct session *s, uint32_t wanted);
/* W_NO_SYSTEM_RESOURCES when the provider is in as many private sessions of users as allowed (server_files.c). */
wstatus         server_private_room(const struct control_server *v, const struct guid *provider, struct reason *why);
struct session *server_named(struct control_server *v, const struct ctl_session_request *m); /* NULL: none */

/* Acts on a message whose size was checked (V1), and answers refusals. */
void server_act(struct control_server *v, unsigned c, const void *message, size_t size);
bool server_accept(struct control_server *v, enum ctl_socket at); /* one connection. False: no more in the queue */
/* one message; may drop the connection. False: no message */
bool server_read(struct control_server *v, unsigned c);

/* ---- server_step.c: the connections that are waited for ---- */
bool ready_begin(struct control_server *v); /* false: no descriptors */
void ready_end(struct control_server *v);
/* false: no memory for one more */
bool ready_add(struct control_server *v, unsigned c, int fd, const struct state_connection *who);
/* before its descriptor is closed: a keeper has the connection, too */
void ready_remove(struct control_server *v, unsigned c);

/* ---- server_peers.c: the processes of connections (peer.h) ---- */
void server_peer_take(struct control_server *v, unsigned c); /* of a new connection */
/* watches that process; the server owns the pidfd; -1: none */
void server_peer_set(struct control_server *v, unsigned c, int pidfd);
void server_peer_drop(struct control_server *v, unsigned c);
/* The process has ended: acts on its earlier messages, then drops its connection. */
void server_peer_ended(struct control_server *v, unsigned c);
void server_peers_ended(struct control_server *v); /* all that have ended */

/* ---- server_providers.c ---- */
server_told server_on_register, server_on_unregister, server_on_enable_ack;
/* server_attach: V2. False when the client is gone, or may not write there: it is not told that anything is enabled in
 * that session. */
/* server_note_once: adds a condition to the session, once for each item. */
void server_note_once(struct session *s, wstatus number, const char *item, const char *what, const char *advice);
bool server_attach(struct control_server *v, unsigned c, struct session *s);
/* The same for a registration's program: a program of the older API writes nothing to a SECURE session, whoever its
 * user is. */
bool server_attach_registered(struct control_server *v, const struct state_registration *r, struct session *s);
/* A program of `uid` that was attached to these sessions is gone: if it was the user's last, its memory goes to other
 * users. */
void server_program_left(struct control_server *v, uint32_t uid, uint64_t attached);
/* The same for all users, after a predecessor's connections were taken over. */
void server_users_check(struct control_server *v);
/* Returns the ticket that its acknowledgement will have. */
uint32_t server_tell_enable(struct control_server *v, const struct state_registration *r, const struct session *s,
                            unsigned entry, uint32_t code);
void     server_registration_drop(struct control_server *v, struct state_registration *r);

/* ---- enable.c, group.c, group_join.c ---- */
struct enable_wait;
/* Tells the programs that have `slot` registered; their tickets go to `wait`, if it is not NULL. */
void enable_tell_all(struct control_server *v, struct session *s, uint32_t slot, unsigned entry, uint32_t code,
                     struct enable_wait *wait);
/* A provider was registered: it joins the group named in its traits (NULL: none), and is enabled where the group is;
 * programs that have it are told. */
void group_join(struct control_server *v, unsigned registration, const struct guid *group);
void group_key(const struct guid *group, char out[64]);
/* The session's place for a provider: in use, or kept after its end. NULL: it never had one. */
struct state_enable *group_place(const struct session *s, const struct guid *provider);
/* Enables a member in `s` on the terms of the group's place `entry`. False: the session has its own decision about it,
 * or there is no room. */
bool group_member_set(struct control_server *v, struct session *s, uint32_t group, unsigned entry, uint32_t member,
                      unsigned *at);
/* `slot` was changed in a session (CTL_CODE_*): changes the members too, if it is a group. Call it before a disabling,
 * and after any other change. */
void group_change(struct control_server *v, struct session *s, uint32_t slot, unsigned entry, uint32_t code,
                  struct enable_wait *wait);

/* ---- held.c: requests whose answer waits for a logger; unless they return a Status, they answer, now or later ---- */
wstatus held_stop(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s);
/* `answer` has what is known so far. */
wstatus held_start(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s,
                   const struct ctl_update_answer *answer);
wstatus held_flush(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s);
/* `file`: name of a snapshot, as FileName; NULL: the next file. */
wstatus held_files(struct control_server *v, unsigned c, const struct ctl_header *m, struct session *s,
                   const char *file);
/* `s` NULL: no such session. Updates of a session are done one after another. */
wstatus held_update(struct control_server *v, unsigned c, const struct ctl_update_request *m, struct session *s);
void    held_gone(struct control_server *v, unsigned c); /* a connection */
/* answers what took too long. True: *next_ms is at most the next such time */
bool held_expired(struct control_server *v, uint64_t *next_ms);

/* ---- parts.c: private sessions of several processes ---- */
void parts_begin(struct control_server *v, struct session *whole); /* for programs that have its provider */
void parts_registered(struct control_server *v, unsigned registration);
/* passes what is known of the whole's terms to its parts */
void parts_expect(struct control_server *v, const struct session *whole);
/* the part of that connection's program; NULL: it has none */
struct session *parts_of(struct control_server *v, unsigned c, struct session *whole);
void            parts_living(const struct control_server *v, const struct session *s, struct ctl_session_info *out);

/* ---- server_controllers.c ---- */
server_request server_on_query, server_on_stop, server_on_flush, server_on_fs_ready, server_on_shutdown,
    server_on_end_boot, server_on_update, server_on_start, server_on_enable_provider, server_on_provider,
    server_on_users, server_on_conditions, server_on_registrations, server_on_snapshot, server_on_next_file,
    server_on_state, server_on_providers, server_on_declaration, server_on_terms, server_on_access;

/* ---- server_consumers.c ---- */
server_request server_on_consume, server_on_consume_next;
void           server_consumer_drop(struct control_server *v, unsigned c);
#endif
