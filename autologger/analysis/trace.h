/* trace.h - one or several .etl files as one stream of events in the order of time, each with its names: the input of
 * all analyses. Files may be of different machines or boots: their order is that of wall-clock time (FILETIME); equal
 * times: that of the files.
 * Invariant: every event of every file comes once; each file's own order is kept.
 * Memory: that of one reader a file. Threads: one. Ownership: open/close; an event lives until the next call.
 * Not for: fields (consumer/decoded.h), one output file (consumer/merge.h). */
#ifndef AUTOLOGGER_ANALYSIS_TRACE_H
#define AUTOLOGGER_ANALYSIS_TRACE_H
#include "autologger/consumer/decoded.h"
#include "autologger/consumer/redact.h"

enum { TRACE_FILES_MAX = 64 };
struct trace_event {
    struct etl_event e;
    struct decoded   names;
    unsigned         file; /* index of its file */
};
struct trace;

/* Status of etl_reader_open, and W_INVALID_PARAMETER for more than TRACE_FILES_MAX files; `why` names the file. */
wstatus                  trace_open(const char *const *paths, unsigned count, struct trace **out, struct reason *why);
bool                     trace_next(struct trace *t, const struct trace_event **out);
unsigned                 trace_files(const struct trace *t);
const char              *trace_path(const struct trace *t, unsigned file);
const struct etl_reader *trace_reader(const struct trace *t, unsigned file);
const struct etl_file_header *trace_header(const struct trace *t, unsigned file);
uint64_t                      trace_start(const struct trace *t); /* FILETIME of the file that starts first */
uint64_t                      trace_end(const struct trace *t);   /* of the latest event so far, or the start */
/* Nanoseconds from trace_start to a raw time of a file, by the file's own clock; 0 for earlier times. */
uint64_t trace_ns(const struct trace *t, unsigned file, int64_t raw);
uint64_t trace_events(const struct trace *t); /* given so far */
/* `set` describes the events of all files from now on (borrowed); by default each file has a set of its own, without
 * manifests. */
void trace_describe(struct trace *t, struct schema_set *set);
/* Events are given with private data replaced (`redactor` is borrowed; it has learned the files). */
void trace_redact(struct trace *t, struct redactor *redactor);
/* Calls `tell` now and then with the progress, by the events' times. */
void trace_watch(struct trace *t, void (*tell)(void *ctx, unsigned per_mille), void *ctx);
void trace_close(struct trace *t); /* NULL is fine */
#endif
