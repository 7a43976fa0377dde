/* start_now.h - what a controller wants at once: a session that it declares in a sealed snapshot (CTL_START), a file
 * more of one that runs (CTL_SNAPSHOT, CTL_NEXT_FILE), other terms for it (CTL_UPDATE).
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
/* Begins a snapshot of a session that runs, at `file` as FileName is mapped; NULL: its next file (NEWFILE). *errand
 * says when it is done. The Status; *answer has why. */
wstatus file_now(const struct start_host *host, struct session *s, const char *file, struct ctl_update_answer *answer,
                 struct logger_errand **errand);
/* Begins other terms for a session that runs (session_update_begin); terms->file_name, as FileName is mapped, becomes
 * its file: W_BAD_PATHNAME another session
 * writes it. MaximumBuffers stays within what all sessions may have. When that update has ended: updated_now. */
wstatus update_now(const struct start_host *host, struct session *s, const struct session_terms *terms,
                   struct session_update **out, struct reason *why);
void    updated_now(const struct start_host *host, struct session *s);
/* The Status. *answer (zeroed by the caller) gets its text, conditions or why not, and the session. *wait: when its
 * logger has flushed, or that takes long, started_now says the rest; NULL: there is none. */
wstatus start_now(const struct start_host *host, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                  struct session **wait);
/* A session that could not make its file is the caller's to end. `told`: how many of its conditions answer->text
 * has. */
wstatus started_now(const struct start_host *host, struct session *s, unsigned told, struct ctl_update_answer *answer);
#endif
