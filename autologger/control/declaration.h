/* declaration.h - a running session as it could be declared again: the answer to CTL_DECLARATION.
 * Threads: the controlling one. Not for: counters (session_info). */
#ifndef AUTOLOGGER_CONTROL_DECLARATION_H
#define AUTOLOGGER_CONTROL_DECLARATION_H
#include "autologger/session/session.h"

/* Fills all but the header; providers from number `start` on, as many as `capacity` bytes hold. */
void declaration_answer(const struct session *s, const struct directory *d, uint32_t start, struct ctl_declaration_answer *out,
                        size_t capacity);
#endif
