/* compare_sides.c - see compare_sides.h. */
#include "tools/files/compare_sides.h"

#include "registry-sim/base/visible_print.h"
#include "tools/base/progress.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/outputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

static const char verb[] = "autologger compare";

/* ---- reading ---- */

struct sides_list {
    char    *path[SIDES_FILES];
    unsigned count, before; /* before: of the first side */
};

static void sides_list_finish(struct sides_list *l)
{
    for (unsigned i = 0; l && i < l->count; i++)
        free(l->path[i]);
    free(l);
}

static int sides_is_trace(const struct dirent *d)
{
    const char *dot = strrchr(d->d_name, '.');
    return dot && strcasecmp(dot, ".etl") == 0;
}

/* `folder` NULL: the name is a path. */
static wstatus sides_list_add(struct sides_list *l, const char *folder, const char *name, struct reason *why)
{
    if (l->count == SIDES_FILES)
        return reason_set(why, W_INVALID_PARAMETER, "more than %d traces. Do: name fewer", SIDES_FILES);
    if (asprintf(&l->path[l->count], "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
    l->count++;
    return W_SUCCESS;
}

/* A trace, or the traces of a folder in the order of their names. */
static wstatus sides_path(struct sides_list *l, const char *path, struct reason *why)
{
    struct dirent **found = NULL;
    wstatus         st    = W_SUCCESS;
    const int       n     = scandir(path, &found, sides_is_trace, alphasort);
    if (n < 0)
        return errno == ENOTDIR ? sides_list_add(l, NULL, path, why)
                                : reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        st = st ? st : sides_list_add(l, path, found[i]->d_name, why);
        free(found[i]);
    }
    free(found);
    return n ? st : reason_set(why, W_FILE_NOT_FOUND, "%s has no trace. Do: name a folder with .etl files", path);
}

static wstatus sides_list_make(const struct compare_sides *a, struct sides_list *l, struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (unsigned i = 0; i < a->before_count && !st; i++)
        st = sides_path(l, a->before[i], why);
    l->before = l->count;
    for (unsigned i = 0; i < a->after_count && !st; i++)
        st = sides_path(l, a->after[i], why);
    return st;
}

/* Takes the figures of each boot. A trace that cannot be read is left out, and reported. *before: the boots that were
 * read of the first side. */
static wstatus sides_read(const struct sides_list *l, struct boot_figures *f, unsigned *before, struct reason *why)
{
    static const struct boot_options quick    = {.no_stacks = true};
    struct progress                  progress = progress_start("reading boots");
    *before                                   = 0;
    for (unsigned i = 0; i < l->count; i++) {
        struct boot  *b   = NULL;
        struct reason bad = {0};
        progress_tell(&progress, 1000 * i / l->count);
        if (boot_read(l->path[i], &quick, &b, &bad)) {
            progress_end(&progress);
            visible_printf(stderr, "%s: %s is left out: %s\n", verb, l->path[i], bad.text);
            continue;
        }
        boot_figures_add(f, b);
        boot_destroy(b);
        *before += i < l->before;
    }
    progress_end(&progress);
    if (!*before || *before == f->boots)
        return reason_set(why, W_FILE_NOT_FOUND, "no boot %s the change can be read. Do: name its traces",
                          *before ? "after" : "before");
    return W_SUCCESS;
}

/* ---- results ---- */

static wstatus sides_json_print(const struct compare_sides *a, const struct boot_sides *s, struct reason *why)
{
    const unsigned char *text;
    size_t               size;
    yajl_gen             g = yajl_gen_alloc(NULL);
    if (!g)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the comparison");
    yajl_gen_config(g, yajl_gen_beautify, 1);
    sides_json(s, a->gates, a->gate_count, g);
    yajl_gen_get_buf(g, &text, &size);
    visible_json(stdout, (const char *)text, size);
    yajl_gen_free(g);
    return W_SUCCESS;
}

static wstatus sides_junit_write(const struct compare_sides *a, struct os *edge, const struct output *output,
                                 struct reason *why)
{
    struct output_stream out;
    struct text          t  = {0};
    wstatus              st = output_begin(edge, output, &out, why);
    if (st)
        return st;
    sides_junit(a->gates, a->gate_count, &t);
    if (t.failed || fwrite(text_get(&t), 1, t.length, out.file) != t.length)
        st = reason_set(why, t.failed ? W_NOT_ENOUGH_MEMORY : wstatus_from_errno(errno), "%s cannot be written",
                        a->junit);
    text_finish(&t);
    return output_end(edge, &out, st, why);
}

/* The exit code of the gates. */
static int sides_gates(const struct compare_sides *a)
{
    int code = VERB_FINE;
    for (unsigned i = 0; i < a->gate_count; i++)
        if (a->gates[i].gate.verdict == GATE_EXCEEDED)
            return VERB_FAILED;
        else if (a->gates[i].gate.verdict == GATE_NOT_KNOWN)
            code = SIDES_NOT_KNOWN;
    return code;
}

static wstatus sides_compare(struct compare_sides *a, struct boot_figures *f, unsigned before, struct os *edge,
                             const struct output *junit, struct reason *why)
{
    struct boot_sides *s = NULL;
    boot_figures_sort(f);
    wstatus st = boot_sides_create(f, before, a->least_ms * 1e6, &s, why);
    for (unsigned i = 0; i < a->gate_count && !st; i++)
        if (!boot_gate_judge(f, before, &a->gates[i].rule, a->least_ms * 1e6, &a->gates[i].gate))
            st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a gate");
    if (!st && a->common.json)
        st = sides_json_print(a, s, why);
    else if (!st)
        sides_text(s, stdout);
    for (unsigned i = 0; i < a->gate_count && !st && !a->common.json; i++) {
        if (!i)
            putchar('\n');
        sides_gate_text(&a->gates[i], stdout);
    }
    if (!st && a->junit)
        st = sides_junit_write(a, edge, junit, why);
    boot_sides_destroy(s);
    return st;
}

int compare_sides(struct compare_sides *a)
{
    const struct output  junit  = {a->junit, ".comparing-"};
    struct sides_list   *list   = calloc(1, sizeof *list);
    struct boot_figures *f      = boot_figures_new();
    struct reason        why    = {0};
    unsigned             before = 0;
    int                  code   = VERB_FINE;
    struct os           *edge   = outputs_guard(verb, &junit, a->junit != NULL, false, &code);

    if (edge) {
        wstatus st = list && f ? W_SUCCESS : reason_set(&why, W_NOT_ENOUGH_MEMORY, "no memory for a comparison");
        st         = st ? st : sides_list_make(a, list, &why);
        st         = st ? st : sides_read(list, f, &before, &why);
        st         = st ? st : sides_compare(a, f, before, edge, &junit, &why);
        code       = st ? failure_print_about(ABOUT_TRACE, verb, st, &why) : sides_gates(a);
    }
    sides_list_finish(list);
    boot_figures_free(f);
    return code;
}
