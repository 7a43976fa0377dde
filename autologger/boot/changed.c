#include "autologger/boot/changed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value in the store; absent means 0 as it does at a boot. */
static bool store_starts(struct regstore *store, const struct result_row *row, const char *name)
{
    uint32_t value = 0;
    return regstore_get_dword(store, row->key, name, &value, NULL) == W_SUCCESS && value != 0;
}

static unsigned boot_changed_note(struct result_row *row, const char *item, const char *advice, const char *reason)
{
    for (unsigned i = 0; i < row->conditions.count; i++)
        if (row->conditions.items[i].number == W_REVISION_MISMATCH && strcmp(row->conditions.items[i].item, item) == 0)
            return 0;
    condition_add(&row->conditions, W_REVISION_MISMATCH, true, item, row->source_file, row->source_line, advice, "%s",
                  reason);
    return 1;
}

static unsigned note_value(struct regstore *store, struct result_row *row, const char *name)
{
    struct regvalue value = {0};
    char            reason[256], place[200] = "", advice[64];
    bool            now = store_starts(store, row, name);

    if (now == row->start)
        return 0;
    if (regstore_get(store, row->key, name, &value) == W_SUCCESS && value.source_file && *value.source_file)
        snprintf(place, sizeof place, " (%s:%u)", value.source_file, value.source_line);
    snprintf(reason, sizeof reason,
             "%s is %u in the store now and was %u when this boot read it%.150s: the next boot will %s it", name, now,
             row->start, place, now ? "start" : "not start");
    snprintf(advice, sizeof advice, "if that was not you, set %s to %u again", name, row->start);
    return boot_changed_note(row, name, advice, reason);
}

unsigned changed_note(struct result_list *rows, struct regstore *store)
{
    unsigned noted   = 0;
    bool     session = false; /* the session's key exists */

    for (unsigned i = 0; i < rows->count; i++) {
        struct result_row *row = &rows->rows[i];
        /* skip declarations that could not be read: they were not started either; and rows that were kept off without a
         * failure: they have the reason */
        if (!*row->key || (row->status && !row->start) || (!row->start && *row->reason))
            continue;
        bool there = regstore_key_exists(store, row->key);
        if (there)
            noted += note_value(store, row, *row->provider ? "Enabled" : "Start");
        else if (row->start && !row->status &&
                 (!*row->provider || session)) /* a failed declaration may never have been in a store */
            noted += boot_changed_note(
                row, "key", "if that was not you, apply the configuration again",
                "the declaration that this boot read is no longer in the store: the next boot will not start it");
        if (!*row->provider)
            session = there;
    }
    return noted;
}
