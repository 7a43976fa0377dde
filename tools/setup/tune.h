/* tune.h - sets MinimumBuffers and MaximumBuffers of the declarations to the last boot's need. A boot suggests numbers
 * from a session's peak memory (boot/result); this module writes them into the store, in one transaction, or only shows
 * them. A suggestion counts buffers of that boot's BufferSize; if the declaration's BufferSize was changed since, the
 * number is converted to hold the same bytes.
 * Threads: one. Not for: what a boot needs (boot_conclude), telling the initramfs (apply). */
#ifndef TOOLS_TUNE_H
#define TOOLS_TUNE_H
#include "autologger/boot/result.h"

/* One value that changes. Borrowed until the callback returns. */
struct tune_change {
    const char *session, *key, *name; /* name: "MinimumBuffers" or "MaximumBuffers" */
    bool        declared;             /* `before` is declared; false: it was left to the default */
    uint32_t    before, after;
};
typedef void (*tune_fn)(void *ctx, const struct tune_change *change);

/* Calls `fn` (may be NULL) for each changing value and, unless `dry_run`, writes all of them. *changes gets their
 * number. Sessions that did not run, or whose declaration is gone, are left alone. On failure nothing was written. */
wstatus tune_apply(struct regstore *store, const struct result_list *rows, bool dry_run, tune_fn fn, void *ctx,
                   unsigned *changes, struct reason *why);
/* The same with the results of the store at `results_path`: its last boot. *lines (malloc, may be NULL) gets one line
 * for each change. W_FILE_NOT_FOUND: there was no boot yet. */
wstatus tune_by_store(const char *results_path, struct regstore *store, char **lines, struct reason *why);
/* The change as a line of a difference: "web: MaximumBuffers 26 -> 12". Returns `out`. */
const char *tune_line(const struct tune_change *change, char *out, size_t size);
#endif
