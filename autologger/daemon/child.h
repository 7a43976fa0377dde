/* child.h - a command that runs beside the daemon: a descriptor tells its end, its output is kept. Nothing ever waits
 * for it, and it never outlives its starter: it is killed with the thread that started it, also when that gets SIGKILL.
 * Threads: one, which lives as long as the process. Ownership: start/finish. Not for: programs with much output (the
 * first CHILD_TEXT bytes are kept). */
#ifndef AUTOLOGGER_DAEMON_CHILD_H
#define AUTOLOGGER_DAEMON_CHILD_H
#include <stdbool.h>
#include <sys/types.h>

enum { CHILD_TEXT = 4096, CHILD_GIVEN = 3 };
struct child {
    pid_t pid;    /* 0 = none */
    int   end_fd; /* readable when it has ended (a pidfd) */
    int   text_fd;
};

/* argv[0] is looked up in PATH. Standard error is discarded. The command gets `given_fd` as its descriptor CHILD_GIVEN;
 * -1: none. False with errno: not started, and nothing to finish. */
bool child_start(struct child *c, char *const *argv, int given_fd);
/* True when it has ended: *code is its exit code (128 + signal), `text` its output, and it is finished. */
bool child_ended(struct child *c, int *code, char text[CHILD_TEXT]);
/* Ends it if it runs, and closes its descriptors. Fine when there is none. */
void child_finish(struct child *c);
#endif
