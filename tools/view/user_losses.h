/* user_losses.h - the users whose programs write to a running session, and what to do about their losses: for `query`,
 * `sessions` and `status`.
 * Threads: one. Ownership: session_users_finish and live_losses_finish free what was taken. Not for: what a session
 * lost that has ended (autologger/boot/explain.h). */
#ifndef TOOLS_USER_LOSSES_H
#define TOOLS_USER_LOSSES_H
#include "autologger/boot/result.h"
#include "autologger/control/client.h"
#include "tools/base/json_out.h"

struct session_users {
    struct ctl_user_row *row;
    unsigned             count;
};
/* No users: also of a session that has just ended, and of a daemon that does not know them (an older one, the early
 * program). */
wstatus session_users_take(struct control_client *c, const char *session, struct session_users *out,
                           struct reason *why);
void    session_users_finish(struct session_users *users);
/* The user lost events: what happened, and the update that helps. */
bool user_loss(const struct ctl_session_info *s, const struct ctl_user_row *user, struct condition *out);
/* Its programs write the session's memory by hand, and what the library does not write: what it was. */
bool user_misuse(const struct ctl_user_row *user, char *out, size_t capacity);
/* An array "users" with the advice for each, "" where nothing was lost. */
void session_users_json(const struct ctl_session_info *s, const struct session_users *users, struct json *j);

/* The sessions of a boot's rows that still run. */
struct live_user_losses {
    struct live_session    *at;
    unsigned                count;
    struct ctl_state_answer state; /* of the daemon; zeros: it was not asked */
};
/* Asks the daemon of `store`; another daemon, and one that does not answer within a second, changes nothing. The counts
 * of losses in the rows of sessions that run become those of now, with a condition for each user that lost events. */
void live_losses_take(const char *store, struct result_list *rows, struct live_user_losses *out);
void live_losses_finish(struct live_user_losses *live);
/* The row's losses are those of now. */
bool live_losses_has(const struct live_user_losses *live, const struct result_row *row);
/* session_users_json of the row's session, if it runs. live: NULL is fine. */
void live_losses_json(const struct live_user_losses *live, const struct result_row *row, struct json *j);
#endif
