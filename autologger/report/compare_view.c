#include "autologger/report/compare_view.h"

#include "autologger/report/json_write.h"
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>

enum { SHOWN = 12, CELL = 32 };

static const char *compare_view_cell(int64_t ns, char out[CELL])
{
    if (ns < 0)
        snprintf(out, CELL, "-");
    else
        snprintf(out, CELL, "%.3f", (double)ns / 1e9);
    return out;
}

void compare_text(const struct boot_comparison *c, const char *before, const char *after, FILE *out)
{
    char     a[CELL], b[CELL];
    unsigned of_kind = 0;

    visible_printf(out, "%s\n\nbefore  %s\nafter   %s\n\n%-9s %10s %10s %10s  %s\n", c->sentence, before, after, "",
                   "before s", "after s", "change s", "what");
    for (unsigned i = 0; i < c->rows; i++) {
        const struct boot_change *r = &c->row[i];
        of_kind                     = i && c->row[i - 1].kind == r->kind ? of_kind + 1 : 0;
        if (of_kind < SHOWN)
            visible_printf(out, "%-9s %10s %10s %+10.3f  %s\n", of_kind ? "" : boot_compare_words[r->kind],
                           compare_view_cell(r->before, a), compare_view_cell(r->after, b), (double)r->change / 1e9,
                           r->name);
        else if (of_kind == SHOWN)
            visible_printf(out, "%-9s %10s\n", "", "...");
    }
}

static void compare_view_one(yajl_gen g, const char *name, int64_t ns)
{
    jw_name(g, name);
    if (ns < 0)
        yajl_gen_null(g);
    else
        jw_ms(g, NULL, ns);
}

void compare_json(const struct boot_comparison *c, const char *before, const char *after, struct yajl_gen_t *g)
{
    yajl_gen_map_open(g);
    jw_text(g, "sentence", c->sentence);
    jw_text(g, "before", before);
    jw_text(g, "after", after);
    jw_int(g, "boots", c->boots);
    jw_list(g, "rows");
    for (unsigned i = 0; i < c->rows; i++) {
        jw_open(g, NULL);
        jw_text(g, "kind", boot_compare_words[c->row[i].kind]);
        jw_text(g, "name", c->row[i].name);
        compare_view_one(g, "before", c->row[i].before);
        compare_view_one(g, "after", c->row[i].after);
        jw_ms(g, "change", c->row[i].change);
        jw_close(g);
    }
    jw_end(g);
    yajl_gen_map_close(g);
}
