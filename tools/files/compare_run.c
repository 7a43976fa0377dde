/* compare_run.c - see compare_run.h. */
#include "tools/files/compare_run.h"

#include "autologger/report/compare_view.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/read_only.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/report_run.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

/* "monday.etl", "3 boots: a.etl, b.etl, c.etl" */
static void name_all(const char *const *files, unsigned count, char *out, size_t size)
{
    size_t n = count == 1 ? 0 : (size_t)snprintf(out, size, "%u boots: ", count);
    for (unsigned i = 0; i < count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", files[i]);
}

wstatus compare_files(const char *verb, const char *const *before, unsigned count, const struct boot *boot,
                      const char *after, int64_t least, struct compared *out, struct reason *why)
{
    static const struct boot_options quick = {.no_stacks = true};
    struct boot                     *boots[COMPARE_FILES];
    const char                      *read[COMPARE_FILES];
    unsigned                         n  = 0;
    wstatus                          st = W_SUCCESS;

    *out = (struct compared){0};
    for (unsigned i = 0; i < count && i < COMPARE_FILES; i++) {
        struct reason bad = {0};
        if (boot_read(before[i], &quick, &boots[n], &bad))
            visible_printf(stderr, "%s: %s is left out: %s\n", verb, before[i], bad.text);
        else
            read[n++] = before[i];
    }
    if (n) {
        st = boot_comparison_create((const struct boot *const *)boots, n, boot, least, &out->comparison, why);
        name_all(read, n, out->before, sizeof out->before);
        snprintf(out->after, sizeof out->after, "%s", after);
    }
    while (n)
        boot_destroy(boots[--n]);
    return st;
}

void compared_finish(struct compared *c)
{
    boot_comparison_destroy(c->comparison);
    *c = (struct compared){0};
}

static wstatus compare_run_json_print(const struct compared *c, struct reason *why)
{
    const unsigned char *text;
    size_t               size;
    yajl_gen             g = yajl_gen_alloc(NULL);
    if (!g)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the comparison");
    yajl_gen_config(g, yajl_gen_beautify, 1);
    compare_json(c->comparison, c->before, c->after, g);
    yajl_gen_get_buf(g, &text, &size);
    visible_json(stdout, (const char *)text, size);
    yajl_gen_free(g);
    return W_SUCCESS;
}

static int compare_run_text_print(void *arg)
{
    const struct compare_run        *a     = arg;
    static const struct boot_options quick = {.no_stacks = true};
    const char                      *after = a->files[a->file_count - 1], *before[2 * COMPARE_FILES];
    unsigned                         n     = a->file_count - 1;
    struct report_store              store = {0};
    struct compared                  c     = {0};
    struct boot                     *boot  = NULL;
    struct reason                    why   = {0};

    memcpy(before, a->files, n * sizeof *before);
    wstatus st = boot_read(after, &quick, &boot, &why);
    if (!st && a->last && !(st = report_store_open(&store, &a->common, boot->boot_id, &why)))
        n += report_store_files(&store, boot->boot_id, a->last, before + n);
    if (!st)
        st = compare_files("autologger compare", before, n, boot, after, (int64_t)(a->least_ms * 1e6), &c, &why);
    if (!st && !c.comparison)
        st = reason_set(&why, W_FILE_NOT_FOUND,
                        "there is no boot to compare with. Do: name its trace, or see autologger boots");
    if (!st && a->common.json)
        st = compare_run_json_print(&c, &why);
    else if (!st)
        compare_text(c.comparison, c.before, c.after, stdout);
    const int code = st ? failure_print_about(ABOUT_TRACE, "autologger compare", st, &why) : VERB_FINE;
    compared_finish(&c);
    report_store_finish(&store);
    boot_destroy(boot);
    return code;
}

int compare_run(const struct compare_run *a)
{
    const char       *after = a->files[a->file_count - 1];
    struct report_run page  = {.common       = a->common,
                               .file         = after,
                               .page         = a->page,
                               .before       = a->files,
                               .before_count = a->file_count - 1,
                               .last         = a->last,
                               .quiet        = true};
    page.common.json        = false;
    const int code          = read_apart("autologger compare", after, compare_run_text_print, (void *)(uintptr_t)a);
    return code == VERB_FINE && a->page ? report_run(&page) : code;
}
