/* syscalls.h - the kernel's functions behind system calls: their addresses, by number.
 * A kernel for x86-64 has two tables: that of 64-bit programs (x32 ones have the same, with a bit in the number), and
 * that of 32-bit ones, of other numbers and partly of other functions. Which function a number stands for is not told
 * anywhere; it follows from the call's name, by the rules that the kernel names its functions by.
 * Threads: any. Ownership: none. Not for: which calls are of interest (memcalls.h, filecalls.def); the early program,
 * which asks for none (filetap_none.c). */
#ifndef AUTOLOGGER_KERNEL_SYSCALLS_H
#define AUTOLOGGER_KERNEL_SYSCALLS_H
#include <stdint.h>

enum { SYSCALL_X32 = 0x40000000 }; /* in the number of a call of an x32 program */

/* From proc/kallsyms, `count` of each; 0 where it is hidden, or there is none. `narrow` (of 32-bit programs; may be
 * NULL) stays as it is but on x86-64. */
void syscall_addresses(int proc, uint64_t *wide, uint64_t *narrow, unsigned count);
#endif
