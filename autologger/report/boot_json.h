/* boot_json.h - a boot as JSON: the output of `autologger report --json`, and the data of the page. Times are
 * milliseconds since the kernel began, lengths milliseconds, sizes bytes. docs/man/autologger-report.1 lists the
 * members.
 * Threads: one. Not for: looking at it (page.h, boot_text.h). */
#ifndef AUTOLOGGER_REPORT_BOOT_JSON_H
#define AUTOLOGGER_REPORT_BOOT_JSON_H
#include "autologger/analysis/boot_verdict.h"

#include <stdio.h>

struct yajl_gen_t;
/* The input of a report. `configuration`, `comparison`: write one JSON value each; NULL: there is none. */
struct report {
    const struct boot         *boot;
    const struct boot_path    *path;
    const struct boot_verdict *verdict;
    const char                *file; /* as the user named it */
    void (*configuration)(void *ctx, struct yajl_gen_t *gen);
    void (*comparison)(void *ctx, struct yajl_gen_t *gen);
    void *ctx;
};
/* Returns the JSON in allocated memory (free it); NULL: no memory. `all`: with lanes, waits and stacks, for the page;
 * else without the parts that only a picture needs. */
char *boot_json(const struct report *r, bool all, size_t *size);
#endif
