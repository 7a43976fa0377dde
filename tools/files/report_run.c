/* report_run.c - see report_run.h. */
#include "tools/files/report_run.h"

#include "autologger/report/boot_text.h"
#include "autologger/report/compare_view.h"
#include "autologger/report/page.h"
#include "tools/base/progress.h"
#include "tools/base/read_only.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/compare_run.h"
#include "tools/files/describe.h"
#include "registry-sim/base/visible_print.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct made {
    struct boot        *boot;
    struct boot_path   *path;
    struct boot_verdict verdict;
    struct report_store store;
    struct compared     compared;
};

/* ---- the configuration and the comparison ---- */

static void report_run_configuration(void *ctx, struct yajl_gen_t *gen)
{
    report_store_json(&((struct made *)ctx)->store, gen);
}

static void comparison(void *ctx, struct yajl_gen_t *gen)
{
    const struct compared *c = &((struct made *)ctx)->compared;
    compare_json(c->comparison, c->before, c->after, gen);
}

static wstatus report_run_compare(const struct report_run *a, struct made *m, struct reason *why)
{
    const char *files[REPORT_BOOTS + COMPARE_FILES];
    unsigned    n = 0;
    for (; n < a->before_count && n < COMPARE_FILES; n++)
        files[n] = a->before[n];
    if (a->last)
        n += report_store_files(&m->store, m->boot->boot_id, a->last, files + n);
    return n ? compare_files("autologger report", files, n, m->boot, a->file, COMPARE_LEAST_NS, &m->compared, why)
             : W_SUCCESS;
}

static void report_run_tell(void *ctx, double done) { progress_tell(ctx, (unsigned)(done * 1000)); }

static wstatus report_run_make(const struct report_run *a, struct schema_set *schemas, struct made *m,
                               struct reason *why)
{
    struct progress           bar = progress_start("reading");
    const struct boot_options o   = {.folders      = a->folders,
                                     .folder_count = a->folder_count,
                                     .progress     = report_run_tell,
                                     .progress_ctx = &bar,
                                     .schemas      = schemas};
    wstatus                   st  = boot_read(a->file, &o, &m->boot, why);
    progress_end(&bar);
    if (!st)
        st = boot_path_create(m->boot, &m->path, why);
    if (!st)
        boot_verdict_make(m->boot, m->path, &m->verdict);
    if (!st)
        st = report_store_open(&m->store, &a->common, m->boot->boot_id, why);
    return st ? st : report_run_compare(a, m, why);
}

static wstatus report_run_json_print(const struct report *r, struct reason *why)
{
    size_t size;
    char  *text = boot_json(r, false, &size);
    if (!text)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for the report");
    visible_json(stdout, text, size);
    free(text);
    return W_SUCCESS;
}

/* ---- the page ---- */

/* Opened before the trace is read: the reading process may not open a file to write. */
struct written { /* shared with the process that writes it */
    bool begun, whole;
};
struct page {
    int             fd;   /* -1: none is asked for */
    bool            made; /* this command created it */
    struct written *written;
};

static wstatus page_open(const char *path, struct page *p, struct reason *why)
{
    p->fd   = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    p->made = p->fd >= 0;
    if (p->fd < 0 && errno == EEXIST)
        p->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666); /* the old page stays until the new one is written */
    if (p->fd < 0)
        return reason_set(why, errno == ENOENT ? W_PATH_NOT_FOUND : W_ACCESS_DENIED, "%s: %s", path, strerror(errno));
    return W_SUCCESS;
}

/* Removes a page that was not written whole. */
static void page_close(const char *path, const struct page *p)
{
    if (p->fd < 0)
        return;
    close(p->fd);
    if (!p->written->whole && (p->made || p->written->begun))
        unlink(path);
}

static wstatus page_print(const struct report *r, const char *path, const struct page *p, struct reason *why)
{
    struct stat st;
    const int   fd  = dup(p->fd);
    FILE       *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    p->written->begun = true;
    if (!out || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)) {
        const int error = errno;
        if (out)
            fclose(out);
        return reason_set(why, wstatus_from_errno(error), "%s: %s", path, strerror(error));
    }
    wstatus status = page_write(r, out, why);
    if (fclose(out) && !status)
        status = reason_set(why, W_DISK_FULL, "%s: %s", path, strerror(errno));
    p->written->whole = !status;
    return status;
}

/* Reports gaps that may hide the cause; true: the exit code tells it, too. */
static bool incomplete(const struct report_run *a, const struct boot_trust *t)
{
    if (!t->lost && !t->buffers_lost && !t->damaged)
        return false;
    fflush(stdout);
    if (t->lost || t->buffers_lost)
        visible_printf(stderr,
                       "autologger report: %s lacks %" PRIu64 " event%s and %" PRIu64
                       " buffer%s that were lost when it was recorded: the cause may be among them. "
                       "Do: autologger analyse losses %s\n",
                       a->file, t->lost, plural(t->lost), t->buffers_lost, plural(t->buffers_lost), a->file);
    if (t->damaged)
        visible_printf(stderr,
                       "autologger report: %s is damaged in %" PRIu64
                       " place%s; what lies between was read. Do: copy the file again from where it was written\n",
                       a->file, t->damaged, plural(t->damaged));
    return true;
}

static int report_run_run(const struct report_run *a, const struct page *page)
{
    struct made     m    = {0};
    struct reason   why  = {0};
    struct describe d    = {.traces = &a->file, .trace_count = 1, .store = a->common.store};
    int             code = VERB_FINE;
    if (!describe_open(&d, "autologger report", &code))
        return code;
    wstatus st = report_run_make(a, d.set, &m, &why);
    if (!st) {
        const struct report r = {.boot          = m.boot,
                                 .path          = m.path,
                                 .verdict       = &m.verdict,
                                 .file          = a->file,
                                 .ctx           = &m,
                                 .configuration = m.store.rows.count ? report_run_configuration : NULL,
                                 .comparison    = m.compared.comparison ? comparison : NULL};
        if (a->page)
            st = page_print(&r, a->page, page, &why);
        if (!st && a->common.json)
            st = report_run_json_print(&r, &why);
        else if (!st && (a->text || !a->page))
            boot_text(&r, stdout);
        else if (!st && !a->quiet)
            visible_printf(stdout, "%s\n%s: the page\n", m.verdict.sentence, a->page);
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

/* ---- the reading process ---- */

/* For root another process reads, which can write to the page alone. */
struct report_run_reading {
    const struct report_run *run;
    const struct page       *page;
};
static int run_reading(void *arg)
{
    const struct report_run_reading *r = arg;
    return report_run_run(r->run, r->page);
}

int report_run(const struct report_run *a)
{
    struct written local   = {false, false},
                   *shared = mmap(NULL, sizeof local, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct page   page     = {-1, false, shared == MAP_FAILED ? &local : shared};
    struct reason why      = {0};

    wstatus st = a->page ? page_open(a->page, &page, &why) : W_SUCCESS;
    if (st)
        return failure_print_about(ABOUT_TRACE, "autologger report", st, &why);
    const int code = shared != MAP_FAILED
                         ? read_apart("autologger report", a->file, run_reading, &(struct report_run_reading){a, &page})
                         : report_run_run(a, &page);
    if (a->page)
        page_close(a->page, &page);
    if (shared != MAP_FAILED)
        munmap(shared, sizeof *shared);
    return code;
}
