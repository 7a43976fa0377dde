/* named.h - a running session by what a caller has of it, its name or its handle. Threads: any. Not for: starting
 * one. */
#ifndef AUTOLOGGER_CONTROLLER_NAMED_H
#define AUTOLOGGER_CONTROLLER_NAMED_H
#include "autologger/control/client.h"
#include "autologger/include/evntrace.h"

/* The name under which the daemon has a program's private session: printf's, of its name and the pid. */
#define PRIVATE_NAME "%s (private, %d)"

/* The session that `name` names (UTF-8), or where it is NULL the handle. W_INVALID_PARAMETER neither;
 * W_WMI_INSTANCE_NOT_FOUND. */
wstatus session_named(struct control_client *c, const char *name, TRACEHANDLE handle, struct ctl_session_info *out);
#endif
