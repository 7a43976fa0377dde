/* argv_load.h - loads the BPF programs that go by registers (argv.bpf.c) without a skeleton: two maps, two programs,
 * their tracepoints. A skeleton loads by a program of its own in the kernel; verifying that program is half of the cost
 * of loading, and a boot waits for it. No kernel types are needed: the object has no BTF and no relocations by BTF.
 * Invariants: A1 all descriptors are given out, or all are closed.
 * Threads: one. Ownership: the descriptors are the caller's. Not for: the programs that go by types, which only a
 * skeleton can load. */
#ifndef AUTOLOGGER_KERNEL_ARGV_LOAD_H
#define AUTOLOGGER_KERNEL_ARGV_LOAD_H
#include <stdbool.h>

struct argv_loaded {
    int ring, on_exec, on_exit; /* the map; the programs' links, each of which holds its program */
};
/* 0 or -errno; *attaching: loading succeeded, a tracepoint refused. */
int argv_load(struct argv_loaded *out, bool *attaching);
#endif
