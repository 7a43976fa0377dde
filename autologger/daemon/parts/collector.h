/* collector.h - the process that keeps the capabilities, so that the one with sockets, parsers and sessions gives them
 * up.
 *
 *   keeper - server: sockets, parsers, sessions  --request-->    collector: perf events, BPF programs, tracefs,
 *                                                <--descriptor--  others' /proc  --exec--> a writer, a merge, a helper
 *
 * It is this program once more with one word (self_start.h), started before the server gives up its rights. The
 * requests are a closed set: kinds of perf events of a whole processor, five BPF programs that are part of this
 * program, files of /proc by the patterns of reach_paths.def, words of launched.def. The server chooses no argument, no
 * environment and no path of a program. The collector ends with the first socket to it, which is the server's. A server
 * below a keeper whose collector was killed ends itself by a signal: its successor has a new one, and nothing is lost.
 * Without a keeper, requests that need it fail with a Status.
 * Invariants: C1 a request that is not in a table is refused with EPERM, and a message that is no request ends its
 * connection. C2 it interprets no byte that a user wrote, and opens no path that a user chose. C3 a client waits for
 * its own request alone: a thread of its own opens files of /proc, and the client reads them, except those of
 * REACH_SHOWN. So an attacker who has taken over the server learns the maps, arguments and calls of all processes, and
 * the names of their open files.
 * Threads: any, in the server; the process has one for each of them. Ownership: none. Not for: processes that need no
 * rights (self_start.h). */
#ifndef AUTOLOGGER_DAEMON_COLLECTOR_H
#define AUTOLOGGER_DAEMON_COLLECTOR_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

#define COLLECTOR_WORD "--collector"
#define CLEAN_WORD "--clean-once" /* undoes what was for one boot, where no systemd has a unit for that */

/* Starts it, and gives up for good what is not in server_rights.def: capabilities, and the bounding set. Before there
 * is a second thread. `kept`: a keeper restarts this process. `chown`: CAP_CHOWN stays. W_ACCESS_DENIED,
 * W_NOT_ENOUGH_MEMORY: it could not be started; then nothing was given up. */
wstatus collector_begin(bool kept, bool chown, struct reason *why);
/* A socket to a new process of that word, which is its standard input; -1 with errno. Without a collector this process
 * starts it itself. */
int collector_launch(const char *word);
/* The collector's process; returns its exit code. */
int collector_run(void);
#endif
