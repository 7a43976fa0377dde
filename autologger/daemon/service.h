/* service.h - one daemon: boots the declared sessions (or takes over a predecessor's), serves programs and controllers,
 * and brings everything to an end. Threads: one (the sessions have their own). Ownership: create/destroy. */
#ifndef AUTOLOGGER_DAEMON_SERVICE_H
#define AUTOLOGGER_DAEMON_SERVICE_H
#include "autologger/boot/sequence.h"
#include "autologger/daemon/beside.h"
#include "autologger/daemon/boot_part.h"
#include "autologger/daemon/handed.h"
#include "autologger/daemon/start_now.h"
#include "autologger/wire/state.h"
#include "registry-sim/store/snapshot.h"

/* What to save, and where. */
struct service_saving {
    struct os           *os;
    struct regstore     *store; /* open for writing */
    const char          *runtime_dir;
    struct journal      *journal;
    struct state_daemon *state;
    struct result_list  *results;
    bool                 settled; /* for the first time: the rows are final */
};

struct control_hooks;
struct control_server;
struct control_rights;
struct rights;
struct service_rights {
    wstatus (*load)(wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why),
                    const char *store_path, const char *group_file, struct rights **out, struct reason *why);
    wstatus (*save)(struct regstore *store, const struct guid *object, const uint8_t *descriptor, size_t size,
                    struct reason *why);
    const struct control_rights *(*asked)(const struct rights *r);
    void (*destroy)(struct rights *r);
    wstatus (*request)(struct control_server *v, unsigned c, const void *message, size_t size);
    const char                      *group_file; /* /etc/group */
    const struct session_owner_part *owner;      /* as in session_env */
    /* from any thread */
    void (*digest)(const struct rights *r, const struct guid *object, bool kernel, uint8_t out[32]);
};
struct service_options {
    const char *store_path;
    /* the store that gets Status and results, if it is not store_path (a snapshot); else NULL */
    const char     *store_saved;
    const char     *log_dir;
    const char     *runtime_dir;
    const uint32_t *control_group; /* only this group and root may connect to "control"; NULL: everybody */
    bool            hold;          /* wait for CTL_FS_READY before any file is created; else ready at once */
    bool            rehearsal;
    const char     *tight_file;    /* as in session_env */
    bool            kernel_beside; /* a thread of its own opens the kernel sources: programs need not wait for them */
    const struct snapshot_head *snapshot; /* early: the snapshot at store_path; else NULL */
    /* early: when it began (CLOCK_BOOTTIME), how long the boot waited for it; 0: unknown */
    uint64_t begin_ns, held_ns;
    /* opens the store; the early program has no SQLite and reads a snapshot */
    wstatus (*store_open)(const char *path, bool write, struct regstore **out, struct reason *why);
    const struct realtime_part *realtime; /* real-time delivery; NULL in an early program, which has none */
    /* as in session_env */
    klog_collect system_config;
    /* changes the terms of a running session (update_now, updated_now). NULL in an early program, which does not */
    wstatus (*update)(const struct start_host *host, struct session *s, const struct session_terms *terms,
                      struct session_update **out, struct reason *why);
    void (*updated)(const struct start_host *host, struct session *s);
    /* processors that come and go (cpu_watch.h, session_cpus). NULL in an early program, whose successor looks */
    int (*cpus_open)(void);
    void (*cpus_empty)(int fd);
    void (*cpus_look)(struct session *s);
    /* start_now.h, and the server's part of enabling providers while sessions run; NULL where update is */
    wstatus (*start)(const struct start_host *host, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                     struct session **wait);
    wstatus (*started)(const struct start_host *host, struct session *s, unsigned told,
                       struct ctl_update_answer *answer);
    wstatus (*file)(const struct start_host *host, struct session *s, const char *file,
                    struct ctl_update_answer *answer, struct logger_errand **errand);
    wstatus (*next_file)(struct logger *l, struct reason *why); /* as in session_env */
    const struct logger_modes *modes;
    /* private_gone; NULL in an early program, like the next one */
    struct session *(*gone)(const struct session_table *table, int epoll_fd);
    void (*ended)(const struct session_table *table, struct session *s); /* private_ended */
    const struct control_enabling *enabling;
    /* rights, from the store (rights_store.h, server_access); NULL in an early program, which checks no descriptors */
    const struct service_rights *rights;
    /* saves Status and results once the file system is ready (results_save.h). NULL: nothing is saved */
    wstatus (*save)(const struct service_saving *saving, struct reason *why);
    /* all sessions have been started, or have failed: the rows as of now. NULL: not called */
    void (*booted)(void *ctx, const struct result_list *rows);
    /* all started sessions have stopped and the boot's files are merged: the rows are final. Once in a boot (again when
     * files are merged later on request); NULL as above */
    void (*concluded)(void *ctx, const struct result_list *rows);
    void                   *ctx;
    const struct beside    *beside;  /* the daemon's own providers, the first of a list; NULL: none */
    const struct boot_part *boot;    /* the machine's own boot; NULL: this is another one */
    const char             *boot_id; /* NULL: the kernel's */
};
struct service;

/* Boots, or adopts when `handed` holds a predecessor's state. A Status other than W_SUCCESS tells why nothing could be
 * done at all; single sessions that fail are rows. */
wstatus service_create(const struct service_options *options, struct handed *handed, struct service **out,
                       struct reason *why);
/* Waits for the sessions that are ending, also those that a predecessor was asked to end. Then their files are
 * complete. */
void service_settle(struct service *v);
/* Serves until CTL_SHUTDOWN or SIGTERM; then all sessions are stopped. An error: the results could not be written to
 * the store. SIGHUP and SIGUSR1 (which seals the sessions first) make it leave for a successor: *left is set, nothing
 * was stopped, and the caller ends the process without service_destroy. */
wstatus service_loop(struct service *v, bool *left, struct reason *why);
/* The rows as of now; borrowed. */
const struct result_list *service_results(const struct service *v);
void                      service_destroy(struct service *v); /* NULL is fine */
#endif
