/* check.h - what the next boot would make of a store, without starting anything.
 * Walks GlobalLogger and then the Autologgers in name order as boot does, takes the memory ceiling down session by
 * session, and finds names and GUIDs that two started sessions share (W_ALREADY_EXISTS), and files
 * (W_SHARING_VIOLATION). Pure; threads: one at a time per store.
 * Not for: what only a running machine knows (rights, volumes, who registers a provider). */
#ifndef AUTOLOGGER_PLAN_CHECK_H
#define AUTOLOGGER_PLAN_CHECK_H
#include "autologger/plan/plan.h"

enum check_kind { CHECK_BOOT, CHECK_SESSION, CHECK_PROVIDER };
/* One row of the report. Everything is borrowed and lives until the callback returns. */
struct check_row {
    enum check_kind              kind;
    const struct plan           *plan;     /* NULL for CHECK_BOOT */
    const struct plan_provider  *provider; /* CHECK_PROVIDER only */
    const char                  *name, *key;
    bool                         start; /* false: Start or Enabled is 0, nothing was checked */
    wstatus                      status;
    const char                  *reason; /* "" when status is 0 */
    const struct condition_list *conditions;
    const char                  *source_file; /* "" = not known */
    uint32_t                     source_line;
};
typedef void (*check_fn)(void *ctx, const struct check_row *row);

/* Calls fn for each row: [Boot] when the key has settings, each session, then its providers. limits->memory_left is
 * what all sessions share. A non-zero return means that the store could not be walked; it says nothing of the rows. */
wstatus plan_check(struct regstore *store, const struct plan_limits *limits, check_fn fn, void *ctx,
                   struct reason *why);
#endif
