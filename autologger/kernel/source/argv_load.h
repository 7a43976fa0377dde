/* argv_load.h - the BPF programs by registers (argv.bpf.c), brought into the kernel as they are: two maps, two
 * programs, their tracepoints. The skeleton's way is a program of its own that does this in the kernel; having that one
 * verified, too, is half of what loading costs, and a boot waits for it. Nothing here needs types: the object has
 * neither BTF nor relocations by it.
 * Invariants: A1 what was made is given out whole, or closed.
 * Threads: one. Ownership: the descriptors are the caller's. Not for: the programs by types, which only a skeleton can
 * load. */
#ifndef AUTOLOGGER_KERNEL_ARGV_LOAD_H
#define AUTOLOGGER_KERNEL_ARGV_LOAD_H
#include <stdbool.h>

struct argv_loaded {
    int ring, on_exec, on_exit; /* the map; the programs' links, each of which holds its program */
};
/* 0 or -errno; *attaching: all was loaded, only the tracepoints refused. */
int argv_load(struct argv_loaded *out, bool *attaching);
#endif
