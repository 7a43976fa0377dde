/* message.h - one message on a SOCK_SEQPACKET socket, with descriptors. Never blocks, never raises SIGPIPE.
 * Threads: any. Not for: meaning (server.c, client.c). */
#ifndef AUTOLOGGER_CONTROL_MESSAGE_H
#define AUTOLOGGER_CONTROL_MESSAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False when it could not be sent whole at once. */
bool message_send(int fd, const void *message, size_t size, const int *fds, unsigned fd_count);
/* Bytes of one message; 0 at the end; -errno. -EBADMSG: descriptors came along, and are closed: nobody sends any to a daemon.
 * A message larger than `capacity` is -EMSGSIZE. */
ssize_t message_receive(int fd, void *message, size_t capacity);
/* Ends a connection to somebody who may mean harm: closing the last descriptor of a socket that lingers, or of a file of somebody's own file
 * system, takes as long as its owner likes. Such descriptors, also in messages that were never read, are closed on a thread of their own. */
void message_hang_up(int fd);
#endif
