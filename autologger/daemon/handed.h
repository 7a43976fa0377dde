/* handed.h - descriptors that outlive this process: taken from a predecessor by name, given to a keeper by name. The
 * keeper is keeper.c (in a program of its own, or the parent of a forked child) or systemd's fd store; all speak the
 * same protocol (sd_notify with FDSTORE=1 and FDNAME=). Names hold no ':' (it separates them in LISTEN_FDNAMES): one is
 * turned into '.'.
 * Threads: keep from any; the rest one. Not for: what the descriptors are. */
#ifndef AUTOLOGGER_DAEMON_HANDED_H
#define AUTOLOGGER_DAEMON_HANDED_H
#include "autologger/daemon/kept.h"

struct handed;

/* Reads LISTEN_PID / LISTEN_FDS / LISTEN_FDNAMES and removes them from the environment; what is to be kept goes to
 * NOTIFY_SOCKET. NULL when out of memory. */
struct handed *handed_create(void);
/* What a table holds, whose descriptors are the new object's from now on (mappings are undone); what is to be kept goes
 * to `keeper_fd` (-1: to NOTIFY_SOCKET). */
struct handed *handed_create_from(struct kept *k, int keeper_fd);
void           handed_destroy(struct handed *h); /* closes what nobody took */
bool           handed_empty(const struct handed *h);
/* Closes what nobody took and has the keeper drop it too: the predecessor did not get far enough for it to be of
 * use. */
void handed_drop(struct handed *h);
/* The descriptor of that name, taken: the caller owns it. -1 when there is none. */
int handed_take(void *handed, const char *name);
/* Session env's keep function: gives (fd >= 0) or takes back (fd < 0) a descriptor. Without a keeper: nothing. */
void handed_keep(void *handed, const char *name, int fd, size_t ring_bytes);
/* Tells the keeper: "READY=1" and the like. */
void handed_notify(struct handed *h, const char *state);
#endif
