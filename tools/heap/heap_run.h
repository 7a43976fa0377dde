/* heap_run.h - runs a program with the library of heap events, and writes what it tells to an .etl file: a private
 * session without a daemon, of one process, whose buffers a program fills and this process writes.
 * Invariant: attempted = written + lost, also for a program that is killed.
 * Threads: one. Not for: what the events mean (analysis/heap.h). */
#ifndef TOOLS_HEAP_RUN_H
#define TOOLS_HEAP_RUN_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct heap_run {
    /* in */
    const char *file;
    char      **argv;
    bool        allocations, locks;
    /* out */
    pid_t    pid;
    int      wait_status;   /* of waitpid */
    bool     attached;      /* the library was there */
    bool     own_allocator; /* its allocations can't be seen */
    bool     ended_unknown; /* somebody else took its exit code */
    bool     given_up;      /* it was not served in time, and traced no further */
    uint64_t attempted, written, lost;
    double   seconds;
};
/* W_FILE_NOT_FOUND, W_ACCESS_DENIED: the program can't be run; others of etl_writer_create. A program that fails is no
 * error here. */
wstatus heap_run(struct heap_run *run, struct reason *why);
#endif
