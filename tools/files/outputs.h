/* outputs.h - the files that a command makes out of traces of anybody. Run by root, the command gives up its rights
 * before it reads the first one (autologger/sandbox): it may read files as it could before, and write only to what is
 * open. A helper, which it forks first, makes the outputs (output_helper.h). Of another user the command may do all
 * that its user may, and no helper is there.
 * Invariants: O1 an output appears whole or not at all, but for a folder. O2 what is not in the list is not made,
 * however the command is misled.
 * Threads: call outputs_guard() once, when there is one. Ownership: paths are borrowed until the process ends.
 * Not for: commands that make nothing (read_only.h). */
#ifndef TOOLS_OUTPUTS_H
#define TOOLS_OUTPUTS_H
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdio.h>

struct output {
    const char *path;
    /* ".merging-": its name until it is whole is the path, this, and the process' number. NULL: a folder, which has
     * files */
    const char *temporary;
};
/* Gives up the rights. `unwinds`: a merge, which has autologger-unwind started. The edge by which outputs are made from
 * here on; NULL: there is no helper, which was said, and *code is the exit code. At most OUTPUTS_MOST outputs; none:
 * there is nothing to be helped with. */
struct os *outputs_guard(const char *verb, const struct output *outputs, unsigned count, bool unwinds, int *code);

/* An output that is written as a stream. */
struct output_stream {
    const struct output *output;
    char                *temporary;
    FILE                *file;
};
wstatus output_begin(struct os *edge, const struct output *output, struct output_stream *out, struct reason *why);
/* `st`: how writing went. What was written whole gets its name; all else is removed. The Status of both. */
wstatus output_end(struct os *edge, struct output_stream *out, wstatus st, struct reason *why);
#endif
