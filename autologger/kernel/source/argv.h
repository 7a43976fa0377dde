/* argv.h - what is known of a process only at its exec and its exit: BPF programs (argv.bpf.c) copy it into a ring,
 * this side finds it. What /proc shows is gone with the process; what was copied is not.
 * Invariants: A1 memory is bounded: the ring and an index; what does not fit is not copied, and /proc has to do.
 * A2 a record is given out once. A3 times are CLOCK_MONOTONIC_RAW, good to ARGV_SLACK_NS.
 * A4 what cannot be had (no right, no BTF, built without it, another pid namespace) is a reason, never a failure.
 * A5 the programs live as long as one of their descriptors: a successor that is given them goes on with the ring.
 * Threads: one at a time. Ownership: open or adopt ... close. Not for: turning arguments into one line (procfs.h),
 * deciding what else may do (enrich.c). */
#ifndef AUTOLOGGER_KERNEL_ARGV_H
#define AUTOLOGGER_KERNEL_ARGV_H
#include "autologger/kernel/source/reach.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARGV_SLACK_NS = 200000 };
struct argv;

/* Loads the programs and attaches them. `proc`: a descriptor of /proc, borrowed. W_NOT_SUPPORTED when this kernel or
 * this build cannot, W_PRIVILEGE_NOT_HELD when a right is missing. */
wstatus argv_open(int proc, struct argv **out, struct reason *why);
/* For reach.h: loads and attaches them, no more; fd[] is what argv_adopt would be given. 0, or -errno; *attached: it
 * failed at attaching. */
int argv_programs(int fd[REACH_FDS], bool *attached);
/* Goes on with a predecessor's. find: a descriptor that is then owned, or -1. NULL when there are none. */
struct argv *argv_adopt(int (*find)(void *ctx, const char *name), void *ctx);
void         argv_close(struct argv *a); /* NULL is fine, also below */
/* What a successor needs. */
void argv_fds(const struct argv *a, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx);
/* Readable when the ring is half full; -1: none. */
int argv_wake_fd(const struct argv *a);

/* Sees what has come since. */
void argv_poll(struct argv *a);
struct argv_exec {
    const char *text; /* the arguments, each ends in NUL; borrowed until argv_expire */
    size_t      size;
    uint32_t    uid;
    bool        cut; /* there are more than these */
    bool        width_known, is32;
};
/* The first exec of `pid` from `from` to `until`. False: not seen. */
bool argv_take(struct argv *a, uint32_t pid, uint64_t from, uint64_t until, struct argv_exec *out);
/* The code with which `pid` exited last until then, as wait shows it. False: not seen, or a signal ended it. */
bool argv_exit_take(struct argv *a, uint32_t pid, uint64_t until, int32_t *code);
/* Ends a pass: frees what was given out, and what nobody asked for in several passes. */
void argv_expire(struct argv *a);
#endif
