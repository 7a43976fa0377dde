/* quality_view.h - the quality of the stacks in a trace, by the kind of event: a table for people, members of a JSON
 * object for programs.
 * Threads: one. Not for: counting (autologger/symbols/quality.h). */
#ifndef TOOLS_QUALITY_VIEW_H
#define TOOLS_QUALITY_VIEW_H
#include "autologger/symbols/symbols.h"

#include <stdio.h>

struct json;
/* `named`: all frames were looked up, so the share of named ones is known. Prints nothing when the trace has no
 * stacks. */
void quality_print(const struct symbols_counts *n, bool named, FILE *to);
/* "stackQuality": a row for each kind of event. */
void quality_json(const struct symbols_counts *n, bool named, struct json *j);
#endif
