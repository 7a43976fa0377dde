/* handed.h - descriptors that outlive this process: taken from a predecessor by name, given to a keeper by name.
 * The keeper is systemd's fd store or keeper.c; both speak the same protocol (sd_notify with FDSTORE=1 and FDNAME=). Names
 * hold no ':' (it separates them in LISTEN_FDNAMES): one is turned into '.'.
 * Threads: keep from any; the rest one. Not for: what the descriptors are. */
#ifndef AUTOLOGGER_DAEMON_HANDED_H
#define AUTOLOGGER_DAEMON_HANDED_H
#include <stdbool.h>
#include <stddef.h>

struct handed;

/* Reads LISTEN_PID / LISTEN_FDS / LISTEN_FDNAMES and removes them from the environment. NULL when out of memory. */
struct handed *handed_create(void);
void           handed_destroy(struct handed *h); /* closes what nobody took */
/* Closes what nobody took and has the keeper drop it too: the predecessor did not get far enough for it to be of use. */
void handed_drop(struct handed *h);
/* The descriptor of that name, taken: the caller owns it. -1 when there is none. */
int handed_take(void *handed, const char *name);
/* Session env's keep function: gives (fd >= 0) or takes back (fd < 0) a descriptor. Without NOTIFY_SOCKET: nothing. */
void handed_keep(void *handed, const char *name, int fd, size_t ring_bytes);
/* Tells the service manager: "READY=1" and the like. */
void handed_notify(const char *state);
#endif
