/* outputs.h - the files that a command makes from untrusted traces. Run by root, the command gives up its rights before
 * it reads the first trace (autologger/sandbox): it can read files as before, and write only to open ones. A helper,
 * forked before, makes the outputs (output_helper.h). Run by another user, the command keeps that user's rights and has
 * no helper.
 * Invariants: O1 an output appears whole or not at all, except a folder. O2 nothing outside the list is made, even by a
 * subverted command.
 * Threads: call outputs_guard() once, while there is one thread. Ownership: paths are borrowed until the process ends.
 * Not for: commands that make nothing (read_only.h). */
#ifndef TOOLS_OUTPUTS_H
#define TOOLS_OUTPUTS_H
#include "registry-sim/base/os.h"
#include "registry-sim/win32/wstatus.h"

#include <stdio.h>

struct output {
    const char *path;
    /* ".merging-": until the file is whole its name is path, this, process id. NULL: a folder with files */
    const char *temporary;
};
/* Gives up the rights. `unwinds`: a merge, which needs autologger-unwind. Returns the edge that makes outputs from now
 * on; NULL: the helper could not be started (reported), and *code is the exit code. At most OUTPUTS_MOST outputs;
 * without any there is no helper. */
struct os *outputs_guard(const char *verb, const struct output *outputs, unsigned count, bool unwinds, int *code);

/* An output that is written as a stream. */
struct output_stream {
    const struct output *output;
    char                *temporary;
    FILE                *file;
};
wstatus output_begin(struct os *edge, const struct output *output, struct output_stream *out, struct reason *why);
/* `st`: the Status of writing. Renames a whole file to its path, removes any other. Returns the first failure. */
wstatus output_end(struct os *edge, struct output_stream *out, wstatus st, struct reason *why);
#endif
