/* places.h - places for connections: how many there are, who gets one, and who was refused.
 * Invariants
 *   P1 no user but root has more than half of what other users left (quota.h).
 *   P2 the last ones are kept for root's controllers: root may connect there, and a program that registers a provider
 *      in one of them gives it up.
 *   P3 a refusal is counted by user and program, and reported: in CTL_STATE, and as a condition of each running
 *      session.
 * Refused programs try again every 5 s (provider/agent.c), so a place that becomes free is taken.
 * Threads: the controlling one. Not for: registrations (server_providers.c). */
#ifndef AUTOLOGGER_CONTROL_PLACES_H
#define AUTOLOGGER_CONTROL_PLACES_H
#include "autologger/control/server_parts.h"

/* Sets the number of places: that of the state, or what the limit of open files allows. */
void places_begin(struct control_server *v);
/* The place for a new connection of that user, or -1. Connections that have sent nothing give way. */
int places_take(struct control_server *v, uint32_t uid);
/* May the program of this connection stay, now that it registers its first provider? */
bool places_for_program(const struct control_server *v);
/* Counts and reports a program that did not get what it needs. */
void places_refuse(struct control_server *v, uint32_t uid, uint32_t pid);
#endif
