/* boot_json.h - a boot as JSON: what `autologger report --json` prints, and what the page is made from. Times are
 * milliseconds since the kernel began, lengths milliseconds, sizes bytes. docs/man/autologger-report.1 names the
 * members.
 * Threads: one. Not for: looking at it (page.h, boot_text.h). */
#ifndef AUTOLOGGER_REPORT_BOOT_JSON_H
#define AUTOLOGGER_REPORT_BOOT_JSON_H
#include "autologger/analysis/boot_verdict.h"

#include <stdio.h>

struct yajl_gen_t;
/* What a report is made of. `configuration`, `comparison`: write one JSON value each; NULL: there is none. */
struct report {
    const struct boot         *boot;
    const struct boot_path    *path;
    const struct boot_verdict *verdict;
    const char                *file; /* as the user named it */
    void (*configuration)(void *ctx, struct yajl_gen_t *gen);
    void (*comparison)(void *ctx, struct yajl_gen_t *gen);
    void *ctx;
};
/* `all`: with lanes, stacks and every process, as the page wants it; else without what only a picture needs. Into
 * memory (free it);
 * NULL: none left. */
char *boot_json(const struct report *r, bool all, size_t *size);
#endif
