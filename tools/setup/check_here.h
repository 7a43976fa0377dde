/* check_here.h - what a declaration names on this machine and this machine does not have: tracepoints, programs,
 * systemd's units.
 * Threads: one. Ownership: begin/finish. Not for: what a declaration means (autologger/plan/check.h), another machine's
 * root. */
#ifndef TOOLS_CHECK_HERE_H
#define TOOLS_CHECK_HERE_H
#include "autologger/plan/check.h"

struct check_here {
    int           tracefs; /* -1: cannot be read, so nothing is said of tracepoints */
    struct reason why;
};
void check_here_begin(struct check_here *h);
void check_here_finish(struct check_here *h);
/* Appends what is missing to `found`. Returns the Status that a boot would give the provider for it, with the reason in
 * h->why; 0: none. */
wstatus check_here_provider(struct check_here *h, const struct plan_provider *p, struct condition_list *found);
#endif
