/* tracerpt_report.h - what tracerpt writes beside the dump: the summary as text, the tables of resources as XML and as
 * a page.
 * Threads: one. Ownership: everything is borrowed. Not for: counting (analysis/resources.h, analysis/counts.h). */
#ifndef TOOLS_TRACERPT_REPORT_H
#define TOOLS_TRACERPT_REPORT_H
#include "autologger/analysis/resources.h"
#include "registry-sim/win32/wstatus.h"

#include <stdio.h>

/* Reads the whole trace. *events: how many were read. */
wstatus tracerpt_summary(struct trace *t, FILE *out, uint64_t *events, struct reason *why);
/* The hottest `rows` of each table (0: all). */
void tracerpt_report_xml(const struct resources *r, struct trace *t, size_t rows, FILE *out);
void tracerpt_report_html(const struct resources *r, struct trace *t, size_t rows, FILE *out);
#endif
