/* argv.h - command lines as they were at exec: a BPF program (argv.bpf.c) copies them into a ring, this side finds them.
 * What /proc shows is gone with the process; what the program copied is not.
 * Invariants: A1 memory is bounded: the ring and an index; what does not fit is not copied, and /proc has to do.
 * A2 a record is given out once. A3 times are CLOCK_MONOTONIC_RAW, good to ARGV_SLACK_NS.
 * A4 what cannot be had (no right, no BTF, built without it, another pid namespace) is a reason, never a failure.
 * Threads: one at a time. Ownership: open ... close; the program goes with it. A successor opens its own.
 * Not for: turning arguments into one line (procfs.h), deciding what else may do (enrich.c). */
#ifndef AUTOLOGGER_KERNEL_ARGV_H
#define AUTOLOGGER_KERNEL_ARGV_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARGV_SLACK_NS = 200000 };
struct argv;

/* Loads the program and attaches it. `proc`: a descriptor of /proc, borrowed. 50 when this kernel or this build cannot, 1314 when a right is missing. */
wstatus argv_open(int proc, struct argv **out, struct reason *why);
void    argv_close(struct argv *a); /* NULL is fine, also below */

/* Sees what has come since. */
void argv_poll(struct argv *a);
/* The arguments (each ends in NUL) of the first exec of `pid` from `from` to `until`; *cut: there are more than these. NULL:
 * not seen. Borrowed until argv_expire. */
const char *argv_take(struct argv *a, uint32_t pid, uint64_t from, uint64_t until, size_t *size, bool *cut);
/* Ends a pass: frees what was given out, and what nobody asked for in several passes. */
void argv_expire(struct argv *a);
#endif
