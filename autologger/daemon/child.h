/* child.h - a command that runs beside us: its end shows at a descriptor, its words are kept. Nothing ever waits for
 * it, and it never outlives who started it: it is killed with the thread that did, also when that gets SIGKILL.
 * Threads: one, which lives as long as the process. Ownership: start/finish. Not for: programs that say much (the first
 * CHILD_TEXT bytes are kept). */
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

/* argv[0] is looked for in PATH. Its standard error goes nowhere. It has `given_fd` as its descriptor CHILD_GIVEN; -1:
 * none. False with errno when it could not be started; then nothing is to be finished. */
bool child_start(struct child *c, char *const *argv, int given_fd);
/* Has it ended? Then its exit code (128 + signal) is in *code, its words in `text`, and it is finished. */
bool child_ended(struct child *c, int *code, char text[CHILD_TEXT]);
/* Ends it if it runs, and closes what there is. Fine when there is none. */
void child_finish(struct child *c);
#endif
