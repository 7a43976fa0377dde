/* reach.h - what takes capabilities: perf events, files of /proc that tell of others' processes, tracefs, BPF programs,
 * processes that look at files of others. Who has the capabilities does it itself; who gave them up asks a process that
 * has them (daemon/parts/collector.h), over a socket.
 * Invariants: R1 what this process may do is never asked for. R2 a thread has a socket of its own, and one request on
 * its way; no thread waits for another one's. R3 descriptors that come are the caller's, and close at exec.
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

/* From now on what this process has no right to is asked at this socket. `kept`: a keeper restarts this process, so it
 * ends by SIGKILL when the other one has ended: only a successor can have another. */
void reach_through(int socket, bool kept);
bool reach_is_far(void);

/* As perf_event_open(attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC). A descriptor, or -errno. */
int reach_perf(const struct perf_event_attr *attr, unsigned cpu);
/* A file below `proc`, a descriptor of /proc, to read. Or -errno. */
int reach_open(int proc, const char *path);
/* The same for a file that opens for everybody, and shows addresses of the kernel to whom it trusts. */
int reach_addresses(int proc, const char *path);
/* The target of a link there; its length, `out` ends with a NUL. Or -errno. */
ssize_t reach_link(int proc, const char *path, char *out, size_t size);
/* What a file there says, at most `size` - 1 bytes of it: of files that the kernel shows to whom reads them, not to
 * whom opened them. Its length, `out` ends with a NUL. Or -errno: -ETIMEDOUT where the kernel does not answer who has
 * the rights; this process' own look may then hang. */
ssize_t reach_text(int proc, const char *path, char *out, size_t size);
/* /proc, with the processes of all users, also where its mount hides them. O_PATH; or -errno. */
int reach_proc(void);
/* A detached mount of tracefs; or -errno. */
int reach_tracefs(void);
/* Loads and attaches BPF programs; fd[] gets what belongs to them, -1: not there. Only where reach_is_far(). 0, or
 * -errno. */
int reach_load(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached);
/* A helper of elf_helper.h: its pid, socket and pidfd. Only where reach_is_far(). Or -errno. */
int reach_helper(bool dares, int *socket, int *pidfd);
/* A new process of that word; the socket to it, or -errno. Only where reach_is_far(). */
int reach_launch(const char *word);
/* Another socket of this kind, for another process; or -errno. Only where reach_is_far(). */
int reach_again(void);

/* Between the two processes. */
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
    uint32_t what, number, program, reserved; /* number: the CPU, how many CPUs, whether it dares */
    char     text[REACH_PATH];                /* a word, or a path; ends with a NUL */
    uint8_t  attr[REACH_ATTR];                /* struct perf_event_attr */
};
struct reach_reply {
    int32_t  result;   /* or -errno */
    uint32_t attached; /* of REACH_LOAD */
    uint32_t fds;      /* a bit for each of fd[]: as many descriptors come with it, in this order */
    uint32_t size;     /* of text[] */
    char     text[REACH_TEXT];
};
#endif
