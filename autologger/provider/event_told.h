/* event_told.h - late events: a provider that learns of something late, with the time at which it happened, writes the
 * event with that time. Late events have a place of their own in a session (session/logger.c, G4); sessions accept them
 * from programs of the daemon's own user alone. Not exported: a program's own measurements carry the time at which they
 * are written. Threads: any. Not for: events of now (EventWrite). */
#ifndef AUTOLOGGER_PROVIDER_EVENT_TOLD_H
#define AUTOLOGGER_PROVIDER_EVENT_TOLD_H
#include "autologger/include/evntprov.h"

#include <stdbool.h>
#include <stdint.h>

struct event_told {
    void *ctx;
    uint64_t (*time)(void *ctx, uint32_t clock_kind); /* of the event, on a session's clock (enum clock_read_kind) */
    bool (*wants)(void *ctx, uint32_t session);       /* NULL: every session that the provider is enabled in */
    bool count_loss;                                  /* false: a session without room is no loss yet; call again */
};

/* The enablements of the provider that let the level and keyword through, a bit each; input of the functions below. */
uint32_t event_told_sessions(REGHANDLE handle, uint8_t level, uint64_t keyword);
/* Those of them whose filters let the event in. */
uint32_t event_told_let_in(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data);
/* Writes the event for the enablements in *sessions, and clears the bit of each that took it (or does not want it).
 * W_SUCCESS; W_NOT_ENOUGH_MEMORY: no room in the session of the lowest bit left; W_MORE_DATA and W_ARITHMETIC_OVERFLOW
 * as EventWrite. */
ULONG event_told_write(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data,
                       const struct event_told *told, uint32_t *sessions);
/* Writes the event for every session that wants it. Waits for a session without room, patience_ms in a row (*impatient:
 * the last wait was in vain, and there was no room since); then the event is lost there, and counted. */
void event_told_send(REGHANDLE handle, PCEVENT_DESCRIPTOR d, ULONG n, const EVENT_DATA_DESCRIPTOR *data,
                     const struct event_told *told, int patience_ms, bool *impatient);
/* Counts `count` events that were never written as lost in those sessions (EventsLost). */
void event_told_lost(REGHANDLE handle, uint32_t sessions, uint64_t count);
#endif
