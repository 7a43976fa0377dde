/* foreign.h - programs in another process namespace than the daemon's: containers, unshare --pid. Events carry the ids
 * that the daemon sees, because kernel events have those, too; the inner ones go with SOURCE_CONTAINER_TRACKING.
 *
 * How a program learns them. At hello the daemon looks up the process that the kernel named at connect (SO_PEERCRED): a
 * process with more than one number in NSpid of its /proc/PID/status is foreign, and is told its outer number
 * (CTL_FOREIGN) before anything is enabled for it. Each of its threads asks for its outer number once, before its first
 * event (CTL_THREAD; provider/thread_ids.c); the daemon looks only among the threads of that process, so nobody learns
 * or claims another's. A child after fork connects anew, and asks anew. Programs in the daemon's own namespace are told
 * nothing, and pay nothing.
 * Threads: the controlling one. Not for: what a program does with its numbers. */
#ifndef AUTOLOGGER_CONTROL_FOREIGN_H
#define AUTOLOGGER_CONTROL_FOREIGN_H
#include <stdbool.h>
#include <stdint.h>

/* NSpid of the text of a status file of /proc: *inner is the innermost number. How many there are; 0: no such line. */
unsigned foreign_levels(const char *status, uint32_t *inner);
/* `proc_fd`: of /proc; 0: opened by its path. */
unsigned foreign_process(int proc_fd, uint32_t pid, uint32_t *inner);
/* What was found when all threads of a process were looked at the last time: of one process, the last that had to be.
 * Zeros: nothing. */
enum { FOREIGN_THREADS = 16384 };
struct foreign_threads {
    uint32_t pid, count;
    struct {
        uint32_t inner, outer;
    } thread[FOREIGN_THREADS];
};
/* The thread of `pid` (an outer number) with that inner number, or 0. `near`: an outer number that is probably just
 * below it, or 0. */
uint32_t foreign_thread(int proc_fd, uint32_t pid, uint32_t inner, uint32_t near, struct foreign_threads *known);
#endif
