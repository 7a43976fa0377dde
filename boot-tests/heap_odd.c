/* heap_odd.c - programs that are traced with trouble, by their first argument. For boot-tests/e2e/heap.py. Each prints "fine" at its end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void *volatile kept;
static void churn(size_t size)
{
    void *volatile p = malloc(size);
    free(p);
}

/* As the start of Rust's and Java's runtimes: the first allocation of a thread is inside of this call. */
static void *asks_stack(void *unused)
{
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0)
        pthread_attr_destroy(&attr);
    kept = malloc(123); /* ODD 1 */
    return unused;
}
static int getattr(void)
{
    pthread_t t;
    asks_stack(NULL);
    return pthread_create(&t, NULL, asks_stack, NULL) || pthread_join(t, NULL);
}

/* A coroutine with a small stack, and a guard below it that must not be written. */
enum { SMALL = 8192, GUARD = 4096 };
static ucontext_t own, other;
static void       coroutine(void)
{
    for (int i = 0; i < 100; i++)
        kept = malloc(17); /* ODD 2 */
}
static int small(void)
{
    unsigned char *area = mmap(NULL, GUARD + SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 0x5A, GUARD);
    getcontext(&other);
    other.uc_stack.ss_sp   = area + GUARD;
    other.uc_stack.ss_size = SMALL;
    other.uc_link          = &own;
    makecontext(&other, coroutine, 0);
    swapcontext(&own, &other);
    for (int i = 0; i < GUARD; i++)
        if (area[i] != 0x5A)
            return printf("written below the stack, at %d\n", i - GUARD), 1;
    return 0;
}

/* A callback of dl_iterate_phdr takes a lock that another thread holds while it allocates. */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int             visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return 0;
}
static void *visits(void *unused)
{
    for (int i = 0; i < 200; i++)
        dl_iterate_phdr(visit, NULL);
    return unused;
}
static int loader(void)
{
    pthread_t t;
    pthread_create(&t, NULL, visits, NULL);
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&m);
        churn(10);
        pthread_mutex_unlock(&m);
    }
    return pthread_join(t, NULL);
}

/* Threads that still allocate when the program ends. */
static void *endless(void *unused)
{
    for (;;)
        churn(33);
    return unused;
}
static int threads(void)
{
    pthread_t t;
    for (int i = 0; i < 4; i++)
        pthread_create(&t, NULL, endless, NULL);
    usleep(50000);
    return 0;
}

static int zero(void)
{
    for (int i = 0; i < 5; i++)
        kept = malloc(0); /* ODD 3 */
    return 0;
}

/* Two libraries that leak, one after the other at one address. */
static int plugins(char **paths)
{
    for (int i = 0; i < 2; i++) {
        void *library         = dlopen(paths[i], RTLD_NOW);
        void *(*make)(size_t) = library ? (void *(*)(size_t))dlsym(library, "library_make") : NULL;
        if (!make)
            return puts(dlerror()), 1;
        for (int n = 0; n < (i ? 30 : 2); n++)
            kept = make(100);
        dlclose(library);
    }
    return 0;
}

/* A wait that ends without the lock. */
static int timed(void)
{
    struct timespec t;
    pthread_mutex_lock(&m);
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 50000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return pthread_mutex_timedlock(&m, &t) != ETIMEDOUT; /* ODD 4 */
}

int main(int argc, char **argv)
{
    int failed = 100;
    (void)argc;
    if (!strcmp(argv[1], "getattr"))
        failed = getattr();
    else if (!strcmp(argv[1], "small"))
        failed = small();
    else if (!strcmp(argv[1], "loader"))
        failed = loader();
    else if (!strcmp(argv[1], "threads"))
        failed = threads();
    else if (!strcmp(argv[1], "zero"))
        failed = zero();
    else if (!strcmp(argv[1], "plugins"))
        failed = plugins(argv + 2);
    else if (!strcmp(argv[1], "timed"))
        failed = timed();
    else if (!strcmp(argv[1], "exec"))
        failed = execv(argv[2], argv + 2);
    else if (!strcmp(argv[1], "many")) {
        for (int i = 0; i < 300000; i++)
            churn(33);
        failed = 0;
    }
    if (!failed)
        puts("fine");
    return failed;
}
