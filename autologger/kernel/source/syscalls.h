/* syscalls.h - the addresses of the kernel's functions behind system calls, by number.
 * A kernel for x86-64 has two tables: one for 64-bit programs (x32 programs use it too, with a bit in the number), and
 * one for 32-bit programs, with other numbers and partly other functions. The kernel does not publish which
 * function serves a number. We derive the function's name from the call's name, by the kernel's naming rules.
 * Threads: any. Ownership: none. Not for: selecting calls (memcalls.h, filecalls.def); the early program, which asks
 * for none (filetap_none.c). */
#ifndef AUTOLOGGER_KERNEL_SYSCALLS_H
#define AUTOLOGGER_KERNEL_SYSCALLS_H
#include <stdint.h>

enum { SYSCALL_X32 = 0x40000000 }; /* in the number of a call of an x32 program */

/* Fills wide[number] (64-bit programs) and narrow[number] (32-bit programs; may be NULL; x86-64 only) from
 * proc/kallsyms, for numbers below `count`. 0: the address is hidden, or there is no such function; the caller sets
 * both arrays to zero before. */
void syscall_addresses(int proc, uint64_t *wide, uint64_t *narrow, unsigned count);
#endif
