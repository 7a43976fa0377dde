/* session_conditions.h - what a running session found: a clock that cannot be had, users at their limits, changes. For
 * `query`, `sessions` and `stop`.
 * Threads: one. Ownership: session_conditions_finish frees what was taken. Not for: a boot's results (result_view.h),
 * users' losses (user_losses.h). */
#ifndef TOOLS_SESSION_CONDITIONS_H
#define TOOLS_SESSION_CONDITIONS_H
#include "autologger/control/client.h"
#include "tools/base/json_out.h"

struct session_conditions {
    struct ctl_condition_row *row;
    unsigned                  count;
};
/* None: also of a session that has just ended, of an older daemon, and of an early program. */
wstatus session_conditions_take(struct control_client *c, const char *session, struct session_conditions *out,
                                struct reason *why);
void    session_conditions_finish(struct session_conditions *conditions);
/* One as a line: "note 50 ClockType: CPUCycle cannot be had. Do: ...". False: the rows of users say it
 * (user_losses.h). */
bool session_condition_line(const struct ctl_condition_row *row, char *text, size_t size);
void session_conditions_print(const struct session_conditions *conditions, FILE *to);
/* As "conditions": an array. */
void session_conditions_json(const struct session_conditions *conditions, struct json *j);
#endif
