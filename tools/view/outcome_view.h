/* outcome_view.h - the outcome of one declaration, as lines below its row of a table and as members of a JSON object;
 * shared by rows of a boot (result_view) and rows of a check. Threads: one. */
#ifndef TOOLS_OUTCOME_VIEW_H
#define TOOLS_OUTCOME_VIEW_H
#include "autologger/plan/plan.h"
#include "tools/base/json_out.h"
#include "tools/base/text_table.h"

struct outcome {
    const char                  *result; /* "ok", "note", "failed", "off" */
    wstatus                      status;
    const char                  *reason;
    const struct condition_list *conditions;
    const char                  *source_file; /* "" = not known */
    uint32_t                     source_line;
};

enum { OUTCOME_STATUS_SIZE = 80 };
/* "0" or "87 ERROR_INVALID_PARAMETER". */
const char *outcome_status(wstatus status, char out[OUTCOME_STATUS_SIZE]);
/* Why, what to do, conditions, where it was declared. */
void outcome_lines(const struct outcome *o, struct text_table *t);
/* The same for rows without room for the name of the Status: it follows the reason. */
void outcome_lines_named(const struct outcome *o, struct text_table *t);
/* result, status (integer), status_name, reason, advice, file, line, conditions. */
void outcome_json(const struct outcome *o, struct json *j);
#endif
