/* session_conditions.h - the conditions of a running session: an unavailable clock, users at their limits, changes. For
 * `query`, `sessions` and `stop`.
 * Threads: one. Ownership: session_conditions_finish frees the rows. Not for: a boot's results (result_view.h), users'
 * losses (user_losses.h). */
#ifndef TOOLS_SESSION_CONDITIONS_H
#define TOOLS_SESSION_CONDITIONS_H
#include "autologger/control/client.h"
#include "tools/base/json_out.h"

struct session_conditions {
    struct ctl_condition_row *row;
    unsigned                  count;
};
/* No conditions: also for a session that has just ended, an older daemon, and an early program. */
wstatus session_conditions_take(struct control_client *c, const char *session, struct session_conditions *out,
                                struct reason *why);
void    session_conditions_finish(struct session_conditions *conditions);
/* One as a line: "note 50 ClockType: CPUCycle cannot be had. Do: ...". False: the rows of users show it
 * (user_losses.h). */
bool session_condition_line(const struct ctl_condition_row *row, char *text, size_t size);
void session_conditions_print(const struct session_conditions *conditions, FILE *to);
/* As "conditions": an array. */
void session_conditions_json(const struct session_conditions *conditions, struct json *j);
#endif
