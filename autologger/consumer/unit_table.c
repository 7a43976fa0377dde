#include "autologger/consumer/unit_table.h"

#include <stdlib.h>
#include <string.h>

enum { SYSTEM_PROCESS = 4 };

/* Finds a row by number: names may move while units are learned. */
static struct unit_row *unit_table_row_at(struct unit_table *t, unsigned at)
{
    if (at >= t->rows) {
        unsigned n     = at + 32;
        void    *grown = realloc(t->row, n * sizeof *t->row);
        if (!grown) {
            t->failed = true;
            return NULL;
        }
        t->row = grown;
        memset(t->row + t->rows, 0, (n - t->rows) * sizeof *t->row);
        t->rows = n;
    }
    return &t->row[at];
}

static struct unit_row *unit_table_row_of(struct unit_table *t, uint32_t process)
{
    int unit = process == ACTOR_NONE ? UNIT_NOT_TOLD : process_units_of(&t->units, process);
    return unit_table_row_at(t, process == 0                ? UNIT_ROW_IDLE
                                : process == SYSTEM_PROCESS ? UNIT_ROW_KERNEL
                                : unit == UNIT_NOT_TOLD     ? UNIT_ROW_NOT_TOLD
                                                            : UNIT_ROW_NAMES + (unsigned)unit);
}

static void cpu_charge(struct unit_table *t, const struct unit_cpu *c, uint64_t until)
{
    struct unit_row *row =
        c->since ? unit_table_row_of(t, c->thread == ACTOR_NONE ? ACTOR_NONE : actors_owner(&t->actors, c->thread))
                 : NULL;
    if (row && until > c->since)
        row->cpu += until - c->since;
}

static void unit_table_on_switch(struct unit_table *t, const struct etl_event *e, uint32_t comes, uint32_t goes)
{
    if (e->cpu >= t->cpus) {
        void *grown = realloc(t->cpu, (e->cpu + 1ul) * sizeof *t->cpu);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->cpu = grown;
        memset(t->cpu + t->cpus, 0, (e->cpu + 1ul - t->cpus) * sizeof *t->cpu);
        t->cpus = e->cpu + 1u;
    }
    struct unit_cpu *c = &t->cpu[e->cpu];
    if (c->thread != goes) /* a switch in between is missing: the owner of the time is not known */
        c->thread = ACTOR_NONE;
    cpu_charge(t, c, e->filetime);
    *c = (struct unit_cpu){comes, e->filetime};
}

void unit_table_see(struct unit_table *t, const struct etl_event *e, const struct decoded *names)
{
    uint32_t comes, goes, thread, bytes;
    bool     write;

    actors_see(&t->actors, e);
    process_units_see(&t->units, e, names);
    struct unit_row *row = unit_table_row_of(t, actors_process(&t->actors, e));
    if (row)
        row->events++;
    if (actors_switch(e, &comes, &goes))
        unit_table_on_switch(t, e, comes, goes);
    else if (row && actors_transfer(e, &thread, &bytes, &write))
        *(write ? &row->written : &row->read) += bytes;
    if (e->filetime > t->last)
        t->last = e->filetime;
}

static int by_cpu(const void *a, const void *b)
{
    const struct unit_row *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu > y->cpu ? -1 : 1;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return strcmp(x->name, y->name);
}

unsigned unit_table_end(struct unit_table *t, const struct unit_row **rows)
{
    static const char *const names[] = {"(not told)", "(kernel)", "(idle)"};
    unsigned                 n       = 0;

    if (!t->units.count || !unit_table_row_at(t, UNIT_ROW_NAMES + t->units.count))
        return 0;
    for (unsigned i = 0; i < t->cpus; i++)
        cpu_charge(t, &t->cpu[i], t->last);
    for (unsigned i = 0; i < UNIT_ROW_NAMES + t->units.count; i++) {
        struct unit_row row = t->row[i];
        const char     *own = i < UNIT_ROW_NAMES ? names[i] : t->units.list[i - UNIT_ROW_NAMES].name;
        row.name            = *own ? own : "(none)";
        row.processes       = i >= UNIT_ROW_NAMES      ? t->units.list[i - UNIT_ROW_NAMES].processes
                              : i == UNIT_ROW_NOT_TOLD ? t->units.not_told
                                                       : 0;
        if (row.processes || row.cpu || row.events || row.read || row.written)
            t->row[n++] = row;
    }
    qsort(t->row, n, sizeof *t->row, by_cpu);
    *rows = t->row;
    return n;
}

void unit_table_finish(struct unit_table *t)
{
    actors_finish(&t->actors);
    process_units_finish(&t->units);
    free(t->row);
    free(t->cpu);
    *t = (struct unit_table){0};
}
