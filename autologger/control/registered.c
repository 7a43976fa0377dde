/* registered.c - see registered.h. */
#include "autologger/control/registered.h"

#include <string.h>

static void registered_push(struct registered *l, uint16_t *head, unsigned place)
{
    l->next[place] = *head;
    *head          = (uint16_t)(place + 1);
}

void registered_begin(struct registered *l, const struct state_daemon *state)
{
    memset(l, 0, sizeof *l);
    for (unsigned i = STATE_REGISTRATIONS; i-- > 0;) { /* the lowest free place is taken first */
        const struct state_registration *r = &state->registration[i];
        registered_push(l, r->in_use && r->connection < STATE_CONNECTIONS ? &l->first[r->connection] : &l->free, i);
    }
}

int registered_find(const struct registered *l, const struct state_daemon *state, unsigned connection, uint32_t index)
{
    for (int i = registered_first(l, connection); i >= 0; i = registered_next(l, (unsigned)i))
        if (state->registration[i].index == index)
            return i;
    return -1;
}

int registered_free(const struct registered *l) { return l->free - 1; }

void registered_take(struct registered *l, unsigned connection)
{
    const unsigned place = l->free - 1u;
    l->free              = l->next[place];
    registered_push(l, &l->first[connection], place);
}

void registered_give(struct registered *l, unsigned connection, unsigned place)
{
    uint16_t *at = &l->first[connection];
    while (*at && *at != place + 1)
        at = &l->next[*at - 1];
    if (!*at)
        return;
    *at = l->next[place];
    registered_push(l, &l->free, place);
}

int registered_first(const struct registered *l, unsigned connection) { return l->first[connection] - 1; }
int registered_next(const struct registered *l, unsigned place) { return l->next[place] - 1; }
