/* server.h - the daemon's end of the control socket: provider libraries and controllers. Connections and registrations
 * live only in the daemon's state memfd (wire/state.h), so a successor has them.
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
    void (*gone)(struct control_server *v, unsigned c); /* a connection, and its waits */
    /* answers waits that took too long; false: none is left */
    bool (*expired)(struct control_server *v, uint64_t now_ms, uint64_t *next_ms);
    wstatus (*provider)(struct control_server *v, unsigned c, const void *message, size_t size);
    wstatus (*registrations)(struct control_server *v, unsigned c, const void *message, size_t size);
    wstatus (*users)(struct control_server *v, unsigned c, const void *message, size_t size);
    wstatus (*conditions)(struct control_server *v, unsigned c, const void *message, size_t size);
    /* `group`: named in its traits; NULL: none */
    void (*registered)(struct control_server *v, unsigned registration, const struct guid *group);
    /* an early program had no descriptors: programs that may write to secure sessions are let in now */
    void (*adopted)(struct control_server *v);
    /* private sessions of several processes (parts.c): the part to which the program of connection `c` writes, NULL:
     * none; and: adds the numbers of living parts to those of their whole */
    struct session *(*part)(struct control_server *v, unsigned c, struct session *whole);
    void (*living)(const struct control_server *v, const struct session *s, struct ctl_session_info *out);
};
extern const struct control_enabling control_enabling;
/* CTL_ACCESS: queries and changes rights. In server_access.c, which the early program does not have. */
wstatus server_access(struct control_server *v, unsigned c, const void *message, size_t size);
/* Tells connected programs which providers a session that has just started enables. In enable.c. */
void server_session_begun(struct control_server *v, struct session *s);

/* What only the daemon can do. All but `updated` return a wstatus; those with `why` set it. */
struct control_hooks {
    void *ctx;
    /* begins its end; server_session_stopped reports when it has ended */
    wstatus (*stop)(void *ctx, struct session *s, struct reason *why);
    wstatus (*fs_ready)(void *ctx, struct reason *why);
    wstatus (*shutdown)(void *ctx, struct reason *why); /* the loop ends after the answer */
    /* begins an update (session_update_begin). `terms` have only file_name of a file; the daemon maps it. NULL in an
     * early program */
    wstatus (*update)(void *ctx, struct session *s, const struct session_terms *terms, struct session_update **out,
                      struct reason *why);
    void (*updated)(void *ctx, struct session *s, wstatus st); /* the update has ended */
    /* starts what the snapshot declares; NULL in an early program. *answer is zeroed, and gets all but the header.
     * *wait: the session; when it has flushed, or takes long to, `started` completes the answer; `told`: how many of
     * its conditions the answer has. *wait NULL: the answer is complete */
    wstatus (*start)(void *ctx, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                     struct session **wait);
    /* a Status: the session's end has begun */
    wstatus (*started)(void *ctx, struct session *s, unsigned told, struct ctl_update_answer *answer);
    /* one more file of a running session: a snapshot at `file` (as FileName) or, NULL, its next file. Begins it:
     * *errand says when it is done. On any other Status *answer, which is zeroed, has the reason. NULL in an early
     * program */
    wstatus (*file)(void *ctx, struct session *s, const char *file, struct ctl_update_answer *answer,
                    struct logger_errand **errand);
    const struct control_enabling *enabling; /* NULL in an early program */
    const struct control_rights   *rights;   /* rights of other users; NULL too */
    /* CTL_ACCESS: server_access; NULL in an early program */
    wstatus (*access)(struct control_server *v, unsigned c, const void *message, size_t size);
    struct rights *descriptors;
    /* stores the descriptor of an object; NULL: removes it */
    wstatus (*access_save)(void *ctx, const struct guid *object, const uint8_t *descriptor, size_t size,
                           struct reason *why);
    /* W_BUSY: under way; W_NOT_SUPPORTED: this daemon does not trace the machine's boot */
    wstatus (*end_boot)(void *ctx, struct reason *why);
};

/* `listen_fd`: listening SOCK_SEQPACKET sockets, -1 for none; they stay the caller's. */
wstatus server_create(const int listen_fd[CTL_SOCKETS], struct session_table *table, struct state_daemon *state,
                      const struct control_hooks *hooks, struct control_server **out, struct reason *why);
/* Takes over a predecessor's connections: `find` gives "conn:<id>" and "asks:<id>" descriptors. Missing ones are
 * forgotten. */
void server_adopt(struct control_server *v, int (*find)(void *ctx, const char *name), void *ctx);
void server_destroy(struct control_server *v);

/* Handles everything that is ready; waits at most timeout_ms (-1 = for ever) for it, or for `extra_fd` (-1 = none) to
 * become readable. True when extra_fd is readable. */
bool server_step(struct control_server *v, int extra_fd, int timeout_ms);
/* Loggers have finished requests: answers those that wait for them. */
void server_held(struct control_server *v);
/* Buffers came: answers the consumers that wait for them. */
void server_consumers(struct control_server *v);
/* After session_stop: gives its consumers the rest. `keep`: what they don't read is for the next boot. */
void server_session_ended(struct control_server *v, struct session *s, bool keep);
/* The session has ended, and is about to be destroyed: those who asked for that get `final` from the next
 * server_held. */
void server_session_stopped(struct control_server *v, struct session *s, const struct ctl_session_info *final);
/* A session is about to end or has ended: tells its providers, detaches its streams. */
void server_session_gone(struct control_server *v, const struct session *s);
/* Adds a connected client (non-blocking SOCK_SEQPACKET) of that process (peer.h); the server owns `fd` then. Returns
 * its index, -1 when full. */
int server_connect(struct control_server *v, int fd, const struct state_connection *who);
/* Acts on one message of connection `c`, as received; hostile input (V1). `message` is 8-byte aligned. */
void server_receive(struct control_server *v, unsigned c, const void *message, size_t size);
/* A CTL_SHUTDOWN was answered. */
bool     server_quit(const struct control_server *v);
unsigned server_clients(const struct control_server *v);
#endif
