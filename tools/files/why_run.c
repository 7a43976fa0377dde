/* why_run.c - see why_run.h. */
#include "tools/files/why_run.h"

#include "autologger/analysis/boot_besides.h"
#include "autologger/analysis/boot_doubts.h"
#include "autologger/analysis/boot_without.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/progress.h"
#include "tools/base/read_only.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/journal_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct why_look {
    const char          *file;
    const char          *without; /* a unit, or NULL */
    bool                 as_json;
    struct journal_lines journal;
};
static double why_run_seconds(int64_t ns) { return (double)ns / 1e9; }

/* Asks the journal about the verdict's unit, for the time of its finding. */
static void said_find(struct why_look *l, const struct boot *b, const struct boot_verdict *v, struct journal_told *said)
{
    const struct boot_finding *f = v->findings ? &v->finding[0] : NULL;
    struct journal_ask         ask;

    *said = (struct journal_told){0};
    if (!f || f->unit == BOOT_NONE || !b->boot_id || b->live)
        return;
    ask = (struct journal_ask){.from_ns = f->start, .to_ns = f->end};
    if (snprintf(ask.unit, sizeof ask.unit, "%s", b->unit[f->unit].name) < (int)sizeof ask.unit &&
        snprintf(ask.boot_id, sizeof ask.boot_id, "%s", b->boot_id) < (int)sizeof ask.boot_id)
        journal_ask(&l->journal, &ask, said);
}

static uint64_t why_run_ms(int64_t ns) { return ns > 0 ? (uint64_t)(ns / 1000000) : 0; }

/* ---- as text ---- */

static void why_run_text_print(const struct why_look *l, const struct boot *b, const struct boot_verdict *v,
                               const struct boot_doubts *d, const struct journal_told *said)
{
    const struct boot_finding *f = v->findings ? &v->finding[0] : NULL;

    visible_printf(stdout, "%s\n\n", v->sentence);
    visible_printf(stdout, "  %-8s %.1f s%s%s\n", b->live ? "time" : "boot", why_run_seconds(b->finish),
                   b->release && *b->release ? ", kernel " : "", b->release ? b->release : "");
    if (f) {
        struct boot_without x;
        visible_printf(stdout, "  %-8s up to %.1f s (%.0f %%) without this", "gain", why_run_seconds(f->cost),
                       b->finish ? 100 * (double)f->cost / (double)b->finish : 0);
        if (boot_without(b, f->unit, &x) && !x.works_on)
            visible_printf(stdout, "; %.1f s without %s at all", why_run_seconds(x.gain), b->unit[f->unit].name);
        visible_printf(stdout, "\n");
        visible_printf(stdout, "  %-8s %s\n", "do", f->next);
    }
    const struct boot_text *line[BOOT_LINES_MOST];
    const unsigned          lines = boot_log_lines(b, f, line);
    for (unsigned i = 0; i < lines; i++)
        visible_printf(stdout, "  %-8s %.3f s  %s\n", i ? "" : "kernel", why_run_seconds(line[i]->at), line[i]->text);
    for (unsigned i = 0; i < said->count; i++)
        visible_printf(stdout, "  %-8s %s\n", i ? "" : "journal", said->line[i]);
    const struct boot_finding *other[BOOT_BESIDES_MOST];
    const unsigned             others = boot_besides(v, other);
    for (unsigned i = 0; i < others; i++)
        visible_printf(stdout, "  %-8s %.1f s  %s\n", i ? "" : "besides", why_run_seconds(other[i]->cost),
                       other[i]->sentence);
    for (unsigned i = 0; i < d->count; i++)
        visible_printf(stdout, "  %-8s %s\n", i ? "" : "unsure", d->text[i]);
    if (!d->count)
        visible_printf(stdout, "  %-8s yes: %s\n", "sure", BOOT_SURE);
    visible_printf(stdout, "  %-8s autologger report %s -o boot.html\n", "more", l->file);
}

/* ---- as JSON: the manual page has the members ---- */

