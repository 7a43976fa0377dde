#include "autologger/analysis/boot_gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules ---- */

static const struct {
    const char *word;
    double      factor; /* 0: a share */
} boot_gate_unit[] = {{"%", 0}, {"ms", 1e6}, {"s", 1e9}};

/* The place of "+" before the limit: names may have one, too. */
static const char *boot_gate_plus(const char *text)
{
    const char *plus = strrchr(text, '+');
    return plus && plus > text && plus[-1] == ' ' ? plus : NULL;
}

static bool boot_gate_limit(const char *text, struct boot_gate_rule *out)
{
    char *end;
    out->limit = strtod(text, &end);
    if (end == text || !isfinite(out->limit) || out->limit < 0)
        return false;
    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof boot_gate_unit / sizeof *boot_gate_unit; i++)
        if (strcmp(end, boot_gate_unit[i].word) == 0) {
            out->relative = boot_gate_unit[i].factor == 0;
            out->limit *= out->relative ? 0.01 : boot_gate_unit[i].factor;
            return true;
        }
    return false;
}

/* "total", "any", KIND, or KIND:NAME. */
static bool boot_gate_what(const char *text, size_t size, struct boot_gate_rule *out)
{
    const char  *colon = memchr(text, ':', size);
    const size_t word  = colon ? (size_t)(colon - text) : size;
    if (colon)
        snprintf(out->name, sizeof out->name, "%.*s", (int)(size - word - 1), colon + 1);
    out->every = !colon && size == 3 && memcmp(text, "any", 3) == 0;
    if (out->every || (!colon && size == 5 && memcmp(text, "total", 5) == 0)) {
        out->kind = COMPARE_BOOT;
        return true;
    }
    for (unsigned k = COMPARE_PHASE; k < COMPARE_KINDS; k++)
        if (strlen(boot_compare_words[k]) == word && memcmp(boot_compare_words[k], text, word) == 0) {
            out->kind = (enum boot_compare_kind)k;
            return !colon || *out->name;
        }
    return false;
}

wstatus boot_gate_parse(const char *text, struct boot_gate_rule *out, struct reason *why)
{
    const char *plus = boot_gate_plus(text);
    size_t      size = plus ? (size_t)(plus - text) : 0;

    *out = (struct boot_gate_rule){0};
    while (size && text[size - 1] == ' ')
        size--;
    if (!size || size >= BOOT_GATE_NAME || !boot_gate_what(text, size, out) || !boot_gate_limit(plus + 1, out))
        return reason_set(
            why, W_INVALID_PARAMETER,
            "\"%s\" is no rule. Do: write WHAT +LIMIT, as in 'total +3 %%', 'unit +200 ms', 'unit:ssh.service +1 s' or 'any +5 %%'; WHAT is total, any, phase, unit, script, process, initcall or disk",
            text);
    snprintf(out->text, sizeof out->text, "%s", text);
    return W_SUCCESS;
}

/* ---- judgement ---- */

bool boot_shift_of(const struct boot_figures *f, const struct boot_item *item, unsigned before, double risk,
                   struct boot_shift *out)
{
    const unsigned after = f->boots - before;
    double        *value = malloc(f->boots * sizeof *value);
    if (!value)
        return false;
    for (unsigned i = 0; i < f->boots; i++) {
        const int64_t own = boot_item_value(item, i);
        value[i]          = own < 0 ? 0 : (double)own;
    }
    *out            = (struct boot_shift){.item = item};
    const bool good = samples_shift(value, before, value + before, after, risk, &out->by);
    out->before     = samples_median(value, before);
    out->after      = samples_median(value + before, after);
    free(value);
    return good;
}

static bool boot_gate_covers(const struct boot_gate_rule *rule, const struct boot_item *item)
{
    return (rule->every || rule->kind == item->kind) && (!*rule->name || strcmp(rule->name, item->name) == 0);
}

/* An interval becomes narrower with the root of the number of boots. */
static unsigned boot_gate_more(const struct boot_shift *s, double limit, unsigned boots, double risk)
{
    const unsigned least = samples_least(risk);
    if (boots < least)
        return least - boots;
    const double away = fabs(s->by.shift - limit), wide = fmax(s->by.high - s->by.shift, s->by.shift - s->by.low);
    const double need = away > 0 ? boots * (wide / away) * (wide / away) : INFINITY;
    return need < boots + GATE_MORE_MOST ? (unsigned)fmax(1, ceil(need - boots)) : 0;
}

/* Which of two items the answer shows: what is exceeded, then what is not known, then the largest shift over its
 * limit. */
static bool boot_gate_is_worse(const struct boot_gate *now, enum boot_gate_verdict verdict, double over)
{
    static const unsigned rank[] = {[GATE_HOLDS] = 0, [GATE_NOT_KNOWN] = 1, [GATE_EXCEEDED] = 2};
    return !now->worst.item || rank[verdict] > rank[now->verdict] ||
           (rank[verdict] == rank[now->verdict] && over > now->worst.by.shift - now->limit);
}

bool boot_gate_judge(const struct boot_figures *f, unsigned before, const struct boot_gate_rule *rule, double least,
                     struct boot_gate *out)
{
    const unsigned    fewer = before < f->boots - before ? before : f->boots - before;
    struct boot_shift s;

    *out = (struct boot_gate){0};
    for (unsigned pass = 0; pass < 2; pass++) /* first, how many items share the risk */
        for (unsigned i = 0; i < f->items; i++) {
            const double risk = BOOT_GATE_RISK / (out->items ? out->items : 1);
            if (!boot_gate_covers(rule, &f->item[i]))
                continue;
            if (!boot_shift_of(f, &f->item[i], before, pass ? risk : 1, &s))
                return false;
            if (s.before < least && s.after < least)
                continue;
            if (!pass) {
                out->items++;
                continue;
            }
            const double own = rule->relative ? rule->limit * s.before : rule->limit, limit = own > least ? own : least;
            const enum boot_gate_verdict verdict = s.by.low > limit     ? GATE_EXCEEDED
                                                   : s.by.high <= limit ? GATE_HOLDS
                                                                        : GATE_NOT_KNOWN;
            if (boot_gate_is_worse(out, verdict, s.by.shift - limit)) {
                out->worst   = s;
                out->limit   = limit;
                out->verdict = verdict;
                out->more    = verdict == GATE_NOT_KNOWN ? boot_gate_more(&s, limit, fewer, risk) : 0;
            }
        }
    return true;
}
