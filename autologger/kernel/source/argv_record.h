/* argv_record.h - the records from argv.bpf.c to argv.c: one per exec and per exit, in a BPF ring.
 * Invariants: no includes (the BPF program has no libc). Threads, ownership: types only. Not for: any other reader or
 * writer. */
#ifndef AUTOLOGGER_KERNEL_ARGV_RECORD_H
#define AUTOLOGGER_KERNEL_ARGV_RECORD_H
typedef unsigned char      argv_u8;
typedef unsigned int       argv_u32;
typedef unsigned long long argv_u64;

enum { ARGV_BYTES = 4096, ARGV_HEAD = 24, ARGV_RING = 1 << 20 };
enum { ARGV_EXIT = 1, ARGV_32BIT = 2, ARGV_WIDTH_KNOWN = 4 };
struct argv_record {
    argv_u64 time; /* CLOCK_MONOTONIC */
    argv_u32 tgid; /* in the first pid namespace */
    argv_u32 flags;
    argv_u32 uid; /* real uid, in the first user namespace */
    /* bytes of all arguments; the record has at most ARGV_BYTES of them. ARGV_EXIT: the exit code, as wait shows it */
    argv_u32 size;
    char     text[ARGV_BYTES]; /* NUL after each argument */
};
_Static_assert(sizeof(struct argv_record) == ARGV_HEAD + ARGV_BYTES, "argv record");
#endif
