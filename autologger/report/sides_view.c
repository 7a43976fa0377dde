#include "autologger/report/sides_view.h"

#include "autologger/report/json_write.h"
#include "registry-sim/base/visible_print.h"

enum { SIDES_SHOWN = 12, SIDES_CELL = 32 };
static const char *const sides_verdicts[] =
    {[GATE_HOLDS] = "holds", [GATE_EXCEEDED] = "exceeded", [GATE_NOT_KNOWN] = "not known yet"};

static const char *sides_cell(double ns, char out[SIDES_CELL])
{
    if (isfinite(ns))
        snprintf(out, SIDES_CELL, "%+.3f", ns / 1e9);
    else
        snprintf(out, SIDES_CELL, "?");
    return out;
}

static void sides_modes_text(const struct boot_modes *m, const char *side, FILE *out)
{
    if (m->slow)
        visible_printf(
            out,
            "%s: %u of %u boots took %.2f s longer than the others, all with %s %s at about %.3f s instead of %.3f s.\n",
            side, m->slow, m->boots, m->more / 1e9, boot_compare_words[m->item->kind], m->item->name, m->slower / 1e9,
            m->quick / 1e9);
}

void sides_text(const struct boot_sides *s, FILE *out)
{
    char     low[SIDES_CELL], high[SIDES_CELL];
    unsigned of_kind = 0;
    visible_printf(out, "%s\n", s->sentence);
    sides_modes_text(&s->modes[0], "Before", out);
    sides_modes_text(&s->modes[1], "After", out);
    visible_printf(out, "\n%-9s %10s %10s %10s %10s %10s  %s\n", "", "before s", "after s", "change s", "at least",
                   "at most", "what");
    for (unsigned i = 0; i < s->rows; i++) {
        const struct boot_shift *r = &s->row[i];
        of_kind                    = i && s->row[i - 1].item->kind == r->item->kind ? of_kind + 1 : 0;
        if (of_kind < SIDES_SHOWN)
            visible_printf(out, "%-9s %10.3f %10.3f %+10.3f %10s %10s  %s\n",
                           of_kind ? "" : boot_compare_words[r->item->kind], r->before / 1e9, r->after / 1e9,
                           r->by.shift / 1e9, sides_cell(r->by.low, low), sides_cell(r->by.high, high), r->item->name);
        else if (of_kind == SIDES_SHOWN)
            visible_printf(out, "%-9s %10s\n", "", "...");
    }
}

/* What decided, with the advice where more boots are needed. */
static void sides_gate_words(const struct boot_gate *g, char *out, size_t size)
{
    char                     low[SIDES_CELL], high[SIDES_CELL], advice[160] = "";
    const struct boot_shift *w = &g->worst;
    if (!w->item) {
        snprintf(out, size, "nothing that it covers took long enough to be looked at");
        return;
    }
    if (g->verdict == GATE_NOT_KNOWN && g->more)
        snprintf(advice, sizeof advice, ". Do: boot about %u more time%s on each side", g->more,
                 g->more == 1 ? "" : "s");
    else if (g->verdict == GATE_NOT_KNOWN)
        snprintf(advice, sizeof advice,
                 ". Do: choose another limit; more than %d boots a side would be needed for this one", GATE_MORE_MOST);
    const bool whole = w->item->kind == COMPARE_BOOT;
    snprintf(out, size, "%s%s%s: %.3f s before, %.3f s after; change %+.3f s, between %s and %s s; limit %+.3f s%s",
             boot_compare_words[w->item->kind], whole ? "" : " ", whole ? "" : w->item->name, w->before / 1e9,
             w->after / 1e9, w->by.shift / 1e9, sides_cell(w->by.low, low), sides_cell(w->by.high, high),
             g->limit / 1e9, advice);
}

void sides_gate_text(const struct sides_gate *g, FILE *out)
{
    char words[900];
    sides_gate_words(&g->gate, words, sizeof words);
    visible_printf(out, "gate %s: %s (%u item%s); %s\n", g->rule.text, sides_verdicts[g->gate.verdict], g->gate.items,
                   g->gate.items == 1 ? "" : "s", words);
}

