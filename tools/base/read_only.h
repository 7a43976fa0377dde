/* read_only.h - before a command of root reads an untrusted file, it gives up what reading does not need
 * (autologger/sandbox): it can't write to any file that is not open, reach the network, or start a program. Commands of
 * other users keep their rights.
 * Threads: call it while there is one, after outputs were opened. Not for: commands that make files (outputs.h). */
#ifndef TOOLS_READ_ONLY_H
#define TOOLS_READ_ONLY_H
#include <stdbool.h>

void read_only(void);
/* True: read_only gives up rights here. */
bool read_only_is(void);
/* Runs `body` (returns an exit code of enum verb_exit). For root, in a child process that gives up these rights, so
 * that this process keeps them; for another user, in this process. `about`: what it reads, for the message when a
 * signal ended the child. */
int read_apart(const char *verb, const char *about, int (*body)(void *), void *arg);
#endif
