/* unit_view.h - what systemd's units did in a trace: a table for people, members of a JSON object for programs.
 * Threads: one.
 * Not for: counting (autologger/consumer/unit_table.h). */
#ifndef TOOLS_UNIT_VIEW_H
#define TOOLS_UNIT_VIEW_H
#include "autologger/consumer/unit_table.h"

#include <stdio.h>

struct json;
/* Prints nothing when the trace has no units. */
void unit_view_print(const struct unit_row *rows, unsigned count, FILE *to);
/* "units": a row each. */
void unit_view_json(const struct unit_row *rows, unsigned count, struct json *j);
#endif
