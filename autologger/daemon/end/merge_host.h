/* merge_host.h - runs a merge without rights in a child process, and does for it what it has no right to: opens its
 * files, and ELF files that the trace names; makes, renames and removes the one target under its temporary name; starts
 * autologger-unwind.
 * Invariants: H1 the host reads no byte of a trace. H2 what is asked for and is not the guest's is refused, whatever
 * the guest has become.
 * H3 a guest that dies or takes too long becomes a Status with words.
 * Threads: one; in a process of its own (merge_job.h), which the daemon may end at any time. */
#ifndef AUTOLOGGER_DAEMON_MERGE_HOST_H
#define AUTOLOGGER_DAEMON_MERGE_HOST_H
#include "autologger/daemon/end/merge_ask.h"
#include "registry-sim/win32/wstatus.h"

#include <sys/types.h>

struct merge_host {
    const char *const *inputs;
    unsigned           count;
    const char        *target, *publishers;
    uint64_t           bytes;   /* of all inputs: what the limits go by */
    unsigned           seconds; /* it may take so long; 0: as the bytes say */
    /* In the child, which has no rights any more and ends with it: fills `answer`. */
    void (*guest)(void *ctx, struct os *edge, void *answer);
    void  *ctx;
    int    asker_fd; /* a socket: when its other end is closed, nobody wants the merge any more; -1: none */
    void  *answer;   /* of this size, from the guest: numbers and texts to be checked */
    size_t size;
    /* results */
    unsigned layers; /* of the guest's sandbox (sandbox.h) */
    pid_t    unwind; /* 0: it does not run */
};
/* The guest has answered, or the Status says why it has not. */
wstatus merge_host_run(struct merge_host *h, struct reason *why);
/* May the guest have it? For tests. A descriptor beside the reply is the caller's, -1: none. */
int merge_host_reply(struct merge_host *h, const struct merge_ask *ask, struct merge_reply *reply);
#endif
