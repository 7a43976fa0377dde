#include "autologger/symbols/elf_lines.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>

struct elf_lines_range {
    uint64_t  from, to;
    Dwarf_Die unit;
};

static bool range_add(struct elf_lines *l, uint64_t from, uint64_t to, const Dwarf_Die *unit)
{
    if (l->ranges == l->capacity) {
        const size_t capacity = l->capacity ? l->capacity * 2 : 64;
        void        *more     = realloc(l->range, capacity * sizeof *l->range);
        if (!more)
            return false;
        l->range    = more;
        l->capacity = capacity;
    }
    l->range[l->ranges++] = (struct elf_lines_range){from, to, *unit};
    return true;
}

static int by_from(const void *a, const void *b)
{
    const struct elf_lines_range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void lines_read(struct elf_lines *l, Dwfl_Module *module)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = NULL;
    l->was_read     = true;
    while ((unit = dwfl_module_nextcu(module, unit, &bias))) {
        Dwarf_Addr base, from, to;
        ptrdiff_t  at = 0;
        while ((at = dwarf_ranges(unit, at, &base, &from, &to)) > 0)
            if (from < to && !range_add(l, from + bias, to + bias, unit))
                return;
    }
    if (l->ranges)
        qsort(l->range, l->ranges, sizeof *l->range, by_from);
}

const char *elf_lines_find(struct elf_lines *l, Dwfl_Module *module, uint64_t address, int *line)
{
    size_t low = 0, high;
    if (!l->was_read)
        lines_read(l, module);
    for (high = l->ranges; low < high;) {
        const size_t half = low + (high - low) / 2;
        if (l->range[half].from <= address)
            low = half + 1;
        else
            high = half;
    }
    Dwarf_Addr bias;
    if (!low || address >= l->range[low - 1].to || !dwfl_module_getdwarf(module, &bias))
        return NULL;
    Dwarf_Line *found = dwarf_getsrc_die(&l->range[low - 1].unit, address - bias);
    return found && !dwarf_lineno(found, line) ? dwarf_linesrc(found, NULL, NULL) : NULL;
}

void elf_lines_finish(struct elf_lines *l)
{
    free(l->range);
    *l = (struct elf_lines){0};
}
