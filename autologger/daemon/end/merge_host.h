/* merge_host.h - runs a merge without rights in a child process, and does for it what it has no right to: opens its
 * files, and ELF files that the trace names; makes, renames and removes the one target under its temporary name; starts
 * autologger-unwind.
 * Invariants: H1 the host reads no byte of a trace. H2 a request for what is not the guest's is refused, whatever the
 * guest has become.
 * H3 a guest that dies or takes too long becomes a Status with a reason.
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
    uint64_t           bytes;   /* of all inputs: the limits depend on it */
    unsigned           seconds; /* time limit; 0: by the bytes */
    /* In the child, which has no rights any more and ends afterwards: fills `answer`. */
    void (*guest)(void *ctx, struct os *edge, void *answer);
    void  *ctx;
    int    asker_fd; /* a socket: its other end is closed when nobody wants the merge any more; -1: none */
    void  *answer;   /* of `size` bytes, from the guest: its numbers and texts must be checked */
    size_t size;
    /* results */
    unsigned layers; /* of the guest's sandbox (sandbox.h) */
    pid_t    unwind; /* 0: it does not run */
};
/* W_SUCCESS: the guest has answered; else the reason why it has not. */
wstatus merge_host_run(struct merge_host *h, struct reason *why);
/* Carries out a request of the guest, or refuses it. For tests. Returns the descriptor beside the reply, which is the
 * caller's; -1: none. */
int merge_host_reply(struct merge_host *h, const struct merge_ask *ask, struct merge_reply *reply);
#endif
