/* bench_bare.h - the minimum work of a logger with a file: another processor fills memory with records, this one copies
 * each into a buffer, and a full buffer goes to the disk, past the page cache where that is possible. It inspects no
 * record and has no sessions or clients, so a logger costs at least as much on the same machine.
 * Threads: two, one of its own, both while it runs. The file is removed. */
#ifndef TOOLS_BENCH_BARE_H
#define TOOLS_BENCH_BARE_H
#include "registry-sim/win32/wstatus.h"

#include <stddef.h>

struct bench_bare_size {
    /* bytes that are filled, and bytes written at once: multiples of 4 KB, memory of 2 x buffer */
    size_t   memory, buffer;
    unsigned record;  /* bytes, a multiple of 8 */
    unsigned records; /* at least as many are copied */
    int      filler_cpu;
};
/* Nanoseconds of this thread's processor time a record. */
struct bench_bare {
    double copy, write;
};
wstatus bench_bare(const char *path, const struct bench_bare_size *size, struct bench_bare *out, struct reason *why);
#endif
