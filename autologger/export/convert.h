/* convert.h - a trace in the form of other programs: Perfetto's protobuf and Chrome's JSON (a timeline), folded stacks
 * (a flame graph), CTF 1.8 (an event for an event).
 * Invariants: C1 nothing is left out unsaid: read = the sum of what convert_counts says became of the events. C2 CTF
 * has as many events as the trace. Memory: grows with distinct things (names, stacks, shapes of events) and one packet
 * a processor.
 * Threads: one. Ownership: the caller's trace and file. Not for: names of frames (symbols), which it is given. */
#ifndef AUTOLOGGER_EXPORT_CONVERT_H
#define AUTOLOGGER_EXPORT_CONVERT_H
#include "autologger/analysis/event_spec.h"
#include "autologger/export/timeline.h"
#include "registry-sim/base/os.h"

#include <stdio.h>

struct convert_counts {
    struct timeline_counts timeline; /* Perfetto, Chrome */
    uint64_t read, events;           /* events: that the result has (CTF); stacks with what they belong to (folded) */
    uint64_t classes;                /* CTF: shapes of events */
    uint64_t distinct, weight;       /* folded: lines, and the sum of their numbers */
    uint64_t without_stack;          /* folded: samples, waits or events without a stack: in the lines as [no stack] */
};
enum folded_what { FOLDED_CPU /* samples */, FOLDED_WAITING /* microseconds */, FOLDED_EVENT /* events of one kind */ };

wstatus convert_perfetto(struct trace *t, const struct frame_namer *namer, FILE *out, struct convert_counts *counts,
                         struct reason *why);
wstatus convert_chrome(struct trace *t, const struct frame_namer *namer, FILE *out, struct convert_counts *counts,
                       struct reason *why);
/* "process;outer;inner NUMBER" a line. `event`: of FOLDED_EVENT, else NULL. */
wstatus convert_folded(struct trace *t, const struct frame_namer *namer, enum folded_what what,
                       const struct event_spec *event, FILE *out, struct convert_counts *counts, struct reason *why);
/* `folder` is made, and must not be there: metadata, and a file for each processor. `os` makes them. */
wstatus convert_ctf(struct os *os, struct trace *t, const char *folder, struct convert_counts *counts,
                    struct reason *why);
/* W_DISK_FULL, or by errno, when the stream has an error. */
wstatus convert_written(FILE *out, struct reason *why);
#endif
