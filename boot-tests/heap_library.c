/* heap_library.c - a library that a program loads and unloads. For boot-tests/e2e/heap.py. */
#include <stdlib.h>

__attribute__((visibility("default"), noinline)) void *library_make(size_t size)
{
    return calloc(1, size); /* LEAK 6 */
}
