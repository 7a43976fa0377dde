/* outcast.h - connections that this process must not close. An unread message carries descriptors, and the kernel
 * closes these in the process that closes the connection. That takes as long as their owner likes: a socket lingers, a
 * file system of the owner's does not answer. Such a connection goes to a process of its own (daemon/parts/outcasts.c),
 * which may hang. What that process does not take yet waits here. Linux 6.16 and younger let no client send descriptors
 * at all (message_refuse_descriptors); this is for older kernels.
 * Threads: one (controlling). Not for: finding out which connections these are (message.c). */
#ifndef AUTOLOGGER_CONTROL_OUTCAST_H
#define AUTOLOGGER_CONTROL_OUTCAST_H
#include <stdbool.h>

/* Starts the process that takes connections from the socket that it returns; -1: none can be had. It is no child that
 * anybody waits for.
 * NULL: an early program's; connections wait until that program ends. */
typedef int outcast_start(void);
void        outcast_helper(outcast_start *start);
/* Takes a connection that was shut down. Never blocks. */
void outcast_add(int fd);
/* Hands on what waits, as far as it is taken. */
void outcast_step(void);
/* Writable: the helper has room for more. -1: nothing waits, or there is no helper. */
int outcast_fd(void);
/* False: so many wait that no connection is to be accepted. Who is connected is served. */
bool     outcast_room(void);
unsigned outcast_count(void);
#endif
