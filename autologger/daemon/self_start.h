/* self_start.h - this program once more, with one word as its only argument, and without the daemon's memory and
 * descriptors.
 * Threads: any; the new process begins with one. Ownership: the socket is the caller's. Not for: programs of others
 * (child.h). */
#ifndef AUTOLOGGER_DAEMON_SELF_START_H
#define AUTOLOGGER_DAEMON_SELF_START_H

/* A SOCK_SEQPACKET socket to it, which is its standard input; -1 with errno. It calls self_alone() at once, and ends
 * with the socket. */
int self_start(const char *word);
/* In the new process: nobody waits for its end from here on. */
void self_alone(void);
/* There, too: it ends with its socket, and not when all processes of a unit, or of a machine that goes down, are told
 * to end: who it works for may have much to do yet. */
void self_patient(void);
#endif
