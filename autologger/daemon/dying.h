/* dying.h - a child that was killed, or has left main, but does not end: one of its threads waits in the kernel for
 * something that does not come. wait() does not report it until then. Without /proc nothing is found.
 * Threads: any. */
#ifndef AUTOLOGGER_DAEMON_DYING_H
#define AUTOLOGGER_DAEMON_DYING_H
#include <stdbool.h>
#include <sys/types.h>

/* True: the child runs no further instruction of its program. *status as of waitpid() (SIGKILL, where the main thread
 * is the one that waits). */
bool process_is_dying(pid_t pid, int *status);
#endif
