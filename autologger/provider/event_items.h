/* event_items.h - the items between an event's header and its payload: the related activity, the provider's traits, the
 * schema of a typed event, and the extras of a session (SID, stack, container).
 * Invariants: no lock, allocation or system call except for requested extras (CPU times). Threads: any; on the caller's
 * stack.
 * Not for: events whose data descriptors go out as they are (event_write.c). */
#ifndef AUTOLOGGER_PROVIDER_EVENT_ITEMS_H
#define AUTOLOGGER_PROVIDER_EVENT_ITEMS_H
#include "autologger/provider/process.h"
#include "autologger/ring/section.h"
#include "autologger/wire/etl.h"

enum { ITEMS_MAX = 10, PIECES_MAX = MAX_EVENT_DATA_DESCRIPTORS + 3 * ITEMS_MAX };

struct event_items {
    struct etl_ext_item item[ITEMS_MAX];
    unsigned            item_count;
    unsigned            count;
    struct ring_piece   piece[PIECES_MAX];
};

/* The extras that sessions ask for; made for the first session that asks, the same for all. */
struct event_extras {
    const void *frame, *caller; /* place of the call; NULL: unknown */
    uint64_t    event_key;
    uint32_t    inner[2]; /* process, thread */
    uint64_t    times[2]; /* ns in kernel and user mode */
    bool        has_key, has_stack, has_times;
    unsigned    frames;
    uint64_t    stack[1 + USER_STACK_MAX]; /* behind a MatchId of 0 */
};
/* What one session asks for. */
struct event_ask {
    struct event_extras *extras;
    uint32_t             property;
    bool                 stack;
};

/* Builds the pieces of `e`: items first (related activity, provider traits, schema, the extras of `ask`; NULL: none),
 * then the payload. Descriptor types count where the registration says so. `b` must live as long as `e`. */
ULONG event_items_build(struct event_items *b, struct section *e, const struct registration *r, LPCGUID related,
                        ULONG n, const EVENT_DATA_DESCRIPTOR *data, const struct event_ask *ask);
#endif
