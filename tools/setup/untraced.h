/* untraced.h - why this boot was not traced: the obstacles found on the machine, and one sentence that explains the
 * first.
 * Invariants: U1 the first obstacle is named, in this order: the switch, the declarations, the guard, a damaged
 * snapshot, the daemon, a missing or old snapshot. U2 untraced_explain is pure: facts in, words out.
 * Threads: one. Not for: sessions that started and failed (their rows), what a next boot would lack (system_check). */
#ifndef TOOLS_UNTRACED_H
#define TOOLS_UNTRACED_H
#include "registry-sim/store/regstore.h"
#include "tools/base/machine.h"

enum untraced_snapshot { SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, SNAPSHOT_OLD, SNAPSHOT_CURRENT };

struct untraced_facts {
    bool                   off;          /* autologger=off on the kernel command line */
    char                   guard[512];   /* why the guard blocks all starts, "" = it does not */
    bool                   guard_failed; /* ... because boots did not finish */
    bool                   used_up;      /* ... because the configuration was for one boot, which was traced */
    char                   left[512];    /* for used_up: what is still in place, and why; "" = nothing */
    bool                   begun;        /* the guard has counted this boot, which has not reached its end */
    unsigned               declared;     /* sessions with Start 1 in the store */
    unsigned               idle;         /* sessions with another Start */
    bool                   systemd, daemon_enabled, daemon_runs;
    enum untraced_snapshot snapshot;
    char                   snapshot_reason[512]; /* of SNAPSHOT_DAMAGED */
    bool                   sealed_since_boot;    /* the snapshot was made after this boot had begun */
};
struct untraced {
    bool failed; /* something is wrong; false: it was requested */
    char reason[640], advice[200];
};

/* Looks at `m` and at its store. */
void untraced_look(const struct machine *m, struct regstore *store, struct untraced_facts *out);
/* For `used_up` facts: the one boot was traced as requested, and what is still in place. Pure. */
void untraced_used_up(const struct untraced_facts *f, struct untraced *out);
void untraced_explain(const struct untraced_facts *f, struct untraced *out);
#endif
