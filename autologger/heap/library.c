/* library.c - libautologger-heap.so begins: the command "heap" preloads it into a program. Without that command's memory
 * its hooks only pass calls on. See stream.h. */
#include "autologger/heap/stream.h"

extern bool heap_allocations, heap_locks;

static __attribute__((constructor)) void library_begin(void)
{
    stream_inside        = true;
    const uint32_t flags = stream_begin();
    const uint64_t heap  = 1;
    if (flags) { /* blocks of a program that this one replaced are gone */
        stream_event(HOOK_HEAP_CREATE, 2, &heap, sizeof heap, NULL);
        heap_allocations = flags & HEAP_ALLOCATIONS;
        heap_locks       = flags & HEAP_LOCKS;
    }
    stream_inside = false;
}
