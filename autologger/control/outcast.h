/* outcast.h - connections that this process must not close. An unread message carries descriptors, and the kernel
 * closes these in the process that closes the connection. Their owner decides how long that takes: a socket lingers, or
 * the owner's file system does not answer. Such a connection goes to a process of its own (daemon/parts/outcasts.c),
 * which may hang. Connections that it has not taken yet wait here. From Linux 6.16 on no client can send descriptors at
 * all (message_refuse_descriptors); this is for older kernels.
 * Threads: one (controlling). Not for: finding these connections (message.c). */
#ifndef AUTOLOGGER_CONTROL_OUTCAST_H
#define AUTOLOGGER_CONTROL_OUTCAST_H
#include <stdbool.h>

/* Starts the process that takes connections from the returned socket; -1: it cannot be started. It is not a child to
 * wait for.
 * NULL: an early program; connections wait until that program ends. */
typedef int outcast_start(void);
void        outcast_helper(outcast_start *start);
/* Takes a connection that was shut down. Never blocks. */
void outcast_add(int fd);
/* Hands on waiting connections, until no more are taken. */
void outcast_step(void);
/* Writable when the helper has room for more. -1: nothing waits, or there is no helper. */
int outcast_fd(void);
/* False: too many wait, and no connection is to be accepted. Existing connections are served. */
bool     outcast_room(void);
unsigned outcast_count(void);
#endif
