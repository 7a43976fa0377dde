/* peer.h - which process is at the other end of a connection, and whether it still is the one that connected. The
 * number of a process says neither: exec of a setuid program keeps it, the kernel gives it out again, and a process of
 * a namespace that is not seen here has none. What identifies a process is its number in pidfs, on an older kernel its
 * pid and when it began; what it may do is what it might when it connected. The socket keeps hold of the process, so a
 * successor asks the socket again (SO_PEERPIDFD, Linux 6.5; before that pid and start). `proc_fd`: of /proc; 0: opened
 * by its path.
 * Threads: any. Not for: which user has which rights (access.h, rights.h). */
#ifndef AUTOLOGGER_CONTROL_PEER_H
#define AUTOLOGGER_CONTROL_PEER_H
#include "autologger/wire/state.h"

#include <stdbool.h>

/* Its user, group and number alone. False: the kernel does not tell. */
bool peer_user(int fd, struct state_connection *out);
enum peer_found { PEER_UNKNOWN /* the kernel does not tell */, PEER_GONE, PEER_LIVES };
/* Of who connected on `fd`: all of *out but id, in_use and attached; of a process that has ended its user and its
 * number alone. *pidfd: readable when the process has ended, the caller's, or -1: there is none. */
enum peer_found peer_take(int fd, int proc_fd, struct state_connection *out, int *pidfd);
/* The same process' pidfd for a successor. False: it has ended. */
bool peer_again(int fd, int proc_fd, const struct state_connection *who, int *pidfd);
/* The daemon's own namespaces; nothing else of *out. */
void peer_self(int proc_fd, struct state_connection *out);
/* In the daemon's own user and process namespaces; where the daemon's own are not known, too. */
bool peer_native(const struct state_connection *who, const struct state_connection *self);
/* That connection's process is this one. pid 0 is nobody. */
bool peer_is(const struct state_connection *who, uint32_t pid, uint64_t process, uint64_t start);
/* The process lives, and has the user, the group and no more capabilities than when it connected. */
bool peer_unchanged(int proc_fd, int pidfd, const struct state_connection *who);
/* The process has ended. pidfd -1: false. */
bool peer_ended(int pidfd);
/* A pidfd of the process that a private session is of; -1: it has ended. */
int peer_open(uint32_t pid, uint64_t process, uint64_t start);
#endif
