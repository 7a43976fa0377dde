/* peer.h - which process is at the other end of a connection, and whether it is still the one that connected. A pid
 * tells neither: exec of a setuid program keeps it, the kernel reuses it, and a process of a namespace that is not
 * visible here has none. A process is identified by its number in pidfs, on an older kernel by its pid and its start;
 * its rights are those that it had when it connected. The socket holds on to the process, so a successor asks the
 * socket again (SO_PEERPIDFD, Linux 6.5; before that pid and start). `proc_fd`: of /proc; 0: opened by its path.
 * Threads: any. Not for: which user has which rights (access.h, rights.h). */
#ifndef AUTOLOGGER_CONTROL_PEER_H
#define AUTOLOGGER_CONTROL_PEER_H
#include "autologger/wire/state.h"

#include <stdbool.h>

/* Only its user, group and pid. False: the kernel does not tell. */
bool peer_user(int fd, struct state_connection *out);
enum peer_found { PEER_UNKNOWN /* the kernel does not tell */, PEER_GONE, PEER_LIVES };
/* The process that connected on `fd`: all of *out but id, in_use and attached; if it has ended, only user, group and
 * pid. *pidfd: readable when the process has ended; owned by the caller; -1: none. */
enum peer_found peer_take(int fd, int proc_fd, struct state_connection *out, int *pidfd);
/* A pidfd of the same process for a successor. False: it has ended. */
bool peer_again(int fd, int proc_fd, const struct state_connection *who, int *pidfd);
/* Sets only the daemon's own namespaces in *out. */
void peer_self(int proc_fd, struct state_connection *out);
/* In the daemon's own user and process namespaces; also true when these are unknown. */
bool peer_native(const struct state_connection *who, const struct state_connection *self);
/* That connection's process is this one. pid 0 matches none. */
bool peer_is(const struct state_connection *who, uint32_t pid, uint64_t process, uint64_t start);
/* The process lives, and has the user, the group and no more capabilities than when it connected. */
bool peer_unchanged(int proc_fd, int pidfd, const struct state_connection *who);
/* The process has ended. pidfd -1: false. */
bool peer_ended(int pidfd);
/* A pidfd of a private session's process; -1: it has ended. */
int peer_open(uint32_t pid, uint64_t process, uint64_t start);
#endif
