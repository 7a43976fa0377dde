/* summary_view.h - the summary of a trace file as text and JSON: used by `summary` and at the end of `rehearse`.
 * Threads: one. Not for: counting (autologger/consumer/summary.h). */
#ifndef TOOLS_SUMMARY_VIEW_H
#define TOOLS_SUMMARY_VIEW_H
#include "tools/json_out.h"

/* Reads the file and prints what is in it; mistakes on stderr. Gives an exit code: 1 when the file is damaged. `j` NULL:
 * text on stdout; else members of the object that is open. */
int summary_view_file(const char *verb, const char *path, struct json *j);
#endif
