/* explain.h - why a session or a provider has no events, or not all: takes the facts of its row, gives a condition.
 * Invariants: E1 only known facts are stated. A program that writes through EventWrite reports the events that an
 * enablement keeps out; the macros of TraceLogging test level and keywords inline, at no cost, and report nothing: then
 * the text is "nothing passed", not "nothing was written". E2 each explanation has an advice that an administrator can
 * follow.
 * Threads: any, pure. Ownership: values. Not for: why a session did not start at all (that is its Status). */
#ifndef AUTOLOGGER_BOOT_EXPLAIN_H
#define AUTOLOGGER_BOOT_EXPLAIN_H
#include "autologger/boot/result.h"

/* A provider's row after its session has stopped: never registered (W_WMI_GUID_NOT_FOUND), denied to the users of its
 * programs (W_ACCESS_DENIED), registered and silent, kept out by level, keywords or filters (W_NOT_FOUND). False: there
 * is nothing to explain. *out is complete except for the place of the declaration. */
bool explain_provider(const struct result_row *provider, struct condition *out);
/* The same of a session that still runs: an explanation that nothing passed says that what is still in memory is not
 * counted. */
bool explain_provider_live(const struct result_row *provider, const char *session, struct condition *out);
/* A session's row after the stop: nothing was written (W_NOT_FOUND, note). `providers`: its `count` rows. */
bool explain_empty(const struct result_row *session, const struct result_row *providers, unsigned count,
                   struct condition *out);
/* A user session with several users lost events while more than a fifth of its buffers was free. */
bool explain_burst(const struct result_row *session);
/* Events were lost for want of buffers (W_NOT_ENOUGH_MEMORY): which value to raise to what, by the row's
 * suggestions. */
bool explain_lost(const struct result_row *session, struct condition *out);
/* "4 (Informational)", "0 (all)", "9". Returns `out`. */
const char *explain_level(uint8_t level, char out[24]);
#endif
