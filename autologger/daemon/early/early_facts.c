#include "autologger/daemon/early/early_facts.h"

#include "autologger/daemon/early/early_report.h"
#include "registry-sim/store/snapshot.h"

#include <string.h>

static void snapshot_age(const struct state_daemon *state, struct regstore *store, struct result_row *row)
{
    struct snapshot_head head    = {.change_number = state->change_number};
    bool                 current = true;

    _Static_assert(sizeof head.content == sizeof state->snapshot_content, "the hash is handed over as it is");
    memcpy(head.content, state->snapshot_content, sizeof head.content);
    if (snapshot_is_current(&head, store, &current, NULL) != W_SUCCESS || current)
        return;
    condition_add(
        &row->conditions, W_INVALID_DATA, false, "snapshot", row->source_file, row->source_line,
        "autologger apply, which makes the snapshot anew, then reboot",
        "this boot went by a snapshot (change %llu) that does not say what the store says: it is older than the store, or not of this machine",
        (unsigned long long)state->change_number);
}

static void failure(const char *runtime_dir, struct result_row *row)
{
    struct reason why;
    if (early_failure_take(runtime_dir, &why))
        condition_add(&row->conditions, why.status, false, "early boot", row->source_file, row->source_line,
                      "autologger apply, which makes the snapshot anew and builds the initramfs with it, then reboot",
                      "nothing before this daemon was traced: the early program could not start: %s", why.text);
}

void early_facts_add(struct state_daemon *state, const char *runtime_dir, struct regstore *store,
                     struct result_list *rows)
{
    if (state->facts_noted || !rows->count)
        return;
    state->facts_noted = 1;
    if (state->early_ns)
        snapshot_age(state, store, &rows->rows[0]);
    else
        failure(runtime_dir, &rows->rows[0]);
}
