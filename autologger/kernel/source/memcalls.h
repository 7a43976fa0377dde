/* memcalls.h - the system calls that VIRT_ALLOC records.
 * Pure; any thread. Not for: what they mean (convert_syscall.c). */
#ifndef AUTOLOGGER_KERNEL_MEMCALLS_H
#define AUTOLOGGER_KERNEL_MEMCALLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>

/* perf's filter for the tracepoints of system calls, so that the kernel leaves out unwanted calls. False: all are
 * wanted. The filter sees only the number: a 32-bit call and a 64-bit call with the same number both pass. */
static inline bool memcalls_filter(const uint32_t *mask, char *out, size_t size)
{
    static const int number[] = {
#define MEM(number, kind) number,
#define MEM32(number, kind) number,
#include "autologger/kernel/source/memcalls.def"
#undef MEM32
#undef MEM
    };
    size_t n = 0;
    if ((mask[0] & 0x80) || (mask[2] & 0x40)) /* SYSCALL, and its alias */
        return false;
    for (size_t i = 0; i < sizeof number / sizeof *number && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%sid == %d", i ? " || " : "", number[i]);
    return n < size;
}
#endif
