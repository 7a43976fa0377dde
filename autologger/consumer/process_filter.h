/* process_filter.h - which events are about some processes: those that their threads wrote (the header says so), those
 * with a field that names one, and those with a field that names one of their threads, as far as Thread events told
 * until then. A kernel event (a context switch, a sample, an I/O) has its process nowhere else.
 * Threads: one. Ownership: process_filter_finish. Not for: fields of events that nothing describes. */
#ifndef AUTOLOGGER_CONSUMER_PROCESS_FILTER_H
#define AUTOLOGGER_CONSUMER_PROCESS_FILTER_H
#include "autologger/consumer/actors.h"
#include "autologger/consumer/decoded.h"

struct process_filter {
    bool (*wanted)(void *ctx, uint32_t process);
    bool (*field)(void *ctx, const struct field *f); /* one that names them in another way; NULL: there is none */
    void                *ctx;
    const struct actors *actors; /* borrowed; told of the event before */
    struct field_sink    sink;
    bool                 about;         /* the event at hand is */
    uint32_t             owner, thread; /* of the Thread event at hand */
    bool                 failed;        /* no memory */
};

/* Is the event about one of them? */
bool process_filter_passes(struct process_filter *f, const struct etl_event *event, const struct decoded *names);
void process_filter_finish(struct process_filter *f);
#endif
