/* writer.h - files of sessions that another user started: a process for each owner makes them, with that user's rights
 * to files and no others, and hands the descriptor over. The daemon takes on no user's identity, follows no path of a
 * user's, and waits for a user's file system only in the thread that asked; that thread waits for a socket, so a
 * SIGKILL ends it at once.
 *
 *   logger thread --path--> writer of uid N --descriptor--> logger thread
 *
 * A writer is this program with one word (self_start.h) in a sandbox (SANDBOX_WRITER): it has the owner's rights to
 * files, no capability, and the system calls that paths need; it walks paths as careful.h says. Programs of the owner
 * can neither stop nor inspect it. It ends after WRITER_REST_S without a request, and with the daemon.
 * Invariants: W1 a request is carried out at most once. W2 a writer serves one owner.
 * Threads: any; threads that ask at the same time have a writer each. Ownership: none. Not for: files of root's
 * sessions. */
#ifndef AUTOLOGGER_DAEMON_WRITER_H
#define AUTOLOGGER_DAEMON_WRITER_H
#include "autologger/session/session.h"

#define WRITER_WORD "--writer"
enum { WRITER_REST_S = 10, WRITERS_IDLE = 4, WRITER_PATH = 4096 };

/* For session_env (session.h). */
extern const struct session_owner_part writer_owner;
/* The process; returns its exit code. The socket is its standard input. */
int writer_run(void);

/* Messages between the two processes. */
enum writer_what {
    WRITER_OWNER,
    WRITER_OPEN,
    WRITER_MKDIR,
    WRITER_UNLINK,
    WRITER_RENAME,
    WRITER_STAT,
    WRITER_LSTAT,
    WRITER_SPACE
};
struct writer_request {
    uint32_t           what, mode;
    int32_t            flags;
    uint32_t           size[2]; /* of the paths, each with its NUL; 0: none */
    struct state_owner owner;   /* WRITER_OWNER */
    char               path[2 * WRITER_PATH];
};
/* True: the `size` received bytes are a whole request, and its paths end within it. */
bool writer_request_whole(const struct writer_request *q, size_t size);
struct writer_reply { /* with the descriptor of a WRITER_OPEN that did not fail */
    int32_t         result;
    struct os_stat  stat;
    struct os_space space;
};
#endif
