/* activities.h - end-to-end tracing: the activities (one request, one job) of all processes and files, and the parent
 * of each. An event belongs to the activity in its header; a related activity that it carries is the parent, whose work
 * went on here.
 * Invariants: the events of all activities are those with an activity id. An activity has one parent, the first that
 * an event named; further ones are edges only. The parents form a forest: a parent that would close a ring is an edge
 * only.
 * Memory: grows with activities. Threads: one. Ownership: create/destroy. */
#ifndef AUTOLOGGER_ANALYSIS_ACTIVITIES_H
#define AUTOLOGGER_ANALYSIS_ACTIVITIES_H
#include "autologger/analysis/trace.h"

enum { ACTIVITY_PROCESSES = 8, ACTIVITY_NONE = -1 };
struct activity {
    struct guid id;
    char        first_event[160];    /* "Provider/Event" */
    char        first_channel[160];  /* its channel if its manifest names it, else "" */
    uint64_t    first, last, events; /* FILETIME */
    uint64_t    files;               /* bit i: it has events in file i */
    unsigned    processes;           /* ACTIVITY_PROCESSES at most; further ones are not counted */
    struct {
        uint32_t pid;
        char     name[48];
    } process[ACTIVITY_PROCESSES];
    long parent, child, next; /* indices; child: its first, next: the parent's next one; ACTIVITY_NONE */
    bool told_only;           /* only named by other activities' events: it has no event of its own */
};
struct transfer { /* from parent to child, each pair once */
    long     from, to;
    uint64_t first, count; /* FILETIME */
    uint32_t pid;
    unsigned file;
};
struct activities {
    struct activity *list; /* in the order of their first event */
    size_t           count, capacity;
    struct transfer *transfer;
    size_t           transfers, transfer_capacity;
    uint64_t         events, with_activity, start;
};
wstatus activities_create(struct trace *t, struct activities **out, struct reason *why);
long    activities_find(const struct activities *a, const struct guid *id); /* ACTIVITY_NONE */
void    activities_destroy(struct activities *a);
#endif
