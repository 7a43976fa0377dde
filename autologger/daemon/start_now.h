/* start_now.h - CTL_START: a session that a controller declares in a sealed snapshot and wants at once.
 * Threads: the controlling one. Not for: an early program, which does not have it. */
#ifndef AUTOLOGGER_DAEMON_START_NOW_H
#define AUTOLOGGER_DAEMON_START_NOW_H
#include "autologger/control/server.h"

struct start_host {
    struct session_table  *table;
    const char            *log_dir;
    bool                   fs_ready;
    struct control_server *server;
};
/* The Status. *answer (zeroed by the caller) gets its text, conditions or why not, and the session. */
wstatus start_now(const struct start_host *host, const void *snapshot, size_t size, struct ctl_update_answer *answer);
#endif
