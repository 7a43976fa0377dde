/* beside.h - the interface between the service (service.c) and a provider that the daemon runs as a program beside it:
 * what the service tells it. An early program and a recovery have no such provider. All functions are called on the
 * controlling thread, and none of them waits.
 * Not for: the boot's end (boot_part.h). */
#ifndef AUTOLOGGER_DAEMON_BESIDE_H
#define AUTOLOGGER_DAEMON_BESIDE_H
#include "autologger/boot/result.h"
#include "autologger/daemon/handed.h"
#include "autologger/session/table.h"

struct beside_host {
    struct session_table *table;
    struct result_list   *rows; /* conditions go to the row of a declaration */
    struct handed        *handed;
    const char           *runtime_dir;
    int                   epoll_fd;   /* step is called when a descriptor in here is readable */
    int                   changed_fd; /* eventfd: rows must be saved */
};
struct beside {
    void *ctx;
    void (*begin)(void *ctx, const struct beside_host *host); /* sessions were started, or adopted. Once */
    void (*step)(void *ctx);                                  /* at each turn of the service's loop */
    void (*end)(void *ctx);                                   /* sessions have ended, or this daemon leaves */
    const struct beside *next;                                /* the next provider; NULL: the last */
};
#endif
