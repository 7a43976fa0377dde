/* update.h - CTL_UPDATE: parses a request (hostile input), and makes the answer to it.
 * Threads: the server's. Not for: the change itself (session_update_begin), and when it is answered (held.c). */
#ifndef AUTOLOGGER_CONTROL_UPDATE_H
#define AUTOLOGGER_CONTROL_UPDATE_H
#include "autologger/control/server.h"

/* The requested terms; the name of the file stays the request's. W_INVALID_PARAMETER, W_BAD_PATHNAME. */
wstatus update_terms(const struct ctl_update_request *request, struct session_terms *out, struct reason *why);
/* Fills all of *answer but its header: from `why` with a Status, else from `found`. `s` NULL: no such session. */
void update_answer(struct session *s, wstatus st, const struct condition_list *found, const struct reason *why,
                   struct ctl_update_answer *answer);
/* Conditions as text, a line each: file:line, number, item, reason, advice; cut at `size`. */
void condition_lines(const struct condition_list *found, char *out, size_t size);
#endif
