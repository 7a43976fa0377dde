#include "autologger/analysis/boot_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int boot_compare_by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int by_change(const void *a, const void *b)
{
    const struct boot_change *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    const int64_t n = llabs(x->change), m = llabs(y->change);
    return n != m ? (n < m ? 1 : -1) : strcmp(x->name, y->name);
}

/* Compares one item over all boots that have it; the last boot is the one after. */
static bool compare_one(struct boot_comparison *c, const struct boot_item *item, unsigned after, int64_t *values,
                        int64_t least)
{
    struct boot_change change = {.kind = item->kind, .before = -1, .after = boot_item_value(item, after)};
    unsigned           boots  = 0;
    for (unsigned i = 0; i < after; i++)
        if (boot_item_value(item, i) >= 0)
            values[boots++] = boot_item_value(item, i);
    if (boots) {
        qsort(values, boots, sizeof *values, boot_compare_by_value);
        change.before = boots % 2 ? values[boots / 2] : (values[boots / 2 - 1] + values[boots / 2]) / 2;
    }
    change.change = (change.after < 0 ? 0 : change.after) - (change.before < 0 ? 0 : change.before);
    if (llabs(change.change) < least && item->kind > COMPARE_PHASE)
        return true;
    if (c->rows % 64 == 0) {
        void *grown = realloc(c->row, (c->rows + 64ul) * sizeof *c->row);
        if (!grown)
            return false;
        c->row = grown;
    }
    if (!(change.name = strdup(item->name)))
        return false;
    c->row[c->rows++] = change;
    return true;
}

static const struct boot_change *worst(const struct boot_comparison *c, enum boot_compare_kind kind)
{
    const struct boot_change *found = NULL;
    for (unsigned i = 0; i < c->rows; i++)
        if (c->row[i].kind == kind && c->row[i].change > 0 && (!found || c->row[i].change > found->change))
            found = &c->row[i];
    return found;
}

static void boot_compare_say(struct boot_comparison *c)
{
    enum { SAME_NS = 50000000 }; /* 0.0 s */
    const struct boot_change    *boot = &c->row[0], *most = NULL;
    const enum boot_compare_kind order[]  = {COMPARE_UNIT, COMPARE_SCRIPT, COMPARE_PROCESS, COMPARE_INITCALL};
    const double                 part     = boot->before > 0 ? 100.0 * (double)boot->change / (double)boot->before : 0;
    char                         than[64] = "the other boot", more[300] = "";

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct boot_change *w = worst(c, order[i]);
        if (w && (!most || w->change > most->change * 3 / 2))
            most = w;
    }
    if (c->boots > 1)
        snprintf(than, sizeof than, "the median of %u boots", c->boots);
    if (most)
        snprintf(more, sizeof more, " What got slower most: %s %s, %+.1f s.", boot_compare_words[most->kind],
                 most->name, (double)most->change / 1e9);
    if (llabs(boot->change) < SAME_NS)
        snprintf(c->sentence, sizeof c->sentence, "The boot took %.1f s, as long as %s.%s", (double)boot->after / 1e9,
                 than, more);
    else
        snprintf(c->sentence, sizeof c->sentence, "The boot took %.1f s, %.1f s (%.0f %%) %s than %s.%s",
                 (double)boot->after / 1e9, (double)llabs(boot->change) / 1e9, part < 0 ? -part : part,
                 boot->change >= 0 ? "longer" : "less", than, more);
}

static bool compare_all(struct boot_comparison *c, const struct boot_figures *f, unsigned after, int64_t least)
{
    int64_t *values = calloc(after + 1ul, sizeof *values);
    bool     good   = values != NULL;
    for (unsigned i = 0; i < f->items && good; i++)
        good = compare_one(c, &f->item[i], after, values, least);
    free(values);
    return good;
}

wstatus boot_comparison_create(const struct boot *const *before, unsigned count, const struct boot *after,
                               int64_t least, struct boot_comparison **out, struct reason *why)
{
    struct boot_figures    *f = boot_figures_new();
    struct boot_comparison *c = calloc(1, sizeof *c);

    *out = NULL;
    for (unsigned i = 0; f && i <= count; i++)
        boot_figures_add(f, i < count ? before[i] : after);
    if (f)
        boot_figures_sort(f);
    const bool good = c && f && !f->failed && compare_all(c, f, count, least);
    boot_figures_free(f);
    if (!good) {
        boot_comparison_destroy(c);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a comparison");
    }
    qsort(c->row, c->rows, sizeof *c->row, by_change);
    c->boots = count;
    boot_compare_say(c);
    *out = c;
    return W_SUCCESS;
}

void boot_comparison_destroy(struct boot_comparison *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->rows; i++)
        free(c->row[i].name);
    free(c->row);
    free(c);
}
