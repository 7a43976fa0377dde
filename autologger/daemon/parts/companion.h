/* companion.h - a provider that the daemon runs as a program beside it, while an enablement wants it. Starts the
 * program, restarts it when it ends, and adds a condition with the cause to the rows of the declarations that want it.
 * The program may keep its state in a memfd that outlives both the program and the daemon. Where the machine lacks
 * what it needs, the declaration's row has a condition, and nothing else changes.
 * Threads: the controlling one. Ownership: create/destroy. Not for: what the provider tells (autologger/units,
 * autologger/processes). */
#ifndef AUTOLOGGER_DAEMON_COMPANION_H
#define AUTOLOGGER_DAEMON_COMPANION_H
#include "autologger/daemon/beside.h"

enum { COMPANION_ROW = 40 + 8 + STATE_UNITS };
/* A kind of companion; one for each program. */
struct companion_kind {
    const char *program; /* beside this program, or where it is installed */
    const char *what;    /* "units" */
    const char *item;    /* of its conditions */
    /* option before the text of each enablement in the program's arguments; NULL: the texts are not passed */
    const char *row_option;
    const char *keeps; /* the name under which its memory is handed on (--known); NULL: no memory */
    bool reaches;      /* it needs rights that this process may have given up: it gets a socket of reach.h (--reach) */
    const char *needs_reason, *needs_advice; /* for a missing requirement */
    const char *ended_advice;
    bool (*wants)(const struct state_enable *e); /* `e` is in use */
    /* Writes the text that describes an enablement to the program. Equal texts count once. When the set of texts
     * changes, the program is restarted. */
    void (*row)(const struct session *s, const struct state_enable *e, char out[COMPANION_ROW]);
};
struct companion_options {
    const char *needs;                 /* a path that must exist; NULL: nothing */
    const char *option, *option_value; /* passed to the program; value NULL: not passed */
};
struct companion;

/* NULL when out of memory. The options' texts and `next` must outlive the companion. `next`: the next provider in the
 * service's list (beside.h); NULL: none. */
struct companion    *companion_create(const struct companion_kind *kind, const struct companion_options *options,
                                      const struct beside *next);
const struct beside *companion_part(const struct companion *p); /* NULL of NULL */
void                 companion_destroy(struct companion *p);    /* ends the program; NULL is fine */

extern const struct companion_kind unit_provider;    /* systemd's units: needs systemd's folder, option --bus */
extern const struct companion_kind process_provider; /* Microsoft-Windows-Kernel-Process */
#endif
