/* check_view.h - the expected rows of a boot of a store, as a table or as JSON, for check and apply.
 * Threads: one. Ownership: begin/finish; the JSON writer is the caller's. Not for: judging rows (plan/check.h). */
#ifndef TOOLS_CHECK_VIEW_H
#define TOOLS_CHECK_VIEW_H
#include "autologger/plan/check.h"
#include "tools/base/json_out.h"
#include "tools/base/text_table.h"
#include "tools/setup/check_here.h"
#include "tools/setup/sound_import.h"

struct check_view {
    struct text_table table;
    struct json      *json;        /* NULL: text */
    bool              failed_only; /* the table shows failed rows only; all are counted */
    unsigned          rows, failed, conditions;
    bool              elsewhere; /* the store is another machine's: this one is not checked */
    struct check_here here;
};
void check_view_begin(struct check_view *v, struct json *json);
/* Adds the rows of `store`, and those of refused declarations (NULL: none). JSON: an array "rows". */
wstatus check_view_rows(struct check_view *v, struct regstore *store, const char *log_dir,
                        const struct refusal_list *refusals, struct reason *why);
/* The table and the count; nothing for JSON. */
void check_view_print(const struct check_view *v, FILE *to);
void check_view_finish(struct check_view *v);
#endif
