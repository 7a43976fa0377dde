/* foreign.h - programs in another process namespace than the daemon's: containers, unshare --pid. Events carry the ids
 * that the daemon sees, as kernel events do; SOURCE_CONTAINER_TRACKING adds the inner ones.
 *
 * How a program learns its ids. At hello the daemon looks up the process that the kernel named at connect
 * (SO_PEERCRED). A process with more than one number in NSpid of its /proc/PID/status is foreign: it gets its outer
 * number (CTL_FOREIGN) before anything is enabled for it. Each of its threads asks for its outer number once, before
 * its first event (CTL_THREAD; provider/thread_ids.c). The daemon searches only the threads of that process, so no
 * program learns or claims another's thread. A child connects and asks anew after fork. Programs in the daemon's own
 * namespace get no such message, and have no cost.
 * Threads: the controlling one. Not for: what a program does with its numbers. */
#ifndef AUTOLOGGER_CONTROL_FOREIGN_H
#define AUTOLOGGER_CONTROL_FOREIGN_H
#include <stdbool.h>
#include <stdint.h>

/* Parses NSpid in the text of a /proc status file: *inner is the innermost number. Returns how many there are; 0: no
 * such line. */
unsigned foreign_levels(const char *status, uint32_t *inner);
/* The same for a process. `proc_fd`: of /proc; 0: opened by its path. */
unsigned foreign_process(int proc_fd, uint32_t pid, uint32_t *inner);
/* The result of the last look at all threads of a process: of one process, the last that needed it. Zeros: none. */
enum { FOREIGN_THREADS = 16384 };
struct foreign_threads {
    uint32_t pid, count;
    struct {
        uint32_t inner, outer;
    } thread[FOREIGN_THREADS];
};
/* The outer number of the thread of `pid` (an outer number) with that inner number, or 0. `near`: an outer number that
 * is probably just below it, or 0. */
uint32_t foreign_thread(int proc_fd, uint32_t pid, uint32_t inner, uint32_t near, struct foreign_threads *known);
#endif
