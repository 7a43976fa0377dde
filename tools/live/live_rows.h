/* live_rows.h - a running session as rows of a result, like those of a boot in autologger status: the input of
 * explain.h.
 * Threads: one. Ownership: the caller's list. Not for: sessions of the last boot (autologger/boot/result.h). */
#ifndef TOOLS_LIVE_ROWS_H
#define TOOLS_LIVE_ROWS_H
#include "autologger/boot/result.h"
#include "autologger/control/client.h"

/* Appends the session's row and those of its providers. W_WMI_INSTANCE_NOT_FOUND; W_NOT_SUPPORTED the daemon is too
 * old; W_NOT_ENOUGH_MEMORY. */
wstatus live_rows_add(struct result_list *list, struct control_client *client, const struct ctl_session_info *session,
                      struct reason *why);
#endif
