/* invariants.c - broken invariants of this process (registry-sim/base/invariant.h) become a condition of each session, and
 * a line in the journal. */
#include "autologger/session/session.h"
#include "registry-sim/base/invariant.h"
#include "registry-sim/base/visible_print.h"

#include <stdatomic.h>
#include <stdio.h>

void session_invariant_look(struct session *s)
{
    static atomic_bool said;
    const uint64_t     count = invariant_count();
    if (!count || s->invariant_noted)
        return;
    s->invariant_noted = true;
    condition_add(&s->conditions, W_INTERNAL_ERROR, true, "invariant", "", 0, wstatus_advice(W_INTERNAL_ERROR),
                  "a condition that must hold does not (%s), %llu times so far", invariant_first(),
                  (unsigned long long)count);
    if (!atomic_exchange(&said, true))
        visible_line(stderr, "autologgerd: broken invariant: %s. Do: %s", invariant_first(),
                     wstatus_advice(W_INTERNAL_ERROR));
}
