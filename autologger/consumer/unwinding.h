/* unwinding.h - turns copies of programs' stacks (wire/stack_copy.h) into StackWalk/Stack events in a merge: by the
 * program autologger-unwind, which is started at the first copy, gets all images, and is asked for each copy. Images of
 * the rundown were mapped before their events, so at the first copy the file is searched for them. A program that dies
 * or hangs at a copy costs that copy; it is started again a few times. It has no rights: files are opened for it here.
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
    uint64_t left;              /* that stay copies: see `none` */
    char     none[200];         /* why; "" = all became stacks */
};
struct unwinding;
struct unwinding *unwinding_create(void);                 /* NULL: no memory */
void              unwinding_destroy(struct unwinding *u); /* NULL is fine */
enum { UNWINDING_RECORD = 40 + UNWIND_FRAMES * 8 };
/* Takes every event of the kernel's file at `path` in order. Not 0: the event was a copy, and this many bytes of
 * `record` take its place. */
uint32_t                       unwinding_see(struct unwinding *u, const char *path, const struct etl_event *e,
                                             uint8_t record[UNWINDING_RECORD]);
const struct unwinding_counts *unwinding_counts(const struct unwinding *u);
/* Starts and ends the program for a merge that may not start programs. */
struct unwinding_host {
    /* the program's socket; -1: `why` has the reason. There is one at a time */
    int (*start)(void *ctx, pid_t *pid, char *why, size_t size);
    void (*stop)(void *ctx);
    void *ctx;
};
/* NULL, the default: this process starts it. Borrowed. */
void unwinding_by(const struct unwinding_host *by);
/* Starts the program: its socket, or -1 with `why`. The caller ends it. */
int unwinding_start(pid_t *pid, char *why, size_t size);
/* Is the event a copy of a stack? */
bool stack_copy_is(const struct etl_event *e);
#endif
