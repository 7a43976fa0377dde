/* result_view.h - the rows of a boot (autologger/boot/result.h) as a table for people and as JSON.
 * Threads: one. Not for: loading or judging rows (boot/result). */
#ifndef TOOLS_RESULT_VIEW_H
#define TOOLS_RESULT_VIEW_H
#include "autologger/boot/result.h"
#include "tools/base/json_out.h"
#include "tools/view/user_losses.h"

struct result_view {
    bool wide;        /* names and lines whole; else cut to fit into 80 columns */
    bool failed_only; /* only the rows whose request was not carried out */
    bool alive;       /* rows of the present boot: a session that has not stopped is running; else it was cut off */
    const struct live_user_losses *live; /* current losses of running sessions; NULL: not known */
};
/* The line of a session whose mode keeps the newest events. Arguments: events no longer in the file, events written. */
#define OVERWRITTEN_TEXT \
    "    overwritten: %" PRIu64 " of the %" PRIu64 " events written are no longer in the file or in memory"
/* The Status table: a line a row; below it why, what to do, where it was declared, asked and given, losses. */
void result_view_print(const struct result_list *list, const struct result_view *how, FILE *to);
/* Members of the object that is open: boot_id, time, rehearsal, merged, failed, sessions [... users [...], providers
 * [...]]; users: of sessions that run (`live`, which may be NULL). */
void result_view_json(const struct result_list *list, const struct live_user_losses *live, struct json *j);
/* The number of rows that are RESULT_FAILED, and of those whose request was not carried out (result_undone). */
unsigned result_view_failed(const struct result_list *list);
unsigned result_view_undone(const struct result_list *list);
/* The number of rows whose request was carried out in part (result_in_part). */
unsigned result_view_in_part(const struct result_list *list);
/* The merged file of the boot, or "". */
const char *result_view_merged(const struct result_list *list);
/* One object `name` of buffers: asked for or given. Sizes in KB. */
void result_view_buffers_json(struct json *j, const char *name, uint32_t buffer_kb, uint32_t minimum, uint32_t maximum);
#endif
