/* dying.h - a child that was killed, or has left main, and does not end: one of its threads waits in the kernel for
 * something that does not come. wait() says nothing of it until that comes. Without /proc nothing is found.
 * Threads: any. */
#ifndef AUTOLOGGER_DAEMON_DYING_H
#define AUTOLOGGER_DAEMON_DYING_H
#include <stdbool.h>
#include <sys/types.h>

/* True: it runs no instruction of its program any more, or will not. *status as of waitpid() (SIGKILL, where its main
 * thread is what waits). */
bool process_is_dying(pid_t pid, int *status);
#endif
