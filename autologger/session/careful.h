/* careful.h - files of users, by paths that lead to no program: a file system that a user serves (FUSE) can keep who
 * asks it for ever, SIGKILL or not. A path is walked folder by folder; each is opened with O_PATH, which asks nobody,
 * and what it lies on is looked up in the mount table before anything is asked of it. Links are followed by hand, but
 * for those of /proc, which lead past the mounts of this process. Who opens holds what was looked at: a mount that
 * comes meanwhile is not entered.
 * A stroke at the end of a path is passed over.
 * Errors: -EXDEV: a program serves a part of the path. -ELOOP: too many links, or one of /proc. The rest as open(2) and
 * its like.
 * Threads: any. Not for: files of root's sessions, which go where an administrator says. */
#ifndef AUTOLOGGER_SESSION_CAREFUL_H
#define AUTOLOGGER_SESSION_CAREFUL_H
#include "registry-sim/base/os.h"

/* The same machine as `inner`'s, but for paths. One for the whole process: `inner` is that of the first call. */
struct os *careful_os(struct os *inner);
#endif
