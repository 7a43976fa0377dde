/* See session.h. Users cause conditions, and one user can have 65,536 subordinate ids. These conditions have a bound of
 * their own, so they cannot displace the session's. A condition stays known after a boot's row has copied it.
 * Threads: the controlling thread, with or without the session's lock. */
#include "autologger/session/session.h"

/* FNV-1a; two texts with the same value are one condition. */
static uint64_t user_condition_key_of(wstatus number, const char *text)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325) ^ number;
    for (; *text; text++)
        key = (key ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return key;
}

void session_user_condition(struct session *s, wstatus number, bool note, const char *once, const char *item,
                            const char *advice, const char *what)
{
    const uint64_t key = user_condition_key_of(number, once);

    for (unsigned i = 0; i < s->user_conditions; i++)
        if (s->user_condition[i] == key)
            return;
    if (s->user_conditions < SESSION_USER_CONDITIONS) {
        s->user_condition[s->user_conditions++] = key;
        condition_add(&s->conditions, number, note, item, "", 0, advice, "%s", what);
    } else if (!s->more_user_conditions) {
        s->more_user_conditions = true;
        condition_add(&s->conditions, W_NO_SYSTEM_RESOURCES, true, "more users", "", 0,
                      "look at the programs of the users that are listed",
                      "%u conditions of users and their providers are listed; there were more",
                      SESSION_USER_CONDITIONS);
    }
}
