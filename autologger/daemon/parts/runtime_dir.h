/* runtime_dir.h - the folder of a daemon that was its own alone: a rehearsal's, a recovery's. Not for: that of the
 * service, which stays.
 * Threads: any. */
#ifndef AUTOLOGGER_DAEMON_RUNTIME_DIR_H
#define AUTOLOGGER_DAEMON_RUNTIME_DIR_H
/* Removes what a daemon leaves there, and the folder, unless something else is in it. */
void runtime_dir_remove(const char *dir);
#endif
