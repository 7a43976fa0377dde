/* compare_run.h - carries out `autologger compare`, and the comparison of a report: reads the boots and compares them.
 * Threads: one. Not for: options (cmd_compare.c). */
#ifndef TOOLS_COMPARE_RUN_H
#define TOOLS_COMPARE_RUN_H
#include "autologger/analysis/boot_compare.h"
#include "tools/base/cmdline.h"
#include "tools/files/report_store.h"

enum { COMPARE_FILES = 33, COMPARE_LEAST_NS = 5000000 };
struct compare_run {
    struct cmdline common;
    const char    *files[COMPARE_FILES]; /* the last one is AFTER */
    unsigned       file_count, last;
    const char    *page;
    double         least_ms;
};
/* An exit code of enum verb_exit. */
int compare_run(const struct compare_run *a);

/* Compares a boot with others; before and after name them. An unreadable trace is left out and reported on stderr. */
struct compared {
    struct boot_comparison *comparison; /* NULL: there is nothing to compare with */
    char                    before[300], after[300];
};
wstatus compare_files(const char *verb, const char *const *before, unsigned count, const struct boot *boot,
                      const char *after, int64_t least, struct compared *out, struct reason *why);
void    compared_finish(struct compared *c);
#endif
