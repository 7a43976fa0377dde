/* declaration.h - a running session as it could be declared again: the answers to CTL_DECLARATION and CTL_TERMS.
 * Threads: the controlling one. Not for: counters (session_info). */
#ifndef AUTOLOGGER_CONTROL_DECLARATION_H
#define AUTOLOGGER_CONTROL_DECLARATION_H
#include "autologger/session/session.h"

/* Fills all but the header; providers from number `start` on, as many as `capacity` bytes hold. */
void declaration_answer(struct session *s, const struct directory *d, uint32_t start,
                        struct ctl_declaration_answer *out, size_t capacity);
/* Fills all but the header with the session's terms and those of its provider number `which`. The filter follows *out,
 * which has room for FILTER_BLOCK_MAX bytes more. */
void terms_answer(struct session *s, const struct directory *d, uint32_t which, struct ctl_terms_answer *out);
#endif
