/* notify.h - one message to a service manager, as sd_notify(3) sends it: systemd's own socket, or a keeper's.
 * Threads: any. Ownership: a descriptor given along stays the caller's. Not for: what messages mean (handed.h,
 * keeper.h). */
#ifndef AUTOLOGGER_DAEMON_NOTIFY_H
#define AUTOLOGGER_DAEMON_NOTIFY_H

/* `path` as in NOTIFY_SOCKET ('@' for an abstract name; NULL or "": nothing is sent); fd -1: none. */
void notify_path(const char *path, const char *text, int fd);
/* The same over a connected socket. */
void notify_socket(int socket_fd, const char *text, int fd);
#endif
