/* unwinding.h - copies of programs' stacks (wire/stack_copy.h) become StackWalk/Stack events, where a merge meets them:
 * by the program autologger-unwind, which is started at the first copy, told of all images, and asked for each copy.
 * Images of the rundown were there before they could be told, so at the first copy the file is gone through for them.
 * A program that dies or hangs at a copy costs that one; it is started again a few times. It has no rights: files are
 * opened for it here.
 * Memory: the Image events of the trace, as messages, until the end. Threads: one. Ownership: create/destroy.
 * Not for: unwinding itself (symbols/unwind.h). */
#ifndef AUTOLOGGER_CONSUMER_UNWINDING_H
#define AUTOLOGGER_CONSUMER_UNWINDING_H
#include "autologger/consumer/unwind_pipe.h"
#include "autologger/etl/reader.h"

#include <sys/types.h>

struct unwinding_counts {
    uint64_t copies;            /* of programs' stacks */
    uint64_t ends[UNWIND_ENDS]; /* of those that became Stack events, by how they end */
    uint64_t frames;            /* in these */
    uint64_t left;              /* that stay what they are: see none */
    char     none[200];         /* why; "" = all became stacks */
};
struct unwinding;
struct unwinding *unwinding_create(void);                 /* NULL: no memory */
void              unwinding_destroy(struct unwinding *u); /* NULL is fine */
enum { UNWINDING_RECORD = 40 + UNWIND_FRAMES * 8 };
/* Sees every event of the kernel's file at `path` in order. Not 0: the event was a copy, and this many bytes of
 * `record` take its place. */
uint32_t                       unwinding_see(struct unwinding *u, const char *path, const struct etl_event *e,
                                             uint8_t record[UNWINDING_RECORD]);
const struct unwinding_counts *unwinding_counts(const struct unwinding *u);
/* A merge that may not start programs has somebody else do it. */
struct unwinding_host {
    /* the program's socket; -1: `why` says why not. There is one at a time */
    int (*start)(void *ctx, pid_t *pid, char *why, size_t size);
    void (*stop)(void *ctx);
    void *ctx;
};
/* NULL: the process itself starts it, as at first. Borrowed. */
void unwinding_by(const struct unwinding_host *by);
/* Starts the program: its socket, or -1 with `why`. Who calls this ends it. */
int unwinding_start(pid_t *pid, char *why, size_t size);
/* Is the event a copy of a stack? */
bool stack_copy_is(const struct etl_event *e);
#endif
