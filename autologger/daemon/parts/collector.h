/* collector.h - the process that keeps the capabilities, so that the one with sockets, parsers and sessions has them no
 * more.
 *
 *   keeper - server: sockets, parsers, sessions --request--> collector: perf events, BPF programs, tracefs, /proc of
 *                                               others <--descriptor--        --exec--> a writer, a merge, a helper
 *
 * It is this program once more with one word (self_start.h), begun before the server gives its rights up. What may be
 * asked for is closed: kinds of perf events of a whole processor, five BPF programs that lie in this program, files of
 * /proc by the patterns of reach_paths.def, words of launched.def. The server chooses no argument, no environment and
 * no path of a program. It ends with the first socket to it, which is the server's. A server below a keeper whose
 * collector was killed ends itself by a signal: its successor has a new one, and nothing is lost. Without a keeper what
 * needs it fails with a Status.
 * Invariants: C1 what is not in a table is refused with EPERM, and a message that is no request ends its connection. C2
 * it interprets no byte that a user wrote, and opens no path that one chose. C3 who asks waits for his own request
 * alone: a thread of his opens files of /proc, and he reads them, but for those of REACH_SHOWN. So a server that
 * somebody has taken over learns the maps, arguments and calls of all processes, and the names of their open files.
 * Threads: any, in the server; the process has one for each of them. Ownership: none. Not for: processes that need no
 * rights (self_start.h). */
#ifndef AUTOLOGGER_DAEMON_COLLECTOR_H
#define AUTOLOGGER_DAEMON_COLLECTOR_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

#define COLLECTOR_WORD "--collector"
#define CLEAN_WORD "--clean-once" /* puts back what was for one boot, where no systemd has a unit for that */

/* Begins it, and gives up what is not in server_rights.def: capabilities, and the bounding set, for good. Before there
 * is a second thread. `kept`: a keeper restarts this process. `chown`: CAP_CHOWN stays. W_ACCESS_DENIED,
 * W_NOT_ENOUGH_MEMORY: it could not be begun; then nothing was given up. */
wstatus collector_begin(bool kept, bool chown, struct reason *why);
/* A socket to a new process of that word, which is its standard input; -1 with errno. By this process itself where no
 * collector was begun. */
int collector_launch(const char *word);
/* The process; its exit code. */
int collector_run(void);
#endif
