#include "autologger/analysis/boot_sides.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int boot_sides_order(const void *a, const void *b)
{
    const struct boot_shift *x = a, *y = b;
    if (x->item->kind != y->item->kind)
        return x->item->kind < y->item->kind ? -1 : 1;
    const double n = fabs(x->by.shift), m = fabs(y->by.shift);
    return n != m ? (n < m ? 1 : -1) : (x->item > y->item) - (x->item < y->item);
}

static bool boot_sides_rows(struct boot_sides *s, const struct boot_figures *f, double least)
{
    s->row = calloc(f->items + 1ul, sizeof *s->row);
    for (unsigned i = 0; s->row && i < f->items; i++) {
        struct boot_shift *row = &s->row[s->rows];
        if (!boot_shift_of(f, &f->item[i], s->before, BOOT_GATE_RISK, row))
            return false;
        s->rows += f->item[i].kind <= COMPARE_PHASE || fabs(row->by.shift) >= least;
    }
    if (s->row)
        qsort(s->row, s->rows, sizeof *s->row, boot_sides_order);
    return s->row != NULL;
}

/* The unit, script or process that surely takes longer, and most. */
static const struct boot_shift *boot_sides_worst(const struct boot_sides *s)
{
    const struct boot_shift *found = NULL;
    for (unsigned i = 0; i < s->rows; i++) {
        const struct boot_shift *r = &s->row[i];
        if (r->item->kind >= COMPARE_UNIT && r->item->kind <= COMPARE_INITCALL && r->by.low > 0 &&
            (!found || r->by.shift > found->by.shift * 1.5))
            found = r;
    }
    return found;
}

static void boot_sides_say(struct boot_sides *s)
{
    enum { SAME_NS = 50000000 };
    const struct boot_shift *boot = &s->row[0], *most = boot_sides_worst(s);
    const double             part      = boot->before > 0 ? 100 * fabs(boot->by.shift) / boot->before : 0;
    char                     more[200] = "";
    if (most)
        snprintf(more, sizeof more, " What takes longer, most of all: %s %s, %+.3f s.",
                 boot_compare_words[most->item->kind], most->item->name, most->by.shift / 1e9);
    if (fabs(boot->by.low) < SAME_NS && fabs(boot->by.high) < SAME_NS)
        snprintf(s->sentence, sizeof s->sentence, "The boot takes %.2f s, as long as before.%s", boot->after / 1e9,
                 more);
    else if (boot->by.low <= 0 && boot->by.high >= 0)
        snprintf(
            s->sentence, sizeof s->sentence,
            "The boot takes %.2f s; %u boots before and %u after do not show whether that is more or less than before.%s",
            boot->after / 1e9, s->before, s->after, more);
    else
        snprintf(s->sentence, sizeof s->sentence,
                 "The boot takes %.2f s, %.2f s (%.1f %%) %s than before: %.2f to %.2f s, with %.0f %% certainty.%s",
                 boot->after / 1e9, fabs(boot->by.shift) / 1e9, part, boot->by.shift > 0 ? "more" : "less",
                 fmin(fabs(boot->by.low), fabs(boot->by.high)) / 1e9,
                 fmax(fabs(boot->by.low), fabs(boot->by.high)) / 1e9, 100 * (1 - BOOT_GATE_RISK), more);
}

wstatus boot_sides_create(const struct boot_figures *f, unsigned before, double least, struct boot_sides **out,
                          struct reason *why)
{
    struct boot_sides *s    = calloc(1, sizeof *s);
    bool               good = s && !f->failed;
    if (good) {
        s->before = before;
        s->after  = f->boots - before;
        good      = boot_sides_rows(s, f, least) && boot_modes_find(f, 0, before, &s->modes[0]) &&
               boot_modes_find(f, before, s->after, &s->modes[1]);
    }
    *out = good ? s : NULL;
    if (!good) {
        boot_sides_destroy(s);
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a comparison");
    }
    boot_sides_say(s);
    return W_SUCCESS;
}

void boot_sides_destroy(struct boot_sides *s)
{
    if (s)
        free(s->row);
    free(s);
}
