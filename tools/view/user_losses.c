/* user_losses.c - see user_losses.h. */
#include "tools/view/user_losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ANSWER_MS = 1000 };

struct live_session {
    char                    key[CTL_PATH];
    struct ctl_session_info info;
    struct session_users    users;
};

wstatus session_users_take(struct control_client *c, const char *session, struct session_users *out, struct reason *why)
{
    *out       = (struct session_users){0};
    wstatus st = control_users(c, session, &out->row, &out->count, why);
    return st == W_NOT_SUPPORTED || st == W_WMI_INSTANCE_NOT_FOUND ? W_SUCCESS : st;
}

void session_users_finish(struct session_users *users)
{
    free(users->row);
    *users = (struct session_users){0};
}

bool user_loss(const struct ctl_session_info *s, const struct ctl_user_row *user, struct condition *out)
{
    *out = (struct condition){.number = W_NOT_ENOUGH_MEMORY};
    if (!user->lost)
        return false;
    if (user->uid == CTL_USERS_GONE)
        snprintf(out->item, sizeof out->item, "former users");
    else
        snprintf(out->item, sizeof out->item, "uid %" PRIu32, user->uid);
    snprintf(out->reason, sizeof out->reason,
             "%" PRIu64 " event%s of its programs found no room in its part of %" PRIu32 " buffers of %" PRIu32
             " KB, or were too large",
             user->lost, user->lost == 1 ? "" : "s", s->maximum_buffers, s->buffer_kb);
    snprintf(out->advice, sizeof out->advice, "autologger update \"%.100s\" --maximum-buffers %" PRIu32, s->name,
             2 * s->maximum_buffers);
    return true;
}

/* Appends a misuse, and how it was handled, to `out`. */
static void misuse_add(char *out, size_t capacity, const char *what)
{
    const size_t length = strlen(out);
    snprintf(out + length, capacity - length, "%s%s", length ? "; " : "its programs ", what);
}

bool user_misuse(const struct ctl_user_row *user, char *out, size_t capacity)
{
    char times[160];

    *out = 0;
    snprintf(
        times, sizeof times,
        "wrote %" PRIu64
        " events with times of the future or of the past, past the library: they have the time at which they were read",
        user->untrue_times);
    if (user->untrue_times)
        misuse_add(out, capacity, times);
    if (user->false_counts)
        misuse_add(out, capacity,
                   "wrote counts of lost events that cannot be true, past the library: they are not counted");
    if (user->took_memory)
        misuse_add(out, capacity, "took memory that is no part of the buffers, past the library: it was taken back");
    return *out;
}

void session_users_json(const struct ctl_session_info *s, const struct session_users *users, struct json *j)
{
    struct condition loss;
    json_array(j, "users");
    for (unsigned i = 0; i < users->count; i++) {
        const struct ctl_user_row *u = &users->row[i];
        user_loss(s, u, &loss);
        json_object(j, NULL);
        json_number(j, "uid", u->uid);
        json_number(j, "programs", u->programs);
        json_number(j, "busy_bytes", u->busy_bytes);
        json_number(j, "free_bytes", u->free_bytes);
        json_number(j, "lost", u->lost);
        json_number(j, "untrue_times", u->untrue_times);
        json_number(j, "took_memory", u->took_memory);
        json_number(j, "false_counts", u->false_counts);
        json_text(j, "advice", loss.advice);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ---- rows of a boot ---- */

static bool user_losses_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The row of the declaration that the session was started from. A session of another controller may have the same
 * name. */
static struct result_row *user_losses_row_of(struct result_list *rows, const char *key)
{
    struct result_row *row = *key ? result_find_key(rows, key) : NULL;
    return row && !*row->provider && row->start && !row->status && !row->stopped ? row : NULL;
}

static void row_update(struct result_row *row, const struct live_session *l)
{
    struct condition loss;
    row->lost_ring       = l->info.lost_ring;
    row->lost_memory     = l->info.lost_memory;
    row->lost_conversion = l->info.lost_conversion;
    row->lost_file       = l->info.lost_file;
    row->withheld        = l->info.withheld;
    for (unsigned i = 0; i < l->users.count; i++)
        if (user_loss(&l->info, &l->users.row[i], &loss))
            condition_add(&row->conditions, loss.number, false, loss.item, "", 0, loss.advice, "%s", loss.reason);
}

static void session_take(struct control_client *c, const struct ctl_session_info *info, struct result_list *rows,
                         struct live_user_losses *out)
{
    const struct ctl_terms_answer *terms;
    struct live_session           *l = &out->at[out->count];
    struct result_row             *row;
    if (control_terms(c, info->name, UINT32_MAX, &terms, NULL))
        return;
    snprintf(l->key, sizeof l->key, "%s", terms->session.key);
    if (!(row = user_losses_row_of(rows, l->key)) || session_users_take(c, info->name, &l->users, NULL))
        return;
    l->info = *info;
    out->count++;
    row_update(row, l);
}

void live_losses_take(const char *store, struct result_list *rows, struct live_user_losses *out)
{
    struct control_client   *c     = NULL;
    struct ctl_session_info *all   = NULL;
    unsigned                 count = 0;
    *out                           = (struct live_user_losses){0};
    if (control_open_briefly(NULL, ANSWER_MS, &c, NULL))
        return;
    if (!control_state(c, &out->state, NULL) && user_losses_same_file(out->state.store, store) &&
        !control_query_all(c, &all, &count, NULL) && (out->at = calloc(count + 1, sizeof *out->at)))
        for (unsigned i = 0; i < count; i++)
            session_take(c, &all[i], rows, out);
    if (!user_losses_same_file(out->state.store, store)) /* another daemon's limits do not concern this boot */
        out->state = (struct ctl_state_answer){0};
    free(all);
    control_close(c);
}

void live_losses_finish(struct live_user_losses *live)
{
    for (unsigned i = 0; i < live->count; i++)
        session_users_finish(&live->at[i].users);
    free(live->at);
    *live = (struct live_user_losses){0};
}

static const struct live_session *live_find(const struct live_user_losses *live, const struct result_row *row)
{
    for (unsigned i = 0; live && i < live->count; i++)
        if (strcmp(live->at[i].key, row->key) == 0)
            return &live->at[i];
    return NULL;
}

bool live_losses_has(const struct live_user_losses *live, const struct result_row *row)
{
    return live_find(live, row) != NULL;
}

void live_losses_json(const struct live_user_losses *live, const struct result_row *row, struct json *j)
{
    const struct live_session *l = live_find(live, row);
    if (l)
        session_users_json(&l->info, &l->users, j);
}
