/* connect.h - finding the daemon, and waiting for one that comes later. Private to the agent thread. */
#ifndef AUTOLOGGER_PROVIDER_CONNECT_H
#define AUTOLOGGER_PROVIDER_CONNECT_H
#include "autologger/provider/process.h"

/* Connects to the first runtime directory whose socket answers. Lock held, released for short waits. */
bool connect_daemon(struct known_fd *socket);
/* Watches the places where a daemon would appear, and tries once more. If that fails, tells all waiting threads that
 * there is no daemon, and sleeps until something changes there. True: connected. Lock held, released meanwhile. */
bool connect_or_wait(struct known_fd *socket);
/* The daemon has no place for this program, for the `refusals`-th time in a row: tells all waiting threads that there
 * is no daemon, and waits, from 0.1 s on up to 5 s. Lock held, released meanwhile. */
void connect_pause(unsigned refusals);
void agent_take_wake(void);     /* empties the eventfd that woke the agent */
bool process_make_wake(void);   /* process.c: a new eventfd when the program has closed the last one */
void process_keep_socket(void); /* process.c: so that a forked child can close it */
#endif
