/* start_now.h - what a controller wants at once: a session declared in a sealed snapshot (CTL_START), one more file of
 * a running session (CTL_SNAPSHOT, CTL_NEXT_FILE), other terms for it (CTL_UPDATE).
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
/* Begins a snapshot of a running session, at `file`, mapped as FileName is; NULL: its next file (NEWFILE). *errand says
 * when it is done. Returns the Status; *answer has the reason. */
wstatus file_now(const struct start_host *host, struct session *s, const char *file, struct ctl_update_answer *answer,
                 struct logger_errand **errand);
/* Begins other terms for a running session (session_update_begin); terms->file_name, mapped as FileName is, becomes its
 * file. W_BAD_PATHNAME: another session writes that file. MaximumBuffers stays within what all sessions may have. Call
 * updated_now when the update has ended. */
wstatus update_now(const struct start_host *host, struct session *s, const struct session_terms *terms,
                   struct session_update **out, struct reason *why);
void    updated_now(const struct start_host *host, struct session *s);
/* Returns the Status. *answer (zeroed by the caller) gets the text, conditions or reason, and the session. *wait:
 * started_now says the rest when this session's logger has flushed, or that takes long; NULL: nothing to wait for. */
wstatus start_now(const struct start_host *host, const void *snapshot, size_t size, struct ctl_update_answer *answer,
                  struct session **wait);
/* The caller must end a session that could not make its file. `told`: how many of its conditions answer->text has. */
wstatus started_now(const struct start_host *host, struct session *s, unsigned told, struct ctl_update_answer *answer);
#endif
