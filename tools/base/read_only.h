/* read_only.h - a command that reads a file of anybody, run by root, first gives up what reading does not need
 * (autologger/sandbox): it can't write to any file that is not open, reach the network, or start a program. What a
 * command of another user may do is its own.
 * Threads: call it when there is one, after outputs were opened. Not for: commands that make files (outputs.h). */
#ifndef TOOLS_READ_ONLY_H
#define TOOLS_READ_ONLY_H
#include <stdbool.h>

void read_only(void);
/* Would a command give up rights here? */
bool read_only_is(void);
/* Runs `body` (an exit code of enum verb_exit) in a process of its own that gives up these rights, where the command is
 * root's, so that this one can go on with what it has to do; of another user here. `about`: what it reads, for the
 * message when a signal ended it. */
int read_apart(const char *verb, const char *about, int (*body)(void *), void *arg);
#endif
