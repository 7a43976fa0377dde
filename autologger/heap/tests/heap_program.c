/* heap_program.c - allocates and frees from the depth of 20 functions; prints the nanoseconds of a round. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 20, BLOCKS = 64 };
static void *block[BLOCKS];

static __attribute__((noinline)) void go(int depth, int i)
{
    if (depth > 0) {
        go(depth - 1, i);
    } else {
        free(block[i % BLOCKS]);
        block[i % BLOCKS] = malloc((size_t)(i % 512) + 1);
    }
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    const int       rounds = argc > 1 ? atoi(argv[1]) : 1000000;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < rounds; i++)
        go(DEPTH, i);
    clock_gettime(CLOCK_MONOTONIC, &to);
    fprintf(stderr, "round %.1f\n",
            ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / rounds);
    return 0;
}
