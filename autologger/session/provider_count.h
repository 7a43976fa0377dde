/* provider_count.h - counts a buffer's events by provider of the session.
 * The logger thread counts, a buffer at a time, before the buffer is published: so the counts are as exact as the file,
 * also after a successor has taken over. Writers are not involved.
 * Invariants: C1 an event of a GUID that the session never enabled is not counted. C2 a place is an index into
 * state_session.enable.
 * Threads: the session's logger thread.
 * Ownership: a value.
 * Not for: losses, which are known by stream, not by provider. */
#ifndef AUTOLOGGER_SESSION_PROVIDER_COUNT_H
#define AUTOLOGGER_SESSION_PROVIDER_COUNT_H
#include "autologger/wire/state.h"

enum { PROVIDER_COUNT_SLOTS = 1024 }; /* a power of two, well above STATE_ENABLES */

struct provider_count {
    unsigned known; /* number of places of `enable` in the table */
    struct provider_count_slot {
        uint64_t guid[2];
        uint16_t place; /* + 1; 0 = free */
    } slot[PROVIDER_COUNT_SLOTS];
};
/* Adds new enablements to the table; call it before either of the next two functions. */
void provider_count_learn(struct provider_count *c, const struct state_session *st);
/* Adds an event of the older API, by its provider's slot in the directory; -1: unknown. Learns first. */
void provider_count_classic(struct provider_count *c, const struct state_session *st, int slot,
                            uint64_t events[STATE_ENABLES]);
/* Adds `count` events of one provider. */
void provider_count_row(const struct provider_count *c, const uint64_t guid[2], uint64_t count,
                        uint64_t events[STATE_ENABLES]);
/* Adds the events among the `size` bytes of records at `records` to events[place]; learns first. Records of the older
 * API do not name their provider: provider_count_classic() adds these. */
void provider_count_add(struct provider_count *c, const struct state_session *st, const uint8_t *records, uint32_t size,
                        uint64_t events[STATE_ENABLES]);
#endif
