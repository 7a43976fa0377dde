/* report_run.c - see report_run.h. */
#include "tools/report_run.h"

#include "autologger/report/boot_text.h"
#include "autologger/report/page.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct made {
    struct boot        *boot;
    struct boot_path   *path;
    struct boot_verdict verdict;
};

static wstatus make(const struct report_run *a, struct made *m, struct reason *why)
{
    const struct boot_options o  = {.folders = a->folders, .folder_count = a->folder_count};
    wstatus                   st = boot_read(a->file, &o, &m->boot, why);
    if (!st)
        st = boot_path_create(m->boot, &m->path, why);
    if (!st)
        boot_verdict_make(m->boot, m->path, &m->verdict);
    return st;
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

int report_run(const struct report_run *a)
{
    struct made   m   = {0};
    struct reason why = {0};
    wstatus       st  = make(a, &m, &why);
    if (!st) {
        const struct report r = {.boot = m.boot, .path = m.path, .verdict = &m.verdict, .file = a->file};
        if (a->page)
            st = page_print(&r, a->page, &why);
        if (!st && a->common.json)
            st = json_print(&r, &why);
        else if (!st && (a->text || !a->page))
            boot_text(&r, stdout);
        else if (!st)
            printf("%s\n%s: the page\n", m.verdict.sentence, a->page);
    }
    boot_path_destroy(m.path);
    boot_destroy(m.boot);
    return st ? failure_print_about(ABOUT_TRACE, "autologger report", st, &why) : VERB_FINE;
}
