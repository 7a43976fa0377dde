/* summary_view.h - the summary of a trace file on stdout: what `summary` prints, and `rehearse` at its end.
 * Threads: one. Not for: counting (autologger/consumer/summary.h). */
#ifndef TOOLS_SUMMARY_VIEW_H
#define TOOLS_SUMMARY_VIEW_H
#include "autologger/etl/reader.h"

#include <stdbool.h>

/* Reads the file twice and prints what is in it, as text or as one JSON object. Gives an exit code: 1 when it is
 * damaged. */
struct summary_view {
    bool               json;
    bool               symbols; /* name all frames of stacks, to say how many have a name */
    const char *const *folders; /* of symbol files, borrowed */
    unsigned           folder_count;
};
int summary_view_file(const char *verb, const char *path, const struct summary_view *how);
/* Says on stderr that `path` lacks events or buffers that were lost when it was recorded; nothing when both are 0.
 * `analyse`: the file to look into. The exit code stays: the loss is the recording's, what was asked for is done. */
void lacks_print(const char *verb, const char *path, uint64_t events, uint64_t buffers, const char *analyse);
/* Says on stderr that the file lacks events that were lost when it was recorded; true when it does. */
bool losses_banner(const char *verb, const char *path, const struct etl_reader *reader);
/* Says on stderr where the file is damaged; true when it is. */
bool damage_print(const char *verb, const char *path, const struct etl_reader *reader);
#endif
