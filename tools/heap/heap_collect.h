/* heap_collect.h - writes the buffers that a traced program fills. The program shares the memory, and may write
 * anything there: every number is checked before use.
 * Invariant: the buffers of a slot are written in their order. Threads: one. Ownership: create/destroy. */
#ifndef TOOLS_HEAP_COLLECT_H
#define TOOLS_HEAP_COLLECT_H
#include "autologger/wire/heap.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct heap_collector;
struct heap_counts {
    uint64_t attempted, written, lost; /* events */
    bool     attached, given_up, own_allocator;
};
/* The file is there afterwards, with its header. `flags`: HEAP_... of heap.h. */
wstatus heap_collector_create(const char *file, const char *name, uint32_t flags, struct heap_collector **out,
                              struct reason *why);
/* What the program's environment needs of the memory, as `fd` of that process. */
void heap_collector_variable(const struct heap_collector *c, int fd, pid_t pid, char *out, size_t size);
int  heap_collector_fd(const struct heap_collector *c);
/* The Process event of the program; before it runs. */
void heap_collector_process(struct heap_collector *c, pid_t pid, const char *image, const char *command);
/* Writes what is full; waits up to `ms` for more. False: a write failed, and the events count as lost from now on. */
bool heap_collector_serve(struct heap_collector *c, int ms, struct reason *why);
/* The program is gone: writes the rest and completes the header. */
wstatus heap_collector_finish(struct heap_collector *c, struct heap_counts *out, struct reason *why);
void    heap_collector_destroy(struct heap_collector *c); /* NULL is fine */
#endif
