/* user_losses.h - the users whose programs write to a running session, and what to do about their losses: for `query`,
 * `sessions` and `status`.
 * Threads: one. Ownership: session_users_finish and live_losses_finish free the rows. Not for: losses of ended sessions
 * (autologger/boot/explain.h). */
#ifndef TOOLS_USER_LOSSES_H
#define TOOLS_USER_LOSSES_H
#include "autologger/boot/result.h"
#include "autologger/control/client.h"
#include "tools/base/json_out.h"

struct session_users {
    struct ctl_user_row *row;
    unsigned             count;
};
/* No users: also for a session that has just ended, and for a daemon that does not know them (an older one, the early
 * program). */
wstatus session_users_take(struct control_client *c, const char *session, struct session_users *out,
                           struct reason *why);
void    session_users_finish(struct session_users *users);
/* True: the user lost events; *out says what happened, and which update helps. */
bool user_loss(const struct ctl_session_info *s, const struct ctl_user_row *user, struct condition *out);
/* True: past the library, its programs wrote to the session's memory what the library never writes; `out` says what. */
bool user_misuse(const struct ctl_user_row *user, char *out, size_t capacity);
/* An array "users" with the advice for each, "" where nothing was lost. */
void session_users_json(const struct ctl_session_info *s, const struct session_users *users, struct json *j);

/* The sessions of a boot's rows that still run. */
struct live_user_losses {
    struct live_session    *at;
    unsigned                count;
    struct ctl_state_answer state; /* of the daemon; zeros: not known */
};
/* Replaces the losses in the rows of running sessions by the daemon's current ones, and adds a condition for each user
 * that lost events. Changes nothing when the daemon has another store than `store`, or does not answer within a
 * second. */
void live_losses_take(const char *store, struct result_list *rows, struct live_user_losses *out);
void live_losses_finish(struct live_user_losses *live);
/* True: the row's losses are current. */
bool live_losses_has(const struct live_user_losses *live, const struct result_row *row);
/* session_users_json of the row's session, if it runs. `live` may be NULL. */
void live_losses_json(const struct live_user_losses *live, const struct result_row *row, struct json *j);
#endif
