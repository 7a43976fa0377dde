/* report_run.h - carries out `autologger report`: reads the boot, then shows it as asked.
 * Threads: one. Not for: options (cmd_report.c). */
#ifndef TOOLS_REPORT_RUN_H
#define TOOLS_REPORT_RUN_H
#include "tools/base/cmdline.h"

enum { REPORT_FOLDERS = 16, REPORT_BOOTS = 32 };
struct report_run {
    struct cmdline     common;
    const char        *file, *page; /* page NULL: none */
    bool               text, quiet; /* quiet: stdout has the requested output only */
    const char        *folders[REPORT_FOLDERS];
    unsigned           folder_count;
    unsigned           last;   /* compare with this many boots of the store */
    const char *const *before; /* and with these traces */
    unsigned           before_count;
};
/* An exit code of enum verb_exit. */
int report_run(const struct report_run *a);
#endif
