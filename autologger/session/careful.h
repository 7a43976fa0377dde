/* careful.h - files of users, by paths that no program serves: a file system served by a user (FUSE) can hold a caller
 * for ever, SIGKILL or not. A path is walked folder by folder. Each folder is opened with O_PATH, which does not call
 * the file system, and its mount is looked up in the mount table before any other call on it. Links are followed by
 * hand, except those of /proc, which bypass the mounts of this process. The caller holds what was checked: a mount that
 * appears meanwhile is not entered.
 * A slash at the end of a path is ignored.
 * Errors: -EXDEV: a program serves a part of the path. -ELOOP: too many links, or one of /proc. The rest as open(2) and
 * its like.
 * Threads: any. Not for: files of root's sessions, which go where an administrator says. */
#ifndef AUTOLOGGER_SESSION_CAREFUL_H
#define AUTOLOGGER_SESSION_CAREFUL_H
#include "registry-sim/base/os.h"

/* The same machine as `inner`, with checked paths. One for the whole process: it uses the `inner` of the first call. */
struct os *careful_os(struct os *inner);
#endif
