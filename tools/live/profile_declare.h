/* profile_declare.h - writes a running session into a store as the declaration that would start it again. The daemon
 * gives the values in force; values that no running session shows (FileMax and the values that have no effect here)
 * come from the session's own key in the daemon's store. The inverse is plan_from_key (autologger/plan/plan.h).
 * Threads: one. Ownership: the caller's stores. Not for: the file that a store becomes
 * (registry-sim/text/dialect.h). */
#ifndef TOOLS_PROFILE_DECLARE_H
#define TOOLS_PROFILE_DECLARE_H
#include "autologger/control/client.h"
#include "registry-sim/store/regstore.h"

struct declaring {
    struct regstore *to;   /* gets the declarations */
    struct regstore *from; /* the daemon's store; NULL when it cannot be read */
    unsigned         sessions, providers;
    /* Reports a term that cannot be declared and is left out: "pid 12 of provider X: ...". NULL: no report. */
    void (*left_out)(void *ctx, const char *what);
    void *ctx;
};
/* Declares this running session with all of its providers. W_WMI_INSTANCE_NOT_FOUND; errors of the daemon and of the
 * store. */
wstatus declaring_session(struct declaring *d, struct control_client *c, const struct ctl_session_info *session,
                          struct reason *why);
/* All sessions that run now. W_WMI_INSTANCE_NOT_FOUND: none that could be declared. */
wstatus declaring_all(struct declaring *d, struct control_client *c, struct reason *why);
/* The parts of a filter as values below `key`, the provider's `Filters` key. *pids: the filter had a list of process
 * ids, which is left out. */
wstatus declaring_filter(struct regstore *to, const char *key, const struct filter_block *filter, bool *pids,
                         struct reason *why);
#endif
