#include "autologger/analysis/boot_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const boot_compare_words[COMPARE_KINDS] = {"boot",    "phase",    "unit", "script",
                                                       "process", "initcall", "disk"};

struct figure { /* of one boot */
    enum boot_compare_kind kind;
    const char            *name;
    int64_t                value;
    unsigned               boot;
};
struct boot_compare_figures {
    struct figure *list;
    unsigned       count, room;
    char          *texts[64]; /* names that were allocated */
    unsigned       made;
    bool           failed;
};

static void boot_compare_put(struct boot_compare_figures *f, unsigned boot, enum boot_compare_kind kind,
                             const char *name, int64_t value)
{
    if (f->count == f->room) {
        const unsigned n     = f->room ? f->room * 2 : 1024;
        void          *grown = realloc(f->list, n * sizeof *f->list);
        if (!grown) {
            f->failed = true;
            return;
        }
        f->list = grown;
        f->room = n;
    }
    f->list[f->count++] = (struct figure){kind, name, value, boot};
}

static void boot_compare_disks(struct boot_compare_figures *f, unsigned boot, const struct boot *b)
{
    for (unsigned i = 0; i < b->disks && f->made + 2 <= sizeof f->texts / sizeof *f->texts; i++) {
        const struct boot_disk *d    = &b->disk[i];
        char                   *busy = NULL, *each = NULL;
        if (asprintf(&busy, "disk %u busy", d->number) < 0 || asprintf(&each, "disk %u, a request", d->number) < 0) {
            free(busy);
            f->failed = true;
            return;
        }
        f->texts[f->made++] = busy;
        f->texts[f->made++] = each;
        boot_compare_put(f, boot, COMPARE_DISK, busy, d->busy);
        boot_compare_put(f, boot, COMPARE_DISK, each,
                         d->waited / (int64_t)(d->reads + d->writes ? d->reads + d->writes : 1));
    }
}

static void figures_of(struct boot_compare_figures *f, unsigned boot, const struct boot *b)
{
    boot_compare_put(f, boot, COMPARE_BOOT, "boot", b->finish);
    for (unsigned i = 0; i < b->phases; i++)
        boot_compare_put(f, boot, COMPARE_PHASE, b->phase[i].name, b->phase[i].end - b->phase[i].start);
    for (unsigned i = 0; i < b->units; i++)
        if (boot_unit_length(&b->unit[i]))
            boot_compare_put(f, boot, COMPARE_UNIT, b->unit[i].name, boot_unit_length(&b->unit[i]));
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p      = &b->process[i];
        const bool                 script = strncmp(p->label, "/scripts/", 9) == 0 || strstr(p->label, "dracut/hooks");
        if (!p->lives && !p->there && p->start < b->finish && p->pid != 1)
            boot_compare_put(f, boot, script ? COMPARE_SCRIPT : COMPARE_PROCESS, p->label,
                             (p->end < b->finish ? p->end : b->finish) - p->start);
    }
    for (unsigned i = 0; i < b->initcalls; i++)
        boot_compare_put(f, boot, COMPARE_INITCALL, b->initcall[i].name, b->initcall[i].length);
    boot_compare_disks(f, boot, b);
}

static int boot_compare_by_name(const void *a, const void *b)
{
    const struct figure *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    const int d = strcmp(x->name, y->name);
    return d ? d : x->boot < y->boot ? -1 : x->boot > y->boot;
}

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

/* Compares one item over all boots that have it: `n` figures from `first` on. Those of one boot are added up. */
static bool compare_one(struct boot_comparison *c, const struct figure *first, unsigned n, unsigned after,
                        int64_t *values, int64_t least)
{
    struct boot_change change = {.kind = first->kind, .before = -1, .after = -1};
    unsigned           boots  = 0;
    for (unsigned i = 0; i < n;) {
        int64_t  sum  = 0;
        unsigned boot = first[i].boot;
        for (; i < n && first[i].boot == boot; i++)
            sum += first[i].value;
        if (boot == after)
            change.after = sum;
        else
            values[boots++] = sum;
    }
    if (boots) {
        qsort(values, boots, sizeof *values, boot_compare_by_value);
        change.before = boots % 2 ? values[boots / 2] : (values[boots / 2 - 1] + values[boots / 2]) / 2;
    }
    change.change = (change.after < 0 ? 0 : change.after) - (change.before < 0 ? 0 : change.before);
    if (llabs(change.change) < least && first->kind > COMPARE_PHASE)
        return true;
    if (c->rows % 64 == 0) {
        void *grown = realloc(c->row, (c->rows + 64ul) * sizeof *c->row);
        if (!grown)
            return false;
        c->row = grown;
    }
    if (!(change.name = strdup(first->name)))
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

static bool compare_all(struct boot_comparison *c, struct boot_compare_figures *f, unsigned after, int64_t least)
{
    int64_t *values = calloc(after + 1ul, sizeof *values);
    bool     good   = values != NULL;
    qsort(f->list, f->count, sizeof *f->list, boot_compare_by_name);
    for (unsigned i = 0; i < f->count && good;) {
        unsigned n = 1;
        while (i + n < f->count && f->list[i + n].kind == f->list[i].kind &&
               strcmp(f->list[i + n].name, f->list[i].name) == 0)
            n++;
        good = compare_one(c, &f->list[i], n, after, values, least);
        i += n;
    }
    free(values);
    return good;
}

wstatus boot_comparison_create(const struct boot *const *before, unsigned count, const struct boot *after,
                               int64_t least, struct boot_comparison **out, struct reason *why)
{
    struct boot_compare_figures f = {0};
    struct boot_comparison     *c = calloc(1, sizeof *c);

    *out = NULL;
    for (unsigned i = 0; i < count; i++)
        figures_of(&f, i, before[i]);
    figures_of(&f, count, after);
    bool good = c && !f.failed && compare_all(c, &f, count, least);
    free(f.list);
    for (unsigned i = 0; i < f.made; i++)
        free(f.texts[i]);
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
