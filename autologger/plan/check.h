/* check.h - plans the next boot of a store, without starting anything.
 * Walks GlobalLogger and then the Autologgers in name order, as a boot does, subtracts each session's memory from the
 * ceiling, and finds names and GUIDs (W_ALREADY_EXISTS) and files (W_SHARING_VIOLATION) that two started sessions
 * share. Pure; threads: one at a time per store.
 * Not for: facts that only a running machine has (rights, volumes, registrations of providers). */
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

/* Calls fn for each row: [Boot] when it has an error or a condition, each session, then its providers. All sessions
 * share limits->memory_left. A non-zero return means that the store could not be walked, whatever the rows say. */
wstatus plan_check(struct regstore *store, const struct plan_limits *limits, check_fn fn, void *ctx,
                   struct reason *why);
#endif
