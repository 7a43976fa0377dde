/* handover.h - a keeper gives everything it keeps to a successor of another program: from the initramfs to the real
 * root. Over one SOCK_SEQPACKET connection: the successor connects; the keeper greets it, has its service leave, then
 * sends messages of names and descriptors (at most HANDOVER_BATCH each, the kernel allows 253), the last one empty; the
 * successor adopts, then acknowledges. A connection that ends without the acknowledgement means that nothing was taken:
 * the keeper goes on.
 * Threads: one. Ownership: sent descriptors stay the keeper's until it drops them; received ones are the receiver's.
 * Not for: what the descriptors are (handed.h). */
#ifndef AUTOLOGGER_DAEMON_HANDOVER_H
#define AUTOLOGGER_DAEMON_HANDOVER_H
#include "autologger/daemon/kept.h"
#include "registry-sim/win32/wstatus.h"

enum { HANDOVER_BATCH = 200 };

/* A listening socket at `path`, for root or this user alone; -1. An old socket there is replaced. */
int handover_listen(const char *path);
/* The next successor that waits; -1: none, or one that may not ask (another user). Does not block. */
int handover_accept(int listen_fd);
/* Says that the keeper lives and needs a moment more; at least every half second until it sends. */
void handover_wait(int connection);
/* Sends all; blocks at most some seconds. False: the successor went away. */
bool handover_send(int connection, const struct kept *k);
/* The successor's word: 1 acknowledged, 0 not yet (waited `timeout_ms`), -1 gone. */
int handover_acknowledged(int connection, int timeout_ms);

/* The successor's side. connect: -1 when nobody listens at `path`, or does not answer within half a second. */
int handover_connect(const char *path);
/* Takes everything into `k`. W_TIMEOUT when the keeper falls silent, W_INVALID_DATA when it says nonsense, or is
 * another version. */
wstatus handover_receive(int connection, struct kept *k, struct reason *why);
void    handover_acknowledge(int connection);
#endif
