/* server.h - the daemon's end of the control socket: provider libraries and controllers.
 * Connections and registrations live in the daemon's state memfd (wire/state.h) and nowhere else, so a successor has
 * them.
 * Invariants: V1 a message is acted on only after its size was checked against its type. V2 a provider gets CTL_ATTACH
 * for a session before it is told that anything is enabled there. V3 a client that does not read is dropped, never
 * waited for.
 * Threads: one (controlling). Ownership: create/destroy. Not for: what a session does (session). */
#ifndef AUTOLOGGER_CONTROL_SERVER_H
#define AUTOLOGGER_CONTROL_SERVER_H
#include "autologger/session/table.h"

struct control_server;
struct control_hooks;

/* Enabling while sessions run: control/enable.c, which an early program does not have. */
struct control_enabling {
    wstatus (*request)(struct control_server *v, unsigned c, const void *message, size_t size);
    void (*acknowledged)(struct control_server *v, unsigned c, uint32_t ticket);
    void (*gone)(struct control_server *v, unsigned c); /* a connection, and what it waited for */
    /* answers waits that took too long; false: there is none left */
    bool (*expired)(struct control_server *v, uint64_t now_ms, uint64_t *next_ms);
    wstatus (*provider)(struct control_server *v, unsigned c, const void *message, size_t size);
    wstatus (*registrations)(struct control_server *v, unsigned c, const void *message, size_t size);
    wstatus (*users)(struct control_server *v, unsigned c, const void *message, size_t size);
    wstatus (*conditions)(struct control_server *v, unsigned c, const void *message, size_t size);
    /* that its traits name; NULL: none */
    void (*registered)(struct control_server *v, unsigned registration, const struct guid *group);
    /* an early program knew no rights: who may write to secure sessions is let in now */
    void (*adopted)(struct control_server *v);
    /* private sessions of several processes (parts.c): the part that the program of connection `c` writes to, NULL:
     * none; and the numbers of the parts that live, added to those of their whole */
    struct session *(*part)(struct control_server *v, unsigned c, struct session *whole);
    void (*living)(const struct control_server *v, const struct session *s, struct ctl_session_info *out);
};
extern const struct control_enabling control_enabling;
/* CTL_ACCESS: who may do what, asked for and changed. In a file of its own (server_access.c), which the early program
 * does not have. */
wstatus server_access(struct control_server *v, unsigned c, const void *message, size_t size);
/* Tells the programs that are connected of the providers that a session which has just started enables. In the same
 * file. */
void server_session_begun(struct control_server *v, struct session *s);

/* What only the daemon can do. All return a wstatus and set `why`. */
struct control_hooks {
    void *ctx;
    /* begins its end; server_session_stopped tells when it has ended */
    wstatus (*stop)(void *ctx, struct session *s, struct reason *why);
    wstatus (*fs_ready)(void *ctx, struct reason *why);
    wstatus (*shutdown)(void *ctx, struct reason *why); /* the loop ends after the answer */
    /* begins an update (session_update_begin). Of a file terms have file_name alone; the daemon maps it. NULL: an early
     * program's */
    wstatus (*update)(void *ctx, struct session *s, const struct session_terms *terms, struct session_update **out,
                      struct reason *why);
    void (*updated)(void *ctx, struct session *s, wstatus st); /* that has ended */
    /* starts what the snapshot declares; NULL: an early program's. *answer is zeroed, and gets all but the header.
     * *wait: when that session has flushed, or takes long to, `started` says the rest; `told`: how many of its
     * conditions the answer has. NULL: there is no more to say */
    wstatus (*start)(void *ctx, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                     struct session **wait);
    /* a Status: its end has begun */
    wstatus (*started)(void *ctx, struct session *s, unsigned told, struct ctl_update_answer *answer);
    /* a file more of a session that runs: a snapshot at `file` (as FileName), or, NULL, its next one. Begins it:
     * *errand says when it is done. With another Status *answer, which is zeroed, has why. NULL there too */
    wstatus (*file)(void *ctx, struct session *s, const char *file, struct ctl_update_answer *answer,
                    struct logger_errand **errand);
    const struct control_enabling *enabling; /* NULL there too */
    const struct control_rights   *rights;   /* who else may do what; NULL there too */
    /* CTL_ACCESS: access_request.h; NULL there too */
    wstatus (*access)(struct control_server *v, unsigned c, const void *message, size_t size);
    struct rights *descriptors;
    /* the descriptor of an object as it is to be kept, NULL: none any more */
    wstatus (*access_save)(void *ctx, const struct guid *object, const uint8_t *descriptor, size_t size,
                           struct reason *why);
    /* W_BUSY: under way; W_NOT_SUPPORTED: this daemon does not trace the machine's boot */
    wstatus (*end_boot)(void *ctx, struct reason *why);
};

/* `listen_fd`: listening SOCK_SEQPACKET sockets, -1 for none; they stay the caller's. */
wstatus server_create(const int listen_fd[CTL_SOCKETS], struct session_table *table, struct state_daemon *state,
                      const struct control_hooks *hooks, struct control_server **out, struct reason *why);
/* Connections of a predecessor: `find` gives "conn:<id>" and "asks:<id>" descriptors. Those that are missing are
 * forgotten. */
void server_adopt(struct control_server *v, int (*find)(void *ctx, const char *name), void *ctx);
void server_destroy(struct control_server *v);

/* Handles whatever is ready; waits at most timeout_ms (-1 = for ever) for it, or for `extra_fd` (-1 = none) to become
 * readable. True when extra_fd is readable. */
bool server_step(struct control_server *v, int extra_fd, int timeout_ms);
/* Loggers have done what they were asked for: who waits for that is answered. */
void server_held(struct control_server *v);
/* Buffers came: consumers that wait for them get them. */
void server_consumers(struct control_server *v);
/* After session_stop: its consumers get what is left. `keep`: what they don't read is for the next boot. */
void server_session_ended(struct control_server *v, struct session *s, bool keep);
/* It has ended, and is about to be destroyed: who asked for that gets `final` from the next server_held. */
void server_session_stopped(struct control_server *v, struct session *s, const struct ctl_session_info *final);
/* A session is about to end or has ended: its providers are told, its streams are detached. */
void server_session_gone(struct control_server *v, const struct session *s);
/* A connected client (non-blocking SOCK_SEQPACKET) of that process (peer.h); the server owns `fd` then. Its index, -1
 * when full. */
int server_connect(struct control_server *v, int fd, const struct state_connection *who);
/* Acts on one message of connection `c`, as received; hostile input (V1). `message` is 8-byte aligned. */
void server_receive(struct control_server *v, unsigned c, const void *message, size_t size);
/* A CTL_SHUTDOWN was answered. */
bool     server_quit(const struct control_server *v);
unsigned server_clients(const struct control_server *v);
#endif
