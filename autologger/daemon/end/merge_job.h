/* merge_job.h - merging the files of a boot in a process of its own, so that the daemon goes on serving. The process is
 * nice, is started by the collector, gets one order over its socket, and ends with the daemon. A process below it,
 * without rights, reads the bytes of the files (merge_host.h). Threads: one. Ownership: start/finish; nothing of the
 * parts is kept. */
#ifndef AUTOLOGGER_DAEMON_MERGE_JOB_H
#define AUTOLOGGER_DAEMON_MERGE_JOB_H
#include "autologger/daemon/end/merge_order.h"

#define MERGE_WORD "--merge"
struct merge_job {
    bool runs;
    int  end_fd; /* readable when it has ended */
    char target[1024];
};

/* Starts merging parts->row[] into parts->target, and counts the events of each phase of the boot `rows`. Removes what
 * killed former jobs have left beside the target. */
wstatus merge_job_start(struct merge_job *job, const struct merge_parts *parts, const struct result_list *rows,
                        struct reason *why);
/* True when it has ended; waits at most `wait_ms`. Then *status is the merge's (`why` explains a failure), and the job
 * is finished. */
bool merge_job_ended(struct merge_job *job, int wait_ms, wstatus *status, struct merge_told *told, struct reason *why);
/* Ends it, if it runs; then there is no target, and nothing beside it. */
void merge_job_finish(struct merge_job *job);
/* The merge's process; returns its exit code. The socket is its standard input. */
int merge_job_run(void);
#endif