static void finding_json(const struct boot *b, const struct boot_finding *f, const char *name,
                         const struct journal_told *said, struct json *j)
{
    json_object(j, name);
    json_text(j, "rule", f->rule);
    json_text(j, "sentence", f->sentence);
    struct boot_without x;
    json_number(j, "gain_ms", why_run_ms(f->cost));
    if (boot_without(b, f->unit, &x) && !x.works_on)
        json_number(j, "without_unit_ms", why_run_ms(x.gain));
    json_number(j, "start_ms", (uint64_t)(f->start > 0 ? f->start / 1000000 : 0));
    json_number(j, "end_ms", (uint64_t)(f->end > 0 ? f->end / 1000000 : 0));
    json_text(j, "unit", f->unit == BOOT_NONE ? NULL : b->unit[f->unit].name);
    json_text(j, "command", f->process == BOOT_NONE ? NULL : b->process[f->process].command);
    json_text(j, "do", f->next);
    if (said) {
        const struct boot_text *line[BOOT_LINES_MOST];
        const unsigned          lines = boot_log_lines(b, f, line);
        json_array(j, "kernel");
        for (unsigned i = 0; i < lines; i++)
            json_text(j, NULL, line[i]->text);
        json_array_end(j);
        json_array(j, "journal");
        for (unsigned i = 0; i < said->count; i++)
            json_text(j, NULL, said->line[i]);
        json_array_end(j);
    }
    json_object_end(j);
}

static void doubts_json(const struct boot_doubts *d, struct json *j)
{
    json_flag(j, "sure", d->count == 0);
    json_array(j, "doubts");
    for (unsigned i = 0; i < d->count; i++)
        json_text(j, NULL, d->text[i]);
    json_array_end(j);
}

static void why_run_json_print(const struct why_look *l, const struct boot *b, const struct boot_verdict *v,
                               const struct boot_doubts *d, const struct journal_told *said)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_number(j, "version", 1);
    json_text(j, "sentence", v->sentence);
    json_text(j, "boot_id", b->boot_id);
    json_text(j, "kernel", b->release);
    json_text(j, "trace", l->file);
    json_number(j, "boot_ms", (uint64_t)(b->finish / 1000000));
    if (v->findings)
        finding_json(b, &v->finding[0], "verdict", said, j);
    json_array(j, "besides");
    const struct boot_finding *other[BOOT_BESIDES_MOST];
    const unsigned             others = boot_besides(v, other);
    for (unsigned i = 0; i < others; i++)
        finding_json(b, other[i], NULL, NULL, j);
    json_array_end(j);
    json_array(j, "phases");
    for (unsigned i = 0; i < b->phases; i++) {
        json_object(j, NULL);
        json_text(j, "name", b->phase[i].name);
        json_number(j, "ms", (uint64_t)((b->phase[i].end - b->phase[i].start) / 1000000));
        json_object_end(j);
    }
    json_array_end(j);
    doubts_json(d, j);
    json_object_end(j);
    json_destroy(j);
}

/* ---- without a unit ---- */

/* Its name may be given without ".service". BOOT_NONE: this boot did not start it. */
static int unit_named(const struct boot *b, const char *name)
{
    char      full[300];
    const int unit = boot_unit_find(b, name);
    snprintf(full, sizeof full, "%s.service", name);
    return unit == BOOT_NONE ? boot_unit_find(b, full) : unit;
}

static void without_json(const struct boot *b, const char *unit, const struct boot_without *x,
                         const struct boot_doubts *d)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_number(j, "version", 1);
    json_text(j, "without", unit);
    json_text(j, "boot_id", b->boot_id);
    json_number(j, "boot_ms", why_run_ms(b->finish));
    json_number(j, "predicted_ms", why_run_ms(b->finish - x->gain));
    json_number(j, "gain_ms", why_run_ms(x->gain));
    json_number(j, "gain_least_ms", why_run_ms(x->least));
    json_number(j, "gain_most_ms", why_run_ms(x->most));
    json_flag(j, "works_on", x->works_on);
    json_text(j, "last", x->next == BOOT_NONE ? NULL : b->unit[x->next].name);
    doubts_json(d, j);
    json_object_end(j);
    json_destroy(j);
}

