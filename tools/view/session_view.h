/* session_view.h - running sessions (control protocol) as text and JSON. Threads: one. */
#ifndef TOOLS_SESSION_VIEW_H
#define TOOLS_SESSION_VIEW_H
#include "autologger/control/client.h"
#include "autologger/plan/plan.h"
#include "tools/base/json_out.h"
#include "tools/view/session_conditions.h"
#include "tools/view/user_losses.h"

const char *session_file_text(const struct ctl_session_info *s); /* its file's path, or where its events go instead */
const char *session_state_name(uint32_t state);
/* One session, a "name: value" line each. */
void session_view_print(const struct ctl_session_info *s, FILE *to);
/* One object; `name` as in json_out.h. Without users or conditions where these are NULL. */
void session_view_json(const struct ctl_session_info *s, const struct session_users *users,
                       const struct session_conditions *conditions, const char *name, struct json *j);
/* One enabled provider of a session, with its level, keywords and filters. */
struct session_enabled {
    struct guid                guid;
    char                       name[CTL_NAME]; /* "" = not known */
    struct ctl_provider_enable terms;
};
/* Shows a session with its enabled providers, its users and their losses. `notes`: why some providers have no events so
 * far. */
void session_view_show_enabled(const struct ctl_session_info *s, const struct session_users *users,
                               const struct session_conditions *conditions, const struct session_enabled *enabled,
                               unsigned count, const struct condition *notes, unsigned note_count, bool as_json);
/* Prints a session on stdout, as text or JSON. */
void session_view_show(const struct ctl_session_info *s, const struct session_conditions *conditions, bool as_json);
/* Programs refused for lack of a place in the daemon: a line for each user, nothing if there are none. */
void session_refused_print(const struct ctl_state_answer *state, FILE *to);
/* The same as an array "refused". */
void session_refused_json(const struct ctl_state_answer *state, struct json *j);
/* What "written" means, as a line: events that are in the file; the rest is in memory. */
#define SESSION_WRITTEN_NOTE \
    "written: events that are in the file; what is still in memory follows with 'autologger flush NAME' or stop"
#endif
