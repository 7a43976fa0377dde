/* process_filter.h - selects the events about some processes: those that their threads wrote (by the header), those
 * with a field that names one, and those with a field that names one of their threads, by the Thread events so far. A
 * kernel event (a context switch, a sample, an I/O) has its process nowhere else.
 * Threads: one. Ownership: process_filter_finish. Not for: fields of events that nothing describes. */
#ifndef AUTOLOGGER_CONSUMER_PROCESS_FILTER_H
#define AUTOLOGGER_CONSUMER_PROCESS_FILTER_H
#include "autologger/consumer/actors.h"
#include "autologger/consumer/decoded.h"

struct process_filter {
    bool (*wanted)(void *ctx, uint32_t process);
    bool (*field)(void *ctx, const struct field *f); /* true: it names them in another way; may be NULL */
    void                *ctx;
    const struct actors *actors; /* borrowed; has already seen the event */
    struct field_sink    sink;
    bool                 about;         /* the present event is */
    uint32_t             owner, thread; /* of the present Thread event */
    bool                 failed;        /* no memory */
};

/* Is the event about one of them? */
bool process_filter_passes(struct process_filter *f, const struct etl_event *event, const struct decoded *names);
void process_filter_finish(struct process_filter *f);
#endif
