/* registered.h - the registrations of each connection, and the free places of the table (wire/state.h), as lists: a
 * program that asks is not paid for with a look at all 32,768 places.
 * Invariants  R1 a place is in the list of its connection while it is in use, and in the free list otherwise. R2 the
 *   table is the truth: a successor makes the lists from it.
 * Threads: the controlling one. Not for: what a registration may be, and who is told (server_providers.c). */
#ifndef AUTOLOGGER_CONTROL_REGISTERED_H
#define AUTOLOGGER_CONTROL_REGISTERED_H
#include "autologger/wire/state.h"

#include <stdbool.h>

/* Numbers of places + 1; 0: the end. */
struct registered {
    uint16_t first[STATE_CONNECTIONS];
    uint16_t next[STATE_REGISTRATIONS]; /* of the same connection, or free */
    uint16_t free;
};
_Static_assert(STATE_REGISTRATIONS < UINT16_MAX, "a number of a place fits");

/* From the table. A place in use by a connection that cannot be (torn by a predecessor's end) is free. */
void registered_begin(struct registered *l, const struct state_daemon *state);
/* The place of (connection, index), or -1. */
int registered_find(const struct registered *l, const struct state_daemon *state, unsigned connection, uint32_t index);
/* The place that registered_take takes, or -1. A place that was given back is the next. */
int registered_free(const struct registered *l);
/* registered_free is not -1. */
void registered_take(struct registered *l, unsigned connection);
/* `place` is in the list of `connection`. */
void registered_give(struct registered *l, unsigned connection, unsigned place);
/* The first place of a connection, and the one behind `place`; -1: none. What is given back leaves the others'
 * order. */
int registered_first(const struct registered *l, unsigned connection);
int registered_next(const struct registered *l, unsigned place);
#endif
