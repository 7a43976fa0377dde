/* report_run.c - see report_run.h. */
#include "tools/report_run.h"

#include "autologger/report/boot_text.h"
#include "autologger/report/compare_view.h"
#include "autologger/report/page.h"
#include "tools/compare_run.h"
#include "tools/describe.h"
#include "tools/progress.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct made {
    struct boot        *boot;
    struct boot_path   *path;
    struct boot_verdict verdict;
    struct report_store store;
    struct compared     compared;
};

/* ---- what the file and the store say besides ---- */

static void configuration(void *ctx, struct yajl_gen_t *gen) { report_store_json(&((struct made *)ctx)->store, gen); }

static void comparison(void *ctx, struct yajl_gen_t *gen)
{
    const struct compared *c = &((struct made *)ctx)->compared;
    compare_json(c->comparison, c->before, c->after, gen);
}

static wstatus compare(const struct report_run *a, struct made *m, struct reason *why)
{
    const char *files[REPORT_BOOTS + COMPARE_FILES];
    unsigned    n = 0;
    for (; n < a->before_count && n < COMPARE_FILES; n++)
        files[n] = a->before[n];
    if (a->last)
        n += report_store_files(&m->store, m->boot->boot_id, a->last, files + n);
    return n ? compare_files("autologger report", files, n, m->boot, a->file, COMPARE_LEAST_NS, &m->compared, why) : W_SUCCESS;
}

static void tell(void *ctx, double done) { progress_tell(ctx, (unsigned)(done * 1000)); }

static wstatus make(const struct report_run *a, struct schema_set *schemas, struct made *m, struct reason *why)
{
    struct progress           bar = progress_start("reading");
    const struct boot_options o   = {.folders = a->folders, .folder_count = a->folder_count, .progress = tell, .progress_ctx = &bar, .schemas = schemas};
    wstatus                   st  = boot_read(a->file, &o, &m->boot, why);
    progress_end(&bar);
    if (!st)
        st = boot_path_create(m->boot, &m->path, why);
    if (!st)
        boot_verdict_make(m->boot, m->path, &m->verdict);
    if (!st)
        st = report_store_open(&m->store, &a->common, m->boot->boot_id, why);
    return st ? st : compare(a, m, why);
}

static wstatus json_print(const struct report *r, struct reason *why)
{
    size_t size;
    char  *text = boot_json(r, false, &size);
    if (!text)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the report");
    fwrite(text, 1, size, stdout);
    free(text);
    return W_SUCCESS;
}

/* A page that could not be written whole is taken away. */
static wstatus page_print(const struct report *r, const char *path, struct reason *why)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return reason_set(why, errno == ENOENT ? W_PATH_NOT_FOUND : W_ACCESS_DENIED, "%s: %s", path, strerror(errno));
    wstatus st = page_write(r, out, why);
    if (fclose(out) && !st)
        st = reason_set(why, W_DISK_FULL, "%s: %s", path, strerror(errno));
    if (st)
        unlink(path);
    return st;
}

/* What a verdict may have missed: it is said, and told by the exit code. */
static bool incomplete(const struct report_run *a, const struct boot_trust *t)
{
    if (!t->lost && !t->buffers_lost && !t->damaged)
        return false;
    fflush(stdout);
    if (t->lost || t->buffers_lost)
        fprintf(stderr, "autologger report: %s lacks %" PRIu64 " event%s and %" PRIu64 " buffer%s that were lost when it was recorded: the cause may be among them. "
                        "Do: autologger analyse losses %s\n", a->file, t->lost, plural(t->lost), t->buffers_lost, plural(t->buffers_lost), a->file);
    if (t->damaged)
        fprintf(stderr, "autologger report: %s is damaged in %" PRIu64 " place%s; what lies between was read. Do: copy the file again from where it was written\n",
                a->file, t->damaged, plural(t->damaged));
    return true;
}

int report_run(const struct report_run *a)
{
    struct made     m    = {0};
    struct reason   why  = {0};
    struct describe d    = {.traces = &a->file, .trace_count = 1, .store = a->common.store};
    int             code = VERB_FINE;
    if (!describe_open(&d, "autologger report", &code))
        return code;
    wstatus st = make(a, d.set, &m, &why);
    if (!st) {
        const struct report r = {.boot = m.boot, .path = m.path, .verdict = &m.verdict, .file = a->file, .ctx = &m,
                                 .configuration = m.store.rows.count ? configuration : NULL,
                                 .comparison    = m.compared.comparison ? comparison : NULL};
        if (a->page)
            st = page_print(&r, a->page, &why);
        if (!st && a->common.json)
            st = json_print(&r, &why);
        else if (!st && (a->text || !a->page))
            boot_text(&r, stdout);
        else if (!st && !a->quiet)
            printf("%s\n%s: the page\n", m.verdict.sentence, a->page);
        if (!st && m.compared.comparison && !a->common.json && (a->text || !a->page)) {
            putchar('\n');
            compare_text(m.compared.comparison, m.compared.before, m.compared.after, stdout);
        }
        if (!st && incomplete(a, &m.boot->trust))
            code = VERB_FAILED;
    }
    describe_report(&d, "autologger report");
    describe_close(&d);
    compared_finish(&m.compared);
    report_store_finish(&m.store);
    boot_path_destroy(m.path);
    boot_destroy(m.boot);
    return st ? failure_print_about(ABOUT_TRACE, "autologger report", st, &why) : code;
}
