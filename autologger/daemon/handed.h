/* handed.h - descriptors that outlive this process: taken from a predecessor by name, given to a keeper by name. The
 * keeper is keeper.c (in a program of its own, or the parent of a forked child) or systemd's fd store; all speak the
 * same protocol (sd_notify with FDSTORE=1 and FDNAME=). Names hold no ':', which separates them in LISTEN_FDNAMES: it
 * is replaced by '.'.
 * Threads: keep from any; the rest one. Not for: what the descriptors are. */
#ifndef AUTOLOGGER_DAEMON_HANDED_H
#define AUTOLOGGER_DAEMON_HANDED_H
#include "autologger/daemon/kept.h"

struct handed;

/* Reads LISTEN_PID / LISTEN_FDS / LISTEN_FDNAMES and removes them from the environment; descriptors to keep go to
 * NOTIFY_SOCKET. NULL when out of memory. */
struct handed *handed_create(void);
/* The same from a table, whose descriptors now belong to the new object (mappings are undone); descriptors to keep go
 * to `keeper_fd` (-1: to NOTIFY_SOCKET). */
struct handed *handed_create_from(struct kept *k, int keeper_fd);
void           handed_destroy(struct handed *h); /* closes the descriptors that nobody took */
bool           handed_empty(const struct handed *h);
/* Closes the descriptors that nobody took, and has the keeper drop them too: the predecessor did not get far enough for
 * them to be of use. */
void handed_drop(struct handed *h);
/* Takes the descriptor of that name: the caller owns it. -1: there is none. */
int handed_take(void *handed, const char *name);
/* session_env's keep function: gives (fd >= 0) or takes back (fd < 0) a descriptor. Without a keeper: nothing. */
void handed_keep(void *handed, const char *name, int fd, size_t ring_bytes);
/* Tells the keeper: "READY=1" and the like. */
void handed_notify(struct handed *h, const char *state);
#endif
