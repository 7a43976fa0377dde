/* classic.h - providers of the older API (RegisterTraceGuids): what a registration keeps for them. See process.h.
 * Invariant: memory of a struct classic is never freed, only used again: a writer may be reading it.
 * Threads: with process.h's lock held, except `enabled`, which writers read. */
#ifndef AUTOLOGGER_PROVIDER_CLASSIC_H
#define AUTOLOGGER_PROVIDER_CLASSIC_H
#include "autologger/include/autologger_classic.h"
#include "autologger/provider/process.h"

struct classic_class {
    struct guid guid;
    uint32_t    instances; /* instance ids given so far */
};
struct classic {
    struct classic *next; /* while it is unused */
    WMIDPREQUEST    callback;
    void           *context;
    uint64_t        handle;  /* of the session that enables it, as the callback was told; 0 = none */
    uint32_t        entry;   /* of the session in the provider's slot */
    uint32_t        session; /* its index */
    unsigned        count, room;
    struct classic_class class[]; /* count */
};

/* Updates the registration for an enablement (code 1) or its end (0). True: the callback is due, with *buffer. */
bool classic_change(struct registration *r, uint32_t code, uint32_t entry, uint8_t level, uint64_t any,
                    WNODE_HEADER *buffer);
/* Gives it back for the next registration. */
void classic_release(struct classic *c);
#endif
