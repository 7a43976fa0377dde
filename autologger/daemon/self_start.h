/* self_start.h - starts this program once more, with one word as its only argument, and without the daemon's memory and
 * descriptors.
 * Threads: any; the new process begins with one. Ownership: the socket is the caller's. Not for: programs of others
 * (child.h). */
#ifndef AUTOLOGGER_DAEMON_SELF_START_H
#define AUTOLOGGER_DAEMON_SELF_START_H

/* Returns a SOCK_SEQPACKET socket to the new process, whose standard input is the other end; -1 with errno. The new
 * process calls self_alone() at once, and ends with the socket. */
int self_start(const char *word);
/* In the new process: detaches it, so that nobody waits for its end. */
void self_alone(void);
/* In the new process, too: it ends with its socket, and not when all processes of a unit, or of a machine that goes
 * down, are told to end: its client may have much to do yet. */
void self_patient(void);
#endif
