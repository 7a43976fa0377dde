/* set_state.h - which sets run: a locked file below the runtime folder for each, with its process and its result. The
 * lock ends with the process, however it ends.
 * Invariant: while the lock is held the file names the process that holds it.
 * Threads: one. Ownership: set_state_release. */
#ifndef TOOLS_SETS_SET_STATE_H
#define TOOLS_SETS_SET_STATE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <sys/types.h>

struct set_state {
    bool  running;
    pid_t pid;
    char  result[1024]; /* the folder of the run, or of the last one since the machine's start */
};
/* Takes the lock for this process. W_ALREADY_EXISTS: the set runs. *fd: to release. */
wstatus set_state_take(const char *runtime_dir, const char *name, int *fd, struct reason *why);
/* Writes this process and the result down. */
wstatus set_state_write(int fd, const char *result, struct reason *why);
/* False: it never ran since the machine's start. */
bool set_state_read(const char *runtime_dir, const char *name, struct set_state *out);
/* Asks the process that runs the set to end it. False: it is another one by now (errno). */
bool set_state_signal(const char *runtime_dir, const char *name, pid_t pid);
/* Changes *name to the spelling that a run of this set has, in any case. */
void set_state_spelling(const char *runtime_dir, const char **name);
void set_state_release(int fd);
#endif
