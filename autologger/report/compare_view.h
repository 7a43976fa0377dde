/* compare_view.h - a comparison of boots as text, and as one JSON value. Times in JSON are milliseconds; null: that
 * boot does not have the item.
 * Threads: one. Not for: the figures (analysis/boot_compare.h). */
#ifndef AUTOLOGGER_REPORT_COMPARE_VIEW_H
#define AUTOLOGGER_REPORT_COMPARE_VIEW_H
#include "autologger/analysis/boot_compare.h"

#include <stdio.h>

struct yajl_gen_t;
void compare_text(const struct boot_comparison *c, const char *before, const char *after, FILE *out);
void compare_json(const struct boot_comparison *c, const char *before, const char *after, struct yajl_gen_t *gen);
#endif
