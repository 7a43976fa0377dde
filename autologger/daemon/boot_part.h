/* boot_part.h - the interface between the machine's own boot and the service. The service (service.c) is also the early
 * program's and a rehearsal's, which have no end of a boot; boot_end.c knows nothing of a service. All functions are
 * called on the controlling thread. Not for: anything else. */
#ifndef AUTOLOGGER_DAEMON_BOOT_PART_H
#define AUTOLOGGER_DAEMON_BOOT_PART_H
#include "autologger/boot/result.h"
#include "autologger/wire/state.h"

enum boot_may {
    BOOT_START,
    BOOT_OFF,   /* nothing starts; the rows say why */
    BOOT_AGAIN, /* this boot had its sessions already: nothing starts, and their rows stay */
};

/* What the service offers. */
struct boot_host {
    void                *ctx;
    int                  epoll_fd; /* boot_part.step is called when a descriptor in here is readable */
    struct state_daemon *state;
    struct result_list  *rows;
    unsigned (*running)(void *ctx); /* the number of declared sessions */
    void (*stop)(void *ctx);        /* stops them all, user sessions first; then the rows are final, and saved */
    wstatus (*save)(void *ctx, struct reason *why); /* saves the rows again */
};

/* What the service tells the boot. */
struct boot_part {
    void *ctx;
    /* Before anything is started. `why` for BOOT_OFF: the Status of the rows and why. */
    enum boot_may (*may_start)(void *ctx, const char *boot_id, struct regstore *store, struct reason *why);
    /* Sessions were started (or adopted), and their files are about to be made. Once; not in a daemon that took over
     * files. */
    void (*files)(void *ctx, const struct boot_host *host);
    /* Files may be made. Once. */
    void (*ready)(void *ctx, const struct boot_host *host);
    void (*step)(void *ctx);   /* at each turn of the service's loop */
    void (*ending)(void *ctx); /* the daemon was told to end; sessions may still run */
    void (*ended)(void *ctx);  /* ... they have ended, and the rows are saved */
    /* True: the rows are final: the sessions have ended and their files are merged (or stay as they are). */
    bool (*settled)(void *ctx);
    /* A request to end the boot: stops the sessions, merges their files. W_SUCCESS: done; W_BUSY: the merge goes on;
     * W_WMI_INSTANCE_NOT_FOUND: there were no sessions. */
    wstatus (*end)(void *ctx, struct reason *why);
};
#endif
