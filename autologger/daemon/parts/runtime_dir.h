/* runtime_dir.h - removes the folder of a daemon that had it alone: a rehearsal's, a recovery's. Not for: that of the
 * service, which stays.
 * Threads: any. */
#ifndef AUTOLOGGER_DAEMON_RUNTIME_DIR_H
#define AUTOLOGGER_DAEMON_RUNTIME_DIR_H
/* Removes what a daemon leaves there, and the folder, unless it holds anything else. */
void runtime_dir_remove(const char *dir);
#endif