static void without_text(const struct boot *b, const char *unit, const struct boot_without *x,
                         const struct boot_doubts *d)
{
    if (why_run_ms(x->gain) < 1)
        visible_printf(
            stdout,
            "Without %s this boot would have taken as long: %.1f s. Others were done later, or did not wait for it.\n\n",
            unit, why_run_seconds(b->finish));
    else
        visible_printf(stdout, "Without %s this boot would have taken %.1f s instead of %.1f s.\n\n", unit,
                       why_run_seconds(b->finish - x->gain), why_run_seconds(b->finish));
    visible_printf(stdout,
                   "  %-8s %.1f s (%.0f %%); between %.1f s and %.1f s, by who would have the processors then\n",
                   "gain", why_run_seconds(x->gain), 100 * (double)x->gain / (double)b->finish,
                   why_run_seconds(x->least), why_run_seconds(x->most));
    if (x->works_on)
        visible_printf(stdout, "  %-8s %s works on after its start: what it took from others then is not counted\n",
                       "more", unit);
    if (x->next != BOOT_NONE)
        visible_printf(stdout, "  %-8s %s\n", "last", b->unit[x->next].name);
    visible_printf(
        stdout, "  %-8s all other units take as long as they did; what it would have started itself is still there\n",
        "assumes");
    for (unsigned i = 0; i < d->count; i++)
        visible_printf(stdout, "  %-8s %s\n", i ? "" : "unsure", d->text[i]);
}

static wstatus without_print(const struct why_look *l, const struct boot *b, const struct boot_doubts *d,
                             struct reason *why)
{
    struct boot_without x;
    const int           unit = unit_named(b, l->without);

    if (b->live || !b->finish)
        return reason_set(why, W_NOT_FOUND, "%s has no boot to its end. Do: name the trace of a boot", l->file);
    if (!boot_order_told(b))
        return reason_set(
            why, W_NOT_SUPPORTED,
            "%s does not tell what units are ordered after. Do: trace a boot with a provider of units (profile boot)",
            l->file);
    if (unit != BOOT_NONE && boot_is_device(b, unit))
        return reason_set(
            why, W_NOT_SUPPORTED,
            "%s is a device: what a boot would be without it is not predicted. Do: name a unit that waits for it, or trace a boot with its driver left out (modprobe.blacklist=)",
            b->unit[unit].name);
    if (unit == BOOT_NONE || !boot_without(b, unit, &x))
        return reason_set(
            why, W_NOT_FOUND,
            "this boot did not start a unit \"%s\". Do: autologger why %s, which names those that took long",
            l->without, l->file);
    (l->as_json ? without_json : without_text)(b, b->unit[unit].name, &x, d);
    return W_SUCCESS;
}

static void why_run_tell(void *ctx, double done) { progress_tell(ctx, (unsigned)(done * 1000)); }

static int why_run_look(void *arg)
{
    struct why_look          *l   = arg;
    struct progress           bar = progress_start("reading");
    const struct boot_options o   = {.progress = why_run_tell, .progress_ctx = &bar};
    struct boot              *b   = NULL;
    struct boot_path         *p   = NULL;
    struct boot_verdict       v;
    struct boot_doubts        d;
    struct journal_told       said;
    struct reason             why = {0};
    wstatus                   st  = boot_read(l->file, &o, &b, &why);

    progress_end(&bar);
    st = st ? st : boot_path_create(b, &p, &why);
    if (!st && l->without) {
        boot_doubts_find(b, &d);
        st = without_print(l, b, &d, &why);
    } else if (!st) {
        boot_verdict_make(b, p, &v);
        boot_doubts_find(b, &d);
        said_find(l, b, &v, &said);
        (l->as_json ? why_run_json_print : why_run_text_print)(l, b, &v, &d, &said);
    }
    const bool lost = !st && d.lost;
    boot_path_destroy(p);
    boot_destroy(b);
    return st ? failure_print_about(ABOUT_TRACE, "autologger why", st, &why) : lost ? VERB_FAILED : VERB_FINE;
}

int why_run(const char *file, const char *without, bool own, bool as_json)
{
    struct why_look l    = {file, without, as_json, own && !without ? journal_begin() : (struct journal_lines){-1, -1}};
    const int       code = read_apart("autologger why", file, why_run_look, &l);
    journal_end(&l.journal);
    return code;
}
