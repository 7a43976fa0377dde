/* kernel_start.h - opens the kernel sources of sessions that boot_run left without them, on a thread of its own: that
 * takes a while (every perf event of every CPU), and programs need not wait for it.
 * Threads: begin, take, finish: the controlling thread; the worker touches nothing but its own results and reads the
 * session's identity. Ownership: begin ... finish. Not for: starting the sessions (boot_kernel_start). */
#ifndef AUTOLOGGER_DAEMON_KERNEL_START_H
#define AUTOLOGGER_DAEMON_KERNEL_START_H
#include "autologger/session/table.h"

struct kernel_start;

struct kernel_opened {
    struct session       *session;
    struct klog          *klog; /* NULL: `why` says how it failed */
    struct condition_list found;
    struct reason         why;
};

/* Begins with all kernel sessions of the table that have no klog; *out is NULL when there are none. `done_fd` (eventfd)
 * is signalled at the end. W_NOT_ENOUGH_MEMORY. */
wstatus kernel_start_begin(struct session_table *table, int done_fd, struct kernel_start **out, struct reason *why);
/* True: the worker has finished; take what it opened, then finish. `wait`: waits for it. */
bool kernel_start_done(struct kernel_start *k, bool wait);
/* The next result; the caller owns its klog and conditions. NULL: no more. */
struct kernel_opened *kernel_start_take(struct kernel_start *k);
void                  kernel_start_finish(struct kernel_start *k); /* waits; NULL is fine */
#endif
