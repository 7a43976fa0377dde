/* convert.h - converts a trace to other programs' formats: Perfetto's protobuf and Chrome's JSON (a timeline), folded
 * stacks (a flame graph), CTF 1.8 (event by event).
 * Invariants: C1 no event is left out silently: read = the sum over the outcomes of events in convert_counts. C2 CTF
 * has as many events as the trace.
 * Memory: grows with distinct names, stacks and shapes of events, plus one packet per processor.
 * Threads: one. Ownership: the caller's trace and file. Not for: names of frames (symbols), which a namer gives. */
#ifndef AUTOLOGGER_EXPORT_CONVERT_H
#define AUTOLOGGER_EXPORT_CONVERT_H
#include "autologger/analysis/event_spec.h"
#include "autologger/export/timeline.h"
#include "registry-sim/base/os.h"

#include <stdio.h>

struct convert_counts {
    struct timeline_counts timeline;     /* Perfetto, Chrome */
    uint64_t               read, events; /* events: in the result (CTF); stacks joined with their trigger (folded) */
    uint64_t               classes;      /* CTF: shapes of events */
    uint64_t               distinct, weight; /* folded: lines, and the sum of their numbers */
    uint64_t               without_stack;    /* folded: samples, waits or events without a stack: the line [no stack] */
};
enum folded_what { FOLDED_CPU /* samples */, FOLDED_WAITING /* microseconds */, FOLDED_EVENT /* events of one kind */ };

wstatus convert_perfetto(struct trace *t, const struct frame_namer *namer, FILE *out, struct convert_counts *counts,
                         struct reason *why);
wstatus convert_chrome(struct trace *t, const struct frame_namer *namer, FILE *out, struct convert_counts *counts,
                       struct reason *why);
/* One "process;outer;inner NUMBER" per line. `event`: for FOLDED_EVENT, else NULL. */
wstatus convert_folded(struct trace *t, const struct frame_namer *namer, enum folded_what what,
                       const struct event_spec *event, FILE *out, struct convert_counts *counts, struct reason *why);
/* Creates `folder`, which must not exist, with metadata and a file for each processor, through `os`. */
wstatus convert_ctf(struct os *os, struct trace *t, const char *folder, struct convert_counts *counts,
                    struct reason *why);
/* W_DISK_FULL, or by errno, when the stream has an error. */
wstatus convert_written(FILE *out, struct reason *why);
#endif
