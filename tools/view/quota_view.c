/* quota_view.c - see quota_view.h. */
#include "tools/view/quota_view.h"
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>

static const struct limit {
    const char *words, *advice;
    uint64_t    second; /* 0: no rate */
} limits[] = {
#define QUOTA_SHARE(id, uses, words, total, part, least, advice) {words, advice, 0},
#define QUOTA_RATE(id, words, second, burst, second_more, burst_more, advice) {words, advice, second},
#include "autologger/control/quota.def"
#undef QUOTA_SHARE
#undef QUOTA_RATE
};
enum { MOST = sizeof((struct ctl_state_answer *)0)->quota / sizeof((struct ctl_state_answer *)0)->quota[0] };

/* A daemon that is newer than this program may have more limits. */
static const struct limit *limit_of(uint32_t what)
{
    static const struct limit other = {"something that this program does not know",
                                       "use the program of the daemon's version", 0};
    return what < sizeof limits / sizeof *limits ? &limits[what] : &other;
}

static const char *quota_view_user_text(uint32_t uid, char text[32])
{
    if (uid == UINT32_MAX)
        snprintf(text, 32, "other users");
    else
        snprintf(text, 32, "uid %" PRIu32, uid);
    return text;
}

void quota_print(const struct ctl_state_answer *state, FILE *to)
{
    char text[32];
    for (unsigned i = 0; i < MOST && state->quota[i].refused; i++) {
        const struct limit *l    = limit_of(state->quota[i].what);
        const char         *user = quota_view_user_text(state->quota[i].uid, text);
        if (l->second)
            visible_printf(to,
                           "limit: %s sent too many %s: %" PRIu64 " times they were read later (%" PRIu64
                           " a second may be sent)\n",
                           user, l->words, state->quota[i].refused, l->second);
        else
            visible_printf(to,
                           "limit: %s was refused more %s %" PRIu64 " times (it has %" PRIu64 " of %" PRIu64
                           "; a user may have half of what others leave)\n",
                           user, l->words, state->quota[i].refused, state->quota[i].held, state->quota[i].total);
        visible_printf(to, "    do:  %s\n", l->advice);
    }
}

void quota_json(const struct ctl_state_answer *state, struct json *j)
{
    json_array(j, "limits");
    for (unsigned i = 0; i < MOST && state->quota[i].refused; i++) {
        const struct limit *l = limit_of(state->quota[i].what);
        json_object(j, NULL);
        if (state->quota[i].uid != UINT32_MAX)
            json_number(j, "uid", state->quota[i].uid);
        json_text(j, "limit", l->words);
        json_number(j, "refused", state->quota[i].refused);
        if (!l->second) {
            json_number(j, "held", state->quota[i].held);
            json_number(j, "total", state->quota[i].total);
        }
        json_text(j, "advice", l->advice);
        json_object_end(j);
    }
    json_array_end(j);
}
