#include "autologger/daemon/end/results_save.h"

#include "autologger/boot/changed.h"
#include "autologger/boot/history.h"
#include "autologger/daemon/early/early_facts.h"
#include "registry-sim/base/visible_print.h"

#include <stdio.h>

/* Gives up boots that are too many now. A rehearsal gives up none. */
static void boots_keep(const struct service_saving *s)
{
    struct history_pruned gone;
    struct reason         why;
    if (!s->state->rehearsal && history_keep(s->os, s->store, s->state->log_dir, &gone, &why) != W_SUCCESS)
        visible_line(stderr, "autologgerd: older boots stay: %s", why.text);
}

wstatus results_save(const struct service_saving *s, struct reason *why)
{
    early_facts_add(s->state, s->runtime_dir, s->store, s->results);
    wstatus st = journal_replay(s->journal, s->store, why);
    if (!st)
        changed_note(s->results, s->store);
    st = st ? st : result_save(s->store, s->results, why);
    if (!st && s->settled)
        boots_keep(s);
    return st;
}
