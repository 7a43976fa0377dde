/* tune.c - see tune.h. */
#include "tools/setup/tune.h"
#include "registry-sim/base/visible_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tuning {
    struct regstore *store;
    bool             dry_run;
    tune_fn          fn;
    void            *ctx;
    unsigned         changes;
};

const char *tune_line(const struct tune_change *c, char *out, size_t size)
{
    if (c->declared)
        snprintf(out, size, "%s: %s %u -> %u", c->session, c->name, c->before, c->after);
    else
        snprintf(out, size, "%s: %s (default) -> %u", c->session, c->name, c->after);
    return out;
}

static wstatus tune_value(struct tuning *t, const struct result_row *row, const char *name, uint32_t after,
                          struct reason *why)
{
    struct tune_change c = {.session = row->session, .key = row->key, .name = name, .after = after};
    c.declared           = regstore_get_dword(t->store, row->key, name, &c.before, NULL) == W_SUCCESS;
    if (c.declared && c.before == after)
        return W_SUCCESS;
    t->changes++;
    if (t->fn)
        t->fn(t->ctx, &c);
    return t->dry_run ? W_SUCCESS : regstore_set_dword(t->store, row->key, name, after, why);
}

/* The number of buffers of the size declared now that hold what `count` buffers of the boot held. */
static uint32_t in_buffers_of_now(struct regstore *store, const struct result_row *row, uint32_t count)
{
    uint32_t now = row->asked.buffer_kb;
    if (regstore_get_dword(store, row->key, "BufferSize", &now, NULL) != W_SUCCESS || !now ||
        now == row->asked.buffer_kb)
        return count;
    return (uint32_t)(((uint64_t)count * row->given.buffer_kb + now - 1) / now);
}

static wstatus tune_row(struct tuning *t, const struct result_row *row, struct reason *why)
{
    if (*row->provider || !row->start || row->status || !row->suggested_maximum ||
        !regstore_key_exists(t->store, row->key))
        return W_SUCCESS;
    wstatus st = tune_value(t, row, "MinimumBuffers", in_buffers_of_now(t->store, row, row->suggested_minimum), why);
    return st ? st
              : tune_value(t, row, "MaximumBuffers", in_buffers_of_now(t->store, row, row->suggested_maximum), why);
}

wstatus tune_apply(struct regstore *store, const struct result_list *rows, bool dry_run, tune_fn fn, void *ctx,
                   unsigned *changes, struct reason *why)
{
    struct tuning t  = {store, dry_run, fn, ctx, 0};
    wstatus       st = dry_run ? W_SUCCESS : regstore_begin(store, why);

    *changes = 0;
    if (st)
        return st;
    for (unsigned i = 0; i < rows->count && !st; i++)
        st = tune_row(&t, &rows->rows[i], why);
    if (!dry_run && st)
        regstore_rollback(store);
    else if (!dry_run)
        st = regstore_commit(store, why);
    *changes = st ? 0 : t.changes;
    return st;
}

static void line_add(void *ctx, const struct tune_change *change)
{
    char line[400];
    visible_printf(ctx, "%s\n", tune_line(change, line, sizeof line));
}

wstatus tune_by_store(const char *results_path, struct regstore *store, char **lines, struct reason *why)
{
    struct regstore   *results = NULL;
    struct result_list rows    = {0};
    char              *text    = NULL;
    size_t             size;
    unsigned           changes;
    FILE              *to = open_memstream(&text, &size);
    wstatus            st =
        to ? regstore_open(results_path, false, &results, why) : reason_set(why, W_OUTOFMEMORY, "not enough memory");

    st = st ? st : result_load(results, &rows, why);
    if (st == W_FILE_NOT_FOUND)
        reason_set(
            why, st,
            "no boot has been traced yet that could say how many buffers are needed. Do: apply without --tune, and reboot");
    st = st ? st : tune_apply(store, &rows, false, line_add, to, &changes, why);
    if (to)
        fclose(to);
    if (!st && lines) {
        *lines = text;
        text   = NULL;
    }
    free(text);
    result_list_finish(&rows);
    regstore_close(results);
    return st;
}
