/* message.h - one message on a SOCK_SEQPACKET socket, with descriptors. Never blocks, never raises SIGPIPE.
 * Threads: any. Not for: meaning (server.c, client.c). */
#ifndef AUTOLOGGER_CONTROL_MESSAGE_H
#define AUTOLOGGER_CONTROL_MESSAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False when it could not be sent whole at once. */
bool message_send(int fd, const void *message, size_t size, const int *fds, unsigned fd_count);
/* Clients can't send descriptors to this socket, nor to sockets accepted from it. Only if the kernel supports that. */
void message_refuse_descriptors(int fd);
/* Bytes of one message; 0 at the end; -errno. -EBADMSG: the message carries descriptors. No honest client sends any;
 * the message stays in the socket for message_hang_up. A message larger than `capacity` is -EMSGSIZE. */
ssize_t message_receive(int fd, void *message, size_t capacity);
/* Ends the connection of a hostile client. This process never closes descriptors of unread messages (outcast.h). */
void message_hang_up(int fd);
/* What a connection that was shut down still holds; SO_PASSCRED is set. */
enum message_waits { MESSAGE_NONE, MESSAGE_PLAIN, MESSAGE_DESCRIPTORS };
enum message_waits message_waits(int fd);
#endif
