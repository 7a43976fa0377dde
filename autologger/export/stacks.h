/* stacks.h - joins stacks with their trigger: a sample of the processor, or a switch-in after a wait. The kernel's part
 * and the program's part may come as events of their own; they are one stack.
 * Invariant: each stack whose trigger is found is given once, whole.
 * Memory: the last STACKS_TRIGGERS samples and switches, and one stack per thread.
 * Threads: one. Ownership: zeros at first, except for the caller's settings; finish. Not for: names (frames.h), which a
 * namer gives. */
#ifndef AUTOLOGGER_EXPORT_STACKS_H
#define AUTOLOGGER_EXPORT_STACKS_H
#include "autologger/analysis/traced.h"
#include "autologger/consumer/frames.h"
#include "autologger/consumer/stack_keys.h"

enum { STACKS_TRIGGERS = 65536, STACKS_FRAMES = 1024 };
enum stack_kind { STACK_OF_SAMPLE, STACK_OF_WAIT, STACK_KINDS };
struct joined_stack {
    enum stack_kind    kind;
    uint32_t           pid, tid;
    uint16_t           cpu;
    int64_t            raw_time; /* of its trigger */
    uint64_t           time;     /* FILETIME */
    uint64_t           weight;   /* samples: 1; waits: 100 ns */
    const char *const *frame;    /* "module!function", leaf first */
    unsigned           frames;
};
struct stack_trigger {
    int64_t  raw_time;
    uint64_t time, weight;
    uint32_t tid;
    uint16_t cpu;
    uint8_t  kind; /* enum stack_kind */
};
struct stacks {
    void (*take)(void *ctx, const struct joined_stack *s);
    void                     *ctx;
    const struct frame_namer *namer; /* NULL: addresses alone */
    /* finds triggers by time and processor, for events without a thread */
    bool                  by_cpu;
    struct stack_trigger *trigger;  /* a ring */
    uint64_t              triggers; /* ever */
    struct idmap          at;       /* raw time and thread (or processor) -> place in the ring, + 1 */
    struct idmap          open;     /* tid + 1 -> struct open_stack */
    struct frame_name    *names;
    struct stack_keys     keys; /* so far: without a namer a key that is defined later has no frames */
    uint64_t              joined[STACK_KINDS], other; /* other: of other events, or too late */
    bool                  failed;
};
/* A sample or a switch-in: its stack may follow. `weight` 0: nothing to be joined. */
void stacks_trigger(struct stacks *s, const struct stack_trigger *t);
/* True when the event is a stack. */
bool stacks_see(struct stacks *s, const struct etl_event *e);
/* Gives the stacks that are still open. */
void stacks_end(struct stacks *s);
void stacks_finish(struct stacks *s);
#endif
