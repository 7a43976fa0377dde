/* filetap.h - file operations from the system calls: a BPF program (filetap.bpf.c) at the beginning and the end of each
 * call writes the records of the session's sources FILE_ENTER and FILE_EXIT.
 * Invariants: T1 nothing is loaded, and no call costs anything, unless the session has one of these sources. T2 a
 * missing prerequisite (right, BTF, build option) is a reason, never a failure. T3 the programs live as long as one of
 * their descriptors: a successor that is given the descriptors goes on. T4 the calls of the process that loaded or
 * adopted them are left out.
 * Threads: one at a time. Ownership: open or adopt ... close; the rings are borrowed. Not for: making events
 * (convert_file.c); the early program, which has filetap_none.c instead. */
#ifndef AUTOLOGGER_KERNEL_FILETAP_H
#define AUTOLOGGER_KERNEL_FILETAP_H
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rings.h"

struct filetap;

/* Does this log have one of the two sources? */
bool filetap_wanted(const struct rawlog *log);
/* Loads the programs, gives them the events of `rings` and attaches them. W_NOT_SUPPORTED when this kernel or this
 * build cannot, W_PRIVILEGE_NOT_HELD when a right is missing. `ends`: the ends of all operations are wanted, not only
 * of those that name files. */
wstatus filetap_open(const struct rings *rings, const struct rawlog *log, bool ends, struct filetap **out,
                     struct reason *why);
/* For reach.h: loads and attaches the programs, no more. 0, or -errno; *attached: attaching failed, not loading. */
int filetap_programs(unsigned cpus, int fd[REACH_FDS], bool *attached);
/* The advice for a Status of filetap_open, in this build. */
const char *filetap_advice(wstatus status);
/* Goes on with a predecessor's programs. `find` gives a descriptor, owned from then on, or -1. NULL: the predecessor
 * had none. */
struct filetap *filetap_adopt(int (*find)(void *ctx, const char *name), void *ctx);
/* Gives the programs the events of a CPU that came online. */
void filetap_cpu(const struct filetap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu);
void filetap_close(struct filetap *t); /* NULL is fine, also below */
/* Shows the descriptors that a successor needs. */
void filetap_fds(const struct filetap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes),
                 void                 *ctx);
#endif
