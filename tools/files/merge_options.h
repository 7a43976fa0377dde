/* merge_options.h - what merge and relog have in common besides their filters: a progress bar on a terminal, and the
 * configuration of the files' boot. Threads: one. Ownership: open/close around the merge. Not for: redacting
 * (redact_option.h). */
#ifndef TOOLS_MERGE_OPTIONS_H
#define TOOLS_MERGE_OPTIONS_H
#include "autologger/consumer/merge.h"
#include "autologger/schema/publishers.h"
#include "tools/base/cmdline.h"
#include "tools/base/progress.h"

struct merge_help {
    const struct cmdline *common; /* the store */
    struct progress       bar;
    char                  publishers[PUBLISHERS_PATH];
};
/* Sets progress, provenance, configuration and the folder of installed manifests of `options`, which must not outlive
 * `h`. */
void merge_help_open(struct merge_help *h, const struct cmdline *common, struct merge_options *options);
void merge_help_close(struct merge_help *h);
#endif
