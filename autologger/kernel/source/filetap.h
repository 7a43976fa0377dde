/* filetap.h - file operations from the system calls: a BPF program (filetap.bpf.c) at the beginning and the end of each
 * call tells what the session's sources FILE_ENTER and FILE_EXIT record.
 * Invariants: T1 nothing is loaded, and no call costs anything, unless the session has one of these sources. T2 what
 * cannot be had (no right, no BTF, built without it) is a reason, never a failure. T3 the programs live as long as one
 * of their descriptors: a successor that is given them goes on. T4 the calls of the process that loaded or adopted them
 * are left out.
 * Threads: one at a time. Ownership: open or adopt ... close; the rings are borrowed. Not for: making events
 * (convert_file.c); the early program, which has none of it (filetap_none.c). */
#ifndef AUTOLOGGER_KERNEL_FILETAP_H
#define AUTOLOGGER_KERNEL_FILETAP_H
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rings.h"

struct filetap;

/* Does this log have sources that it feeds? */
bool filetap_wanted(const struct rawlog *log);
/* Loads the programs, gives them the events of `rings` and attaches them. W_NOT_SUPPORTED when this kernel or this
 * build cannot, W_PRIVILEGE_NOT_HELD when a right
 * is missing. `ends`: the ends of all operations are wanted, not only those that tell of files. */
wstatus filetap_open(const struct rings *rings, const struct rawlog *log, bool ends, struct filetap **out,
                     struct reason *why);
/* For reach.h: loads and attaches them, no more. 0, or -errno; *attached: it failed at attaching. */
int filetap_programs(unsigned cpus, int fd[REACH_FDS], bool *attached);
/* What to do about a Status of filetap_open, in this build. */
const char *filetap_advice(wstatus status);
/* Goes on with a predecessor's. find: a descriptor that is then owned, or -1. NULL when there are none. */
struct filetap *filetap_adopt(int (*find)(void *ctx, const char *name), void *ctx);
/* A CPU that came online has events of its own now. */
void filetap_cpu(const struct filetap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu);
void filetap_close(struct filetap *t); /* NULL is fine, also below */
/* What a successor needs. */
void filetap_fds(const struct filetap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes),
                 void                 *ctx);
#endif
