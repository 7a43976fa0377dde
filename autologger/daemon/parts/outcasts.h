/* outcasts.h - the process that closes descriptors which clients send and the daemon must not close
 * (control/outcast.h). It is this program with one word, without the daemon's memory and descriptors: if it hangs, it
 * holds nothing of the daemon's. Each connection is emptied in a child, so that one that hangs holds up no other; at
 * most OUTCASTS_MOST children live at a time, and connections wait meanwhile. It ends after a second without work, and
 * with the daemon.
 * Threads: one. */
#ifndef AUTOLOGGER_DAEMON_OUTCASTS_H
#define AUTOLOGGER_DAEMON_OUTCASTS_H
#define OUTCASTS_WORD "--outcasts"
enum { OUTCASTS_MOST = 16 };

/* An outcast_start. */
int outcasts_start(void);
/* The process; returns its exit code. The socket is its standard input. */
int outcasts_run(void);
#endif
