/* stack_keys.h - the definitions of stack keys in a trace (StackCaching): the frames of a StackWalk/KeyKernel or
 * KeyUser. A definition may come before its use (KeyCreate, as we write it) or after it (KeyDelete, KeyRundown, as
 * Windows writes them, where a deleted key may get another stack afterwards). So a trace is read once for its
 * definitions, and then for its events.
 * Invariant: memory grows with distinct stacks, not with events. Threads: one. Ownership: zeros at first, finish;
 * frames live until then.
 * Not for: names of frames (symbols/symbols.h). */
#ifndef AUTOLOGGER_CONSUMER_STACK_KEYS_H
#define AUTOLOGGER_CONSUMER_STACK_KEYS_H
#include "autologger/consumer/classic_event.h"
#include "autologger/kernel/source/idmap.h"

struct stack_keys {
    struct idmap by_key; /* struct stack_definition, the latest first */
    uint64_t     bytes;  /* of definitions */
    bool         failed; /* no memory */
};
/* Any event; true: it defines a key, and is kept. */
bool stack_keys_see(struct stack_keys *k, const struct etl_event *e);
/* Reads the use of a key: its number into *key, and the fields of stack_event_read, without frames yet. False: none. */
bool stack_key_read(const struct etl_event *e, struct stack_fields *out, uint64_t *key);
/* The stack of a stack event, stored in it or under a key; count 0: the key has no definition. False: it is no stack;
 * stack_event_read reads definitions. */
bool stack_keys_stack(const struct stack_keys *k, const struct etl_event *e, struct stack_fields *out);
void stack_keys_finish(struct stack_keys *k);
#endif
