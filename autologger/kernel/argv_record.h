/* argv_record.h - what argv.bpf.c and argv.c say to each other: one record per exec, in a BPF ring.
 * Invariants: no includes (the BPF program has no libc). Threads, ownership: types only. Not for: others than those two. */
#ifndef AUTOLOGGER_KERNEL_ARGV_RECORD_H
#define AUTOLOGGER_KERNEL_ARGV_RECORD_H
typedef unsigned char      argv_u8;
typedef unsigned int       argv_u32;
typedef unsigned long long argv_u64;

enum { ARGV_BYTES = 4096, ARGV_HEAD = 16, ARGV_RING = 1 << 20 };
struct argv_record {
    argv_u64 time; /* CLOCK_MONOTONIC */
    argv_u32 tgid; /* of the first pid namespace */
    argv_u32 size; /* of all arguments; the record has ARGV_BYTES of them at most */
    char     text[ARGV_BYTES]; /* NUL after each argument */
};
_Static_assert(sizeof(struct argv_record) == ARGV_HEAD + ARGV_BYTES, "argv record");
#endif
