/* update.h - the answer to CTL_UPDATE: a request taken apart (hostile input), and what became of it.
 * Threads: the server's. Not for: the change itself (session_update). */
#ifndef AUTOLOGGER_CONTROL_UPDATE_H
#define AUTOLOGGER_CONTROL_UPDATE_H
#include "autologger/control/server.h"

/* Fills all of *answer; the Status is in its header. */
void update_answer(struct session_table *table, const struct control_hooks *hooks, const struct ctl_update_request *request,
                   struct ctl_update_answer *answer);
/* Conditions as text, a line each: file:line, number, item, reason, advice; cut at `size`. */
void condition_lines(const struct condition_list *found, char *out, size_t size);
#endif
