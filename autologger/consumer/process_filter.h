/* process_filter.h - which events are about a process: those that its threads wrote (the header says so), those with a field
 * that names it, and those with a field that names one of its threads, as far as Thread events told until then. A kernel
 * event (a context switch, a sample, an I/O) has its process nowhere else.
 * Threads: one. Ownership: process_filter_finish. Not for: fields of events that nothing describes. */
#ifndef AUTOLOGGER_CONSUMER_PROCESS_FILTER_H
#define AUTOLOGGER_CONSUMER_PROCESS_FILTER_H
#include "autologger/consumer/decoded.h"

struct process_filter {
    uint32_t          process;
    uint32_t         *threads; /* of the process, rising */
    size_t            count, capacity;
    struct field_sink sink;
    bool              about; /* the event at hand is */
    uint32_t          owner, thread; /* of the Thread event at hand */
    bool              failed; /* no memory */
};

void process_filter_init(struct process_filter *f, uint32_t process);
/* To be asked for every event of the file, in order: it learns from each. */
bool process_filter_passes(struct process_filter *f, const struct etl_event *event, const struct decoded *names);
void process_filter_finish(struct process_filter *f);
#endif
