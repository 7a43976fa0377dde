/* handover.h - a keeper gives all that it keeps to a successor that is another program: the early program in the
 * initramfs gives it to the daemon on the real root. Over one SOCK_SEQPACKET connection: the successor connects; the
 * keeper greets it, has its service leave, then sends messages of names and descriptors (at most HANDOVER_BATCH each,
 * the kernel allows 253), the last one empty; the successor adopts, then acknowledges. If the connection ends without
 * the acknowledgement, nothing was taken: the keeper goes on.
 * Threads: one. Ownership: sent descriptors stay the keeper's until it drops them; received ones are the receiver's.
 * Not for: what the descriptors are (handed.h). */
#ifndef AUTOLOGGER_DAEMON_HANDOVER_H
#define AUTOLOGGER_DAEMON_HANDOVER_H
#include "autologger/daemon/kept.h"
#include "registry-sim/win32/wstatus.h"

enum { HANDOVER_BATCH = 200 };

/* A listening socket at `path`, for root or this user alone; -1. An old socket there is replaced. */
int handover_listen(const char *path);
/* The next successor that waits; -1: none, or one without permission (another user). Does not block. */
int handover_accept(int listen_fd);
/* Tells the successor that the keeper lives and needs a moment more; call it at least every half second until
 * handover_send. */
void handover_wait(int connection);
/* Sends everything; blocks for some seconds at most. False: the successor went away. */
bool handover_send(int connection, const struct kept *k);
/* The successor's answer: 1 acknowledged, 0 not yet (waited `timeout_ms`), -1 gone. */
int handover_acknowledged(int connection, int timeout_ms);

/* The successor's side. connect: -1 when nobody listens at `path`, or the keeper does not answer within 300 ms. */
int handover_connect(const char *path);
/* Receives everything into `k`. W_TIMEOUT: the keeper fell silent; W_INVALID_DATA: its messages are invalid, or of
 * another version. */
wstatus handover_receive(int connection, struct kept *k, struct reason *why);
void    handover_acknowledge(int connection);
#endif
