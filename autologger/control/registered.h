/* registered.h - the registrations of each connection, and the free places of the table (wire/state.h), as lists: a
 * program's request does not cost a scan of all 32,768 places.
 * Invariants: R1 a place is in the list of its connection while it is in use, and in the free list otherwise. R2 the
 * table is the truth: a successor builds the lists from it.
 * Threads: the controlling one. Not for: what a registration may be, and who is told (server_providers.c). */
#ifndef AUTOLOGGER_CONTROL_REGISTERED_H
#define AUTOLOGGER_CONTROL_REGISTERED_H
#include "autologger/wire/state.h"

#include <stdbool.h>

/* Place numbers + 1; 0: the end. */
struct registered {
    uint16_t first[STATE_CONNECTIONS];
    uint16_t next[STATE_REGISTRATIONS]; /* of the same connection, or free */
    uint16_t free;
};
_Static_assert(STATE_REGISTRATIONS < UINT16_MAX, "a number of a place fits");

/* Builds the lists from the table. A place in use by a connection that cannot be (torn by a predecessor's end) is
 * free. */
void registered_begin(struct registered *l, const struct state_daemon *state);
/* The place of (connection, index), or -1. */
int registered_find(const struct registered *l, const struct state_daemon *state, unsigned connection, uint32_t index);
/* The place that registered_take takes, or -1. A place that was given back comes next. */
int registered_free(const struct registered *l);
/* Only when registered_free is not -1. */
void registered_take(struct registered *l, unsigned connection);
/* `place` must be in the list of `connection`. */
void registered_give(struct registered *l, unsigned connection, unsigned place);
/* The first place of a connection, and the one after `place`; -1: none. Giving a place back keeps the order of the
 * others. */
int registered_first(const struct registered *l, unsigned connection);
int registered_next(const struct registered *l, unsigned place);
#endif
