/* service_parts.h - shared by the files of the service: service.c (the loop and its events), service_stop.c (how
 * sessions end), service_setup.c (what is found or made at start). Nothing else includes it. Threads: the controlling
 * one. */
#ifndef AUTOLOGGER_DAEMON_SERVICE_PARTS_H
#define AUTOLOGGER_DAEMON_SERVICE_PARTS_H
#include "autologger/control/server.h"
#include "autologger/daemon/created.h"
#include "autologger/daemon/kernel_start.h"
#include "autologger/daemon/machine_key.h"
#include "autologger/daemon/rows.h"
#include "autologger/daemon/service.h"

/* The names under which a successor finds the sockets (enum ctl_socket). */
#define SERVICE_LISTEN_KEPT \
    { \
        "listen", "listen-provider", "listen-root" \
    }

struct service {
    struct service_options options;
    struct handed         *handed;
    struct state_daemon   *state;
    int                    state_fd, signal_fd, epoll_fd;
    int                    listen_fd[CTL_SOCKETS];
    int                    cpu_fd;       /* readable: processors came or went; -1 */
    int                    date_fd;      /* readable: the system's date was set; -1 */
    int                    consumers_fd; /* eventfd: a session has something for its consumers */
    struct created         edge;
    struct session_env     env;
    struct session_table   table;
    struct journal        *journal;
    struct rows           *rows;
    struct result_list     results;
    struct control_server *server;
    struct rights         *rights;                        /* NULL: an early program's */
    uint8_t                machine_key[MACHINE_KEY_SIZE]; /* in force where env has it */
    struct kernel_start   *kernel;                        /* kernel sources are being opened; NULL: not, or no longer */
    bool                   ending;
    bool                   rows_stay; /* this boot had its sessions already, and its rows: this daemon makes none */
};

/* ---- service.c ---- */
/* Keeps the rows for a successor. */
void service_rows_keep(struct service *v);
/* Starts the sessions whose sources are open now. `wait`: waits for all of them. */
void    service_kernel_finish(struct service *v, bool wait);
wstatus service_save(struct service *v, struct reason *why);

/* ---- service_stop.c ---- */
/* control_hooks.stop. */
wstatus service_stop(void *v, struct session *s, struct reason *why);
/* Removes sessions that have ended meanwhile. */
void service_stop_step(struct service *v);
/* Ends the sessions of programs that are gone. */
void service_stop_private(struct service *v);
/* Ends the sessions that the predecessor was stopping when it died. */
void service_stop_asked(struct service *v);
/* Ends all sessions, or the declared ones, and waits for them. User sessions first: the kernel session then covers
 * their whole life. */
void service_stop_all(struct service *v, bool declared_only);

/* ---- service_setup.c ---- */
/* *adopted: a predecessor's state was handed over, and is this daemon's now. W_INVALID_DATA: it is of another
 * version */
wstatus service_state_adopt(struct service *v, bool *adopted, struct reason *why);
wstatus service_state_create(struct service *v, struct reason *why);
wstatus service_listen_open(struct service *v, struct reason *why);
wstatus service_signals_open(struct service *v, struct reason *why);
/* Loads the machine's key, once files may be made; without it no backup of another boot is taken over. */
void service_key_begin(struct service *v);
void service_env_fill(struct service *v, bool adopted);
void service_keep_own(struct service *v); /* keeps the daemon's own descriptors for a successor */
#endif
