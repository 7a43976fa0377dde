/* collector.h - the process that keeps the rights to become other users, so that the one with sockets, parsers and sessions has them no more.
 *
 *   keeper - server: sockets, parsers, sessions --word--> collector --exec--> a writer, a merge
 *
 * It is this program once more with one word (self_start.h), begun before the server gives rights up. It takes one kind of message, a word of
 * launched.def, and answers with a socket to a new process; the server can choose nothing else: no argument, no environment, no descriptor.
 * It ends with the server's socket. A server below a keeper whose collector was killed ends itself by a signal: its successor has a new one, and
 * nothing is lost. Without a keeper what needs it fails with a Status.
 * Invariants: C1 a process of a word that is not in the table is never started. C2 it reads no file, and no byte that a user wrote.
 * Threads: any, in the server; the process has one. Ownership: none. Not for: processes that need no rights (self_start.h). */
#ifndef AUTOLOGGER_DAEMON_COLLECTOR_H
#define AUTOLOGGER_DAEMON_COLLECTOR_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stdint.h>

#define COLLECTOR_WORD "--collector"
enum { COLLECTOR_WORD_MOST = 32 };

/* Begins it, and gives up what is not in server_rights.def: capabilities, and the bounding set, for good. Before there is a second thread.
 * `kept`: a keeper restarts this process. 5, 8: it could not be begun; then nothing was given up. */
wstatus collector_begin(bool kept, struct reason *why);
/* A socket to a new process of that word, which is its standard input; -1 with errno. By this process itself where no collector was begun. */
int collector_launch(const char *word);
/* The process; its exit code. */
int collector_run(void);

/* Between the two processes. */
struct collector_request {
    char word[COLLECTOR_WORD_MOST]; /* ends with a NUL */
};
struct collector_reply { /* and the socket, where it is 0 */
    int32_t result;      /* 0, or -errno */
};
#endif
