/* daemon_memory.h - the shared memory of a daemon, read through /proc/PID/fd: the daemon is not asked, and may hang, be
 * stopped, or be one that cannot answer. The keeper holds the same memory, also after the daemon's death.
 * Invariants: all of it is copied by pread, so nothing here can fault and a copy does not change while it is printed;
 * no length or offset in it is trusted. The parts are not of one instant. Needs the right to look at the process
 * (ptrace, as root has it).
 * Threads: one. Ownership: open/close. Not for: what the server answers to (autologger/control/client.h). */
#ifndef TOOLS_DAEMON_MEMORY_H
#define TOOLS_DAEMON_MEMORY_H
#include "autologger/wire/shm.h"
#include "autologger/wire/state.h"
#include "registry-sim/win32/wstatus.h"

#include <sys/types.h>

/* One session of the daemon, and its published slot. */
struct memory_session {
    const struct state_session *state;
    const struct state_slot    *slot; /* NULL: nothing was published yet, or its place makes no sense */
};
/* One user in one session. */
struct memory_streams {
    struct shm_control control;
    unsigned           chunks[SHM_CHUNK_STALLED + 1]; /* how many are in each state (enum shm_chunk_state) */
    bool               has_data;                      /* its data memory was found, and what follows is of it */
    uint32_t           in_pool;                       /* chunks that a writer can take now */
    uint32_t           streams;                       /* processors + 1 */
    struct shm_stream *stream;
};
struct daemon_memory {
    pid_t                   pid;
    char                    program[64]; /* the process' name */
    struct state_daemon    *state;
    unsigned                providers; /* slots of the directory in use; 0 when it was not found */
    unsigned                sessions, sets;
    struct memory_session   session[SHM_SESSIONS];
    struct memory_streams **set; /* by session and UID */
};

/* The process that listens at `runtime_dir` (NULL: the default) and holds a daemon's memory. W_FILE_NOT_FOUND: none
 * does. */
wstatus daemon_memory_find(const char *runtime_dir, pid_t *pid, struct reason *why);
/* W_ACCESS_DENIED: another user's process; W_FILE_NOT_FOUND: it holds no such memory; W_REVISION_MISMATCH: of another
 * version of autologger than this one. */
wstatus daemon_memory_open(pid_t pid, struct daemon_memory **out, struct reason *why);
/* The log folder of the daemon at `runtime_dir`, else (none runs, or its memory may not be read) the shipped one. */
const char *daemon_memory_log_folder(const char *runtime_dir, char *out, size_t size);
void        daemon_memory_close(struct daemon_memory *m); /* NULL: nothing */
#endif
