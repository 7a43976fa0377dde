#include "autologger/daemon/early/early_report.h"
#include "registry-sim/base/visible_print.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void row_write(FILE *f, const struct result_row *row)
{
    const char *what = *row->name ? row->name : row->provider;
    visible_printf(f, "%s%s%s: ", row->session, *what ? " / " : "", what);
    if (!row->start) {
        fprintf(f, "off\n");
        return;
    }
    visible_printf(f, "Status %u, %s%s%s\n", row->status, wstatus_text(row->status), *row->reason ? ": " : "",
                   row->reason);
    if (row->status)
        visible_printf(f, "    declared at %s:%u. Do: %s\n", row->source_file, row->source_line,
                       wstatus_advice(row->status));
    for (unsigned i = 0; i < row->conditions.count; i++)
        visible_printf(f, "    %s: %s. Do: %s\n", row->conditions.items[i].item, row->conditions.items[i].reason,
                       row->conditions.items[i].advice);
}

bool early_report_write(const char *path, const struct result_list *rows)
{
    char part[1100];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "we");
    if (!f)
        return false;
    visible_printf(f, "boot %s\n", rows->boot_id);
    for (unsigned i = 0; i < rows->count; i++)
        row_write(f, &rows->rows[i]);
    bool ok = !ferror(f);
    return (fclose(f) == 0) & ok && rename(part, path) == 0;
}

bool early_report_copy(const char *path, int out_fd)
{
    char    text[4096];
    ssize_t n;
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while ((n = read(fd, text, sizeof text)) > 0 && write(out_fd, text, (size_t)n) == n)
        ;
    close(fd);
    return true;
}

static void failure_path(char out[1100], const char *runtime_dir)
{
    snprintf(out, 1100, "%.1000s/early-failure", runtime_dir);
}

void early_failure_write(const char *runtime_dir, const struct reason *why)
{
    char path[1100];
    failure_path(path, runtime_dir);
    FILE *f = fopen(path, "we");
    if (!f)
        return;
    visible_printf(f, "%u %s\n", why->status, why->text);
    fclose(f);
}

bool early_failure_take(const char *runtime_dir, struct reason *out)
{
    char  path[1100], line[sizeof out->text + 16], *text;
    bool  there = false;
    FILE *f;

    failure_path(path, runtime_dir);
    if (!(f = fopen(path, "re")))
        return false;
    if (fgets(line, sizeof line, f)) {
        wstatus status = (wstatus)strtoul(line, &text, 10);
        there          = text > line && *text == ' ' && status;
        if (there)
            reason_set(out, status, "%.*s", (int)strcspn(text + 1, "\n"), text + 1);
    }
    fclose(f);
    unlink(path);
    return there;
}
