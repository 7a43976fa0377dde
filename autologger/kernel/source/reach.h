/* reach.h - operations that need capabilities: perf events, files of /proc about other users' processes, tracefs, BPF
 * programs, helper processes that read other users' files. A process with the capabilities does them itself; one that
 * gave them up asks a process that has them (daemon/parts/collector.h), over a socket.
 * Invariants: R1 this process asks only for what it may not do itself. R2 each thread has its own socket with one
 * request at a time; no thread waits for another one's. R3 received descriptors are the caller's, and close at exec.
 * Threads: any; reach_through before there is a second one. Ownership: the socket is this file's from then on.
 * Not for: deciding what may be asked (collector.h). */
#ifndef AUTOLOGGER_KERNEL_REACH_H
#define AUTOLOGGER_KERNEL_REACH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;
enum reach_program { REACH_ARGV, REACH_FILES, REACH_NET_CALLS, REACH_NET_BOTH, REACH_NET_SENT, REACH_PROGRAM_KINDS };
enum { REACH_FDS = 16, REACH_PATH = 64, REACH_ATTR = 192, REACH_TEXT = 4096 };

/* From now on operations that this process may not do are asked for at this socket. `kept`: a keeper restarts this
 * process, so it ends by SIGKILL when the other process has ended: only a successor can get another socket. */
void reach_through(int socket, bool kept);
bool reach_is_far(void);

/* As perf_event_open(attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC). A descriptor, or -errno. */
int reach_perf(const struct perf_event_attr *attr, unsigned cpu);
/* Opens a file below `proc`, a descriptor of /proc, for reading. Or -errno. */
int reach_open(int proc, const char *path);
/* The same for a file that anybody may open, but that shows kernel addresses only to a trusted reader. */
int reach_addresses(int proc, const char *path);
/* The target of a link below `proc`; returns its length, `out` ends with a NUL. Or -errno. */
ssize_t reach_link(int proc, const char *path, char *out, size_t size);
/* The text of a file below `proc`, at most `size` - 1 bytes: for files where the kernel checks the reader, not the
 * opener. Returns its length, `out` ends with a NUL. Or -errno: -ETIMEDOUT when the kernel does not answer the process
 * that has the rights; a read by this process may then hang. */
ssize_t reach_text(int proc, const char *path, char *out, size_t size);
/* /proc, with the processes of all users even if its mount hides them. O_PATH; or -errno. */
int reach_proc(void);
/* A detached mount of tracefs; or -errno. */
int reach_tracefs(void);
/* Loads and attaches BPF programs; fd[] gets their descriptors, -1: none. Only where reach_is_far(). 0, or -errno. */
int reach_load(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached);
/* A helper of elf_helper.h: its pid, socket and pidfd. Only where reach_is_far(). Or -errno. */
int reach_helper(bool dares, int *socket, int *pidfd);
/* Starts a new process named by the word; the socket to it, or -errno. Only where reach_is_far(). */
int reach_launch(const char *word);
/* Another socket of this kind, for another process; or -errno. Only where reach_is_far(). */
int reach_again(void);

/* The messages between the two processes. */
enum reach_what {
    REACH_LAUNCH,
    REACH_AGAIN,
    REACH_PERF,
    REACH_OPEN,
    REACH_LINK,
    REACH_PROC,
    REACH_TRACEFS,
    REACH_LOAD,
    REACH_HELPER,
    REACH_SHOW,
    REACH_WHATS
};
struct reach_request {
    uint32_t what, number, program, reserved; /* number: the CPU, the number of CPUs, or `dares` */
    char     text[REACH_PATH];                /* a word or a path; ends with a NUL */
    uint8_t  attr[REACH_ATTR];                /* struct perf_event_attr */
};
struct reach_reply {
    int32_t  result;   /* or -errno */
    uint32_t attached; /* of REACH_LOAD */
    uint32_t fds;      /* a bit for each entry of fd[]: its descriptor comes with the reply, in this order */
    uint32_t size;     /* of text[] */
    char     text[REACH_TEXT];
};
#endif
