#include "autologger/daemon/early_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void row_write(FILE *f, const struct result_row *row)
{
    const char *what = *row->name ? row->name : row->provider;
    fprintf(f, "%s%s%s: ", row->session, *what ? " / " : "", what);
    if (!row->start) {
        fprintf(f, "off\n");
        return;
    }
    fprintf(f, "Status %u, %s%s%s\n", row->status, wstatus_text(row->status), *row->reason ? ": " : "", row->reason);
    if (row->status)
        fprintf(f, "    declared at %s:%u. Do: %s\n", row->source_file, row->source_line, wstatus_advice(row->status));
    for (unsigned i = 0; i < row->conditions.count; i++)
        fprintf(f, "    %s: %s. Do: %s\n", row->conditions.items[i].item, row->conditions.items[i].reason, row->conditions.items[i].advice);
}

bool early_report_write(const char *path, const struct result_list *rows)
{
    char part[1100];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "we");
    if (!f)
        return false;
    fprintf(f, "boot %s\n", rows->boot_id);
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
