/* heap_own.c - a program with an allocator of its own. For boot-tests/e2e/heap.py. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char area[1 << 20];
static size_t used;
void         *malloc(size_t size)
{
    void *p = area + used;
    used += (size + 31) & ~(size_t)15;
    return used <= sizeof area ? p : NULL;
}
void  free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t size)
{
    void *made = malloc(size);
    return made && p ? memcpy(made, p, size) : made;
}

int main(void)
{
    int *p = reallocarray(malloc(8), 10, 4);
    p[9]   = 7;
    printf("%d\n", p[9]);
    return 0;
}
