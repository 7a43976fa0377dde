/* summary_view.h - the summary of a trace file on stdout: what `summary` prints, and `rehearse` at its end.
 * Threads: one. Not for: counting (autologger/consumer/summary.h). */
#ifndef TOOLS_SUMMARY_VIEW_H
#define TOOLS_SUMMARY_VIEW_H
#include "autologger/etl/reader.h"

#include <stdbool.h>

/* Reads the file twice and prints what is in it, as text or as one JSON object. Returns an exit code: VERB_FAILED when
 * it is damaged. */
struct summary_view {
    bool               json;
    bool               symbols; /* resolve all stack frames, to count those with a name */
    const char *const *folders; /* of symbol files, borrowed */
    unsigned           folder_count;
};
int summary_view_file(const char *verb, const char *path, const struct summary_view *how);
/* Reports on stderr the events and buffers that were lost when `path` was recorded; nothing when both are 0. `analyse`:
 * the file to name for `analyse losses`. The exit code stays: the recording lost them, the command did its work. */
void lacks_print(const char *verb, const char *path, uint64_t events, uint64_t buffers, const char *analyse);
/* Reports on stderr the losses of the recording, from the file's header; true when there are any. */
bool losses_banner(const char *verb, const char *path, const struct etl_reader *reader);
/* Says on stderr where the file is damaged; true when it is. */
bool damage_print(const char *verb, const char *path, const struct etl_reader *reader);
#endif
