/* quota_view.h - users who reached their limit of the daemon's shared resources (control/quota.def): for `sessions`,
 * `query`, `status` and `providers`.
 * Threads: one. Not for: programs refused for lack of a place (session_view.h). */
#ifndef TOOLS_QUOTA_VIEW_H
#define TOOLS_QUOTA_VIEW_H
#include "autologger/control/client.h"
#include "tools/base/json_out.h"

/* Two lines for each user and limit: what happened, and what to do. Prints nothing if there are none. */
void quota_print(const struct ctl_state_answer *state, FILE *to);
/* The same as an array "limits". */
void quota_json(const struct ctl_state_answer *state, struct json *j);
#endif
