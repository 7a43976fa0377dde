/* moment.h - the state of the traced machine at one time: running threads, live processes, open files, operations and
 * transfers in flight.
 * Later events count too: a rundown at the end names processes that lived all along, and a finished transfer gives its
 * length. Memory: that of the machine (traced.h). Threads: one. Ownership: zeros at first, finish. */
#ifndef AUTOLOGGER_ANALYSIS_MOMENT_H
#define AUTOLOGGER_ANALYSIS_MOMENT_H
#include "autologger/analysis/traced.h"
#include "autologger/analysis/trace.h"

struct moment_io { /* a transfer in flight */
    uint64_t            since;
    uint32_t            tid, disk, bytes; /* tid TRACED_NOBODY: unknown */
    enum traced_io_kind kind;
    bool                ended; /* its end is in the trace: disk and bytes are known */
};
struct moment {
    uint64_t          at;      /* FILETIME */
    struct traced     machine; /* as of then; live processes are those with ended == 0 */
    struct moment_io *io;
    unsigned          ios, io_capacity;
    uint64_t          events_before, events_after;
};
/* Reads the whole trace. */
wstatus moment_create(struct trace *t, uint64_t at, struct moment *out, struct reason *why);
void    moment_finish(struct moment *m);
#endif
