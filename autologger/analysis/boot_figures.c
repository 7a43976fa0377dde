#include "autologger/analysis/boot_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const boot_compare_words[COMPARE_KINDS] = {"boot",    "phase",    "unit", "script",
                                                       "process", "initcall", "disk"};

struct boot_item_key {
    enum boot_compare_kind kind;
    const char            *name;
};

static uint64_t boot_item_hash(enum boot_compare_kind kind, const char *name)
{
    return hash_index_hash(name, strlen(name), (uint64_t)kind);
}

static uint64_t boot_figures_hash(const void *ctx, uint32_t number)
{
    const struct boot_figures *f = ctx;
    return boot_item_hash(f->item[number].kind, f->item[number].name);
}

static bool boot_figures_same(const void *ctx, uint32_t number, const void *key)
{
    const struct boot_figures  *f = ctx;
    const struct boot_item_key *k = key;
    return f->item[number].kind == k->kind && strcmp(f->item[number].name, k->name) == 0;
}

static struct boot_item *boot_item_make(struct boot_figures *f, enum boot_compare_kind kind, const char *name)
{
    if (f->items == f->room) {
        const unsigned    room = f->room ? f->room * 2 : 256;
        struct boot_item *more = realloc(f->item, room * sizeof *more);
        if (!more)
            return NULL;
        f->item = more;
        f->room = room;
    }
    struct boot_item *i = &f->item[f->items];
    *i                  = (struct boot_item){.kind = kind, .name = strdup(name)};
    return i->name ? i : NULL;
}

/* Makes a missing item. NULL: no memory. */
static struct boot_item *boot_item_of(struct boot_figures *f, enum boot_compare_kind kind, const char *name)
{
    static const struct hash_index_of of   = {boot_figures_hash, boot_figures_same};
    const struct boot_item_key        key  = {kind, name};
    uint32_t                         *slot = hash_index_slot(&f->names, &of, f, boot_item_hash(kind, name), &key);

    if (!slot || *slot)
        return slot ? &f->item[*slot - 1] : NULL;
    struct boot_item *i = boot_item_make(f, kind, name);
    if (i)
        *slot = ++f->items;
    return i;
}

void boot_figures_begin(struct boot_figures *f) { f->boots++; }

void boot_figures_put(struct boot_figures *f, enum boot_compare_kind kind, const char *name, int64_t ns)
{
    struct boot_item *i    = boot_item_of(f, kind, name);
    const unsigned    boot = f->boots - 1;
    int64_t          *more = i && i->count <= boot ? realloc(i->value, (boot + 1ul) * sizeof *more) : NULL;

    if (!i || (i->count <= boot && !more)) {
        f->failed = true;
        return;
    }
    if (i->count > boot) {
        i->value[boot] += ns;
        return;
    }
    i->value = more;
    while (i->count < boot)
        i->value[i->count++] = -1;
    i->value[i->count++] = ns;
}

static void boot_figures_disks(struct boot_figures *f, const struct boot *b)
{
    for (unsigned i = 0; i < b->disks; i++) {
        const struct boot_disk *d = &b->disk[i];
        char                    name[64];
        snprintf(name, sizeof name, "disk %u busy", d->number);
        boot_figures_put(f, COMPARE_DISK, name, d->busy);
        snprintf(name, sizeof name, "disk %u, a request", d->number);
        boot_figures_put(f, COMPARE_DISK, name, d->waited / (int64_t)(d->reads + d->writes ? d->reads + d->writes : 1));
    }
}

void boot_figures_add(struct boot_figures *f, const struct boot *b)
{
    boot_figures_begin(f);
    boot_figures_put(f, COMPARE_BOOT, "boot", b->finish);
    for (unsigned i = 0; i < b->phases; i++)
        boot_figures_put(f, COMPARE_PHASE, b->phase[i].name, b->phase[i].end - b->phase[i].start);
    for (unsigned i = 0; i < b->units; i++)
        if (boot_unit_length(&b->unit[i]))
            boot_figures_put(f, COMPARE_UNIT, b->unit[i].name, boot_unit_length(&b->unit[i]));
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p      = &b->process[i];
        const bool                 script = strncmp(p->label, "/scripts/", 9) == 0 || strstr(p->label, "dracut/hooks");
        if (!p->lives && !p->there && p->start < b->finish && p->pid != 1)
            boot_figures_put(f, script ? COMPARE_SCRIPT : COMPARE_PROCESS, p->label,
                             (p->end < b->finish ? p->end : b->finish) - p->start);
    }
    for (unsigned i = 0; i < b->initcalls; i++)
        boot_figures_put(f, COMPARE_INITCALL, b->initcall[i].name, b->initcall[i].length);
    boot_figures_disks(f, b);
}

static int boot_item_order(const void *a, const void *b)
{
    const struct boot_item *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

void boot_figures_sort(struct boot_figures *f)
{
    if (f->items)
        qsort(f->item, f->items, sizeof *f->item, boot_item_order);
    hash_index_finish(&f->names);
}

struct boot_figures *boot_figures_new(void) { return calloc(1, sizeof(struct boot_figures)); }

void boot_figures_free(struct boot_figures *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < f->items; i++) {
        free(f->item[i].name);
        free(f->item[i].value);
    }
    free(f->item);
    hash_index_finish(&f->names);
    free(f);
}
