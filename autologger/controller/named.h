/* named.h - finds a running session by the caller's name or handle.
 * Threads: any. Not for: starting one. */
#ifndef AUTOLOGGER_CONTROLLER_NAMED_H
#define AUTOLOGGER_CONTROLLER_NAMED_H
#include "autologger/control/client.h"
#include "autologger/include/evntrace.h"

/* The daemon's name of a program's private session: printf's, of its name and the pid. */
#define PRIVATE_NAME "%s (private, %d)"

/* The session with that name (UTF-8), or with that handle if `name` is NULL. W_INVALID_PARAMETER neither is given;
 * W_WMI_INSTANCE_NOT_FOUND. */
wstatus session_named(struct control_client *c, const char *name, TRACEHANDLE handle, struct ctl_session_info *out);
#endif
