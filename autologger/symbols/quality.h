/* quality.h - the quality of a trace's stacks, by kind of event: which events have one, and whether its kernel part and
 * its program's part are whole. One count for all views (dump --symbols, summary). A part is complete when its last
 * frame is a function that whole stacks end in (roots.def), cut when it is another one, and of unknown end when the
 * last frame has no name because its file, or the kernel's symbols, are not there. The last part decides about the
 * whole stack: a kernel part alone must end where threads begin; one that ends at a kernel entry lacks the program's
 * part, and is cut.
 * The two parts may come in events of their own (as on Windows, and by DWARF): they are one stack.
 * Invariant: for each row events = with_stack + missing; with_stack = the sum over whole[] unless stacks came twice, or
 * were not shown.
 * Threads: one. Ownership: zeros at first, finish.
 * Order: every stack's trigger first (quality_expect), once quality_ready, then events and stacks in the order of the
 * file.
 * Not for: naming frames (symbols.h). */
#ifndef AUTOLOGGER_SYMBOLS_QUALITY_H
#define AUTOLOGGER_SYMBOLS_QUALITY_H
#include "autologger/consumer/frames.h"

enum stack_end { STACK_NO_PART, STACK_COMPLETE, STACK_CUT, STACK_END_UNKNOWN, STACK_ENDS };
/* Rows without a hook: stacks inside of events that describe themselves; stacks whose event was not shown. */
enum { QUALITY_INSIDE = 0xFFFE, QUALITY_NO_EVENT = 0xFFFF, QUALITY_HOOKS = 0x10000 };

struct quality_row {
    uint16_t hook; /* of the events: wire number, or QUALITY_... */
    uint64_t events, with_stack, missing;
    /* stacks by the end of each part; whole[STACK_NO_PART] is 0 */
    uint64_t whole[STACK_ENDS], kernel[STACK_ENDS], user[STACK_ENDS];
    uint64_t kernel_frames, kernel_named, user_frames, user_named; /* 0 named where names were not asked for */
};
struct quality_parts { /* of one stack */
    enum stack_end kernel, user;
    bool           kernel_root; /* the kernel part ends where threads begin */
    uint64_t       kernel_frames, kernel_named, user_frames, user_named;
};
struct quality_trigger {
    int64_t  time;
    uint16_t hook, cpu;
    uint8_t  kernel, user, whole; /* enum stack_end; whole STACK_NO_PART: no stack was shown yet */
    bool     root;                /* the kernel part ends where threads begin */
    bool     borrowed;            /* taken by an event of another CPU, until one of this CPU comes */
};
struct quality {
    struct quality_trigger *trigger; /* events that have a stack, by time and CPU, each once */
    size_t                  count, capacity;
    struct quality_row     *row[QUALITY_HOOKS >> 8]; /* 256 each; NULL: none */
    bool                    failed;                  /* no memory */
};

/* The end of a part, by its last frame; *thread: that is where threads begin. */
enum stack_end quality_end(const struct frame_name *last, bool kernel, bool *thread);
/* `cpu`: of the stack's own event. Events of two CPUs sometimes have equal times; a stack's second part may come from
 * another CPU than its trigger. */
void quality_expect(struct quality *q, int64_t trigger, uint16_t cpu);
void quality_ready(struct quality *q);
/* A kernel event that is shown; other events are no triggers. */
void quality_event(struct quality *q, const struct etl_event *e);
/* quality_stack: the stack of the event at that raw time. quality_inside: a stack that its event carries
 * (QUALITY_INSIDE). */
void quality_stack(struct quality *q, int64_t trigger, uint16_t cpu, const struct quality_parts *parts);
void quality_inside(struct quality *q, const struct quality_parts *parts);
/* The rows that have stacks, most stacks first; *count of them, malloc'ed. NULL: no memory. */
struct quality_row *quality_rows(const struct quality *q, size_t *count);
void                quality_finish(struct quality *q);
#endif
