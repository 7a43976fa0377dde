/* created.h - an edge that counts the files it creates, to prove "no file before the file system is ready". Wraps
 * another struct os; all other calls pass through. Threads: as the wrapped one; counters are atomic. */
#ifndef AUTOLOGGER_DAEMON_CREATED_H
#define AUTOLOGGER_DAEMON_CREATED_H
#include "registry-sim/base/os.h"

struct created {
    struct os       os; /* first: pass &created.os on */
    struct os      *real;
    uint64_t       *files; /* counts here, e.g. in the daemon's state */
    uint64_t       *files_early;
    bool            left_behind; /* a predecessor that can't end holds locks on its files: these are ignored */
    const uint32_t *fs_ready;    /* while 0, a created file or folder also counts as early */
};
void created_init(struct created *c, struct os *real, uint64_t *files, uint64_t *files_early, const uint32_t *fs_ready);
#endif
