/* check_here.h - tracepoints, programs and systemd's units that a declaration names and this machine lacks.
 * Threads: one. Ownership: begin/finish. Not for: what a declaration means (autologger/plan/check.h), another machine's
 * root. */
#ifndef TOOLS_CHECK_HERE_H
#define TOOLS_CHECK_HERE_H
#include "autologger/plan/check.h"

struct check_here {
    int           tracefs; /* -1: cannot be read; tracepoints are not checked */
    struct reason why;
};
void check_here_begin(struct check_here *h);
void check_here_finish(struct check_here *h);
/* Appends what is missing to `found`. Returns the provider's Status at a boot, with the reason in h->why; W_SUCCESS: no
 * failure. */
wstatus check_here_provider(struct check_here *h, const struct plan_provider *p, struct condition_list *found);
#endif
