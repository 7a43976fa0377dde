/* runs.c - see runs.h. */
#include "tools/setup/runs.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/store_access.h"
#include "tools/base/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger\\TraceBoot"

/* The columns, of one boot and of all. */
static uint64_t target_of(const struct history_boot *b) { return b->list.target_ms; }
static uint64_t done_of(const struct history_boot *b) { return b->list.boot_done_ms; }
static uint64_t written_of(const struct history_boot *b) { return b->written; }
static uint64_t lost_of(const struct history_boot *b) { return b->lost; }
static const struct runs_column {
    const char *title, *json;
    uint64_t (*of)(const struct history_boot *b);
    bool time; /* in ms */
} runs_columns[] = {
    {"DEFAULT TARGET", "target_ms", target_of, true},
    {"BOOT DONE", "boot_done_ms", done_of, true},
    {"EVENTS", "events", written_of, false},
    {"LOST", "lost", lost_of, false},
};
enum { COLUMNS = sizeof runs_columns / sizeof *runs_columns };

static bool flag_load(struct regstore *store, const char *name)
{
    uint32_t value = 0;
    return !regstore_get_dword(store, RUNS_KEY, name, &value, NULL) && value;
}

wstatus runs_load(struct regstore *store, struct runs *out, struct reason *why)
{
    char *word = NULL;
    *out       = (struct runs){0};
    wstatus st = regstore_get_dword(store, RUNS_KEY, "Runs", &out->wanted, why);
    st         = st ? st : regstore_get_dword(store, RUNS_KEY, "From", &out->from, why);
    st         = st ? st : regstore_get_string_dup(store, RUNS_KEY, "Word", &word, why);
    if (st)
        return st == W_FILE_NOT_FOUND
                   ? reason_set(why, st, "no runs were asked for. Do: autologger trace-boot --runs 5")
                   : st;
    snprintf(out->word, sizeof out->word, "%s", word);
    free(word);
    out->reboot       = flag_load(store, "Reboot");
    out->force        = flag_load(store, "Force");
    out->accept_tpm   = flag_load(store, "AcceptTpm");
    out->no_initramfs = flag_load(store, "NoInitramfs");
    return W_SUCCESS;
}

wstatus runs_save(struct regstore *store, const struct runs *r, struct reason *why)
{
    const struct {
        const char *name;
        uint32_t    value;
    } numbers[] = {{"Runs", r->wanted},          {"From", r->from},
                   {"Reboot", r->reboot},        {"Force", r->force},
                   {"AcceptTpm", r->accept_tpm}, {"NoInitramfs", r->no_initramfs}};
    wstatus st  = regstore_begin(store, why);
    if (st)
        return st;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !st; i++)
        st = regstore_set_dword(store, RUNS_KEY, numbers[i].name, numbers[i].value, why);
    st = st ? st : regstore_set_string(store, RUNS_KEY, "Word", r->word, why);
    if (st)
        regstore_rollback(store);
    return st ? st : regstore_commit(store, why);
}

bool runs_has(const struct runs *r, const struct history_boot *b)
{
    return !b->list.rehearsal && b->finished && b->list.number > r->from;
}

unsigned runs_done(const struct runs *r, const struct history *h)
{
    unsigned n = 0;
    for (unsigned i = 0; i < h->count; i++)
        n += runs_has(r, &h->boots[i]);
    return n;
}

/* True: some of these boots are no longer in the history, which is newest first. */
static bool given_up(const struct runs *r, const struct history *h)
{
    return h->count && h->boots[h->count - 1].list.number > r->from + 1;
}

bool runs_left(const struct runs *r, const struct history *h)
{
    uint32_t newest = h->count ? h->boots[0].list.number : 0;
    return runs_done(r, h) < r->wanted && !(given_up(r, h) && newest >= r->from + r->wanted);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

struct runs_spread runs_spread_of(uint64_t *values, unsigned count)
{
    struct runs_spread s = {0};
    if (!count)
        return s;
    qsort(values, count, sizeof *values, by_size);
    s.least  = values[0];
    s.most   = values[count - 1];
    s.median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return s;
}

static struct runs_spread spread(const struct runs *r, const struct history *h, const struct runs_column *c)
{
    uint64_t values[4 * RUNS_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < h->count && n < sizeof values / sizeof *values; i++)
        if (runs_has(r, &h->boots[i]))
            values[n++] = c->of(&h->boots[i]);
    return runs_spread_of(values, n);
}

static const char *runs_shown(uint64_t value, const struct runs_column *c, char out[32])
{
    if (c->time)
        snprintf(out, 32, "%" PRIu64 ".%03u s", value / 1000, (unsigned)(value % 1000));
    else
        snprintf(out, 32, "%" PRIu64, value);
    return out;
}

static void runs_row_add(struct text_table *t, const char *name, char cells[COLUMNS][32])
{
    text_table_row(t, name, cells[0], cells[1], cells[2], cells[3]);
}

void runs_print(const struct runs *r, const struct history *h, FILE *to)
{
    static const char *const titles[] = {"BOOT", "DEFAULT TARGET", "BOOT DONE", "EVENTS", "LOST", NULL};
    struct text_table        t;
    struct runs_spread       all[COLUMNS];
    char                     cells[COLUMNS][32], name[32];
    text_table_init(&t, titles);
    for (unsigned i = h->count; i-- > 0;) {
        if (!runs_has(r, &h->boots[i]))
            continue;
        for (unsigned c = 0; c < COLUMNS; c++)
            runs_shown(runs_columns[c].of(&h->boots[i]), &runs_columns[c], cells[c]);
        snprintf(name, sizeof name, "%u", h->boots[i].list.number);
        runs_row_add(&t, name, cells);
    }
    for (unsigned c = 0; c < COLUMNS; c++)
        all[c] = spread(r, h, &runs_columns[c]);
    for (unsigned c = 0; c < COLUMNS; c++)
        runs_shown(all[c].median, &runs_columns[c], cells[c]);
    runs_row_add(&t, "median", cells);
    for (unsigned c = 0; c < COLUMNS; c++)
        runs_shown(all[c].least, &runs_columns[c], cells[c]);
    runs_row_add(&t, "least", cells);
    for (unsigned c = 0; c < COLUMNS; c++)
        runs_shown(all[c].most, &runs_columns[c], cells[c]);
    runs_row_add(&t, "most", cells);
    text_table_print(&t, to);
    text_table_finish(&t);
    visible_printf(to, "\n%u of %u boots%s; times since the sessions were started\n", runs_done(r, h), r->wanted,
                   given_up(r, h) ? " (older ones were given up by Keep)" : "");
}

void runs_json(const struct runs *r, const struct history *h, struct json *j)
{
    json_number(j, "wanted", r->wanted);
    json_number(j, "done", runs_done(r, h));
    json_array(j, "boots");
    for (unsigned i = h->count; i-- > 0;) {
        if (!runs_has(r, &h->boots[i]))
            continue;
        json_object(j, NULL);
        json_number(j, "number", h->boots[i].list.number);
        for (unsigned c = 0; c < COLUMNS; c++)
            json_number(j, runs_columns[c].json, runs_columns[c].of(&h->boots[i]));
        json_object_end(j);
    }
    json_array_end(j);
    for (unsigned c = 0; c < COLUMNS; c++) {
        struct runs_spread s = spread(r, h, &runs_columns[c]);
        json_object(j, runs_columns[c].json);
        json_number(j, "median", s.median);
        json_number(j, "least", s.least);
        json_number(j, "most", s.most);
        json_object_end(j);
    }
}
