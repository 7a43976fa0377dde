/* untraced.h - why this boot was not traced: what stands in the way, looked at on the machine, and the one sentence
 * that follows.
 * Invariants: U1 the first obstacle in the order of a boot is named: the switch, the guard, what is declared, the
 * daemon, the snapshot. U2 untraced_explain is pure: facts in, words out.
 * Threads: one. Not for: sessions that started and failed (their rows), what a next boot would lack (system_check). */
#ifndef TOOLS_UNTRACED_H
#define TOOLS_UNTRACED_H
#include "registry-sim/store/regstore.h"
#include "tools/base/machine.h"

enum untraced_snapshot { SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, SNAPSHOT_OLD, SNAPSHOT_CURRENT };

struct untraced_facts {
    bool                   off;          /* autologger=off on the kernel command line */
    char                   guard[512];   /* why the guard lets nothing start, "" = it does */
    bool                   guard_failed; /* ... because boots did not finish */
    bool                   used_up;      /* ... because it was for one boot, and that was traced */
    char                   left[512];    /* what is still in place of it, and why; "" = nothing */
    bool                   begun;        /* the guard has counted this very boot, and it has not reached its end */
    unsigned               declared;     /* sessions with Start 1 in the store */
    unsigned               idle;         /* sessions with another Start */
    bool                   systemd, daemon_enabled, daemon_runs;
    enum untraced_snapshot snapshot;
    char                   snapshot_reason[512]; /* of SNAPSHOT_DAMAGED */
    bool                   sealed_since_boot;    /* the snapshot was made after this boot had begun */
};
struct untraced {
    bool failed; /* something is wrong; else it was asked for so */
    char reason[640], advice[200];
};

/* Looks at `m` and at its store. */
void untraced_look(const struct machine *m, struct regstore *store, struct untraced_facts *out);
/* Of facts that are `used_up`: that one boot was traced as it was asked for, and what is still in place. Pure. */
void untraced_used_up(const struct untraced_facts *f, struct untraced *out);
void untraced_explain(const struct untraced_facts *f, struct untraced *out);
#endif