/* ---- JSON ---- */

static void sides_bound(yajl_gen g, const char *name, double ns)
{
    jw_name(g, name);
    if (isfinite(ns))
        jw_ms(g, NULL, (int64_t)ns);
    else
        yajl_gen_null(g);
}

static void sides_shift_json(yajl_gen g, const struct boot_shift *r)
{
    jw_text(g, "kind", boot_compare_words[r->item->kind]);
    jw_text(g, "name", r->item->name);
    jw_ms(g, "before", (int64_t)r->before);
    jw_ms(g, "after", (int64_t)r->after);
    jw_ms(g, "change", (int64_t)r->by.shift);
    sides_bound(g, "low", r->by.low);
    sides_bound(g, "high", r->by.high);
    jw_real(g, "effect", r->by.effect, 3);
}

static void sides_modes_json(yajl_gen g, const struct boot_modes *m, const char *side)
{
    if (!m->slow)
        return;
    jw_open(g, NULL);
    jw_text(g, "side", side);
    jw_int(g, "slow", m->slow);
    jw_int(g, "boots", m->boots);
    jw_ms(g, "more", (int64_t)m->more);
    jw_text(g, "kind", boot_compare_words[m->item->kind]);
    jw_text(g, "name", m->item->name);
    jw_close(g);
}

void sides_json(const struct boot_sides *s, const struct sides_gate *gates, unsigned count, struct yajl_gen_t *g)
{
    yajl_gen_map_open(g);
    jw_text(g, "sentence", s->sentence);
    jw_int(g, "bootsBefore", s->before);
    jw_int(g, "bootsAfter", s->after);
    jw_list(g, "rows");
    for (unsigned i = 0; i < s->rows; i++) {
        jw_open(g, NULL);
        sides_shift_json(g, &s->row[i]);
        jw_close(g);
    }
    jw_end(g);
    jw_list(g, "modes");
    sides_modes_json(g, &s->modes[0], "before");
    sides_modes_json(g, &s->modes[1], "after");
    jw_end(g);
    jw_list(g, "gates");
    for (unsigned i = 0; i < count; i++) {
        jw_open(g, NULL);
        jw_text(g, "rule", gates[i].rule.text);
        jw_text(g, "verdict", sides_verdicts[gates[i].gate.verdict]);
        jw_int(g, "items", gates[i].gate.items);
        jw_int(g, "moreBoots", gates[i].gate.more);
        if (gates[i].gate.worst.item) {
            jw_ms(g, "limit", (int64_t)gates[i].gate.limit);
            sides_shift_json(g, &gates[i].gate.worst);
        }
        jw_close(g);
    }
    jw_end(g);
    yajl_gen_map_close(g);
}

/* ---- JUnit ---- */

void sides_junit(const struct sides_gate *gates, unsigned count, struct text *out)
{
    unsigned number[3] = {0};
    char     words[900];
    for (unsigned i = 0; i < count; i++)
        number[gates[i].gate.verdict]++;
    text_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"autologger compare\" tests=\"%u\" failures=\"%u\" errors=\"%u\">\n",
        count, number[GATE_EXCEEDED], number[GATE_NOT_KNOWN]);
    for (unsigned i = 0; i < count; i++) {
        const enum boot_gate_verdict v = gates[i].gate.verdict;
        sides_gate_words(&gates[i].gate, words, sizeof words);
        text_printf(out, "  <testcase classname=\"boot\" name=\"");
        text_xml(out, gates[i].rule.text, strlen(gates[i].rule.text));
        text_printf(out, v == GATE_HOLDS      ? "\"><system-out>"
                         : v == GATE_EXCEEDED ? "\"><failure message=\""
                                              : "\"><error message=\"");
        text_xml(out, words, strlen(words));
        text_printf(out, v == GATE_HOLDS ? "</system-out></testcase>\n" : "\"/></testcase>\n");
    }
    text_printf(out, "</testsuite>\n");
}
