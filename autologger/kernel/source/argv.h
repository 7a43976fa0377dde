/* argv.h - process data that exists only at exec and at exit: BPF programs (argv.bpf.c) copy arguments and exit codes
 * into a ring, this side looks them up. Unlike /proc, the copy outlives its process.
 * Invariants: A1 memory is bounded: the ring and an index. Data that does not fit is not copied, and /proc has to do.
 * A2 a record is given out once. A3 times are CLOCK_MONOTONIC_RAW, good to ARGV_SLACK_NS.
 * A4 a missing prerequisite (right, BTF, build option, the first pid namespace) is a reason, never a failure.
 * A5 the programs live as long as one of their descriptors: a successor that is given the descriptors goes on with the
 * ring.
 * Threads: one at a time. Ownership: open or adopt ... close. Not for: joining arguments into one line (procfs.h),
 * deciding when /proc has to do instead (enrich.c). */
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
/* For reach.h: loads and attaches the programs, no more. fd[] gets the descriptors in the order of argv_adopt. 0, or
 * -errno; *attached: attaching failed, not loading. */
int argv_programs(int fd[REACH_FDS], bool *attached);
/* Goes on with a predecessor's programs. `find` gives a descriptor, owned from then on, or -1. NULL: the predecessor
 * had none. */
struct argv *argv_adopt(int (*find)(void *ctx, const char *name), void *ctx);
void         argv_close(struct argv *a); /* NULL is fine, also below */
/* Shows the descriptors that a successor needs. */
void argv_fds(const struct argv *a, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx);
/* Readable when the ring is half full. -1: there is no such descriptor. */
int argv_wake_fd(const struct argv *a);

/* Indexes the records that have arrived since the last call. */
void argv_poll(struct argv *a);
struct argv_exec {
    const char *text; /* NUL after each argument; borrowed until argv_expire */
    size_t      size;
    uint32_t    uid;
    bool        cut; /* the process has more arguments than these */
    bool        width_known, is32;
};
/* The first exec of `pid` between `from` and `until`. False: not seen. */
bool argv_take(struct argv *a, uint32_t pid, uint64_t from, uint64_t until, struct argv_exec *out);
/* The code of the last exit of `pid` up to `until`, as wait shows it. False: not seen, or a signal ended the
 * process. */
bool argv_exit_take(struct argv *a, uint32_t pid, uint64_t until, int32_t *code);
/* Ends a pass: frees the records that were given out, and those not asked for in several passes. */
void argv_expire(struct argv *a);
#endif
